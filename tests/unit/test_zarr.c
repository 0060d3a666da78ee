/*
 * test_zarr.c - metadata of zarr arrays: what is made of it, what is refused, which keys mean
 * which chunk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "catalog/base/text.h"
#include "importer/container/json.h"
#include "importer/container/zarr.h"

/* Everything of an array in a line: "dtype [shape] codec; key rule; fill; levels; flags". */
static void describe(struct text *t, const struct zarr_array *a)
{
    text_addf(t, "%s [", a->dtype);
    for (unsigned d = 0; d < a->rank; d++)
        text_addf(t, d ? ",%llu" : "%llu", (unsigned long long)a->shape[d]);
    text_addf(t, "] %s", a->codec ? a->codec : "-");
    text_addf(t, " key%s%c", a->grid.prefixed ? "c" : "", a->grid.separator);
    for (size_t i = 0; i < a->grid.fill.len; i++)
        text_addf(t, i ? "%02x" : " fill %02x", a->grid.fill.at[i]);
    for (unsigned l = 0; l < a->grid.levels; l++) {
        const struct grid_level *level = &a->grid.level[l];
        text_addc(t, ' ');
        for (unsigned d = 0; d < a->rank; d++)
            text_addf(t, d ? "x%llu" : "%llu", (unsigned long long)level->shape[d]);
        if (!a->rank)
            text_addc(t, '.');
        for (unsigned d = 0; level->order && d < a->rank; d++)
            text_addf(t, d ? "%u" : "@%u", level->order[d]);
        text_addf(t, "%s%s%s", level->index_first ? "f" : "",
                  level->index_summed ? "s" : "", level->index_big ? "b" : "");
        if (level->codec)
            text_addf(t, "(%s)", level->codec);
    }
    text_addf(t, "%s%s", a->absent_is_lost ? " lost" : "",
              a->separator_guessed ? " guessed" : "");
    if (a->unreadable)
        text_addf(t, " UNREADABLE %s", a->unreadable);
}

/* The description, "group", or "code: message". */
static char *parsed(const char *metadata, size_t len, unsigned version)
{
    struct arena arena = {0};
    struct error err = {.offset = NO_OFFSET};
    struct zarr_array a;
    struct text t = {0};
    /* A block of its own size, so that a sanitizer sees a byte too far. */
    char *exact = malloc(len ? len : 1);
    memcpy(exact, metadata, len);
    struct bytes text = {(const uint8_t *)exact, len};
    if (zarr_parse(text, version, "it", &arena, &a, &err) != OK)
        text_addf(&t, "%s: %s", error_word(&err), err.message);
    else if (a.kind == ZARR_GROUP)
        text_adds(&t, "group");
    else
        describe(&t, &a);
    arena_release(&arena);
    free(exact);
    return text_steal(&t);
}

static unsigned compare(const char *metadata, unsigned version, const char *expected)
{
    char *got = parsed(metadata, strlen(metadata), version);
    unsigned bad = strcmp(got, expected) != 0;
    if (bad)
        print_error("%s\n    is       %s\n    expected %s\n", metadata, got, expected);
    free(got);
    return bad;
}

/* --- version 2 -------------------------------------------------------------------------- */

#define V2(members) "{\"zarr_format\":2,\"order\":\"C\"," members "}"
/* [4,6] in [2,3], with this dtype and what follows. */
#define OF(dtype, rest)                                                                  \
    V2("\"shape\":[4,6],\"chunks\":[2,3],\"dtype\":" dtype ",\"dimension_separator\":"   \
       "\".\"," rest)
#define PLAIN(dtype) OF(dtype, "\"compressor\":null,\"filters\":null,\"fill_value\":0")
#define FILL(dtype, fill)                                                                \
    OF(dtype, "\"compressor\":null,\"filters\":null,\"fill_value\":" fill)
#define PACK(dtype, packer)                                                              \
    OF(dtype, "\"compressor\":" packer ",\"filters\":[],\"fill_value\":0")
#define FILTER(dtype, list)                                                              \
    OF(dtype, "\"compressor\":null,\"filters\":[" list "],\"fill_value\":0")

static const struct {
    const char *text, *expected;
} v2[] = {
    {"{\"zarr_format\":2}",                                                               "group"                                                         },
    {PLAIN("\"<f4\""),                                                                    "float32 [4,6] - key. 2x3"                                      },
    {PLAIN("\">f4\""),                                                                    "float32 [4,6] swap:4 key. 2x3"                                 },
    {PLAIN("\">c16\""),                                                                   "complex128 [4,6] swap:8 key. 2x3"                              },
    {PLAIN("\"|b1\""),                                                                    "bool [4,6] - key. 2x3"                                         },
    {PLAIN("\">i1\""),                                                                    "int8 [4,6] - key. 2x3"                                         },
    {PLAIN("\"bfloat16\""),                                                               "bfloat16 [4,6] - key. 2x3"                                     },
    {PLAIN("\"int4\""),                                                                   "int4 [4,6] unpack:4 key. 2x3"                                  },
    {PLAIN("\"float4_e2m1fn\""),                                                          "float4_e2m1fn [4,6] unpack:4 key. 2x3"                         },
    {PLAIN("\"float8_e4m3b11fnuz\""),                                                     "float8_e4m3b11fnuz [4,6] - key. 2x3"                           },
    {PLAIN("\"<V2\""),                                                                    "void16 [4,6] - key. 2x3"                                       },
    {PLAIN("\"<M8[25us]\""),                                                              "datetime64[25us] [4,6] - key. 2x3"                             },
    {PLAIN("\">m8[s]\""),                                                                 "timedelta64[s] [4,6] swap:8 key. 2x3"                          },
    {PLAIN("\"|S5\""),                                                                    "string [4,6] strings:S5 key. 2x3"                              },
    {PLAIN("\">U2\""),                                                                    "string [4,6] swap:4|strings:U2 key. 2x3"                       },
    {PLAIN("\"<f16\""),                                                                   "unknown(float128) [4,6] - key. 2x3"                            },
    {PLAIN("\"<q9\""),
     "unknown(<q9) [4,6] - key. 2x3 UNREADABLE its data type \"<q9\" is not known here"                                                                   },
    {PLAIN("\"qint8\""),                                                                  "unknown(qint8) [4,6] - key. 2x3 UNREADABLE its data type "
                         "\"qint8\" is not known here"                                                                            },
    {PLAIN("[[\"x\",\"<f4\"]]"),
     "structured-dtype: a structured dtype: its records are no plain tensor"                                                                              },
    {PLAIN("\"|O\""),
     "object-dtype: object dtype: its elements are Python objects, which are not read"                                                                    },
    {FILTER("\"|O\"",                                                                     "{\"id\":\"json2\"}"),
     "object-dtype: object dtype: its elements are Python objects, which are not read"},
    {FILTER("\"|O\"",                                                                                   "{\"id\":\"vlen-utf8\"}"),                                                                                                                                     "string [4,6] strings:vlen key. 2x3"},
    {OF("\"|O\"",
     "\"compressor\":{\"id\":\"zstd\"},\"filters\":[{\"id\":\"vlen-bytes\"}],"
        "\"fill_value\":\"\""),
     "string [4,6] zstd:<1073741824|strings:vlen key. 2x3"},
    {FILTER("\"<i4\"",                                                           "{\"id\":\"vlen-utf8\"}"),
     "int32 [4,6] - key. 2x3 UNREADABLE its codec \"vlen-utf8\" has settings that are "
     "not "
     "known here"},
    {PLAIN("7"),                                                                    "corrupt: dtype is not a short string"                                                },

    {FILL("\"<f4\"",                                                                                   "null"),                                                                                                                                          "float32 [4,6] - key. 2x3 lost"},
    {FILL("\">f4\"",                                                                                   "1.5"),                                                                                      "float32 [4,6] swap:4 key. fill 0000c03f 2x3"},
    {FILL("\"<f4\"",                                                    "\"NaN\""),"float32 [4,6] - key. fill 0000c07f 2x3"},
    {FILL("\"<f4\"","NaN"),"float32 [4,6] - key. fill 0000c07f 2x3"},
    {FILL("\"<f8\"",                                                                      "\"-Infinity\""),                                                                         "float64 [4,6] - key. fill 000000000000f0ff 2x3"},
    {FILL("\"bfloat16\"",                                                                                   "1.5"),                                                                                                                                      "bfloat16 [4,6] - key. fill c03f 2x3"},
    {FILL("\"<f4\"",                                           "-0.0"),                                                                                                                                                                                   "float32 [4,6] - key. fill 00000080 2x3"},
    {FILL("\"<f4\"","\"0x7fc00001\""),"float32 [4,6] - key. fill 0100c07f 2x3"},
    {FILL("\"<f4\"",                                                                 "\"0x7fc0\""),
     "float32 [4,6] - key. 2x3 UNREADABLE its fill value is none of a float32 array"},
    {FILL("\"<u8\"",                                                                                   "18446744073709551615"),
     "uint64 [4,6] - key. fill ffffffffffffffff 2x3"},
    {FILL("\"<i8\"",                                           "-9223372036854775808"),
     "int64 [4,6] - key. fill 0000000000000080 2x3"},
    {FILL("\"|u1\"",                                                                     "256"),
     "uint8 [4,6] - key. 2x3 UNREADABLE its fill value is none of a uint8 array"},
    {FILL("\"|u1\"",                                                                      "7.0"),                                                         "uint8 [4,6] - key. fill 07 2x3"},
    {FILL("\"int4\"",                                                                                   "-3"),                                                                                                                                      "int4 [4,6] unpack:4 key. fill fd 2x3"},
    {FILL("\"int4\"",                                     "8"),
     "int4 [4,6] unpack:4 key. 2x3 UNREADABLE its fill value is none of a int4 array"},
    {FILL("\"|b1\"",                  "true"),                                                                                                        "bool [4,6] - key. fill 01 2x3"},
    {FILL("\"|b1\"",                                                                      "1"),                                                            "bool [4,6] - key. fill 01 2x3"},
    {FILL("\"<c8\"",                                                                                   "[1.0,\"-Infinity\"]"),
     "complex64 [4,6] - key. fill 0000803f000080ff 2x3"},
    {FILL("\"<c8\"",                                                   "[1.0]"),
     "complex64 [4,6] - key. 2x3 UNREADABLE its fill value is none of a complex64 array"},
    {FILL("\"<M8[s]\"","\"NaT\""),
     "datetime64[s] [4,6] - key. fill 0000000000000080 2x3"},
    {FILL("\"|S3\"",                                                                     "\"YWIA\""),                                                                                             "string [4,6] strings:S3 key. fill 6162 2x3"},
    {FILL("\"|S3\"",                                                                                   "\"YWI\""),                                                                                                                                      "string [4,6] strings:S3 key. 2x3 UNREADABLE its fill "
                                 "value is none of a string array"},
    {FILL("\"<U3\"",                                                    "\"\\u00e4\""),             "string [4,6] strings:U3 key. fill c3a4 2x3"},
    {FILL("\"|V2\"",          "\"AQI=\""),"void16 [4,6] - key. fill 0102 2x3"},
    {FILL("\"|V2\"",                                                                      "\"AQID\""),
     "void16 [4,6] - key. 2x3 UNREADABLE its fill value is none of a void16 array"},

    {PACK("\"<f4\"",                                                                                   "{\"id\":\"gzip\",\"level\":1}"),                                                                                                                                      "float32 [4,6] gzip:24 key. 2x3"},
    {PACK("\">f4\"", "{\"id\":\"blosc\",\"shuffle\":1}"),
     "float32 [4,6] blosc:24|swap:4 key. 2x3"},
    {PACK("\"<f4\"",                                                                              "{\"id\":\"lzma\",\"format\":2}"),                                                                                                "float32 [4,6] lzma:24 key. 2x3"},
    {PACK("\"<f4\"",                                                                      "{\"id\":\"lzma\",\"format\":3}"),
     "float32 [4,6] - key. 2x3 UNREADABLE its codec \"lzma\" has settings that are not "
     "known here"},
    {PACK("\"<f4\"",                                                                                   "{\"id\":\"pcodec\"}"),
     "float32 [4,6] - key. 2x3 UNREADABLE its codec \"pcodec\" is not known here"},
    {PACK("\"<f4\"",                  "\"gzip\""),                                                                                  "corrupt: a codec that is no object"},
    {PACK("\"<f4\"",                  "{}"),                          "corrupt: a codec without a short id"},

    {FILTER("\"<i4\"",                                                                      "{\"id\":\"delta\",\"dtype\":\"<i4\",\"astype\":\"|i1\"}"),
     "int32 [4,6] delta:int32,int8 key. 2x3"},
    {FILTER("\">i4\"",                                                                                   "{\"id\":\"delta\",\"dtype\":\">i4\"}"),
     "int32 [4,6] swap:4|delta:int32,int32 key. 2x3"},
    {FILTER("\">i4\"",       "{\"id\":\"delta\",\"dtype\":\"<i4\"}"),
     "int32 [4,6] delta:int32,int32|swap:4 key. 2x3"},
    {FILTER("\"<i4\"","{\"id\":\"delta\",\"dtype\":\"<i4\",\"astype\":\">i2\"},"
                       "{\"id\":\"shuffle\",\"elementsize\":2},{\"id\":\"crc32\"}"),
     "int32 [4,6] crc32:start|shuffle:2|swap:2|delta:int32,int16 key. 2x3"},
    {FILTER("\"<i4\"",
     "{\"id\":\"astype\",\"encode_dtype\":\"<i2\",\"decode_dtype\":\"<i4\"}"),
     "int32 [4,6] astype:int32,int16 key. 2x3"},
    {FILTER("\"<f8\"",
     "{\"id\":\"quantize\",\"digits\":3,\"dtype\":\"<f8\",\"astype\":\"<f4\"}"),
     "float64 [4,6] astype:float64,float32 key. 2x3"},
    {FILTER("\"<f4\"",                                                   "{\"id\":\"quantize\",\"digits\":3,\"dtype\":\"<f4\"},"
                       "{\"id\":\"bitround\",\"keepbits\":8}"),
     "float32 [4,6] - key. 2x3"},
    {FILTER("\"<f8\"","{\"id\":\"fixedscaleoffset\",\"scale\":1e2,\"offset\":-10,"
                       "\"dtype\":\"<f8\",\"astype\":\"<u2\"}"),
     "float64 [4,6] fixedscaleoffset:1e2,-10,float64,uint16 key. 2x3"},
    {FILTER("\"|b1\"",                                                                      "{\"id\":\"packbits\"}"),                              "bool [4,6] packbits:bool key. 2x3"},
    {FILTER("\"|i1\"",                                                                                   "{\"id\":\"packbits\"}"),
     "int8 [4,6] - key. 2x3 UNREADABLE its codec \"packbits\" has settings that are not "
     "known here"},
    {FILTER("\"<i4\"",                                               "{\"id\":\"crc32c\"},{\"id\":\"adler32\",\"location\":\"end\"},"
                       "{\"id\":\"fletcher32\"},{\"id\":\"jenkins_lookup3\"}"),
     "int32 [4,6] jenkins_lookup3:end|fletcher32:end|adler32:end|crc32c:end key. 2x3"},
    {FILTER("\"<i4\"",                                                             "{\"id\":\"zlib\"},{\"id\":\"zstd\"}"),
     "int32 [4,6] zstd:<4126|zlib:24 key. 2x3"},
    {FILTER("\"<i4\"",                                                                    "{\"id\":\"zlib\"},{\"id\":\"delta\",\"dtype\":\"<i4\"}"),
     "int32 [4,6] - key. 2x3 UNREADABLE its codec \"delta\" has settings that are not "
     "known here"},
    {FILTER("\"<i4\"",                                                                                   "{\"id\":\"pickle\"}"),
     "int32 [4,6] - key. 2x3 UNREADABLE its codec \"pickle\" is not known here"},
    {OF("\"<i4\"",                                     "\"compressor\":null,\"filters\":7,\"fill_value\":0"),
     "corrupt: filters is not a list"},

    {V2("\"shape\":[],\"chunks\":[],\"dtype\":\"<f8\",\"fill_value\":null"),
     "float64 [] - key. . lost guessed"                                                                                                      },
    {V2("\"shape\":[0,7],\"chunks\":[1,7],\"dtype\":\"<f8\",\"fill_value\":0,"
        "\"dimension_separator\":\"/\""),
     "float64 [0,7] - key/ 1x7"                                                 },
    {"{\"zarr_format\":2,\"order\":\"F\",\"shape\":[3,4,5],\"chunks\":[1,2,3],\"dtype\":"
     "\"<f4\",\"fill_value\":0,\"x\":{\"more\":[]}}",                                                                                   "float32 [3,4,5] - key. 1x2x3@210 guessed"                                                                                                                                   },
    {V2("\"shape\":[4],\"chunks\":[0],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: a chunk that is 0 long"                                                                                                          },
    {V2("\"shape\":[4],\"chunks\":[2,2],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: chunks of rank 2 in an array of rank 1"                                                                                                      },
    {V2("\"shape\":[4],\"chunks\":[4611686018427387904],\"dtype\":\"<f4\",\"fill_value\":"
        "0"),
     "corrupt: a chunk of more than 2^63 bytes"                                                                      },
    {V2("\"shape\":[4,4],\"chunks\":[4294967296,4294967296],\"dtype\":\"<f4\","
        "\"fill_value\":0"),
     "corrupt: a chunk of more than 2^63 elements"                                                                                                                                   },
    {V2("\"shape\":[-1],\"chunks\":[1],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: shape has a number that is not in 0 .. 2^63 - 1"                                                                                   },
    {V2("\"shape\":[1.0],\"chunks\":[1],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: shape has a number that is not in 0 .. 2^63 - 1"},
    {V2("\"shape\":4,\"chunks\":[1],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: shape is not a list of whole numbers"                         },
    {V2("\"shape\":[4],\"chunks\":[4],\"dtype\":\"<f4\",\"fill_value\":0,\"shape\":[4]"),
     "duplicate-key: \"shape\" occurs twice"                                                                                                                                   },
    {V2("\"shape\":[4],\"dtype\":\"<f4\",\"fill_value\":0"),
     "corrupt: no \"chunks\" in the metadata of an array"                                                                   },
    {"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[4],\"dtype\":\"<f4\",\"order\":\"A\"}",
     "corrupt: order is neither \"C\" nor \"F\""                                                                                                            },
    {V2("\"shape\":[4],\"chunks\":[4],\"dtype\":\"<f4\",\"dimension_separator\":\"-\""),
     "corrupt: a separator that is neither \".\" nor \"/\""       },
    {"{\"zarr_format\":3}",                                                                                   "corrupt: zarr_format is not 2"                                                                                                                                   },
    {"[]",          "corrupt: an object expected"                                                                         },
    {"","corrupt: bad JSON: the text ends before its value does"                                                                                                                     },
    {"{\"zarr_format\":2} x",              "corrupt: bad JSON: more text after the value"                                                                                                                   },
};

static void test_version_2(void **state)
{
    unsigned bad = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(v2) / sizeof(v2[0]); i++)
        bad += compare(v2[i].text, 2, v2[i].expected);
    assert_int_equal(bad, 0);
}

/* --- version 3 -------------------------------------------------------------------------- */

#define V3(members) "{\"zarr_format\":3,\"node_type\":\"array\"," members "}"
#define REST3                                                                            \
    "\"shape\":[4,6],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"            \
    "{\"chunk_shape\":[2,6]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
#define TYPE3(type, fill)                                                                \
    V3(REST3 "\"data_type\":" type ",\"fill_value\":" fill                               \
             ",\"codecs\":[{\"name\":\"bytes\",\"configuration\":"                       \
             "{\"endian\":\"little\"}}]")
#define CODECS3(type, list)                                                              \
    V3(REST3 "\"data_type\":" type ",\"fill_value\":0,\"codecs\":[" list "]")
#define LITTLE "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define BIG    "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define CRC    "{\"name\":\"crc32c\"}"
#define TRANSPOSE(order)                                                                 \
    "{\"name\":\"transpose\",\"configuration\":{\"order\":" order "}}"
#define SHARD(shape, inner, index)                                                       \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape           \
    ",\"codecs\":[" inner "],\"index_codecs\":[" index "]}}"
#define KEYS3(keys)                                                                      \
    V3("\"shape\":[4],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":"           \
       "{\"chunk_shape\":[2]}},\"chunk_key_encoding\":" keys                             \
       ",\"data_type\":\"int8\",\"fill_value\":0,\"codecs\":[\"bytes\"]")

static const struct {
    const char *text, *expected;
} v3[] = {
    {"{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"a\":NaN}}",            "group"                                         },
    {"{\"zarr_format\":3,\"node_type\":\"thing\"}",
     "corrupt: node_type is neither array nor group"                                                                                      },
    {TYPE3("\"float32\"",                                                                 "\"0x7fc00000\""),                                "float32 [4,6] - keyc/ fill 0000c07f 2x6"},
    {TYPE3("\"uint8\"",                                                                                   "200"),                                                                                                                   "uint8 [4,6] - keyc/ fill c8 2x6"},
    {TYPE3("\"r16\"",                                                  "[1,2]"),"void16 [4,6] - keyc/ fill 0102 2x6"},
    {TYPE3("\"r12\"",                          "0"),
     "unknown(r12) [4,6] - keyc/ 2x6 UNREADABLE its data type \"r12\" is not known here"},
    {TYPE3("\"uint2\"",                                                                     "3"),                                                                                        "uint2 [4,6] unpack:2 keyc/ fill 03 2x6"},
    {TYPE3("\"float6_e3m2fn\"",                                                                                   "0.0"),                                                                                                                   "float6_e3m2fn [4,6] unpack:6 keyc/ 2x6"},
    {TYPE3("\"complex_float32\"",                                           "[1,2]"),
     "complex64 [4,6] - keyc/ fill 0000803f00000040 2x6"},
    {TYPE3("{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\","
           "\"scale_factor\":10}}","\"NaT\""),
     "datetime64[10s] [4,6] - keyc/ fill 0000000000000080 2x6"},
    {TYPE3("{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"ns\","
           "\"scale_factor\":1}}",                                                         "5"),
     "timedelta64[ns] [4,6] - keyc/ fill 0500000000000000 2x6"},
    {TYPE3("{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":12}}",
     "\"ab\""),
     "string [4,6] strings:U3 keyc/ fill 6162 2x6"},
    {TYPE3("{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}",
     "\"YWI=\""),
     "string [4,6] strings:S4 keyc/ fill 6162 2x6"},
    {TYPE3("{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":2}}",                       "\"AQI=\""),
     "void16 [4,6] - keyc/ fill 0102 2x6"},
    {TYPE3("{\"name\":\"structured\",\"configuration\":{}}",   "\"\""),
     "structured-dtype: a structured dtype: its records are no plain tensor"},
    {TYPE3("\"float33\"",                                                                                   "0"),                                                 "unknown(float33) [4,6] - keyc/ 2x6 UNREADABLE its data "
                                "type \"float33\" is not known "
                                "here"},
    {CODECS3("\"string\"",                                       "{\"name\":\"vlen-utf8\"},{\"name\":\"gzip\"}"),
     "string [4,6] gzip:<1073741824|strings:vlen keyc/ 2x6"},

    {CODECS3("\"int32\"",                                                  BIG ",{\"name\":\"zstd\",\"configuration\":{\"level\":1}}"),
     "int32 [4,6] zstd:48|swap:4 keyc/ 2x6"},
    {CODECS3("\"int8\"",                              "\"bytes\",\"crc32c\""),                                                                     "int8 [4,6] crc32c:end keyc/ 2x6"},
    {CODECS3("\"int32\"",                                                                                   "\"bytes\""),
     "int32 [4,6] - keyc/ 2x6 UNREADABLE its codec \"bytes\" has settings that are not "
     "known here"},
    {CODECS3("\"int32\"",                                              LITTLE ",{\"name\":\"numcodecs.shuffle\",\"configuration\":"
                                 "{\"elementsize\":4}},{\"name\":\"numcodecs.lz4\"}"),
     "int32 [4,6] lz4:48|shuffle:4 keyc/ 2x6"},
    {CODECS3("\"int32\"","{\"name\":\"numcodecs.delta\",\"configuration\":{\"dtype\":"
                          "\"<i4\",\"astype\":\"<i2\"}}," BIG),
     "int32 [4,6] swap:2|delta:int32,int16 keyc/ 2x6"},
    {CODECS3("\"int32\"",                                                                 TRANSPOSE("[1,0]") "," LITTLE),     "int32 [4,6] - keyc/ 2x6@10"},
    {CODECS3("\"int32\"",                                                                                   TRANSPOSE("\"F\"") "," LITTLE),                                                                                                                  "int32 [4,6] - keyc/ 2x6@10"},
    {CODECS3("\"int32\"",                                                  TRANSPOSE("[1,0]") "," TRANSPOSE("[1,0]") "," LITTLE),
     "int32 [4,6] - keyc/ 2x6"},
    {CODECS3("\"int32\"",TRANSPOSE("[1,1]") "," LITTLE),
     "corrupt: the order of a transpose codec is none of 2 axes"},
    {CODECS3("\"int32\"",                                                                 TRANSPOSE("[0]") "," LITTLE),
     "corrupt: the order of a transpose codec is none of 2 axes"},
    {CODECS3("\"int32\"",
     TRANSPOSE("[1,0]") ",{\"name\":\"numcodecs.delta\","
                                "\"configuration\":{\"dtype\":\"<i4\"}}," LITTLE),
     "int32 [4,6] - keyc/ 2x6 UNREADABLE its filters depend on an order that is "
     "transposed"},
    {CODECS3("\"int32\"",                                    "{\"name\":\"gzip\"}," LITTLE),
     "int32 [4,6] - keyc/ 2x6 UNREADABLE its codec \"gzip\" stands where none of its "
     "kind "
     "can"},
    {CODECS3("\"int32\"",""),     "corrupt: no codec makes bytes of the elements"},
    {CODECS3("\"int32\"",                                                                 "{\"name\":\"packbits\"}"),
     "int32 [4,6] - keyc/ 2x6 UNREADABLE its codec \"packbits\" stands where none of its "
     "kind can"},

    {CODECS3("\"int32\"",                                                                                   SHARD("[1,3]",                                                                                                                 LITTLE ",\"gzip\"", LITTLE "," CRC)),
     "int32 [4,6] gzip:12 keyc/ 2x6s 1x3"},
    {CODECS3("\"int32\"",                                                           SHARD("[1,3]",                                                                                                           LITTLE, BIG) ",\"gzip\""),
     "int32 [4,6] - keyc/ 2x6b(gzip:<20608) 1x3"},
    {CODECS3("\"int32\"",                                                                 TRANSPOSE("[1,0]") "," SHARD("[3,1]",                                                                           LITTLE, LITTLE "," CRC)),
     "int32 [4,6] - keyc/ 2x6@10s 1x3@10"},
    {CODECS3("\"int32\"",                                                                 SHARD("[2,3]",
     TRANSPOSE("[1,0]") "," SHARD(
                                    "[1,2]", TRANSPOSE("[1,0]") "," LITTLE, LITTLE),
     LITTLE)),
     "int32 [4,6] - keyc/ 2x6 2x3@10 2x1"},
    {CODECS3(
         "\"int32\"",                                                                                   SHARD("[1,2]",                                                                                                                 SHARD("[1,2]", SHARD("[1,1]", LITTLE, LITTLE), LITTLE), LITTLE)),
     "int32 [4,6] - keyc/ 2x6 1x2 1x2 UNREADABLE its shards are nested more than 2 deep"},
    {CODECS3("\"int32\"",                                                                        SHARD("[1,4]",                                                                                                                        LITTLE, LITTLE)),
     "corrupt: a shard that is not cut into whole chunks"},
    {CODECS3("\"int32\"",                  SHARD("[1,0]",                                                                                                                                 LITTLE, LITTLE)),
     "corrupt: a shard that is not cut into whole chunks"},
    {CODECS3("\"int32\"",                                                                 SHARD("[1]",                                                                                                                          LITTLE, LITTLE)),
     "corrupt: chunks of rank 1 in shards of rank 2"},
    {CODECS3("\"int32\"",                                                                                   SHARD("[1,3]",                                                                                                                 LITTLE, LITTLE ",\"gzip\"")),
     "int32 [4,6] - keyc/ 2x6 1x3 UNREADABLE its shards' indexes have the codec "
     "\"gzip\""},
    {CODECS3("\"int32\"",                                                                          SHARD("[1,3]",                                                                                                                          LITTLE, "")),
     "corrupt: a shard without index_codecs"},
    {CODECS3("\"int32\"","{\"name\":\"numcodecs.delta\",\"configuration\":{\"dtype\":"
                          "\"<i4\"}}," SHARD("[1,3]",LITTLE, LITTLE)),
     "int32 [4,6] - keyc/ 2x6 UNREADABLE its shards are filtered as a whole"},

    {KEYS3("{\"name\":\"v2\"}"),                                                "int8 [4] - key. 2"                                                                                               },
    {KEYS3("{\"name\":\"v2\",\"configuration\":{\"separator\":\"/\"}}"),
     "int8 [4] - key/ 2"},
    {KEYS3("{\"name\":\"default\",\"configuration\":{\"separator\":\".\"}}"),
     "int8 [4] - keyc. 2"                                                                                        },
    {KEYS3("\"default\""),"int8 [4] - keyc/ 2"},
    {KEYS3("\"other\""),
     "int8 [4] - key. UNREADABLE its chunk keys \"other\" are not known here"                                                                                               },
    {KEYS3("\"v2\",\"extra\":{\"must_understand\":false}"),      "int8 [4] - key. 2"                                                                                               },
    {KEYS3("\"v2\",\"extra\":{\"must_understand\":true}"),
     "int8 [4] - key. 2 UNREADABLE it has the extension \"extra\", which is not known "
     "here"                                                                                                                             },
    {KEYS3("\"v2\",\"extra\":1"),                                                                                   "int8 [4] - key. 2 UNREADABLE it has the extension "
                                  "\"extra\", which is not known here"                                                                                                               },
    {KEYS3("\"v2\",\"storage_transformers\":[ ]"),                                                                      "int8 [4] - key. 2"},
    {KEYS3("\"v2\",\"storage_transformers\":[{}]"),
     "int8 [4] - key. 2 UNREADABLE it has storage transformers, which are not known "
     "here"                                                                                                                    },
    {V3("\"shape\":[4],\"chunk_grid\":{\"name\":\"rectilinear\"},\"chunk_key_encoding\":"
        "\"v2\",\"data_type\":\"int8\",\"fill_value\":0,\"codecs\":[\"bytes\"]"),
     "int8 [4] - key. UNREADABLE its chunk grid \"rectilinear\" is not known here"                                                },
    {V3("\"shape\":[4]"),"corrupt: no \"data_type\" in the metadata of an array"},
};

static void test_version_3(void **state)
{
    unsigned bad = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(v3) / sizeof(v3[0]); i++)
        bad += compare(v3[i].text, 3, v3[i].expected);
    assert_int_equal(bad, 0);
}

static void test_limits(void **state)
{
    struct text t = {0};
    (void)state;
    text_adds(&t, "{\"zarr_format\":2,\"order\":\"C\",\"dtype\":\"<f4\",\"shape\":[");
    for (int i = 0; i < 255; i++)
        text_adds(&t, i ? ",1" : "1");
    text_adds(&t, "],\"chunks\":[1]}");
    assert_int_equal(compare(text_str(&t), 2, "limit: shape has more than 254 numbers"),
                     0);
    text_reset(&t);
    for (int i = 0; i < 80; i++)
        text_adds(&t, "{\"a\":");
    assert_int_equal(compare(text_str(&t), 3, "limit: JSON nested more than 64 deep"), 0);
    text_release(&t);
}

/* Whatever a byte is changed to, there is an answer. */
static void test_damage(void **state)
{
    static const char text[] =
        CODECS3("\"int32\"",
                TRANSPOSE("[1,0]") "," SHARD("[3,1]", BIG ",\"gzip\"", LITTLE "," CRC));
    static const char bytes[] = {0,   '"', '{', '}', '[',       ']',
                                 ',', '9', '-', 'n', (char)0xFF};
    char copy[sizeof(text)];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        for (size_t k = 0; k < sizeof(bytes); k++) {
            memcpy(copy, text, sizeof(text));
            copy[i] = bytes[k];
            char *got = parsed(copy, sizeof(text) - 1, 3);
            assert_non_null(got);
            free(got);
        }
        char *got = parsed(text, i, 3);
        assert_non_null(got);
        free(got);
    }
}

/* --- keys ------------------------------------------------------------------------------- */

static void test_keys(void **state)
{
    static const struct {
        const char *rule; /* "." or "c/" … */
        unsigned rank;
        const char *key;
        int64_t index; /* -1: none */
    } cases[] = {
        {".",  2, "0.0",                    0 },
        {".",  2, "1.2",                    5 },
        {".",  2, "2.0",                    -1},
        {".",  2, "0.3",                    -1},
        {".",  2, "0.00",                   -1},
        {".",  2, "01.0",                   -1},
        {".",  2, "-1.0",                   -1},
        {".",  2, "0.+1",                   -1},
        {".",  2, "0",                      -1},
        {".",  2, "0.",                     -1},
        {".",  2, "0.0.0",                  -1},
        {".",  2, "0/0",                    -1},
        {".",  2, "0.0 ",                   -1},
        {".",  2, "",                       -1},
        {".",  2, "c/0/0",                  -1},
        {".",  2, "99999999999999999999.0", -1},
        {"/",  2, "1/2",                    5 },
        {"/",  2, "1.2",                    -1},
        {"c/", 2, "c/1/2",                  5 },
        {"c/", 2, "c/1",                    -1},
        {"c/", 2, "c1/2",                   -1},
        {"c/", 2, "1/2",                    -1},
        {"c.", 2, "c.0.1",                  1 },
        {".",  1, "1",                      1 },
        {".",  1, "2",                      -1},
        {"c/", 0, "c",                      0 },
        {"c/", 0, "0",                      -1},
        {".",  0, "0",                      0 },
        {".",  0, "c",                      -1},
        {".",  0, "00",                     -1},
    };
    uint64_t shape[] = {4, 7}, box[] = {2, 3};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool prefixed = cases[i].rule[0] == 'c';
        struct zarr_array a = {.rank = cases[i].rank, .shape = shape};
        uint64_t index = 99;
        a.grid.levels = 1;
        a.grid.level[0].shape = box;
        a.grid.prefixed = prefixed;
        a.grid.separator = cases[i].rule[prefixed];
        bool found = zarr_key_index(&a, cases[i].key, strlen(cases[i].key), &index);
        if (found != (cases[i].index >= 0) || (found && (int64_t)index != cases[i].index))
            print_error("%s rank %u: \"%s\"\n", cases[i].rule, cases[i].rank,
                        cases[i].key);
        assert_int_equal(found, cases[i].index >= 0);
        if (found)
            assert_int_equal(index, cases[i].index);
    }
}

/* --- what else a node says -------------------------------------------------------------- */

static void test_consolidated(void **state)
{
    static const char v2_text[] =
        "{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":{},\"a/"
        ".zarray\":{\"x\":1},"
        "\"a/.zattrs\":{},\"b/c/.zarray\":[],\".zarray\":{},\"a.zarray\":{}}}";
    static const char v3_text[] =
        "{\"attributes\":{\"k\":NaN},\"consolidated_metadata\":{\"kind\":\"inline\","
        "\"metadata\":{\"a\":{\"x\":1},\"b/c\":[],\"\":{}}}}";
    (void)state;
    for (unsigned version = 2; version <= 3; version++) {
        const char *text = version == 2 ? v2_text : v3_text;
        struct arena arena = {0};
        struct error err = {.offset = NO_OFFSET};
        struct zarr_parts parts;
        struct text got = {0};
        struct json j;
        struct bytes path, metadata;
        assert_int_equal(zarr_parts((struct bytes){(const uint8_t *)text, strlen(text)},
                                    "it", &arena, &parts, &err),
                         OK);
        assert_int_equal(parts.attributes.len, version == 3 ? strlen("{\"k\":NaN}") : 0);
        json_init(&j, cursor_over(parts.consolidated, 0), &arena, "it", &err);
        json_next(&j);
        while (zarr_next_node(&j, version, &path, &metadata))
            text_addf(&got, "%.*s=%.*s;", (int)path.len, (const char *)path.at,
                      (int)metadata.len, (const char *)metadata.at);
        assert_string_equal(text_str(&got), "a={\"x\":1};b/c=[];={};");
        text_release(&got);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_version_3),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_keys),      cmocka_unit_test(test_consolidated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
