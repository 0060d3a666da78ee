/*
 * ocdbt.c - a plain database of zarr arrays, without a framework's tree: what TensorStore's
 * drivers zarr and zarr3 write into an `ocdbt` key-value store.
 *
 *   manifest.ocdbt, d/...          the database (container/ocdbt.c), with the keys
 *     NAME/.zarray, NAME/0.0 ...   of each array (version 2), or
 *     NAME/zarr.json, NAME/c/0/0   (version 3)
 *     NAME/.zattrs                 attributes (version 2): facts, as those in zarr.json are
 *
 * An array whose keys are ".zarray" and "0.0" is named "". Databases with other files of Orbax
 * beside them are read by orbax.c, JAX's own by jax_pytree.c.
 */
#include <stdio.h>
#include <string.h>

#include "importer/format/orbax/ocdbt_database.h"
#include "importer/format/orbax/orbax.h"

/* The name of the manifest is enough, so that a damaged database is reported. */
static int ocdbt_probe(const struct probe_dir *p)
{
    return probe_dir_has_file(p, OCDBT_MANIFEST) ? 8 * (int)strlen(OCDBT_MANIFEST) : 0;
}

static enum status ocdbt_index(struct job *job)
{
    struct orbax_store store;
    orbax_store_open_plain(&store, job, job->path);
    uint64_t count = orbax_store_count(&store);
    if (!count && store.broken)
        error_set(store.job->err, ERR_CORRUPT, store.directory, NO_OFFSET,
                  "nothing in this OCDBT database can be read");
    job_expect(store.job, count);
    for (uint64_t i = 0; i < count && store.job->err->status == OK; i++) {
        size_t len;
        const char *key = orbax_store_key(&store, i, &len);
        orbax_store_emit(&store, i, key, len);
    }
    /* Attributes of arrays and groups are facts, as in folders (zarr.c). */
    for (size_t i = 0; i < store.attribute_count && store.job->err->status == OK; i++) {
        const struct array_attributes *a = &store.attributes[i];
        struct error err = {.offset = NO_OFFSET};
        char what[256];
        snprintf(what, sizeof(what), "attributes of \"%.200s\"", a->path);
        array_attributes_state(store.job, store.directory, a->path, a->text, &err);
        if (err.status == OK)
            continue;
        error_prefix(&err, what);
        job_issue_error(store.job, ISSUE_WARNING, &err);
    }
    orbax_store_release(&store);
    return job->err->status;
}

const struct format format_ocdbt = {
    .name = "ocdbt",
    .summary = "TensorStore: zarr arrays in an OCDBT database",
    .suffixes = "",
    .separator = '/',
    .part = true,
    .probe_dir = ocdbt_probe,
    .index = ocdbt_index,
};
