/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of the node configuration is a regular one, of a size that somebody may have written. */

#include "contract/config-layer.h"
#include "contract/paths.h"

#include <sys/stat.h>

int config_layer_load(const char *name, JsonError *ret_error, json_object **ret) {
        _cleanup_free_ char *path = fb_path(name);
        struct stat st;

        if (!path)
                return -ENOMEM;
        /* A named pipe would be waited for, a terminal be read. */
        if (stat(path, &st) >= 0 && !S_ISREG(st.st_mode)) {
                *ret_error = (JsonError) { .message = "it is no regular file; remove it" };
                return -EINVAL;
        }
        return json_load(path, CONFIG_LAYER_MAX, ret_error, ret);
}
