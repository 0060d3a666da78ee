#define PCRE2_CODE_UNIT_WIDTH 8
#include "catalog/maps/regex/regex.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/maps/regex/pysyntax.h"

/* A pattern comes from a table that anybody may have filled, so time and memory are limited. */
#define MATCH_LIMIT    10000000u /* steps from one starting point: about 0.1 s */
#define HEAP_LIMIT_KIB (64u << 10)
#define STACK_FIRST    ((size_t)64 << 10)
#define STACK_MOST     ((size_t)64 << 20)

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack; /* made when JIT's default 32 KiB were not enough */
    bool jit;
    unsigned groups;    /* without group 0 */
    const size_t *span; /* of the last match: begin and end of each group */
    unsigned spans;     /* groups from this number on took no part in the last match */
    struct pysyntax syntax;
};

static enum status pcre_error(struct error *err, enum status status, int code)
{
    unsigned char message[256];
    pcre2_get_error_message(code, message, sizeof(message));
    return error_set(err, status, NULL, NO_OFFSET, "PCRE2: %s", (char *)message);
}

/*
 * The optimisation by which PCRE2 10.42 finds possible starts of a match is wrong if the pattern
 * has
 *   - a positive look-ahead (or text that looks like one): it counts a character in the look-ahead
 *     as consumed, and then requires a longer text: (?=a).*a does not find "a";
 *   - alternatives of different lengths, with JIT, in a search: (?:.|)a*b does not find "b".
 */
static bool start_misleads(const char *pattern, size_t len, enum regex_how how)
{
    if (how == REGEX_SEARCH && memchr(pattern, '|', len))
        return true;
    for (size_t i = 0; i + 3 <= len; i++)
        if (memcmp(pattern + i, "(?=", 3) == 0)
            return true;
    return false;
}

static enum status compile_pcre(struct regex *re, enum regex_how how, bool misleads,
                                struct error *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_ALT_CIRCUMFLEX;
    if (how != REGEX_SEARCH)
        options |= PCRE2_ANCHORED;
    if (how == REGEX_FULLMATCH)
        options |= PCRE2_ENDANCHORED;
    if (misleads)
        options |= PCRE2_NO_START_OPTIMIZE;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return error_memory(err);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code = 0;
    size_t offset = 0;
    re->code = pcre2_compile((PCRE2_SPTR)text_str(&re->syntax.pcre), re->syntax.pcre.len, options,
                             &code, &offset, context);
    pcre2_compile_context_free(context);
    if (re->code)
        return OK;
    return pcre_error(err, code == PCRE2_ERROR_HEAP_FAILED ? ERR_MEMORY : ERR_UNSUPPORTED, code);
}

/* Where JIT is not possible (memory may not be both writable and executable), PCRE2 interprets
 * the pattern. JIT is not used with groups in a possessive repeat: if the rest of the pattern
 * then fails, JIT does not reset these groups (10.42). */
static enum status prepare_match(struct regex *re, struct error *err)
{
    size_t jit_size = 0;
    re->jit = !re->syntax.possessive && pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0 &&
              pcre2_pattern_info(re->code, PCRE2_INFO_JITSIZE, &jit_size) == 0 && jit_size > 0;
    re->match = pcre2_match_data_create_from_pattern(re->code, NULL);
    re->limits = pcre2_match_context_create(NULL);
    if (!re->match || !re->limits)
        return error_memory(err);
    re->span = pcre2_get_ovector_pointer(re->match);
    pcre2_set_match_limit(re->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KIB);
    return OK;
}

enum status regex_compile(const char *pattern, size_t len, enum regex_how how, struct regex **out,
                          struct error *err)
{
    if (!utf8_valid(pattern, len))
        return error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "the pattern is not UTF-8");
    struct regex *re = calloc(1, sizeof(*re));
    if (!re)
        return error_memory(err);
    enum status status = pysyntax_read(pattern, len, NULL, &re->syntax, err);
    if (status == OK)
        status = compile_pcre(re, how, start_misleads(pattern, len, how), err);
    if (status == OK)
        status = prepare_match(re, err);
    if (status != OK) {
        regex_free(re);
        return status;
    }
    text_release(&re->syntax.pcre);
    re->groups = re->syntax.groups;
    *out = re;
    return OK;
}

bool regex_find_keys(const char *pattern, size_t len, enum regex_how how, struct arena *arena,
                     struct regex_keys *out)
{
    const struct pysyntax_keys keys = {how, arena, out};
    struct pysyntax syntax = {0};
    struct error err = {0};
    enum status status = OK;
    *out = (struct regex_keys){0};
    if (utf8_valid(pattern, len))
        status = pysyntax_read(pattern, len, &keys, &syntax, &err);
    pysyntax_release(&syntax);
    if (status != OK)
        *out = (struct regex_keys){0};
    return status != ERR_MEMORY;
}

void regex_free(struct regex *re)
{
    if (!re)
        return;
    pcre2_jit_stack_free(re->stack);
    pcre2_match_context_free(re->limits);
    pcre2_match_data_free(re->match);
    pcre2_code_free(re->code);
    pysyntax_release(&re->syntax);
    free(re);
}

unsigned regex_groups(const struct regex *re)
{
    return re->groups;
}

int regex_group_named(const struct regex *re, const char *name, size_t len)
{
    const uint64_t *group = strmap_get(&re->syntax.names, name, len);
    return group ? (int)*group : -1;
}

static bool is_ascii(const char *text, size_t len)
{
    uint64_t any = 0, word;
    size_t i = 0;
    for (; i + sizeof(word) <= len; i += sizeof(word)) {
        memcpy(&word, text + i, sizeof(word));
        any |= word;
    }
    for (; i < len; i++)
        any |= (unsigned char)text[i];
    return !(any & UINT64_C(0x8080808080808080));
}

static bool grow_stack(struct regex *re)
{
    if (re->stack)
        return false;
    re->stack = pcre2_jit_stack_create(STACK_FIRST, STACK_MOST, NULL);
    if (re->stack)
        pcre2_jit_stack_assign(re->limits, NULL, re->stack);
    return re->stack;
}

/* The caller has checked that `text` is UTF-8 and that `start` is at a character. */
static int regex_run(struct regex *re, const char *text, size_t len, size_t start, uint32_t options,
                     struct error *err)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text ? text : "");
    int rc = 0;
    do {
        if (re->jit)
            rc = pcre2_jit_match(re->code, subject, len, start, options, re->match, re->limits);
        else
            rc = pcre2_match(re->code, subject, len, start, options | PCRE2_NO_UTF_CHECK, re->match,
                             re->limits);
    } while (rc == PCRE2_ERROR_JIT_STACKLIMIT && grow_stack(re));
    re->spans = rc > 0 ? (unsigned)rc : 0;
    if (rc > 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == PCRE2_ERROR_NOMEMORY || (rc == PCRE2_ERROR_JIT_STACKLIMIT && !re->stack)) {
        error_memory(err);
    } else {
        pcre_error(err, ERR_LIMIT, rc);
        error_prefix(err, "the pattern takes too many steps on this text");
    }
    return -1;
}

int regex_exec(struct regex *re, const char *text, size_t len, size_t start, struct error *err)
{
    re->spans = 0;
    if (!is_ascii(text, len) && !utf8_valid(text, len)) {
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "the text is not UTF-8");
        return -1;
    }
    if (start > len || (start < len && ((unsigned char)text[start] & 0xC0) == 0x80)) {
        error_set(err, ERR_ARGUMENT, NULL, NO_OFFSET, "a search cannot begin at byte %zu of %zu",
                  start, len);
        return -1;
    }
    return regex_run(re, text, len, start, 0, err);
}

int regex_exec_known(struct regex *re, const char *text, size_t len, struct error *err)
{
    return regex_run(re, text, len, 0, 0, err);
}

int regex_exec_next(struct regex *re, const char *text, size_t len, struct error *err)
{
    size_t begin = 0, end = 0;
    if (!regex_span(re, 0, &begin, &end))
        return 0;
    return regex_run(re, text, len, end, begin == end ? PCRE2_NOTEMPTY_ATSTART : 0, err);
}

bool regex_span(const struct regex *re, unsigned group, size_t *begin, size_t *end)
{
    const size_t *span = re->span + 2 * (size_t)group;
    if (group >= re->spans || span[0] == PCRE2_UNSET)
        return false;
    *begin = span[0];
    *end = span[1];
    return true;
}
