/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the limit of two nodes, and says which of two nodes' limits holds for both. */

#include "ncclbench/pairs-limit.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#define FILE_MAX (64 * 1024)

int pairs_limit_read(const char *path, PairsLimit *ret, char **ret_error) {
        _cleanup_json_ json_object *o = NULL;
        PairsLimit limit = {};
        json_object *busbw;
        JsonError e = {};
        int64_t bytes;
        int r;

        *ret_error = NULL;
        r = json_load(path, FILE_MAX, &e, &o);
        if (r < 0) {
                *ret_error = strf("%s: %s", path, e.message);
                return r;
        }

        bytes = json_get_int(o, "bytes", 0);
        busbw = json_get(o, "min_busbw");
        limit.busbw = busbw ? json_object_get_double(busbw) : 0;
        if (bytes <= 0 || !(limit.busbw > 0)) {
                *ret_error = strf("%s: bytes and min_busbw must be numbers above 0", path);
                return -EINVAL;
        }
        limit.bytes = (uint64_t) bytes;
        snprintf(limit.shape, sizeof(limit.shape), "%s", strempty(json_get_string(o, "shape")));
        *ret = limit;
        return 0;
}

double pairs_limit_of(const PairsLimit *a, const PairsLimit *b, size_t bytes) {
        double x = a->bytes == bytes ? a->busbw : 0, y = b->bytes == bytes ? b->busbw : 0;

        if (x == 0 || y == 0)
                return MAX(x, y); /* a number for another size says nothing about this one */
        return MIN(x, y);
}
