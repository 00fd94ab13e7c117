/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The disk of an image: its size, its partitions, and what file systems are on it. */

#include "inspect/internal.h"

#define DEVICE "/dev/sda"

static void partition_listp(struct guestfs_partition_list **l) {
        if (*l)
                guestfs_free_partition_list(*l);
}

/* GPT: a GUID; MBR: "0x83". NULL where there is none. */
static char *partition_type(guestfs_h *g, const char *device, int number, bool gpt) {
        int id;

        if (gpt)
                return guestfs_part_get_gpt_type(g, device, number);
        id = guestfs_part_get_mbr_id(g, device, number);
        return id >= 0 ? strf("0x%02x", (unsigned) id) : NULL;
}

static int add_partition(guestfs_h *g, json_object *partitions, const char *device,
                const struct guestfs_partition *p, bool gpt) {
        _cleanup_free_ char *type = partition_type(g, device, p->part_num, gpt),
                            *name = gpt ? guestfs_part_get_name(g, device, p->part_num) : NULL;
        json_object *o = NULL;
        int r;

        r = json_append_object(partitions, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_INT("number", p->part_num), JSON_INT("start", p->part_start),
                        JSON_INT("size", p->part_size), JSON_STRING("type", unless_empty(type)),
                        JSON_STRING("name", unless_empty(name)));
}

static int add_partitions(guestfs_h *g, json_object *disk, const char *device) {
        _cleanup_(partition_listp) struct guestfs_partition_list *l = guestfs_part_list(g, device);
        _cleanup_free_ char *table = NULL;
        json_object *partitions = NULL;
        int r;

        if (!l)
                return 0; /* no partition table: one file system, LVM, or nothing */
        table = guestfs_part_get_parttype(g, device);
        r = json_set_string(disk, "partition_table", unless_empty(table));
        if (r < 0)
                return r;
        r = json_add_array(disk, "partitions", &partitions);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < l->len; i++) {
                r = add_partition(g, partitions, device, l->val + i, streq_ptr(table, "gpt"));
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

int inspect_disk(guestfs_h *g, json_object *o) {
        int64_t size = guestfs_blockdev_getsize64(g, DEVICE);
        _cleanup_strv_free_ char **found = NULL;
        json_object *filesystems = NULL;
        int r;

        if (size >= 0) {
                r = json_set_int(o, "virtual_size", size);
                if (r < 0)
                        return r;
        }
        r = add_partitions(g, o, DEVICE);
        if (r < 0)
                return r;
        r = json_add_array(o, "filesystems", &filesystems);
        if (r < 0)
                return r;

        found = guestfs_list_filesystems(g); /* device, type, device, type … */
        if (!found)
                return inspect_problem(o, "file systems", guestfs_last_error(g));
        for (size_t i = 0; found[i] && found[i + 1]; i += 2) {
                r = add_filesystem(g, filesystems, found[i], found[i + 1], o);
                if (r < 0)
                        return r;
        }
        return 0;
}
