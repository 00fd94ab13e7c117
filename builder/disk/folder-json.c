/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lies in an output folder may be anybody's: no link is followed, no pipe waited for. */

#include "disk/internal.h"

#include "sandbox/open-inside.h"

#include "shared/json-util.h"

int folder_load_json(const char *folder, const char *name, size_t max, json_object **ret) {
        _cleanup_free_ char *text = NULL;
        JsonError error;
        size_t size;
        int r;

        r = inside_read_output(folder, name, max, &text, &size);
        if (r < 0)
                return r;
        return json_parse(text, size, &error, ret);
}
