/*
 * limits.h - how much of anything a file may ask for. Hitting one is ERR_LIMIT, not
 * corruption; the message names the limit.
 */
#pragma once

#include <stdint.h>

/* tensor.id is computed: checkpoint << 24 | position in the file's own order. Rows of layouts and
 * files have such ids, too. In SQL: ID_FIRST and others (schema/embed.sh, catalog/db/ids.h). */
#define TENSOR_ORD_BITS 24
#define TENSOR_ORD_MASK ((INT64_C(1) << TENSOR_ORD_BITS) - 1)

#define LIMIT_TENSORS        ((uint64_t)TENSOR_ORD_MASK) /* of one checkpoint */
#define LIMIT_NAME_BYTES     UINT64_C(1048576)           /* of one tensor name */
#define LIMIT_NAMES_BYTES    UINT64_C(1073741824)        /* of all names of a checkpoint */
#define LIMIT_HEADER_BYTES   UINT64_C(100000000)         /* safetensors' own cap, tensor.rs */
#define LIMIT_NPY_HEADER     UINT64_C(65536)             /* numpy writes at most a few hundred */
#define LIMIT_SSTABLE_BLOCK  UINT64_C(67108864)          /* decoded bytes of one table block */
#define LIMIT_KEYS_FREE      UINT64_C(16777216)          /* key bytes of a table of any size, */
#define LIMIT_KEY_GROWTH     UINT64_C(64)                /* and this many more a table byte */
#define LIMIT_TAR_MEMBERS    UINT64_C(256)               /* looked at to tell what it is */
#define LIMIT_SHARDS         UINT64_C(100000)            /* data files of a TensorFlow bundle */
#define LIMIT_JSON_SIDE_FILE UINT64_C(16777216)          /* config.json and the like */
#define LIMIT_TREE_FILE      UINT64_C(268435456)         /* Orbax's _METADATA, _strings.json */
#define LIMIT_FACT_KEY       UINT64_C(4096)              /* bytes of a fact's joined key */
#define LIMIT_FACTS_BYTES    UINT64_C(67108864)          /* keys and values of one JSON file */
#define LIMIT_OCDBT_MANIFEST UINT64_C(67108864)          /* bytes of an OCDBT manifest */
#define LIMIT_OCDBT_NODE     UINT64_C(268435456)         /* decoded bytes of a node, twice what */
#define LIMIT_OCDBT_SMALL    UINT64_C(67108864)   /* its database aims at, but at least this */
#define LIMIT_OCDBT_HELD     UINT64_C(536870912)  /* of a node and all above it */
#define LIMIT_OCDBT_DECODED  UINT64_C(4294967296) /* of all nodes of a database */
#define LIMIT_OCDBT_AGAIN    UINT64_C(4194304)    /* stored bytes of nodes read twice */
#define LIMIT_OCDBT_NODES    UINT64_C(1048576)    /* of a database */
#define LIMIT_OCDBT_ENTRIES  UINT64_C(67108864)   /* of a database */
#define LIMIT_OCDBT_GROWTH   UINT64_C(256)        /* bytes of keys a byte of nodes */
#define LIMIT_STRINGS_CHUNK  UINT64_C(1073741824) /* decoded bytes of strings in a chunk */
#define LIMIT_ZARR_METADATA  UINT64_C(268435456)  /* bytes of a .zarray, zarr.json, … */
#define LIMIT_PICKLE_NODES   UINT64_C(67108864)   /* values that a pickle makes */
#define LIMIT_PICKLE_LOOK    UINT64_C(134217728)  /* of memory for one that holds no tensors */
#define LIMIT_PICKLE_INT     UINT64_C(1024)       /* bytes of one integer in it */
#define LIMIT_PICKLE_AT_ONCE UINT64_C(16777216)   /* bytes of a pickle read in one go */
#define LIMIT_PICKLE_INFLATE UINT64_C(268435456)  /* bytes of one that was deflated */
#define LIMIT_PICKLE_INLINE  UINT64_C(16777216)   /* bytes of an array, inline */
#define LIMIT_PICKLE_VISITS  UINT64_C(200000)     /* of values by their names */
#define LIMIT_PICKLE_NAMES   UINT64_C(4194304)    /* bytes, and 64 a byte of text */
#define LIMIT_PICKLE_FACT    UINT64_C(8388608)    /* bytes of one list as text */
#define LIMIT_GGUF_HEADER    UINT64_C(268435456)  /* pairs, tokens included, and table */
#define LIMIT_JSON_DEPTH     64
#define LIMIT_ISSUES         1000                 /* of one checkpoint; then one that counts */
#define LIMIT_ARENA_BYTES    UINT64_C(8589934592) /* of one job; past it: ERR_MEMORY */
