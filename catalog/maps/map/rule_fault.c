/* rule_fault.c - faults of rules, and texts that live as long as they do (rules_private.h). */
#include "catalog/maps/map/rules_private.h"

const char rules_no_memory[] = "MemoryError: out of memory";

const char *rules_keep(struct rules *s, const char *string)
{
    return string ? arena_copy(&s->arena, string, strlen(string)) : NULL;
}

struct expansion rules_expansion(struct rules *s, const char *source)
{
    return (struct expansion){.source = rules_keep(s, source), .len = source ? strlen(source) : 0};
}

const char *rules_fault_of(struct rules *s, const char *type, const char *text, const char *detail)
{
    struct text t = {0};
    text_addf(&t, "%s: %s%s%s", type, text, detail ? " " : "", detail ? detail : "");
    const char *kept = rules_keep(s, text_str(&t));
    text_release(&t);
    return kept ? kept : rules_no_memory;
}

static const char *class_of(const struct error *err)
{
    return err->code ? err->code : "error";
}

const char *rules_fault_from(struct rules *s, const struct error *err)
{
    return err->status == ERR_MEMORY ? rules_no_memory
                                     : rules_fault_of(s, class_of(err), err->message, NULL);
}

bool rules_fail_match(struct rules *s, const struct error *err)
{
    if (err->status == ERR_MEMORY)
        return rules_fail(s, rules_no_memory);
    rules_fail(s, class_of(err));
    text_addf(&s->out, ": %s", err->message);
    return false;
}

bool rules_fail(struct rules *s, const char *fault)
{
    s->lacked = s->lacked || fault == rules_no_memory;
    text_reset(&s->out);
    text_adds(&s->out, fault);
    return false;
}
