/*
 * torch_script.c - what a TorchScript archive holds beside a state dict.
 *
 *   code/A/B.py     classes of the module A.B; of a class
 *                       __parameters__ = ["weight", ]
 *                       __buffers__ = ["running_mean", ]
 *                   are what its state_dict() has. Other tensors are attributes, which it leaves out.
 *   constants.pkl   a tuple of the constants in the code; constants/KEY their storages. What
 *                   torch.jit.freeze() has made has its weights here, and no state dict.
 */
#include <string.h>

#include "importer/format/torch/torch_zip.h"

#define CLASS "class "

struct script {
    struct torch_zip *zip;
    struct arena *arena;   /* of the keys */
    struct strmap modules; /* whose code was read */
    struct strmap classes; /* "A.B.Class" */
    struct strmap kept;    /* "A.B.Class", NUL, "weight" */
    struct text key;
};

/* --- attributes --------------------------------------------------------------------------- */

/* Take the names in quotes of a line as kept by the class whose key is in s->key. */
static void take_names(struct script *s, const char *line, const char *end)
{
    const size_t len = s->key.len;
    const char *at = memchr(line, '"', (size_t)(end - line)), *kept;
    bool added;
    while (at) {
        const char *name = at + 1, *close = memchr(name, '"', (size_t)(end - name));
        if (!close)
            return;
        text_addc(&s->key, '\0');
        text_add(&s->key, name, (size_t)(close - name));
        if (text_str(&s->key))
            strmap_keep(&s->kept, s->arena, s->key.at, s->key.len, &kept, &added);
        s->key.len = len;
        at = memchr(close + 1, '"', (size_t)(end - close - 1));
    }
}

static bool line_begins(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* Learn the classes of a module's code. */
static void learn_code(struct script *s, const char *module, size_t len, struct bytes code)
{
    const char *at = (const char *)code.at, *const stop = at + code.len;
    const char *kept;
    bool added;
    for (const char *end; at < stop; at = end + 1) {
        end = memchr(at, '\n', (size_t)(stop - at));
        end = end ? end : stop;
        if (line_begins(at, end, CLASS)) {
            const char *name = at + strlen(CLASS);
            const size_t most = (size_t)(end - name);
            const char *paren = memchr(name, '(', most);
            text_reset(&s->key);
            text_add(&s->key, module, len);
            text_addc(&s->key, '.');
            text_add(&s->key, name, paren ? (size_t)(paren - name) : most);
            if (text_str(&s->key))
                strmap_keep(&s->classes, s->arena, s->key.at, s->key.len, &kept, &added);
        } else if (s->key.len && (line_begins(at, end, "  __parameters__ = [") ||
                                  line_begins(at, end, "  __buffers__ = ["))) {
            take_names(s, at, end);
        }
    }
}

/* Read the code of a module once. Code that cannot be read says nothing. */
static void read_code(struct torch_tree *t, struct script *s, const char *module, size_t len)
{
    struct error ignored = {.offset = NO_OFFSET};
    struct arena arena = {.ceiling = t->arena->ceiling, .err = &ignored};
    struct text path = {0};
    struct bytes code;
    bool added;
    strmap_add(&s->modules, module, len, &added);
    if (!added)
        return;
    text_adds(&path, "code/");
    text_add(&path, module, len);
    for (char *dot = path.at; dot && (dot = strchr(dot, '.'));)
        *dot = '/';
    text_adds(&path, ".py");
    const struct zip_member *m =
        text_str(&path) ? torch_zip_member(s->zip, path.at, path.len) : NULL;
    text_reset(&s->key);
    if (m && zip_read(&s->zip->zip, m, LIMIT_JSON_SIDE_FILE, &arena, &code, &ignored) == OK)
        learn_code(s, module, len, code);
    if (ignored.status == ERR_MEMORY || path.failed || s->key.failed)
        error_memory(t->job->err);
    arena_release(&arena);
    text_release(&path);
}

static bool is_left_out(struct torch_tree *t, pickle_ref call, pickle_ref attribute)
{
    struct script *s = t->script;
    const struct pickle *p = t->pickle;
    const struct pickle_node *callee = pickle_at(p, pickle_at(p, call)->call->callee),
                             *name = pickle_at(p, attribute);
    if (torch_callee(p, call) != TORCH_SCRIPT || callee->kind != PICKLE_GLOBAL ||
        name->kind != PICKLE_TEXT)
        return false;
    const struct pickle_global *g = &p->globals[callee->integer];
    read_code(t, s, g->name, g->module_len);
    if (!strmap_get(&s->classes, g->name, g->len))
        return false;
    text_reset(&s->key);
    text_add(&s->key, g->name, g->len);
    text_addc(&s->key, '\0');
    text_add(&s->key, name->text, name->count);
    return text_str(&s->key) && !strmap_get(&s->kept, s->key.at, s->key.len);
}

/* --- the archive -------------------------------------------------------------------------- */

/* Emit the constants of a frozen module. */
static void state_constants(struct torch_tree *t, struct torch_zip *z, struct error *err)
{
    struct torch_tree constants = {.job = t->job,
                                   .arena = t->arena,
                                   .path = t->path,
                                   .prefix = "constants",
                                   .no_facts = true,
                                   .run = {.file = t->run.file}};
    if (!torch_zip_run(&constants, z, "constants", err))
        return;
    torch_tree_state(&constants);
    if (constants.names.count)
        job_issue(t->job, ISSUE_WARNING, t->path, NO_OFFSET, "frozen",
                  "a frozen TorchScript module: it has no state_dict, and its %llu tensors are "
                  "constants of its code",
                  (unsigned long long)constants.names.count);
    torch_tree_release(&constants);
}

void torch_script_state(struct torch_tree *t, struct torch_zip *z, struct error *err)
{
    struct error *const lost = t->job->err;
    struct script s = {
        .zip = z, .arena = t->arena, .modules.err = lost, .classes.err = lost, .kept.err = lost};
    t->script = &s;
    t->left_out = is_left_out;
    torch_tree_state(t);
    if (!t->names.count && !z->cut && lost->status == OK)
        state_constants(t, z, err);
    strmap_release(&s.modules);
    strmap_release(&s.classes);
    strmap_release(&s.kept);
    text_release(&s.key);
}
