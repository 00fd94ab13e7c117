/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the status document lies, and which of the two is the latest: /run's, where there is one,
 * for it is removed before the other is written. The disk's may be of another boot. */

#include "contract/status-file.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <unistd.h>

#define STATUS_MAX (4 * 1024 * 1024)

int boot_id_read(char ret[SD_ID128_STRING_MAX]) {
        const char *given = secure_getenv("FIRSTBOOT_BOOT_ID");
        sd_id128_t id;
        int r;

        r = given ? sd_id128_from_string(given, &id) : sd_id128_get_boot(&id);
        if (r < 0)
                return r;

        sd_id128_to_string(id, ret);
        return 0;
}

static int load_spare(const char *path, json_object **ret) {
        _cleanup_json_ json_object *o = NULL;
        char boot[SD_ID128_STRING_MAX];
        JsonError e = {};

        if (boot_id_read(boot) < 0 || json_load(path, STATUS_MAX, &e, &o) < 0 ||
                        !streq_ptr(json_get_string(o, "boot_id"), boot))
                return -ENOENT;
        *ret = TAKE_PTR(o);
        return 0;
}

int status_file_load(JsonError *error, json_object **ret, char **ret_path) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_STATUS), *spare = fb_path(PATH_SPARE_STATUS);
        int r;

        if (!path || !spare)
                return -ENOMEM;
        r = json_load(path, STATUS_MAX, error, ret);
        if (r == -ENOENT && load_spare(spare, ret) >= 0) {
                *error = (JsonError) {};
                r = 0;
                free(path);
                path = TAKE_PTR(spare);
        }
        if (r >= 0 && ret_path)
                *ret_path = TAKE_PTR(path);
        return r;
}

int status_file_save(const char *text) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_STATUS), *spare = fb_path(PATH_SPARE_STATUS);
        size_t size = strlen(text);
        int r;

        if (!path || !spare)
                return -ENOMEM;
        r = write_file_atomic(path, text, size, 0644);
        if (r < 0) {
                /* Nobody is to read of what is over. And what it took is room for what is now,
                 * unless somebody else is faster. */
                (void) unlink(path);
                r = write_file_atomic(path, text, size, 0644);
        }
        if (r >= 0) {
                (void) unlink(spare);
                return 0;
        }
        if (write_file_atomic(spare, text, size, 0644) >= 0)
                return 1;
        (void) unlink(spare);
        return r;
}
