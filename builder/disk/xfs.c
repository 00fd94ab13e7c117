/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An XFS root. mkfs.xfs fills a file system from a "protofile", a list of what is to be in it;
 * what that cannot say xfs_db writes afterwards into the unmounted file: times of change, sticky
 * bits, further names of a file. Both see a clock that stands still and a random generator with a
 * fixed seed (libfaketime), since neither takes SOURCE_DATE_EPOCH; so the same tree gives the same
 * bytes here too.
 *
 * mkfs.xfs knows no offset. The file is made as the file system alone and then moved up to where
 * the partition begins by inserting a hole in front of it; where the host's file system cannot do
 * that, by copying. */

#include "disk/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "disk/xfs-script.h"

#include <fcntl.h>
#include <time.h>
#include <sys/stat.h>

#define FAKETIME_LIBRARY "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
#define OUTPUT_MAX (64 * 1024 * 1024)

static int run_deterministic(
                Disk *d, const char *tree, const SpawnOptions *options, char *const command[]) {
        _cleanup_strv_free_ char **argv = NULL;
        time_t epoch = (time_t) d->plan->lock->epoch;
        char clock[32];
        struct tm tm;
        int r;

        if (!gmtime_r(&epoch, &tm) || strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &tm) == 0)
                return log_error_errno(-ERANGE, "The lock's epoch is no time");
        r = strv_extend_many(&argv, "env", "LD_PRELOAD=" FAKETIME_LIBRARY, NULL);
        if (r >= 0)
                r = strv_extendf(&argv, "FAKETIME=%s", clock);
        if (r >= 0)
                r = strv_extendf(&argv, "FAKERANDOM_SEED=0x%.8s%.4s%.4s", d->layout.hash_seed,
                                d->layout.hash_seed + 9, d->layout.hash_seed + 14);
        if (r >= 0)
                r = strv_extend_strv(&argv, command);
        return r < 0 ? log_oom() : disk_tool(d, tree, options, argv);
}

/* In the child that sees the tree: the lists, then the file system. */
static int make_xfs(const char *root, void *userdata) {
        Disk *d = userdata;
        _cleanup_free_ char *uuid = strf("uuid=%s,bigtime=1", d->layout.root_uuid);
        int r;

        d->ctx->progress = NULL; /* the parent's display */
        if (!uuid)
                return log_oom();
        r = xfs_write_lists(root, "/tree", d->work, "/work", d->plan->lock->epoch);
        if (r < 0)
                return r;
        char *argv[] = { (char *) "mkfs.xfs", (char *) "-q", (char *) "-f", (char *) "-K",
                (char *) "-b", (char *) "size=4096", (char *) "-s", (char *) "size=512",
                (char *) "-m", uuid, (char *) "-d", (char *) "agcount=4", (char *) "-l",
                (char *) "size=64m", (char *) "-i", (char *) "size=512,nrext64=1", (char *) "-L",
                (char *) "root", (char *) "-p",
                (char *) "slashes_are_spaces=1,file=/work/" XFS_PROTO, d->file, NULL };
        return run_deterministic(d, root, NULL, argv);
}

/* Runs xfs_db with the script of commands; its output goes to a file of the work folder. */
static int run_xfs_db(Disk *d, const char *script, const char *output, bool write) {
        _cleanup_free_ char *in = path_join(d->work, script), *out = path_join(d->work, output);
        _cleanup_close_ int fd = -EBADF;
        char *argv[] = { (char *) "xfs_db", (char *) (write ? "-x" : "-r"), d->file, NULL };

        if (!in || !out)
                return log_oom();
        fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                return log_error_errno(errno, "%s: cannot write it", out);
        return run_deterministic(
                        d, NULL, &(SpawnOptions) { .stdin_path = in, .stdout_fd = fd }, argv);
}

static int complete_xfs(Disk *d) {
        static const char listing[] = "sb 0\nprint rootino\nblockget -n\nncheck\n";
        _cleanup_free_ char *path = path_join(d->work, "list.db");
        char *repair[] = { (char *) "xfs_repair", (char *) "-n", (char *) "-f", d->file, NULL };
        int r;

        if (!path)
                return log_oom();
        r = write_file_atomic(path, listing, sizeof(listing) - 1, 0600);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write it", path);
        r = run_xfs_db(d, "list.db", XFS_INODES, false);
        if (r >= 0)
                r = xfs_write_scripts(d->work);
        if (r >= 0)
                r = run_xfs_db(d, XFS_LINK_SCRIPT, "link.out", true);
        if (r >= 0)
                r = run_xfs_db(d, XFS_TIME_SCRIPT, "time.out", true);
        /* xfs_db does not fail where a command of a script does; a damaged file system shows here,
         * a missing time in the proof. */
        return r < 0 ? r : disk_tool(d, NULL, NULL, repair);
}

/* Copies what is not a hole. */
static int copy_data(int from, int to, off_t size, off_t shift) {
        _cleanup_free_ char *buffer = malloc(MIB);
        off_t end = 0;

        if (!buffer)
                return -ENOMEM;
        for (off_t start; end < size;) {
                start = lseek(from, end, SEEK_DATA);
                if (start < 0)
                        return errno == ENXIO ? 0 : -errno;
                end = lseek(from, start, SEEK_HOLE);
                if (end < 0)
                        return -errno;
                while (start < end) {
                        ssize_t n = pread(from, buffer, (size_t) MIN((off_t) MIB, end - start),
                                        start);
                        if (n <= 0)
                                return n < 0 ? -errno : -EIO;
                        for (ssize_t done = 0; done < n;) {
                                ssize_t w = pwrite(to, buffer + done, (size_t) (n - done),
                                                start + shift + done);
                                if (w < 0)
                                        return -errno;
                                done += w;
                        }
                        start += n;
                }
        }
        return 0;
}

static int shift_up(Disk *d) {
        const Layout *l = &d->layout;
        _cleanup_close_ int fd = open(d->path, O_RDWR | O_CLOEXEC), copy = -EBADF;
        _cleanup_free_ char *other = NULL;
        int r = 0;

        if (fd < 0)
                return -errno;
        if (fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, (off_t) l->root_start) < 0) {
                if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)
                        return -errno;
                other = strf("%s.shifted", d->path);
                if (!other)
                        return -ENOMEM;
                copy = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
                if (copy < 0)
                        return -errno;
                if (ftruncate(copy, (off_t) l->size) < 0)
                        r = -errno;
                if (r >= 0)
                        r = copy_data(fd, copy, (off_t) l->root_size, (off_t) l->root_start);
                if (r >= 0 && rename(other, d->path) < 0)
                        r = -errno;
                if (r < 0)
                        (void) unlink(other);
                return r;
        }
        return ftruncate(fd, (off_t) l->size) < 0 ? -errno : 0;
}

int disk_write_xfs(Disk *d) {
        int r;

        if (truncate(d->path, (off_t) d->layout.root_size) < 0)
                return log_error_errno(errno, "%s: cannot make the file system's file", d->path);
        r = disk_with_tree(d, make_xfs, d);
        if (r >= 0)
                r = complete_xfs(d);
        if (r < 0)
                return r;
        r = shift_up(d);
        return r < 0 ? log_error_errno(r, "%s: cannot move the file system to its partition",
                                       d->path)
                     : 0;
}
