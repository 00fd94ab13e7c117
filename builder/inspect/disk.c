/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The disk of an image: its size, its partitions, and what file systems are on it. */

#include "inspect/internal.h"

#define DEVICE "/dev/sda"

static int add_partition(json_object *partitions, const Partition *p) {
        json_object *o = NULL;
        int r;

        r = json_append_object(partitions, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_INT("number", p->number), JSON_INT("start", p->start),
                        JSON_INT("size", p->size), JSON_STRING("type", unless_empty(p->type)),
                        JSON_STRING("name", unless_empty(p->name)));
}

static int add_partitions(json_object *disk, const PartitionTable *t) {
        json_object *partitions = NULL;
        int r;

        if (isempty(t->kind))
                return 0; /* no partition table: one file system, LVM, or nothing */
        r = json_set_string(disk, "partition_table", t->kind);
        if (r < 0)
                return r;
        r = json_add_array(disk, "partitions", &partitions);
        if (r < 0)
                return r;
        for (size_t i = 0; i < t->n; i++) {
                r = add_partition(partitions, t->partitions + i);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void statvfsp(struct guestfs_statvfs **s) {
        if (*s)
                guestfs_free_statvfs(*s);
}

static int add_use(guestfs_h *g, json_object *filesystem, const char *at) {
        _cleanup_(statvfsp) struct guestfs_statvfs *s = guestfs_statvfs(g, at);
        int r;

        if (!s)
                return 0;
        r = json_set_fields(filesystem, JSON_INT("size", s->blocks * s->frsize),
                        JSON_INT("used", (s->blocks - s->bfree) * s->frsize),
                        JSON_INT("free", s->bavail * s->frsize));
        if (r < 0)
                return r;
        return s->files > 0 ? json_set_int(filesystem, "inodes_used", s->files - s->ffree) : 0;
}

static bool is_mountable(const char *type) {
        static const char *const others[] = { "swap", "unknown", "crypto_LUKS", "LVM2_member",
                "linux_raid_member" };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (streq(type, others[i]))
                        return false;
        return true;
}

static int add_filesystem(guestfs_h *g, json_object *filesystems, const char *device,
                const char *type, json_object *o) {
        _cleanup_free_ char *label = guestfs_vfs_label(g, device),
                            *uuid = guestfs_vfs_uuid(g, device);
        json_object *f = NULL;
        int r;

        r = json_append_object(filesystems, &f);
        if (r < 0)
                return r;
        r = json_set_fields(f, JSON_STRING("device", device), JSON_STRING("type", type),
                        JSON_STRING("label", unless_empty(label)),
                        JSON_STRING("uuid", unless_empty(uuid)));
        if (r < 0)
                return r;

        if (!is_mountable(type))
                return 0;
        if (guestfs_mount_ro(g, device, "/") < 0)
                return inspect_problem(o, device, guestfs_last_error(g));
        r = add_use(g, f, "/");
        (void) guestfs_umount_all(g);
        return r;
}

/* What of the partitions can be told by looking at each alone. Stacked on partitions are LVM, RAID
 * and btrfs' volumes; Windows' dynamic disks leave no signature in theirs. */
static bool is_plain(const char *type, const Partition *p) {
        static const char *const types[] = { "", "ext2", "ext3", "ext4", "vfat", "xfs", "swap" };
        static const char *const dynamic[] = { "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3",
                "AF9B60A0-1431-4F62-BC68-3311714A69AD", "0x42" };

        for (size_t i = 0; i < ELEMENTSOF(dynamic); i++)
                if (streq(p->type, dynamic[i]))
                        return false;
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(type, types[i]))
                        return true;
        return false;
}

/* As guestfs_list_filesystems(), which asks LVM, RAID and others for seconds: device, type … Where
 * all partitions are plain, each is asked alone. */
static int list_filesystems(guestfs_h *g, const PartitionTable *t, char ***ret) {
        _cleanup_strv_free_ char **found = NULL;

        for (size_t i = 0; i < t->n; i++) {
                _cleanup_free_ char *device = strf(DEVICE "%u", t->partitions[i].number),
                                    *type = device ? guestfs_vfs_type(g, device) : NULL;
                int r;

                if (!type || !is_plain(type, t->partitions + i)) {
                        found = strv_free(found);
                        break;
                }
                r = strv_extend_many(&found, device, isempty(type) ? "unknown" : type, NULL);
                if (r < 0)
                        return r;
        }
        *ret = found ? TAKE_PTR(found) : guestfs_list_filesystems(g);
        return 0;
}

int inspect_disk(guestfs_h *g, json_object *o) {
        int64_t size = guestfs_blockdev_getsize64(g, DEVICE);
        _cleanup_partition_table_ PartitionTable table = {};
        _cleanup_strv_free_ char **found = NULL;
        json_object *filesystems = NULL;
        int r;

        if (size >= 0) {
                r = json_set_int(o, "virtual_size", size);
                if (r < 0)
                        return r;
        }
        r = partition_table_read(g, DEVICE, &table);
        if (r == -EIO)
                r = inspect_problem(o, "partition table", guestfs_last_error(g));
        if (r < 0)
                return r;
        r = add_partitions(o, &table);
        if (r < 0)
                return r;
        r = json_add_array(o, "filesystems", &filesystems);
        if (r < 0)
                return r;

        r = list_filesystems(g, &table, &found);
        if (r < 0)
                return r;
        if (!found)
                return inspect_problem(o, "file systems", guestfs_last_error(g));
        for (size_t i = 0; found[i] && found[i + 1]; i += 2) {
                r = add_filesystem(g, filesystems, found[i], found[i + 1], o);
                if (r < 0)
                        return r;
        }
        return 0;
}
