/*
 * tensor_test.h - the conditions of a statement that the table `tensor` looks at itself, once for each
 * tensor of a layout or for each checkpoint, instead of for each row.
 *
 * They leave out rows that cannot meet the condition. SQLite tests the remaining rows
 * again, so where a comparison depends on something unknown to the table (the affinity of the other side,
 * whether LIKE minds case), a test lets everything pass.
 */
#pragma once

#include "catalog/sql/regex_cache.h"
#include "catalog/sql/tensor_blocks.h"

struct tensor_test {
    int column; /* of the table */
    char op;    /* TEST_... */
    enum {
        TEST_NOTHING, /* everything passes */
        TEST_NEVER,   /* no row can pass: a comparison with NULL */
        TEST_INTEGER,
        TEST_REAL,
        TEST_TEXT,
    } kind;
    int64_t integer;
    double real;
    struct tensor_test *among; /* TEST_IN: equality with each value of the list */
    size_t among_count;
    sqlite3_value *value; /* the text's owner */
    struct cell text;
    struct cached_regex *regex; /* borrowed */
};

#define TEST_EQ      '='
#define TEST_IS      'i'
#define TEST_NE      '!'
#define TEST_LT      '<'
#define TEST_LE      'l'
#define TEST_GT      '>'
#define TEST_GE      'g'
#define TEST_LIKE    'L'
#define TEST_GLOB    'G'
#define TEST_REGEXP  'R'
#define TEST_NULL    '0'
#define TEST_NOTNULL '1'
#define TEST_IN      'n'

/* The TEST_... of a constraint's operator; 0: none of these. */
char test_operator(unsigned char op);

/* Make a test with a constraint's value. False: no memory. */
bool test_begin(struct tensor_test *, bool on_text, sqlite3_value *, struct regex_cache *);
void test_end(struct tensor_test *);

bool test_number(const struct tensor_test *, int64_t number); /* NUMBER_NULL: SQL NULL */
bool test_text(const struct tensor_test *, struct cell);
