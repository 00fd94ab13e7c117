/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result files of steps: taken by firstbootd once the unit has ended. */

#include "contract/result.h"
#include "contract/paths.h"
#include "shared/strv.h"

#define RESULT_MAX (256 * 1024)

static char *result_path(const char *step) {
        return fb_pathf("%s/%s.json", PATH_RUN_RESULTS, step);
}

bool result_exists(const char *step) {
        _cleanup_free_ char *path = result_path(step);

        return path && access(path, F_OK) >= 0;
}

int result_remove(const char *step) {
        _cleanup_free_ char *path = result_path(step);

        if (!path)
                return -ENOMEM;
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

int result_take(const char *step, json_object **ret) {
        _cleanup_free_ char *path = result_path(step);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, RESULT_MAX, &e, &o);
        if (r == -ENOMEM)
                return r;
        (void) unlink(path);

        *ret = r >= 0 && json_object_is_type(o, json_type_object) && json_get_string(o, "status")
                               ? TAKE_PTR(o)
                               : NULL;
        return 0;
}
