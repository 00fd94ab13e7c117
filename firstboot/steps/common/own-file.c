/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files that the steps write: replaced only where they differ, and proved to be writable. */

#include "steps/common/own-file.h"
#include "contract/paths.h"
#include "shared/file-util.h"

#define FILE_MAX (1024 * 1024)

int own_file_put(const char *name, const char *text, mode_t mode, bool durable) {
        _cleanup_free_ char *path = fb_path(name), *old = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        if (read_file(path, FILE_MAX, &old, NULL) >= 0 && streq(old, text))
                return 0;

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = durable ? write_file_durable(path, text, strlen(text), mode)
                    : write_file_atomic(path, text, strlen(text), mode);
        return r < 0 ? r : 1;
}

/* Writes the file and reads it back. */
static int write_and_read(const char *path) {
        static const char probe[] = "firstboot was here\n";
        _cleanup_free_ char *text = NULL;
        int r;

        r = write_file_durable(path, probe, strlen(probe), 0600);
        if (r < 0)
                return r;
        r = read_file(path, sizeof(probe), &text, NULL);
        if (r < 0)
                return r;
        return streq(text, probe) ? 0 : -EIO;
}

int folder_prove_writable(const char *folder, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);
        int r;

        if (!path)
                return -ENOMEM;
        r = write_and_read(path);
        if (unlink(path) < 0 && r >= 0)
                return -errno;
        return r;
}
