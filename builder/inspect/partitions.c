/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A partition table from the sectors at both ends of a disk. Only an MBR's logical partitions are a
 * chain over the whole of it; for those libguestfs is asked, question by question. */

#include "inspect/partitions.h"
#include "inspect/internal.h"

#include "shared/file-util.h"
#include "shared/probe.h"

#include <ctype.h>

#define SECTOR 512
#define TABLE_SIZE (1024 * 1024) /* at either end of the disk; GPT with 128 entries takes 17 KiB */

void partition_table_done(PartitionTable *t) {
        free(t->partitions);
        *t = (PartitionTable) {};
}

static void copy_upper(char *to, size_t size, const char *from) {
        snprintf(to, size, "%s", strempty(from));
        for (; *to; to++)
                *to = (char) toupper((unsigned char) *to);
}

static void describe(blkid_partition p, Partition *ret) {
        const char *type = blkid_partition_get_type_string(p); /* GPT's */

        *ret = (Partition) {
                .number = (unsigned) blkid_partition_get_partno(p),
                .start = (uint64_t) blkid_partition_get_start(p) * SECTOR,
                .size = (uint64_t) blkid_partition_get_size(p) * SECTOR,
        };
        if (type)
                copy_upper(ret->type, sizeof(ret->type), type);
        else
                snprintf(ret->type, sizeof(ret->type), "0x%02x",
                                (unsigned) blkid_partition_get_type(p));
        snprintf(ret->name, sizeof(ret->name), "%s", strempty(blkid_partition_get_name(p)));
}

static int take_list(blkid_partlist list, PartitionTable *t, bool *elsewhere) {
        blkid_parttable table = blkid_partlist_get_table(list);
        int n = blkid_partlist_numof_partitions(list);
        const char *kind;

        if (!table)
                return 0;
        kind = blkid_parttable_get_type(table);
        snprintf(t->kind, sizeof(t->kind), "%s", streq_ptr(kind, "dos") ? "msdos" : strempty(kind));
        copy_upper(t->id, sizeof(t->id), blkid_parttable_get_id(table));
        t->partitions = calloc((size_t) MAX(n, 0) + 1, sizeof(*t->partitions));
        if (!t->partitions)
                return -ENOMEM;
        for (int i = 0; i < n; i++) {
                blkid_partition p = blkid_partlist_get_partition(list, i);

                *elsewhere = *elsewhere || blkid_partition_is_extended(p) ||
                             blkid_partition_is_logical(p) ||
                             blkid_partition_get_table(p) != table; /* a BSD's, in a partition */
                describe(p, t->partitions + t->n++);
        }
        return 0;
}

int partition_table_parse(int fd, PartitionTable *ret, bool *ret_elsewhere) {
        _cleanup_probe_ blkid_probe probe = blkid_new_probe();
        _cleanup_partition_table_ PartitionTable t = {};
        blkid_partlist list;
        bool elsewhere = false;
        int r;

        if (!probe)
                return -ENOMEM;
        if (blkid_probe_set_device(probe, fd, 0, 0) < 0)
                return -EIO;
        blkid_probe_enable_partitions(probe, true);
        blkid_probe_enable_superblocks(probe, false);
        list = blkid_probe_get_partitions(probe);
        r = list ? take_list(list, &t, &elsewhere) : 0;
        if (r < 0)
                return r;
        *ret = t;
        t = (PartitionTable) {};
        *ret_elsewhere = elsewhere;
        return 0;
}

static int copy_sectors(guestfs_h *g, const char *device, int fd, uint64_t offset, uint64_t size) {
        size_t got = 0;
        _cleanup_free_ char *data =
                        guestfs_pread_device(g, device, (int) size, (int64_t) offset, &got);

        if (!data)
                return -EIO;
        return pwrite(fd, data, got, (off_t) offset) == (ssize_t) got ? 0 : -EIO;
}

/* A sparse file as large as the disk, with what lies at its ends. */
static int copy_ends(guestfs_h *g, const char *device, int fd) {
        int64_t size = guestfs_blockdev_getsize64(g, device);
        uint64_t part;
        int r;

        if (size < 0)
                return -EIO;
        if (ftruncate(fd, size) < 0)
                return -errno;
        part = MIN((uint64_t) size, (uint64_t) TABLE_SIZE);
        r = copy_sectors(g, device, fd, 0, part);
        if (r < 0)
                return r;
        return copy_sectors(g, device, fd, (uint64_t) size - part, part);
}

/* libguestfs' own way, a program for each question. */
static int read_slowly(guestfs_h *g, const char *device, PartitionTable *t) {
        struct guestfs_partition_list *l = guestfs_part_list(g, device);
        _cleanup_free_ Partition *partitions = NULL;

        if (!l)
                return -EIO;
        partitions = calloc(l->len + 1, sizeof(*partitions));
        for (uint32_t i = 0; partitions && i < l->len; i++) {
                int id = guestfs_part_get_mbr_id(g, device, l->val[i].part_num);

                partitions[i] = (Partition) {
                        .number = (unsigned) l->val[i].part_num,
                        .start = l->val[i].part_start,
                        .size = l->val[i].part_size,
                };
                if (id >= 0)
                        snprintf(partitions[i].type, sizeof(partitions[i].type), "0x%02x",
                                        (unsigned) id);
        }
        t->n = partitions ? l->len : 0;
        guestfs_free_partition_list(l);
        free(t->partitions);
        t->partitions = TAKE_PTR(partitions);
        return t->partitions ? 0 : -ENOMEM;
}

int partition_table_read_backup(guestfs_h *g, const char *device, PartitionTable *ret) {
        static const char nothing[SECTOR];
        char path[64];
        _cleanup_close_ int fd = guest_memory_file(path);
        bool elsewhere;
        int r;

        if (fd < 0)
                return fd;
        r = copy_ends(g, device, fd);
        if (r < 0)
                return r;
        /* Without the header at the beginning libblkid takes the one at the end. */
        if (pwrite(fd, nothing, SECTOR, SECTOR) != SECTOR)
                return -EIO;
        return partition_table_parse(fd, ret, &elsewhere);
}

int partition_table_read(guestfs_h *g, const char *device, PartitionTable *ret) {
        char path[64];
        _cleanup_close_ int fd = guest_memory_file(path);
        _cleanup_partition_table_ PartitionTable t = {};
        bool elsewhere;
        int r;

        if (fd < 0)
                return fd;
        r = copy_ends(g, device, fd);
        if (r < 0)
                return r;
        r = partition_table_parse(fd, &t, &elsewhere);
        if (r < 0)
                return r;
        if (elsewhere) {
                r = read_slowly(g, device, &t);
                if (r < 0)
                        return r;
        }
        *ret = t;
        t = (PartitionTable) {};
        return 0;
}
