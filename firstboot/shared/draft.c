/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file that something is written to before it gets its name. Its writer holds it locked, so
 * that the next one in that folder knows what a killed one left. */

#include "shared/draft.h"
#include "shared/folder.h"
#include "shared/older-headers.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define PREFIX ".imgbuild-draft-"
#define LUSTRE_MAGIC 0x0BD00BD0

/* A lock on a network file system is its server's to give: one without a lock service never
 * answers (NFS 3), and another host's process may hold it. Nothing is locked nor swept there. */
static bool has_local_locks(int fd) {
        static const unsigned remote[] = { NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, SMB2_SUPER_MAGIC,
                CIFS_SUPER_MAGIC, CEPH_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC, AFS_SUPER_MAGIC,
                LUSTRE_MAGIC };
        struct statfs st;

        if (fstatfs(fd, &st) < 0)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(remote); i++)
                if ((unsigned) st.f_type == remote[i])
                        return false;
        return true;
}

/* Opened as an ordinary file that nobody holds locked. */
static bool is_abandoned(int folder_fd, const char *name) {
        _cleanup_close_ int fd = openat(
                        folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat st;

        return fd >= 0 && fstat(fd, &st) >= 0 && S_ISREG(st.st_mode) &&
               flock(fd, LOCK_EX | LOCK_NB) >= 0;
}

void draft_sweep(const char *folder) {
        _cleanup_closedir_ DIR *d = NULL;

        if (folder_open(folder, &d) < 0 || !has_local_locks(dirfd(d)))
                return;
        FOLDER_FOREACH (name, d)
                if (startswith(name, PREFIX) && is_abandoned(dirfd(d), name))
                        (void) unlinkat(dirfd(d), name, 0);
}

/* -EAGAIN where a sweep came between the file and its lock. */
static int begin(const char *folder, char **ret_path) {
        _cleanup_free_ char *path =
                        strf("%s%s" PREFIX "XXXXXX", folder, endswith(folder, "/") ? "" : "/");
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!path)
                return -ENOMEM;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (has_local_locks(fd) && ((flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) ||
                                                   fstat(fd, &st) < 0 || st.st_nlink == 0))
                return -EAGAIN;
        *ret_path = TAKE_PTR(path);
        return TAKE_FD(fd);
}

int draft_begin(const char *folder, char **ret_path) {
        int fd;

        draft_sweep(folder);
        do
                fd = begin(folder, ret_path);
        while (fd == -EAGAIN);
        return fd;
}
