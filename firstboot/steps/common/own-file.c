/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files that the steps write: replaced only where they differ, and proved to be writable. */

#include "steps/common/own-file.h"
#include "contract/paths.h"
#include "shared/draft.h"
#include "shared/file-util.h"
#include "shared/log.h"

#define FILE_MAX (1024 * 1024)

bool own_file_holds(const char *name, const char *text) {
        _cleanup_free_ char *path = fb_path(name), *held = NULL;

        return path && read_file(path, FILE_MAX, &held, NULL) >= 0 && streq(held, text);
}

int own_file_put(const char *name, const char *text, mode_t mode, bool durable) {
        _cleanup_free_ char *path = fb_path(name);
        int r;

        if (!path)
                return -ENOMEM;
        if (own_file_holds(name, text))
                return 0;

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = durable ? write_file_durable(path, text, strlen(text), mode)
                    : write_file_atomic(path, text, strlen(text), mode);
        return r < 0 ? r : 1;
}

int own_permit_put(const char *name, const char *word) {
        _cleanup_free_ char *path = fb_path(name);
        int r = own_file_put(name, word, 0644, false);

        if (r >= 0 || !path || access(path, F_OK) < 0)
                return r;
        log_warning_errno(r, "%s stays as it was", name);
        return 0;
}

/* Through to the disks, and back. */
static int write_and_read(int fd) {
        static const char probe[] = "firstboot was here\n";
        char text[sizeof(probe)] = "";
        ssize_t n;
        int r;

        r = write_all(fd, probe, strlen(probe));
        if (r < 0)
                return r;
        if (fsync(fd) < 0)
                return -errno;
        n = pread(fd, text, sizeof(text) - 1, 0);
        if (n < 0)
                return -errno;
        return streq(text, probe) ? 0 : -EIO;
}

int folder_prove_writable(const char *folder) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = draft_begin(folder, &path);
        int r;

        if (fd < 0)
                return fd;
        r = write_and_read(fd);
        /* Closed first: NFS would keep an open file under another name. Then a sweep may be there
         * before us. */
        fd = safe_close(fd);
        if (unlink(path) < 0 && errno != ENOENT && r >= 0)
                return -errno;
        return r;
}
