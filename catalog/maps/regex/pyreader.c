/* pyreader.c - what the readers of a pattern's parts share (pyreader.h). */
#include "catalog/maps/regex/pyreader.h"

void reader_add(struct pyreader *p, enum item item, struct width width)
{
    struct frame *f = reader_top(p);
    f->branch = width_sum(p, f->branch, f->item_width);
    f->ends = false;
    f->item = item;
    f->item_width = width;
}

void reader_unsupported(struct pyreader *p, const char *what)
{
    if (!p->unsupported)
        p->unsupported = what;
}

struct width width_capped(uint64_t low, uint64_t high, struct known known)
{
    return (struct width){low < FOREVER ? low : FOREVER - 1, high < FOREVER ? high : FOREVER,
                          known};
}

struct width width_sum(struct pyreader *p, struct width a, struct width b)
{
    return width_capped(a.low + b.low, a.high + b.high, known_sum(p, a.known, b.known));
}
