#include "catalog/maps/map/form_walk.h"

#include <string.h>

static struct bytes form_bytes_of(const char *text, size_t len)
{
    return (struct bytes){(const uint8_t *)text, len};
}

bool form_next(struct form_walk *w, const char *text, size_t len, struct text *key,
               struct form_value *value)
{
    struct json *j = &w->json;
    if (!w->begun) {
        w->begun = true;
        w->err = (struct error){.offset = NO_OFFSET};
        json_init(j, cursor_over(form_bytes_of(text, len), 0), &w->arena, NULL, &w->err);
        json_next(j);
    }
    text_reset(key);
    text_adds(key, "");
    if (json_next(j) == JSON_KEY) {
        text_add(key, j->text.at, j->text.len);
        json_next(j);
    }
    *value = (struct form_value){j->type, text + j->at, 0};
    w->failed = j->type == JSON_FAIL || key->failed;
    if (key->failed)
        error_memory(&w->err);
    if (w->failed || j->type == JSON_OBJECT_END || j->type == JSON_ARRAY_END || j->type == JSON_END)
        return false;
    w->failed = !json_skip(j);
    value->len = (size_t)(cursor_offset(&j->cursor)) - (size_t)(value->at - text);
    return !w->failed;
}

bool form_walk_end(struct form_walk *w)
{
    arena_release(&w->arena);
    return w->err.status != ERR_MEMORY;
}

/* (Without an arena the reader decodes nothing, so it cannot run out of memory.) */
struct form_value form_member(const char *text, size_t len, const char *key)
{
    struct json j;
    struct error err = {.offset = NO_OFFSET};
    struct form_value found = {JSON_FAIL, NULL, 0};
    json_init(&j, cursor_over(form_bytes_of(text, len), 0), NULL, NULL, &err);
    for (bool object = json_next(&j) == JSON_OBJECT; object && json_next(&j) == JSON_KEY;) {
        bool is = found.type == JSON_FAIL && json_is(&j, key);
        json_next(&j);
        struct form_value value = {j.type, text + j.at, 0};
        json_skip(&j);
        value.len = (size_t)cursor_offset(&j.cursor) - (size_t)(value.at - text);
        if (is)
            found = value;
    }
    /* Text after the object, perhaps a second one, would be lost. */
    bool whole = j.type == JSON_OBJECT_END && json_next(&j) == JSON_END;
    return whole ? found : (struct form_value){JSON_FAIL, NULL, 0};
}

static const char *form_copied(struct arena *arena, const struct form_value *v, bool decoded)
{
    struct arena scratch = {0};
    struct error err = {.offset = NO_OFFSET};
    struct json j;
    struct text out = {0};
    json_init(&j, cursor_over(form_bytes_of(v->at, v->len), 0), &scratch, NULL, &err);
    if (json_next(&j) == JSON_STRING && decoded)
        text_add(&out, j.text.at, j.text.len);
    else if (j.type != JSON_FAIL)
        json_copy(&j, &out);
    const char *copy =
        err.status == OK && text_str(&out) ? arena_copy(arena, text_str(&out), out.len) : NULL;
    text_release(&out);
    arena_release(&scratch);
    return copy;
}

const char *form_string(struct arena *arena, const struct form_value *v)
{
    return form_copied(arena, v, true);
}

const char *form_copy(struct arena *arena, const struct form_value *v)
{
    return form_copied(arena, v, false);
}

bool form_has_nul(const char *json, size_t len)
{
    for (size_t i = 0; i + 5 < len; i++)
        if (json[i] == '\\' && strncmp(json + i, "\\u0000", 6) == 0)
            return true;
        else if (json[i] == '\\')
            i++;
    return false;
}

bool form_has(const char *list)
{
    return list && strcmp(list, "[]") != 0;
}
