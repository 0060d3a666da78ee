#include "catalog/maps/map/setting.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/base/json.h"

#define SOURCES_MAX 8 /* metadata keys of one setting */
#define BOUND       "{\"ruleset\":"

/* The declaration of one setting in the options. */
struct declared {
    const char *key;
    const char *from[SOURCES_MAX];
    unsigned sources;
    bool number;
    const char *like, *otherwise;
    const char *ratio[2];
};

struct resolving {
    const struct setting_source *source;
    struct arena *arena;
    struct settings *out;
    struct error *err;
};

/* --- the declaration --------------------------------------------------------------------- */

static const char *kept(struct json *j)
{
    const char *copy = arena_copy(j->arena, j->text.at, j->text.len);
    if (!copy)
        json_fail(j, ERR_MEMORY, NULL, "no memory");
    return copy;
}

static const char *setting_read_text(struct json *j)
{
    return json_want(j, JSON_STRING, "a text") ? kept(j) : NULL;
}

/* Read a list of at most `most` texts; returns how many. */
static unsigned read_list(struct json *j, const char **out, unsigned most)
{
    unsigned count = 0;
    if (!json_want(j, JSON_ARRAY, "a list"))
        return 0;
    while (json_next(j) == JSON_STRING && count < most)
        out[count++] = kept(j);
    if (j->type != JSON_ARRAY_END)
        json_fail(j, ERR_ARGUMENT, NULL, "a list of at most %u texts expected", most);
    return count;
}

static void read_declared(struct json *j, struct declared *d)
{
    if (!json_want(j, JSON_OBJECT, "an object that says where a setting comes from"))
        return;
    while (json_next(j) == JSON_KEY) {
        if (json_is(j, "from")) {
            d->sources = read_list(j, d->from, SOURCES_MAX);
        } else if (json_is(j, "number")) {
            d->number = json_next(j) == JSON_TRUE;
        } else if (json_is(j, "like")) {
            d->like = setting_read_text(j);
        } else if (json_is(j, "else")) {
            d->otherwise = setting_read_text(j);
        } else if (json_is(j, "ratio")) {
            if (read_list(j, d->ratio, 2) != 2)
                json_fail(j, ERR_ARGUMENT, NULL, "a ratio is of two settings");
        } else {
            json_fail(j, ERR_ARGUMENT, NULL, "a setting has no \"%.*s\"",
                      (int)(j->text.len < 100 ? j->text.len : 100), (const char *)j->text.at);
        }
    }
}

/* --- one setting ------------------------------------------------------------------------- */

static const struct setting *setting_called(const struct settings *s, const char *key)
{
    for (unsigned i = 0; key && i < s->count; i++)
        if (strcmp(s->at[i].key, key) == 0)
            return &s->at[i];
    return NULL;
}

/* The value of a text of at most nine digits; 0: not a number, or zero. */
static unsigned long whole(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len > 9 || strspn(text, "0123456789") != len)
        return 0;
    return strtoul(text, NULL, 10);
}

static const char *arena_text(struct resolving *r, struct text *t)
{
    const char *copy = text_str(t) ? arena_copy(r->arena, t->at, t->len) : NULL;
    text_release(t);
    if (!copy)
        error_memory(r->err);
    return copy;
}

static void add_remedy(struct text *t, const struct declared *d)
{
    text_addf(t, "; --set %s=%s says it", d->key, d->number ? "N" : "TEXT");
}

/* Take `said` as the value, if it is valid; `who` is the option or the metadata key that says
 * it. */
static bool setting_take(struct resolving *r, const struct declared *d, struct setting *s,
                         const char *who, const char *said)
{
    struct text why = {0};
    if (!d->number || whole(said)) {
        s->value = said;
        return true;
    }
    text_addf(&why, "ValueError: %s: %s says %.100s, which is not a whole number above 0", d->key,
              who, *said ? said : "nothing");
    if (strcmp(who, "--set") != 0)
        add_remedy(&why, d);
    s->fault = arena_text(r, &why);
    return false;
}

/* Take the value from the metadata; all keys that are there must agree. */
static void take_stated(struct resolving *r, const struct declared *d, struct setting *s)
{
    const char *who = NULL;
    for (unsigned i = 0; i < d->sources && !s->fault; i++) {
        const char *said = r->source->metadata(r->source->context, d->from[i], r->arena);
        if (!said)
            continue;
        s->stated = true;
        if (!who && setting_take(r, d, s, d->from[i], said)) {
            who = d->from[i];
        } else if (who && strcmp(s->value, said) != 0) {
            struct text why = {0};
            text_addf(&why, "ValueError: %s: %s says %.100s, but %s says %.100s", d->key, who,
                      s->value, d->from[i], said);
            add_remedy(&why, d);
            s->fault = arena_text(r, &why);
        }
    }
    if (s->fault)
        s->value = NULL;
}

/* Take one setting divided by another, if both are known. */
static void take_ratio(struct resolving *r, const struct declared *d, struct setting *s)
{
    const struct setting *a = setting_called(r->out, d->ratio[0]);
    const struct setting *b = setting_called(r->out, d->ratio[1]);
    unsigned long over = a && a->value ? whole(a->value) : 0;
    unsigned long under = b && b->value ? whole(b->value) : 0;
    struct text t = {0};
    if (!over || !under)
        return;
    if (over % under == 0) {
        text_addf(&t, "%lu", over / under);
        s->value = arena_text(r, &t);
    } else {
        text_addf(&t, "ValueError: %s: %s is %lu, which %s, %lu, does not divide", d->key, a->key,
                  over, b->key, under);
        s->fault = arena_text(r, &t);
    }
}

static void say_unknown(struct resolving *r, const struct declared *d, struct setting *s)
{
    struct text why = {0};
    text_addf(&why, "KeyError: %s is not known: the checkpoint's metadata has no", d->key);
    for (unsigned i = 0; i < d->sources; i++)
        text_addf(&why, "%s %s", i == 0 ? "" : i + 1 == d->sources ? " and no" : ",", d->from[i]);
    add_remedy(&why, d);
    s->fault = arena_text(r, &why);
}

static void resolve(struct resolving *r, const struct declared *d)
{
    struct setting s = {.key = d->key};
    const struct setting *like = setting_called(r->out, d->like);
    const char *given = r->source->given(r->source->context, d->key);
    take_stated(r, d, &s);
    if (given) {
        s.fault = NULL;
        s.value = NULL;
        given = arena_copy(r->arena, given, strlen(given));
        if (!given)
            error_memory(r->err);
        else
            setting_take(r, d, &s, "--set", given);
    }
    if (!s.value && !s.fault && like && like->stated)
        s.value = like->value, s.fault = like->fault;
    if (!s.value && !s.fault)
        take_ratio(r, d, &s);
    if (!s.value && !s.fault)
        s.value = d->otherwise;
    if (!s.value && !s.fault)
        say_unknown(r, d, &s);
    r->out->at[r->out->count++] = s;
}

enum status settings_resolve(struct bytes options, const struct setting_source *source,
                             struct arena *arena, struct settings *out, struct error *err)
{
    struct resolving r = {source, arena, out, err};
    struct json j;
    out->count = 0;
    json_init(&j, cursor_over(options, 0), arena, "options", err);
    json_want(&j, JSON_OBJECT, "an object");
    while (json_next(&j) == JSON_KEY) {
        if (!json_is(&j, "settings")) {
            json_next(&j);
            json_skip(&j);
            continue;
        }
        json_want(&j, JSON_OBJECT, "\"settings\" as an object");
        while (json_next(&j) == JSON_KEY && err->status == OK) {
            struct declared d = {.key = kept(&j)};
            read_declared(&j, &d);
            if (err->status == OK && out->count == SETTINGS_MAX)
                json_fail(&j, ERR_LIMIT, NULL, "more than %d settings", SETTINGS_MAX);
            if (err->status == OK)
                resolve(&r, &d);
        }
    }
    return err->status;
}

/* --- as a text --------------------------------------------------------------------------- */

bool setting_bind(struct text *out, const char *ruleset, const struct settings *s)
{
    if (!s->count)
        return text_adds(out, ruleset);
    text_adds(out, BOUND);
    text_json(out, ruleset, strlen(ruleset));
    text_adds(out, ",\"settings\":[");
    for (unsigned i = 0; i < s->count; i++) {
        const struct setting *one = &s->at[i];
        const char *said = one->value ? one->value : one->fault;
        text_adds(out, i ? ",[" : "[");
        text_json(out, one->key, strlen(one->key));
        text_adds(out, one->value ? ",true," : ",false,");
        text_json(out, said, strlen(said));
        text_addc(out, ']');
    }
    return text_adds(out, "]}");
}

static bool read_bound(struct json *j, const char **ruleset, struct settings *out)
{
    if (!json_want(j, JSON_OBJECT, "a bound rule set") || !json_want(j, JSON_KEY, "ruleset"))
        return false;
    *ruleset = setting_read_text(j);
    if (!json_want(j, JSON_KEY, "settings") || !json_want(j, JSON_ARRAY, "a list"))
        return false;
    while (json_next(j) == JSON_ARRAY && out->count < SETTINGS_MAX) {
        struct setting *s = &out->at[out->count++];
        *s = (struct setting){.key = setting_read_text(j)};
        bool known = json_next(j) == JSON_TRUE;
        *(known ? &s->value : &s->fault) = setting_read_text(j);
        json_want(j, JSON_ARRAY_END, "the end of a setting");
    }
    return j->type == JSON_ARRAY_END && json_want(j, JSON_OBJECT_END, "the end");
}

const char *setting_unbind(const char *bound, struct arena *arena, struct settings *out)
{
    struct error err = {.offset = NO_OFFSET};
    const char *ruleset = NULL;
    struct json j;
    out->count = 0;
    if (strncmp(bound, BOUND, strlen(BOUND)) == 0) {
        json_init(&j, cursor_over((struct bytes){(const uint8_t *)bound, strlen(bound)}, 0), arena,
                  NULL, &err);
        if (read_bound(&j, &ruleset, out))
            return ruleset;
        out->count = 0;
    }
    return arena_copy(arena, bound, strlen(bound)); /* any text may name a set */
}
