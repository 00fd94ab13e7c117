/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shims.h"

#include "file-util.h"

/* man-db's scripts call mandb by its path, but through one of these two. PATH's first folder is the shims' own. */
#define UNLESS_MANDB(program)                                                                     \
        "#!/bin/sh\nfor a; do [ \"$a\" = /usr/bin/mandb ] && exit 0; done\n"                       \
        "PATH=${PATH#*:}\nexec " program " \"$@\"\n"
#define NOTHING "#!/bin/sh\nexit 0\n"

static const struct {
        const char *name, *text;
} shims[] = {
        { "update-initramfs", NOTHING }, /* stage initramfs */
        { "dracut", NOTHING },
        { "depmod", NOTHING },
        { "mandb", NOTHING },
        { "setpriv", UNLESS_MANDB("setpriv") },
        { "runuser", UNLESS_MANDB("runuser") },
        { "start-stop-daemon", NOTHING },
        { "invoke-rc.d", NOTHING },
        { "service", NOTHING },
        { "policy-rc.d", "#!/bin/sh\nexit 101\n" }, /* "action forbidden by policy" */
};

int shims_write(Store *s, char **ret_folder) {
        _cleanup_free_ char *folder = NULL;
        int r = store_scratch(s, "shims", &folder);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(shims); i++) {
                _cleanup_free_ char *path = path_join(folder, shims[i].name);

                r = path ? write_file_atomic(path, shims[i].text, strlen(shims[i].text), 0755) : -ENOMEM;
        }
        if (r < 0)
                return r;
        *ret_folder = TAKE_PTR(folder);
        return 0;
}
