/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The shape's number for two nodes as a file of its own. */

#include "steps/nccl/pair-limit.h"
#include "contract/paths.h"

#define PAIR_LIMIT PATH_RUN "/pairs.json" /* PAIRS_LIMITS of ncclbench */

int pair_limit_write(const Shape *shape, bool nvls, int64_t percent) {
        const ShapeBusbw *b = shape ? shape_busbw(shape, 2, nvls, 0) : NULL;
        _cleanup_json_ json_object *o = json_object_new_object();
        _cleanup_free_ char *path = fb_path(PAIR_LIMIT);
        double least;
        int r;

        if (!path || !o)
                return -ENOMEM;
        if (!b)
                return unlink(path) < 0 && errno != ENOENT ? -errno : 0;

        least = b->gate ? b->gbps : b->gbps * (double) percent / 100;
        r = json_set_fields(o, JSON_STRING("shape", shape->name), JSON_INT("bytes", b->bytes),
                        JSON_DOUBLE("min_busbw", least), JSON_STRING("source", b->source));
        return r < 0 ? r : json_save(path, o, 0644);
}
