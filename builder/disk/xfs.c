/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An XFS root. mkfs.xfs fills a file system from a "protofile", a list of what is to be in it;
 * what that cannot say xfs_db writes afterwards into the unmounted file: times of change, sticky
 * bits, further names of a file. Both see a clock that stands still and a random generator with a
 * fixed seed (libfaketime), since neither takes SOURCE_DATE_EPOCH; so the same tree gives the
 * same bytes here too.
 *
 * mkfs.xfs knows no offset. The file is made as the file system alone and then moved up to where
 * the partition begins by inserting a hole in front of it; where the host's file system cannot
 * do that, by copying. */

#include "disk/internal.h"

#include "disk/xfs-script.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <time.h>
#include <sys/stat.h>

#define FAKETIME_LIBRARY "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"

/* Puts the clock and the seed in front of a command. */
static int run_deterministic(
                Disk *d, const char *tree, const SpawnOptions *options, char *const command[]) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *time_setting = NULL, *seed_setting = NULL;
        const char *seed = d->layout.hash_seed;
        time_t epoch = (time_t) d->plan->lock->epoch;
        char clock[32];
        struct tm tm;

        if (!gmtime_r(&epoch, &tm) || strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &tm) == 0)
                return log_error_return(-ERANGE, "The lock's epoch is no time");
        time_setting = strf("FAKETIME=%s", clock);
        seed_setting = strf("FAKERANDOM_SEED=0x%.8s%.4s%.4s", seed, seed + 9, seed + 14);
        if (!time_setting || !seed_setting)
                return log_oom();

        if (strv_extend_strv(&argv, ARGV("env", "LD_PRELOAD=" FAKETIME_LIBRARY, time_setting,
                                                    seed_setting)) < 0 ||
                        strv_extend_strv(&argv, command) < 0)
                return log_oom();
        return disk_tool(d, tree, options, argv);
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

        return run_deterministic(d, root, NULL,
                        ARGV("mkfs.xfs", "-q", "-f", "-K", "-b", "size=4096", "-s", "size=512",
                                        "-m", uuid, "-d", "agcount=4", "-l", "size=64m", "-i",
                                        "size=512,nrext64=1", "-L", "root", "-p",
                                        "slashes_are_spaces=1,file=/work/" XFS_PROTO, d->file));
}

/* Runs xfs_db with the script of commands; its output goes to a file of the work folder. */
static int run_xfs_db(Disk *d, const char *script, const char *output, bool write) {
        _cleanup_free_ char *in = path_join(d->work, script);
        _cleanup_close_ int fd = -EBADF;

        if (!in)
                return log_oom();
        fd = inside_create_output(d->work, output, 0600);
        if (fd < 0)
                return log_error_errno(fd, "%s/%s: cannot write it", d->work, output);
        return run_deterministic(d, NULL, &(SpawnOptions) { .stdin_path = in, .stdout_fd = fd },
                        ARGV("xfs_db", write ? "-x" : "-r", d->file));
}

static int complete_xfs(Disk *d) {
        static const char listing[] = "sb 0\nprint rootino\nblockget -n\nncheck\n";
        _cleanup_free_ char *path = path_join(d->work, "list.db");
        int r;

        if (!path)
                return log_oom();
        r = write_file_atomic(path, listing, sizeof(listing) - 1, 0600);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write it", path);
        r = run_xfs_db(d, "list.db", XFS_INODES, false);
        if (r < 0)
                return r;
        r = xfs_write_scripts(d->work);
        if (r < 0)
                return r;

        r = run_xfs_db(d, XFS_LINK_SCRIPT, "link.out", true);
        if (r < 0)
                return r;
        r = run_xfs_db(d, XFS_TIME_SCRIPT, "time.out", true);
        if (r < 0)
                return r;
        /* xfs_db does not fail where a command of a script does; a damaged file system shows here,
         * a missing time in the proof. */
        return disk_tool(d, NULL, NULL, ARGV("xfs_repair", "-n", "-f", d->file));
}

/* Copies from `start` to `end`, which comes to lie `shift` further up. */
static int copy_range(int from, int to, off_t start, off_t end, off_t shift, char *buffer) {
        while (start < end) {
                ssize_t n = read_at(from, buffer, (size_t) MIN((off_t) MIB, end - start),
                                (uint64_t) start);
                int r;

                if (n <= 0)
                        return n < 0 ? (int) n : -EIO;
                r = write_all_at(to, buffer, (size_t) n, (uint64_t) (start + shift));
                if (r < 0)
                        return r;
                start += n;
        }
        return 0;
}

/* Copies what is not a hole. */
static int copy_data(int from, int to, off_t size, off_t shift) {
        _cleanup_free_ char *buffer = malloc(MIB);
        off_t end = 0;

        if (!buffer)
                return -ENOMEM;
        while (end < size) {
                off_t start = lseek(from, end, SEEK_DATA);
                int r;

                if (start < 0)
                        return errno == ENXIO ? 0 : -errno;
                end = lseek(from, start, SEEK_HOLE);
                if (end < 0)
                        return -errno;
                r = copy_range(from, to, start, end, shift, buffer);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int copy_shifted(int fd, const Layout *l, const char *folder, const char *name) {
        _cleanup_close_ int copy = inside_create_output(folder, name, 0644);

        if (copy < 0)
                return copy;
        if (ftruncate(copy, (off_t) l->size) < 0)
                return -errno;
        return copy_data(fd, copy, (off_t) l->root_size, (off_t) l->root_start);
}

/* Where the host's file system cannot insert a hole. */
static int shift_by_copying(Disk *d, int fd) {
        _cleanup_free_ char *other = strf("%s.shifted", d->path);
        int r;

        if (!other)
                return -ENOMEM;
        r = copy_shifted(fd, &d->layout, d->folder, path_basename(other));
        if (r < 0) {
                (void) unlink(other);
                return r;
        }
        if (rename(other, d->path) < 0) {
                r = -errno;
                (void) unlink(other);
                return r;
        }
        return 0;
}

static int shift_up(Disk *d) {
        const Layout *l = &d->layout;
        _cleanup_close_ int fd = disk_open(d, O_RDWR);

        if (fd < 0)
                return fd;
        if (fallocate(fd, FALLOC_FL_INSERT_RANGE, 0, (off_t) l->root_start) >= 0)
                return ftruncate(fd, (off_t) l->size) < 0 ? -errno : 0;
        if (errno != EOPNOTSUPP && errno != EINVAL && errno != ENOSYS)
                return -errno;
        return shift_by_copying(d, fd);
}

static int size_for_root(const Disk *d) {
        _cleanup_close_ int fd = disk_open(d, O_WRONLY);

        if (fd < 0)
                return fd;
        return ftruncate(fd, (off_t) d->layout.root_size) < 0 ? -errno : 0;
}

int disk_write_xfs(Disk *d) {
        int r;

        r = size_for_root(d);
        if (r < 0)
                return log_error_errno(r, "%s: cannot make the file system's file", d->path);
        r = disk_with_tree(d, make_xfs, d);
        if (r < 0)
                return r;
        r = complete_xfs(d);
        if (r < 0)
                return r;

        r = shift_up(d);
        if (r < 0)
                return log_error_errno(
                                r, "%s: cannot move the file system to its partition", d->path);
        return 0;
}
