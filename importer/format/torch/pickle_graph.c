/*
 * pickle_graph.c - run the opcodes of protocols 0 to 5 (listed in pickletools.py) symbolically.
 *
 * An opcode that builds something pops its parts and pushes one node. Numbers, None, booleans
 * and the empty tuple are immutable, so equal ones may share a node.
 */
#include "importer/format/torch/pickle_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/base/limits.h"
#include "catalog/base/text.h"
#include "importer/format/torch/pickle_machine.h"

struct opcode {
    void (*run)(struct machine *); /* NULL: no opcode */
    uint8_t width; /* bytes of the number that follows, or how many values it takes */
    uint8_t kind;  /* what it makes */
};

/* --- numbers ---------------------------------------------------------------------------- */

static void do_constant(struct machine *m)
{
    machine_push(m, m->op->kind);
}

static void push_big(struct machine *m, const char *digits, size_t len)
{
    char *text = machine_text_room(m, len, NO_OFFSET);
    if (text)
        memcpy(text, digits, len);
    machine_push_text(m, PICKLE_BIGINT, text, len, 0);
}

/* Convert a little-endian two's complement of more than 8 bytes to decimal digits. */
static void push_wide(struct machine *m, const uint8_t *bytes, size_t len)
{
    uint8_t number[LIMIT_PICKLE_INT];
    char digits[LIMIT_PICKLE_INT * 5 / 2 + 2];
    size_t at = sizeof(digits);
    bool negative = bytes[len - 1] & 0x80, any = true, carry = negative;
    for (size_t i = 0; i < len; i++) {
        number[i] = negative ? (uint8_t)(~bytes[i] + carry) : bytes[i];
        carry = carry && number[i] == 0;
    }
    while (any) {
        unsigned rest = 0;
        any = false;
        for (size_t i = len; i-- > 0;) {
            unsigned part = rest << 8 | number[i];
            number[i] = (uint8_t)(part / 10);
            rest = part % 10;
            any |= number[i] != 0;
        }
        digits[--at] = (char)('0' + rest);
    }
    if (negative)
        digits[--at] = '-';
    push_big(m, digits + at, sizeof(digits) - at);
}

/* LONG1 and LONG4, where a negative length is over the limit. */
static void do_long(struct machine *m)
{
    uint64_t len = machine_take_number(m, m->op->width), value = 0;
    if (len > LIMIT_PICKLE_INT) {
        machine_fail(m, ERR_LIMIT, "an integer of more than 1,024 bytes");
        return;
    }
    const uint8_t *bytes = machine_take(m, (size_t)len);
    if (!bytes)
        return;
    size_t n = (size_t)len;
    while (n > 8 && bytes[n - 1] == (bytes[n - 2] & 0x80 ? 0xff : 0))
        n--;
    if (n > 8) {
        push_wide(m, bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    if (n && n < 8 && bytes[n - 1] & 0x80)
        value |= UINT64_MAX << (8 * n);
    machine_push_int(m, (int64_t)value);
}

/* INT and LONG: decimal digits; "00" and "01" are booleans, LONG ends in 'L'. */
static void do_decimal(struct machine *m)
{
    size_t len = 0;
    const char *line = machine_take_line(m, &len);
    if (!line)
        return;
    if (!m->op->kind && len == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1')) {
        machine_push(m, line[1] == '1' ? NODE_TRUE : NODE_FALSE);
        return;
    }
    if (len && line[len - 1] == 'L')
        len--;
    size_t sign = len && line[0] == '-';
    bool fits = len > sign && len <= LIMIT_PICKLE_INT;
    for (size_t i = sign; i < len; i++)
        fits = fits && line[i] >= '0' && line[i] <= '9';
    if (!fits) {
        machine_fail(m, ERR_CORRUPT, "an integer that is not a number");
        return;
    }
    errno = 0;
    const long long value = strtoll(line, NULL, 10);
    if (errno == ERANGE)
        push_big(m, line, len);
    else
        machine_push_int(m, value);
}

static void do_int(struct machine *m)
{
    uint64_t value = machine_take_number(m, m->op->width);
    machine_push_int(m, m->op->width == 4 ? (int32_t)value : (int64_t)value);
}

static void do_float_text(struct machine *m)
{
    size_t len = 0;
    char *end = NULL;
    const char *line = machine_take_line(m, &len);
    double value = line ? strtod(line, &end) : 0;
    if (line && (!len || end != line + len))
        machine_fail(m, ERR_CORRUPT, "a float that is not a number");
    machine_push_real(m, value);
}

static void do_float(struct machine *m)
{
    const uint8_t *b = machine_take(m, 8);
    uint64_t bits = b ? load_u64be(b) : 0;
    double value;
    memcpy(&value, &bits, sizeof(value));
    machine_push_real(m, value);
}

/* --- texts ------------------------------------------------------------------------------ */

/* Whether Python decodes it: 'utf-8' with 'surrogatepass'. */
static bool python_decodes(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + len;
    for (int step; at < end; at += step) {
        const size_t left = (size_t)(end - at);
        const bool surrogate =
            left >= 3 && at[0] == 0xed && at[1] >= 0xa0 && at[1] <= 0xbf && (at[2] & 0xc0) == 0x80;
        step = surrogate ? 3 : utf8_length(at, left);
        if (!step)
            return false;
    }
    return true;
}

static void do_text(struct machine *m)
{
    uint64_t len = machine_take_number(m, m->op->width);
    const char *text = machine_take_text(m, len);
    machine_push_text(m, PICKLE_TEXT, text, len, m->op->kind);
    if (text && !m->op->kind && m->depth && !utf8_valid(text, (size_t)len) &&
        !python_decodes(text, (size_t)len))
        machine_odd(m, PICKLE_NOT_UTF8, m->stack[m->depth - 1]);
}

static void do_bytes(struct machine *m)
{
    machine_push_bytes(m, machine_take_number(m, m->op->width));
}

static bool hex_digits(const char *at, size_t count, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* UNICODE: Latin-1 with \\uXXXX and \\UXXXXXXXX. */
static void do_raw_unicode(struct machine *m)
{
    size_t len = 0, made = 0;
    const char *line = machine_take_line(m, &len);
    char *text = line ? machine_text_room(m, 2 * (uint64_t)len, NO_OFFSET) : NULL;
    for (size_t i = 0; text && i < len;) {
        uint32_t c = (uint8_t)line[i];
        size_t digits = c != '\\' || i + 1 == len ? 0
                        : line[i + 1] == 'u'      ? 4
                        : line[i + 1] == 'U'      ? 8
                                                  : 0;
        i++;
        if (digits) {
            if (len - i - 1 < digits || !hex_digits(line + i + 1, digits, &c) || c > 0x10ffff) {
                machine_fail(m, ERR_CORRUPT, "a text with a bad escape");
                return;
            }
            i += 1 + digits;
        }
        made += utf8_put(text + made, c);
    }
    if (text)
        text[made] = '\0';
    machine_push_text(m, PICKLE_TEXT, text, made, 0);
}

/* STRING: a Python 2 string literal in quotes. */
static void do_quoted(struct machine *m)
{
    static const char letters[] = "abfnrtv", controls[] = "\a\b\f\n\r\t\v";
    size_t len = 0, made = 0;
    const char *line = machine_take_line(m, &len);
    if (!line)
        return;
    if (len < 2 || (line[0] != '\'' && line[0] != '"') || line[len - 1] != line[0]) {
        machine_fail(m, ERR_CORRUPT, "a string without its quotes");
        return;
    }
    char *text = machine_text_room(m, len, NO_OFFSET);
    for (size_t i = 1; text && i < len - 1; i++) {
        uint32_t c;
        if (line[i] != '\\') {
            text[made++] = line[i];
        } else if (line[++i] == 'x' && len - 1 - i > 2 && hex_digits(line + i + 1, 2, &c)) {
            text[made++] = (char)c;
            i += 2;
        } else if (i < len - 1) {
            const char *letter = line[i] ? strchr(letters, line[i]) : NULL;
            text[made] = line[i];
            if (letter)
                text[made] = controls[letter - letters];
            made++;
        }
    }
    if (text)
        text[made] = '\0';
    machine_push_text(m, PICKLE_TEXT, text, made, PICKLE_STR8);
}

/* --- names ------------------------------------------------------------------------------ */

/* Python writes the names of Python 2 up to protocol 2, which is torch.save's, and reads them back as today's. */
static const struct {
    const char *old, *today;
} modules[] = {
    {"__builtin__", "builtins"},
    {"copy_reg", "copyreg"},
    {"commands", "subprocess"},
    {"thread", "_thread"},
    {"urllib2", "urllib.request"},
    {"robotparser", "urllib.robotparser"},
    {"httplib", "http.client"},
    {"cookielib", "http.cookiejar"},
    {"Cookie", "http.cookies"},
    {"BaseHTTPServer", "http.server"},
    {"SimpleHTTPServer", "http.server"},
    {"CGIHTTPServer", "http.server"},
    {"SocketServer", "socketserver"},
    {"xmlrpclib", "xmlrpc.client"},
    {"SimpleXMLRPCServer", "xmlrpc.server"},
    {"DocXMLRPCServer", "xmlrpc.server"},
    {"anydbm", "dbm"},
    {"whichdb", "dbm"},
    {"dbhash", "dbm.bsd"},
    {"dumbdbm", "dbm.dumb"},
    {"gdbm", "dbm.gnu"},
    {"cPickle", "pickle"},
    {"_winreg", "winreg"},
    {"torch.tensor", "torch._tensor"},
    {"numpy._core", "numpy.core"},
    {"numpy._core.multiarray", "numpy.core.multiarray"},
    {"numpy._core.numeric", "numpy.core.numeric"},
};

/* Push the global "module.name", with the module's present name. */
static void push_global(struct machine *m, const char *module, size_t module_len, const char *name,
                        size_t name_len)
{
    struct pickle *p = m->p;
    bool added;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (strlen(modules[i].old) == module_len &&
            memcmp(modules[i].old, module, module_len) == 0) {
            module = modules[i].today;
            module_len = strlen(module);
            break;
        }
    }
    const size_t len = module_len + 1 + name_len;
    char *text = arena_room(p->arena, len + 1);
    if (!text)
        return;
    memcpy(text, module, module_len);
    text[module_len] = '.';
    memcpy(text + module_len + 1, name, name_len);
    text[len] = '\0';
    uint64_t *at = strmap_add(&m->names, text, len, &added);
    if (added) {
        *at = p->global_count;
        *PUSH(p->arena, p->globals, p->global_count, m->global_space) = (struct pickle_global){
            .name = text, .len = len, .module_len = module_len, .offset = m->base + m->op_at};
    }
    const int64_t index = (int64_t)*at;
    pickle_ref ref = *at < p->global_count ? machine_node(m, PICKLE_GLOBAL) : 0;
    pickle_at(p, ref)->integer = index;
    machine_push(m, ref);
}

static void do_global(struct machine *m)
{
    size_t module_len = 0, name_len = 0;
    const char *module = machine_take_line(m, &module_len);
    const char *name = module ? machine_take_line(m, &name_len) : NULL;
    if (name)
        push_global(m, module, module_len, name, name_len);
}

static void do_stack_global(struct machine *m)
{
    const struct pickle_node *name = pickle_at(m->p, machine_pop(m)),
                             *module = pickle_at(m->p, machine_pop(m));
    if (module->kind == PICKLE_TEXT && name->kind == PICKLE_TEXT)
        push_global(m, module->text, module->count, name->text, name->count);
    else
        machine_fail(m, ERR_CORRUPT, "a class whose name is not text");
}

static void do_persid(struct machine *m)
{
    size_t len = 0;
    if (m->op->kind) {
        const char *text = machine_take_line(m, &len);
        machine_push_text(m, PICKLE_TEXT, text, len, 0);
    }
    if (m->err->status == OK)
        machine_gather(m, PICKLE_PERSID, 1);
}

/* --- calls ------------------------------------------------------------------------------ */

static void push_call(struct machine *m, pickle_ref callee, pickle_ref args, pickle_ref kwargs)
{
    const struct pickle_node *c = pickle_at(m->p, callee);
    if (c->kind == PICKLE_GLOBAL)
        m->p->globals[c->integer].called = true;
    struct pickle_call *call = arena_alloc(m->p->arena, sizeof(*call));
    if (!call) /* before there is a node, so that each has its call */
        return;
    *call = (struct pickle_call){.callee = callee, .args = args, .kwargs = kwargs};
    pickle_ref ref = machine_node(m, PICKLE_CALL);
    pickle_at(m->p, ref)->call = call;
    machine_push(m, ref);
}

/* REDUCE and NEWOBJ: a callee and a tuple of arguments; NEWOBJ_EX: named arguments too. */
static void do_call(struct machine *m)
{
    pickle_ref kwargs = m->op->width == 3 ? machine_pop(m) : 0;
    pickle_ref args = machine_pop(m), callee = machine_pop(m);
    if (m->err->status == OK)
        push_call(m, callee, args, kwargs);
}

/* INST: the arguments follow a mark. */
static void do_inst(struct machine *m)
{
    do_global(m);
    pickle_ref callee = machine_pop(m);
    machine_gather(m, PICKLE_TUPLE, machine_unmark(m));
    pickle_ref args = machine_pop(m);
    if (m->err->status == OK)
        push_call(m, callee, args, 0);
}

/* OBJ: the same, and the first argument is the class. */
static void do_obj(struct machine *m)
{
    size_t count = machine_unmark(m);
    if (!count) {
        machine_fail(m, ERR_CORRUPT, "an object without a class");
        return;
    }
    machine_gather(m, PICKLE_TUPLE, count - 1);
    do_call(m);
}

static void do_build(struct machine *m)
{
    pickle_ref state = machine_pop(m);
    if (m->depth <= m->fence) {
        machine_fail(m, ERR_CORRUPT, "a state for nothing");
        return;
    }
    const pickle_ref object = m->stack[m->depth - 1];
    const struct pickle_node *n = pickle_at(m->p, object);
    if (n->kind != PICKLE_CALL)
        machine_odd(m, PICKLE_STATE, object);
    else if (n->call->state)
        n->call->more_state = state;
    else
        n->call->state = state;
}

/* --- items ------------------------------------------------------------------------------ */

/* The container, below the top `count` values, that takes them. If it is an object, that is
 * the object's own list or dict. 0: nothing takes them. */
static pickle_ref container(struct machine *m, size_t count, enum pickle_kind kind)
{
    if (m->depth - m->fence <= count) {
        machine_fail(m, ERR_CORRUPT, "items for a container that is not there");
        return 0;
    }
    pickle_ref ref = m->stack[m->depth - count - 1];
    const struct pickle_node *n = pickle_at(m->p, ref);
    if (n->kind == kind)
        return ref;
    struct pickle_call *call = n->kind == PICKLE_CALL ? n->call : NULL;
    if (!call || (!call->dict && !call->list))
        machine_odd(m, PICKLE_ITEMS, ref);
    if (!call)
        return 0;
    pickle_ref *own = kind == PICKLE_DICT ? &call->dict : &call->list;
    if (!*own)
        *own = machine_node(m, kind == PICKLE_DICT ? PICKLE_DICT : PICKLE_LIST);
    return *own;
}

/* Put the items after the last mark, or, if the opcode says how many, the top ones. */
static void do_put(struct machine *m)
{
    const enum pickle_kind kind = (enum pickle_kind)m->op->kind;
    const size_t count = m->op->width ? m->op->width : machine_unmark(m);
    if (m->err->status != OK)
        return;
    if (kind == PICKLE_DICT && count % 2) {
        machine_fail(m, ERR_CORRUPT, "an odd number of keys and values");
        return;
    }
    pickle_ref into = container(m, count, kind);
    if (m->err->status != OK)
        return;
    if (into)
        machine_add_items(m, into, m->stack + m->depth - count, count);
    m->depth -= count;
}

static void do_gather(struct machine *m)
{
    machine_gather(m, (enum pickle_kind)m->op->kind, m->op->width);
}

static void do_gather_marked(struct machine *m)
{
    size_t count = machine_unmark(m);
    if (m->op->kind == PICKLE_DICT && count % 2)
        machine_fail(m, ERR_CORRUPT, "an odd number of keys and values");
    else
        machine_gather(m, (enum pickle_kind)m->op->kind, count);
}

/* --- stack and memo --------------------------------------------------------------------- */

static void do_pop(struct machine *m)
{
    if (m->depth > m->fence || !m->mark_count)
        machine_pop(m);
    else
        machine_unmark(m);
}

static void do_pop_mark(struct machine *m)
{
    m->depth -= machine_unmark(m);
}

static void do_dup(struct machine *m)
{
    pickle_ref top = machine_pop(m);
    machine_push(m, top);
    machine_push(m, top);
}

/* The number of a memo slot: binary, or decimal digits. */
static uint64_t memo_key(struct machine *m)
{
    uint64_t key = 0;
    size_t len = 0;
    if (m->op->width)
        return machine_take_number(m, m->op->width);
    const char *line = machine_take_line(m, &len);
    bool fits = line && len && len <= 10;
    for (size_t i = 0; fits && i < len; i++) {
        fits = line[i] >= '0' && line[i] <= '9';
        key = key * 10 + (uint64_t)(line[i] - '0');
    }
    if (line && !fits)
        machine_fail(m, ERR_CORRUPT, "a memo number that is not a number");
    return key;
}

static void do_remember(struct machine *m)
{
    uint64_t key = memo_key(m);
    if (m->err->status == OK)
        machine_remember(m, key);
}

static void do_memoize(struct machine *m)
{
    machine_remember(m, m->memo_count);
}

static void do_recall(struct machine *m)
{
    uint64_t key = memo_key(m);
    if (m->err->status == OK)
        machine_recall(m, key);
}

static void do_proto(struct machine *m)
{
    if (machine_take_number(m, 1) > 5)
        machine_fail(m, ERR_UNSUPPORTED, "a protocol after 5");
}

static void do_frame(struct machine *m)
{
    machine_take(m, 8); /* its size, which is not needed */
}

static void do_refused(struct machine *m)
{
    machine_fail(m, ERR_UNSUPPORTED,
                 m->op->kind == PICKLE_BYTES ? "a buffer that is not in the file"
                                             : "an extension code, which no file explains");
}

static const struct opcode opcodes[256] = {
    ['('] = {machine_mark, 0, 0},
    ['0'] = {do_pop, 0, 0},
    ['1'] = {do_pop_mark, 0, 0},
    ['2'] = {do_dup, 0, 0},
    ['p'] = {do_remember, 0, 0},
    ['q'] = {do_remember, 1, 0},
    ['r'] = {do_remember, 4, 0},
    [0x94] = {do_memoize, 0, 0},
    ['g'] = {do_recall, 0, 0},
    ['h'] = {do_recall, 1, 0},
    ['j'] = {do_recall, 4, 0},
    ['N'] = {do_constant, 0, NODE_NONE},
    [0x88] = {do_constant, 0, NODE_TRUE},
    [0x89] = {do_constant, 0, NODE_FALSE},
    ['I'] = {do_decimal, 0, false},
    ['L'] = {do_decimal, 0, true},
    ['J'] = {do_int, 4, 0},
    ['K'] = {do_int, 1, 0},
    ['M'] = {do_int, 2, 0},
    [0x8a] = {do_long, 1, 0},
    [0x8b] = {do_long, 4, 0},
    ['F'] = {do_float_text, 0, 0},
    ['G'] = {do_float, 0, 0},
    ['S'] = {do_quoted, 0, 0},
    ['T'] = {do_text, 4, PICKLE_STR8},
    ['U'] = {do_text, 1, PICKLE_STR8},
    ['V'] = {do_raw_unicode, 0, 0},
    ['X'] = {do_text, 4, 0},
    [0x8c] = {do_text, 1, 0},
    [0x8d] = {do_text, 8, 0},
    ['B'] = {do_bytes, 4, 0},
    ['C'] = {do_bytes, 1, 0},
    [0x8e] = {do_bytes, 8, 0},
    [0x96] = {do_bytes, 8, 0},
    ['c'] = {do_global, 0, 0},
    [0x93] = {do_stack_global, 0, 0},
    ['P'] = {do_persid, 0, true},
    ['Q'] = {do_persid, 0, false},
    ['R'] = {do_call, 2, 0},
    [0x81] = {do_call, 2, 0},
    [0x92] = {do_call, 3, 0},
    ['i'] = {do_inst, 0, 0},
    ['o'] = {do_obj, 0, 0},
    ['b'] = {do_build, 0, 0},
    [')'] = {do_gather, 0, PICKLE_TUPLE},
    [0x85] = {do_gather, 1, PICKLE_TUPLE},
    [0x86] = {do_gather, 2, PICKLE_TUPLE},
    [0x87] = {do_gather, 3, PICKLE_TUPLE},
    ['t'] = {do_gather_marked, 0, PICKLE_TUPLE},
    [']'] = {do_gather, 0, PICKLE_LIST},
    ['l'] = {do_gather_marked, 0, PICKLE_LIST},
    ['a'] = {do_put, 1, PICKLE_LIST},
    ['e'] = {do_put, 0, PICKLE_LIST},
    ['}'] = {do_gather, 0, PICKLE_DICT},
    ['d'] = {do_gather_marked, 0, PICKLE_DICT},
    ['s'] = {do_put, 2, PICKLE_DICT},
    ['u'] = {do_put, 0, PICKLE_DICT},
    [0x8f] = {do_gather, 0, PICKLE_SET},
    [0x90] = {do_put, 0, PICKLE_SET},
    [0x91] = {do_gather_marked, 0, PICKLE_SET},
    [0x80] = {do_proto, 0, 0},
    [0x95] = {do_frame, 0, 0},
    [0x82] = {do_refused, 0, 0},
    [0x83] = {do_refused, 0, 0},
    [0x84] = {do_refused, 0, 0},
    [0x97] = {do_refused, 0, PICKLE_BYTES},
    [0x98] = {do_refused, 0, PICKLE_BYTES},
};

/* --- dicts ------------------------------------------------------------------------------ */

#define FEW_PAIRS 8 /* keys of a dict that are compared with each other */

static bool repeats_key(const struct pickle *p, const struct pickle_node *dict)
{
    bool same = false;
    for (uint32_t i = 2; i < dict->count; i += 2)
        for (uint32_t k = 0; k < i && !same; k += 2) {
            const struct pickle_node *a = pickle_at(p, dict->items[k]),
                                     *b = pickle_at(p, dict->items[i]);
            if (a->kind == PICKLE_TEXT && b->kind == PICKLE_TEXT)
                same = a->count == b->count && memcmp(a->text, b->text, a->count) == 0;
            else if (a->kind == PICKLE_INT && b->kind == PICKLE_INT)
                same = a->integer == b->integer;
        }
    return same;
}

/* Keep one pair of each key: the last value, in the place of the first. */
static void settle_dict(struct machine *m, struct pickle_node *dict)
{
    struct strmap texts = {.err = m->err}, numbers = {.err = m->err};
    uint32_t kept = 0;
    strmap_reserve(&texts, dict->count / 2);
    for (uint32_t i = 0; i < dict->count; i += 2) {
        const struct pickle_node *key = pickle_at(m->p, dict->items[i]);
        uint64_t *at = NULL, to = kept;
        bool added = true;
        if (key->kind == PICKLE_TEXT)
            at = strmap_add(&texts, key->text, key->count, &added);
        else if (key->kind == PICKLE_INT)
            at = strmap_add(&numbers, (const char *)&key->integer, sizeof(key->integer), &added);
        if (!added)
            to = *at;
        else if (at)
            *at = kept;
        dict->items[to] = dict->items[added ? i : to];
        dict->items[to + 1] = dict->items[i + 1];
        kept += added ? 2 : 0;
    }
    dict->count = kept;
    strmap_release(&texts);
    strmap_release(&numbers);
}

/* --- the pickle ------------------------------------------------------------------------- */

enum status pickle_run(const struct source *source, uint64_t offset, uint64_t base,
                       struct arena *arena, struct pickle *out, struct error *err)
{
    struct machine m;
    *out = (struct pickle){.arena = arena};
    machine_start(&m, source, offset, base, out, err);
    while (!out->root && err->status == OK && !arena->failed) {
        m.op_at = m.at;
        const uint8_t *byte = machine_take(&m, 1);
        m.op = byte ? &opcodes[*byte] : NULL;
        if (byte && *byte == '.')
            out->root = machine_pop(&m);
        else if (byte && !m.op->run)
            machine_fail(&m, ERR_CORRUPT, "a byte that is not an opcode");
        else if (byte)
            m.op->run(&m);
    }
    if (arena->failed)
        error_memory(err);
    for (pickle_ref ref = 1; ref < out->node_count && err->status == OK; ref++) {
        struct pickle_node *n = pickle_at(out, ref);
        if (n->kind == PICKLE_DICT && (n->count > 2 * FEW_PAIRS || repeats_key(out, n)))
            settle_dict(&m, n);
    }
    machine_end(&m);
    return err->status;
}

/* --- look-ups --------------------------------------------------------------------------- */

pickle_ref pickle_item(const struct pickle *p, pickle_ref ref, uint32_t i)
{
    const struct pickle_node *n = pickle_at(p, ref);
    bool has = n->kind == PICKLE_TUPLE || n->kind == PICKLE_LIST || n->kind == PICKLE_DICT ||
               n->kind == PICKLE_SET || n->kind == PICKLE_PERSID;
    return has && i < n->count ? n->items[i] : 0;
}

bool pickle_is_text(const struct pickle *p, pickle_ref ref, const char *text)
{
    const struct pickle_node *n = pickle_at(p, ref);
    return n->kind == PICKLE_TEXT && n->count == strlen(text) &&
           memcmp(n->text, text, n->count) == 0;
}

pickle_ref pickle_get(const struct pickle *p, pickle_ref dict, const char *key)
{
    const struct pickle_node *n = pickle_at(p, dict);
    for (uint32_t i = 0; n->kind == PICKLE_DICT && i < n->count; i += 2)
        if (pickle_is_text(p, n->items[i], key))
            return n->items[i + 1];
    return 0;
}

uint64_t pickle_text_offset(const struct pickle_node *n)
{
    uint64_t offset;
    memcpy(&offset, n->text - sizeof(offset), sizeof(offset));
    return offset;
}
