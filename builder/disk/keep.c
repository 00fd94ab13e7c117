/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The vendor's disk as a raw one, with room where the recipe wants some, and the tree's changes in
 * it. A file system that a kernel writes to is never the same twice: such a disk has the same files
 * each time, and not the same bytes. */

#include "disk/keep.h"

#include "inspect/inspect.h"
#include "lock/lock.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/size.h"

#include <fcntl.h>
#include <sys/stat.h>

static int convert(const Disk *d, const char *image) {
        _cleanup_free_ char *output = NULL;
        const char *format;
        int r;

        r = image_format_log(image, &format);
        if (r < 0)
                return r;
        r = image_require_whole(image, format);
        if (r < 0)
                return r;
        r = image_to_raw(image, format, d->path, -EBADF, &output);
        if (r == -ENOENT)
                return log_error_return(
                                -ENOPKG, "qemu-img is not installed: apt install qemu-utils");
        if (r >= 0 || r == -ECANCELED)
                return r;
        if (require_space(d->folder, SPACE_LOW, "the disk") == -ENOSPC)
                return -ENOSPC;
        return log_error_return(r, "%s cannot be made a raw disk: %s", image, strempty(output));
}

/* Returns 1 where it became larger. */
static int enlarge(Disk *d) {
        _cleanup_close_ int fd = disk_open(d, O_RDWR);
        uint64_t wanted = d->plan->recipe->disk.size;
        char is[FORMAT_BYTES_MAX], asked[FORMAT_BYTES_MAX];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error_errno(fd < 0 ? fd : -errno, "%s: cannot open it", d->path);
        d->layout.size = MAX(wanted, (uint64_t) st.st_size);
        if (wanted == 0 || wanted == (uint64_t) st.st_size)
                return 0;
        if (wanted < (uint64_t) st.st_size)
                return log_error_return(-EINVAL,
                                "%s: $.disk.size: the vendor's disk has %s, and %s is less: a disk that is kept can only grow",
                                d->plan->recipe->path, format_bytes(is, (uint64_t) st.st_size),
                                format_bytes(asked, wanted));
        if (ftruncate(fd, (off_t) wanted) < 0)
                return log_error_errno(-errno, "%s: cannot make it larger", d->path);
        return 1;
}

/* The number of the partition behind all others. */
static int find_last(Disk *d, const char **ret_kind, unsigned *ret) {
        _cleanup_partition_table_ PartitionTable t = {};
        _cleanup_close_ int fd = disk_open(d, O_RDONLY);
        uint64_t start = 0;
        bool elsewhere;
        int r;

        r = fd < 0 ? fd : partition_table_parse(fd, &t, &elsewhere);
        if (r < 0)
                return log_error_errno(r, "%s: its partition table cannot be read", d->path);
        for (size_t i = 0; i < t.n; i++)
                if (t.partitions[i].start > start) {
                        start = t.partitions[i].start;
                        *ret = t.partitions[i].number;
                }
        *ret_kind = streq(t.kind, "gpt") ? "gpt" : streq(t.kind, "msdos") ? "msdos" : NULL;
        if (start > 0 && *ret_kind && (*ret <= 4 || streq(*ret_kind, "gpt")))
                return 0;
        return log_error_return(-EINVAL,
                        "%s: $.disk.size: the vendor's disk cannot be grown: it has neither a GPT nor an MBR with a primary partition at its end",
                        d->plan->recipe->path);
}

static const char grow_script[] =
                "[[ $1 != gpt ]] || sfdisk --quiet --relocate gpt-bak-std \"$3\" || exit\n"
                "echo ', +' | sfdisk --quiet --no-tell-kernel --no-reread --force -N \"$2\" \"$3\"\n";

static int grow_partition(Disk *d, unsigned *ret) {
        _cleanup_free_ char *number = NULL;
        const char *kind = NULL;
        int r;

        r = find_last(d, &kind, ret);
        if (r < 0)
                return r;
        number = strf("%u", *ret);
        if (!number)
                return log_oom();
        return disk_tool(d, NULL, NULL,
                        ARGV("bash", "-c", grow_script, "grow", (char *) kind, number, d->file));
}

int disk_keep(Disk *d) {
        const LockedImage *locked = &d->plan->lock->image;
        _cleanup_free_ char *image = NULL;
        KeepChanges changes = {};
        unsigned grown = 0;
        struct stat st;
        int r;

        r = disk_measure(d);
        if (r < 0)
                return r;
        r = locked_image_path(d->ctx, d->plan->recipe, locked, &st, &image);
        if (r < 0)
                return r;
        r = keep_list(d, &changes);
        if (r < 0)
                return r;
        r = d->labels == LABELS_NOW ? labels_ask(d) : 0;
        if (r < 0)
                return r;
        r = keep_archive(d, &changes);
        if (r < 0)
                return r;
        r = convert(d, image);
        if (r < 0)
                return r;
        r = enlarge(d);
        if (r > 0)
                r = grow_partition(d, &grown);
        if (r < 0)
                return r;
        log_debug("%llu files are written to the vendor's disk, %llu removed",
                        (unsigned long long) changes.files, (unsigned long long) changes.removed);
        return keep_write(d, &changes, grown);
}
