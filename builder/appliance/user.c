/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libguestfs' appliance for an ordinary user's builds. Those run as root of a user namespace, where
 * the files of the host's root belong to nobody: an appliance that supermin copies from them there
 * has a mount(8) that is nobody's and may not mount. So supermin runs before, as the user, and
 * libguestfs finds an appliance that is up to date. */

#include "appliance/internal.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <sys/stat.h>

/* What supermin makes it from. */
static char *parts_folder(void) {
        _cleanup_guestfs_ guestfs_h *g = guestfs_create();
        _cleanup_free_ char *path = g ? strdup(strempty(guestfs_get_path(g))) : NULL;

        for (char *rest = path, *one; (one = strsep(&rest, ":"));) {
                _cleanup_free_ char *parts = path_join(one, "supermin.d");

                if (parts && access(parts, R_OK) >= 0)
                        return TAKE_PTR(parts);
        }
        return NULL;
}

/* libguestfs does it too: the kernel is a copy with the time of the host's, older than what
 * supermin compares with. */
static int mark_new(const char *appliance) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(appliance, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d)
                if (utimensat(dirfd(d), name, NULL, 0) < 0)
                        return -errno;
        return 0;
}

/* As libguestfs calls it. */
static int run_supermin(const char *parts, const char *cache) {
        _cleanup_free_ char *appliance = path_join(cache, "appliance.d"),
                            *lock = path_join(cache, "lock"), *output = NULL;
        int r, status;

        if (!appliance || !lock)
                return -ENOMEM;
        if (access(appliance, F_OK) < 0)
                log_info("Making libguestfs' appliance of this user; it is kept in %s", cache);
        r = spawn_capture(NULL,
                        ARGV("supermin", "--build", "--if-newer", "--lock", lock, "--copy-kernel",
                                        "-f", "ext2", "--host-cpu", "x86_64", parts, "-o",
                                        appliance),
                        &output, &status);
        if (r < 0)
                return r;
        if (status != 0) {
                log_warning("supermin cannot make libguestfs' appliance: %s", strempty(output));
                return 0;
        }
        return mark_new(appliance);
}

int appliance_prepare_for_user(void) {
        _cleanup_free_ char *missing = NULL, *folder = NULL, *cache = NULL, *parts = NULL;
        int r;

        if (geteuid() == 0 || !isempty(getenv("LIBGUESTFS_CACHEDIR")))
                return 0;
        missing = guestfs_missing();
        if (missing || !isempty(getenv("LIBGUESTFS_PATH")))
                return 0; /* told where it is wanted; it needs no supermin */
        parts = parts_folder();
        folder = appliance_user_cache();
        cache = folder ? path_join(folder, ".guestfs-0") : NULL;
        if (!cache)
                return -ENOMEM;
        if (!parts)
                return 0;

        r = mkdir_p(cache, 0755);
        if (r < 0) {
                log_debug("%s: cannot make it: %s", cache, strerror(-r));
                return 0;
        }
        r = run_supermin(parts, cache);
        if (r < 0 && r != -ENOMEM)
                log_debug("libguestfs' appliance cannot be made beforehand: %s", strerror(-r));
        return r == -ENOMEM ? r : 0;
}
