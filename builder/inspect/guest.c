/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the parts of an inspection share: problems and software noted, files copied out of the
 * guest. */

#include "inspect/internal.h"

#include <sys/mman.h>

int inspect_problem(json_object *o, const char *what, const char *why) {
        _cleanup_free_ char *text = strf("%s: %s", what, isempty(why) ? "cannot be read" : why);

        if (!text)
                return -ENOMEM;
        return json_append(json_get(o, "problems"), json_object_new_string(text));
}

int inspect_add_software(
                json_object *list, const char *key, const char *label, const char *version) {
        json_object *item = NULL;
        int r;

        r = json_add_object(list, key, &item);
        if (r < 0)
                return r;
        return json_set_fields(item, JSON_STRING("label", label), JSON_STRING("version", version));
}

int guest_memory_file(char path[static 64]) {
        int fd = memfd_create("imgbuild-guest", MFD_CLOEXEC);

        if (fd < 0)
                return -errno;
        snprintf(path, 64, "/proc/self/fd/%d", fd);
        return fd;
}

int guest_open_file(guestfs_h *g, const char *path, int *ret_fd) {
        char target[64];
        _cleanup_close_ int fd = guest_memory_file(target);

        if (fd < 0)
                return fd;
        if (guestfs_download(g, path, target) < 0)
                return -EIO;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}
