/*
 * rawlzma.c - codec "rawlzma:N,FILTER,...": LZMA without a header, so the encoder's filters are
 * stated here, in the encoder's order: "rawlzma:4096,delta=4,lzma2=8388608".
 *
 *   lzma1=DICTIONARY/LC/LP/PB   lzma2=DICTIONARY   delta=DISTANCE
 *   x86=START, powerpc=, ia64=, arm=, armthumb=, sparc=   filters for branches of machine code
 *   unmarked   the stream may lack an end marker: it ends when N bytes are decoded
 */
#include "catalog/data/codec/lzma.h"

#define DICTIONARY_MOST  ((uint64_t)256 << 20)
#define DICTIONARY_LEAST 4096
#define MEMORY           ((uint64_t)1 << 20) /* in addition to the dictionary */

struct filters {
    lzma_filter list[LZMA_FILTERS_MAX + 1];
    union {
        lzma_options_lzma lzma;
        lzma_options_delta delta;
        lzma_options_bcj branch;
    } of[LZMA_FILTERS_MAX];
    unsigned count;
    bool unmarked;
};

static const struct {
    const char *name;
    lzma_vli id;
} branches[] = {
    {"x86", LZMA_FILTER_X86}, {"powerpc", LZMA_FILTER_POWERPC},   {"ia64", LZMA_FILTER_IA64},
    {"arm", LZMA_FILTER_ARM}, {"armthumb", LZMA_FILTER_ARMTHUMB}, {"sparc", LZMA_FILTER_SPARC},
};

/* Parse up to four numbers, "8388608/3/0/2"; returns how many, 0 if the text is not valid. */
static unsigned rawlzma_read_numbers(char *text, uint64_t numbers[4])
{
    unsigned count = 0;
    for (char *end; text; text = end) {
        end = strchr(text, '/');
        if (end)
            *end++ = '\0';
        if (count == 4 || !codec_number(text, &numbers[count++]))
            return 0;
    }
    return count;
}

static bool add_lzma(struct filters *f, lzma_vli id, const uint64_t numbers[4])
{
    lzma_options_lzma *o = &f->of[f->count].lzma;
    if (numbers[0] > UINT32_MAX || numbers[1] > LZMA_LCLP_MAX || numbers[2] > LZMA_LCLP_MAX ||
        numbers[1] + numbers[2] > LZMA_LCLP_MAX || numbers[3] > LZMA_PB_MAX)
        return false;
    *o = (lzma_options_lzma){.dict_size = (uint32_t)numbers[0],
                             .lc = (uint32_t)numbers[1],
                             .lp = (uint32_t)numbers[2],
                             .pb = (uint32_t)numbers[3]};
    f->list[f->count++] = (lzma_filter){id, o};
    return true;
}

static bool add_delta(struct filters *f, uint64_t distance)
{
    lzma_options_delta *o = &f->of[f->count].delta;
    if (distance < LZMA_DELTA_DIST_MIN || distance > LZMA_DELTA_DIST_MAX)
        return false;
    *o = (lzma_options_delta){.type = LZMA_DELTA_TYPE_BYTE, .dist = (uint32_t)distance};
    f->list[f->count++] = (lzma_filter){LZMA_FILTER_DELTA, o};
    return true;
}

static bool add_branch(struct filters *f, const char *name, uint64_t start)
{
    lzma_options_bcj *o = &f->of[f->count].branch;
    for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++) {
        if (strcmp(name, branches[i].name) != 0 || start > UINT32_MAX)
            continue;
        *o = (lzma_options_bcj){.start_offset = (uint32_t)start};
        f->list[f->count++] = (lzma_filter){branches[i].id, o};
        return true;
    }
    return false;
}

/* Add a filter like "lzma2=8388608", or note "unmarked". */
static bool rawlzma_add_filter(struct filters *f, char *text)
{
    uint64_t numbers[4] = {0};
    char *equals = strchr(text, '=');
    if (strcmp(text, "unmarked") == 0)
        return f->unmarked = true;
    if (f->count == LZMA_FILTERS_MAX || !equals)
        return false;
    *equals = '\0';
    unsigned count = rawlzma_read_numbers(equals + 1, numbers);
    if (strcmp(text, "lzma1") == 0)
        return count == 4 && add_lzma(f, LZMA_FILTER_LZMA1, numbers);
    if (strcmp(text, "lzma2") == 0)
        return count == 1 && add_lzma(f, LZMA_FILTER_LZMA2, numbers);
    if (strcmp(text, "delta") == 0)
        return count == 1 && add_delta(f, numbers[0]);
    return count == 1 && add_branch(f, text, numbers[0]);
}

static bool parse_filters(const char *list, struct filters *f)
{
    char text[CODEC_STEP_BYTES], *at = text;
    *f = (struct filters){.count = 0};
    snprintf(text, sizeof(text), "%s", list); /* part of a step */
    for (char *end; at; at = end) {
        end = strchr(at, ',');
        if (end)
            *end++ = '\0';
        if (!rawlzma_add_filter(f, at))
            return false;
    }
    f->list[f->count].id = LZMA_VLI_UNKNOWN;
    return true;
}

static bool rawlzma_size(const struct codec_args *args, uint64_t in, struct codec_size *size)
{
    struct filters f;
    (void)in;
    (void)size; /* as stated */
    return parse_filters(args->rest, &f);
}

static enum status rawlzma_decode(const struct codec_step *step, struct bytes in, uint8_t *out,
                                  size_t room, size_t *made, struct error *err)
{
    const struct liblzma *lib = library_lzma(step, err);
    lzma_stream z = LZMA_STREAM_INIT;
    struct filters f;
    if (!lib)
        return err->status;
    parse_filters(step->args.rest, &f);
    /* A dictionary never needs to be larger than the decoded data, so a stated size above that
     * must not cost memory. */
    for (unsigned i = 0; i < f.count; i++) {
        if (f.list[i].id != LZMA_FILTER_LZMA1 && f.list[i].id != LZMA_FILTER_LZMA2)
            continue;
        uint64_t most = room < DICTIONARY_MOST ? room : DICTIONARY_MOST;
        most = most < DICTIONARY_LEAST ? DICTIONARY_LEAST : most;
        if (f.of[i].lzma.dict_size > most)
            f.of[i].lzma.dict_size = (uint32_t)most;
        if (f.of[i].lzma.dict_size < DICTIONARY_LEAST)
            f.of[i].lzma.dict_size = DICTIONARY_LEAST;
    }
    const bool may_end = f.unmarked && room >= step->args.number[0]; /* when the output is full */
    lzma_ret rc = lib->raw(&z, f.list);
    bool begun = rc == LZMA_OK;
    if (begun)
        rc = codec_lzma_run(lib, &z, in, out, room, !may_end);
    if (begun && may_end && !z.avail_out) {
        z.avail_in = 0;
        rc = LZMA_STREAM_END;
    }
    *made = (size_t)z.total_out;
    size_t left = z.avail_in;
    lib->close(&z);
    if (rc == LZMA_MEM_ERROR)
        return error_set(err, ERR_MEMORY, step->name, step->offset, "no memory");
    if (rc == LZMA_OPTIONS_ERROR)
        return error_set(err, ERR_UNSUPPORTED, step->name, step->offset,
                         "%s: filters that the library does not have", step->codec);
    if (*made > room)
        return OK;
    if (rc != LZMA_STREAM_END)
        return codec_corrupt(step, err, "data is damaged or cut short after %zu bytes", *made);
    return left ? codec_corrupt(step, err, "%zu bytes after the end", left) : OK;
}

static uint64_t rawlzma_memory(uint64_t out)
{
    return (out < DICTIONARY_MOST ? out : DICTIONARY_MOST) + MEMORY;
}

const struct codec codec_rawlzma = {.name = "rawlzma",
                                    .args = "S,*",
                                    .size = rawlzma_size,
                                    .decode = rawlzma_decode,
                                    .memory = rawlzma_memory};
