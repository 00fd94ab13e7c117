/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* {"code", "message"} in a file of two that may have it. */

#include "contract/drained.h"
#include "contract/paths.h"
#include "shared/json-util.h"

#include <unistd.h>

#define DRAINED_MAX (64 * 1024)

static const char *const places[] = { PATH_RUN_DRAINED, PATH_SPARE_DRAINED };

int drained_tell(const char *code, const char *message) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r = -ENOMEM;

        if (json_set_fields(o, JSON_STRING("code", code), JSON_STRING("message", message)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(places) && r < 0; i++) {
                _cleanup_free_ char *path = fb_path(places[i]);

                r = path ? json_save(path, o, 0600) : -ENOMEM;
        }
        return r;
}

static int take(const char *path, char **ret_code, char **ret_message) {
        _cleanup_free_ char *code = NULL, *message = NULL;
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r = json_load(path, DRAINED_MAX, &e, &o);

        if (r == -ENOENT || r == -ENOMEM)
                return r == -ENOENT ? 0 : r;
        (void) unlink(path);
        if (isempty(json_get_string(o, "code")))
                return 0;
        code = strdup(json_get_string(o, "code"));
        message = strdup(strempty(json_get_string(o, "message")));
        if (!code || !message)
                return -ENOMEM;
        *ret_code = TAKE_PTR(code);
        *ret_message = TAKE_PTR(message);
        return 1;
}

int drained_take(char **ret_code, char **ret_message) {
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(places) && r == 0; i++) {
                _cleanup_free_ char *path = fb_path(places[i]);

                r = path ? take(path, ret_code, ret_message) : -ENOMEM;
        }
        return r;
}

void drained_forget(void) {
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *path = fb_path(places[i]);

                if (path)
                        (void) unlink(path);
        }
}
