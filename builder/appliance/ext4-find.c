/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which partitions of a disk make one system, as its own fstab says. */

#include "appliance/ext4.h"

#include "shared/probe.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <mntent.h>
#include <unistd.h>

#define PARTITIONS_MAX 32 /* more, and it is no cloud's image */
#define FSTAB_MAX (64 * 1024)
#define SECTOR UINT64_C(512) /* blkid's unit */

typedef struct Volume {
        int number;           /* of the partition */
        uint64_t start, size; /* bytes */
        char type[16], uuid[64], label[64], part_uuid[64];
        ext2_filsys fs; /* NULL: not one of these */
        bool used;
} Volume;

typedef struct Volumes {
        Volume *items;
        size_t n;
} Volumes;

static void volumes_done(Volumes *v) {
        for (size_t i = 0; i < v->n; i++)
                if (v->items[i].fs)
                        ext2fs_free(v->items[i].fs);
        free(v->items);
}

void ext4_system_close(Ext4System *s) {
        for (size_t i = 0; i < s->n_mounts; i++) {
                ext2fs_free(s->mounts[i].fs);
                free(s->mounts[i].point);
                free(s->mounts[i].seen);
        }
        free(s->mounts);
        *s = (Ext4System) {};
}

static void take_value(blkid_probe probe, const char *name, char *to, size_t room) {
        const char *value;

        if (blkid_probe_lookup_value(probe, name, &value, NULL) == 0 && strlen(value) < room)
                strcpy(to, value);
}

static void take_text(const char *value, char *to, size_t room) {
        if (value && strlen(value) < room)
                strcpy(to, value);
}

/* False: several signatures, or it cannot be read. */
static bool probe_volume(int disk, Volume *v) {
        _cleanup_probe_ blkid_probe probe = blkid_new_probe();
        int r;

        if (!probe || blkid_probe_set_device(probe, disk, (blkid_loff_t) v->start,
                                      (blkid_loff_t) v->size) != 0)
                return false;
        blkid_probe_enable_superblocks(probe, 1);
        blkid_probe_set_superblocks_flags(
                        probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID | BLKID_SUBLKS_LABEL);
        r = blkid_do_safeprobe(probe);
        if (r < 0)
                return false;
        take_value(probe, "TYPE", v->type, sizeof(v->type));
        take_value(probe, "UUID", v->uuid, sizeof(v->uuid));
        take_value(probe, "LABEL", v->label, sizeof(v->label));
        return r == 1 || *v->type;
}

/* Nothing was left to be written, and nothing is asked of it that libext2fs does not do. */
static bool is_at_rest(ext2_filsys fs, uint64_t size) {
        const struct ext2_super_block *s = fs->super;

        return (s->s_state & EXT2_VALID_FS) && !(s->s_state & EXT2_ERROR_FS) &&
               !ext2fs_has_feature_journal_needs_recovery(fs->super) &&
               !ext2fs_has_feature_encrypt(fs->super) &&
               ext2fs_blocks_count(fs->super) <= size / fs->blocksize;
}

/* NULL: not one that is read here. */
static ext2_filsys open_volume(int disk, const Volume *v) {
        char name[16], options[48];
        int fd = fcntl(disk, F_DUPFD_CLOEXEC, 3); /* which libext2fs closes */
        ext2_filsys fs = NULL;

        if (fd < 0)
                return NULL;
        snprintf(name, sizeof(name), "%d", fd);
        snprintf(options, sizeof(options), "offset=%llu", (unsigned long long) v->start);
        if (ext2fs_open2(name, options, EXT2_FLAG_64BITS, 0, 0, unixfd_io_manager, &fs) != 0)
                return NULL; /* what it has opened, it has closed */
        if (is_at_rest(fs, v->size))
                return fs;
        ext2fs_free(fs);
        return NULL;
}

/* What a system is on, or what it does without: the ESP, swap, and what has no file system at all,
 * as the BIOS boot partition. */
static bool take_volume(int disk, blkid_partition part, Volume *v) {
        v->number = blkid_partition_get_partno(part);
        v->start = (uint64_t) blkid_partition_get_start(part) * SECTOR;
        v->size = (uint64_t) blkid_partition_get_size(part) * SECTOR;
        take_text(blkid_partition_get_uuid(part), v->part_uuid, sizeof(v->part_uuid));
        if (!probe_volume(disk, v))
                return false;
        if (!startswith(v->type, "ext"))
                return !*v->type || streq(v->type, "vfat") || streq(v->type, "swap");
        v->fs = open_volume(disk, v);
        return v->fs;
}

static bool find_volumes(int disk, Volumes *ret) {
        _cleanup_probe_ blkid_probe probe = blkid_new_probe();
        blkid_partlist list;
        int n;

        if (!probe || blkid_probe_set_device(probe, disk, 0, 0) != 0)
                return false;
        blkid_probe_enable_partitions(probe, 1);
        list = blkid_probe_get_partitions(probe);
        n = list ? blkid_partlist_numof_partitions(list) : 0;
        if (n <= 0 || n > PARTITIONS_MAX)
                return false;
        ret->items = calloc((size_t) n, sizeof(*ret->items));
        if (!ret->items)
                return false;
        for (int i = 0; i < n; i++) {
                blkid_partition part = blkid_partlist_get_partition(list, i);

                if (blkid_partition_is_extended(part))
                        continue;
                if (!take_volume(disk, part, ret->items + ret->n++))
                        return false;
        }
        return true;
}

static bool has_file(const Volume *v, const char *path, ext2_ino_t *ret) {
        return v->fs && ext2fs_namei_follow(v->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, path, ret) == 0;
}

/* The one with a fstab; NULL: none, several, or not on `device`. */
static Volume *find_root(const Volumes *v, const char *device, ext2_ino_t *ret_fstab) {
        Volume *root = NULL;
        char name[32];
        ext2_ino_t ino;

        for (size_t i = 0; i < v->n; i++) {
                if (!has_file(v->items + i, "/etc/fstab", &ino))
                        continue;
                if (root)
                        return NULL;
                root = v->items + i;
                *ret_fstab = ino;
        }
        if (!root)
                return NULL;
        snprintf(name, sizeof(name), "/dev/sda%d", root->number);
        return !device || streq(device, name) ? root : NULL;
}

static bool is_named(const Volume *v, const char *spec) {
        const struct {
                const char *key, *is;
                int (*compare)(const char *a, const char *b);
        } names[] = {
                { "UUID=", v->uuid, strcasecmp },
                { "LABEL=", v->label, strcmp },
                { "PARTUUID=", v->part_uuid, strcasecmp },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const char *value = startswith(spec, names[i].key);

                if (value)
                        return *value && names[i].compare(value, names[i].is) == 0;
        }
        return false;
}

/* NULL: none or several are called so. */
static Volume *find_named(const Volumes *v, const char *spec) {
        Volume *found = NULL;

        for (size_t i = 0; i < v->n; i++)
                if (is_named(v->items + i, spec)) {
                        if (found)
                                return NULL;
                        found = v->items + i;
                }
        return found;
}

static bool is_of_the_kernel(const char *type) {
        static const char *const types[] = { "swap", "proc", "sysfs", "tmpfs", "devpts", "devtmpfs",
                "efivarfs", "mqueue", "hugetlbfs" };

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(type, types[i]))
                        return true;
        return false;
}

/* "/var/log/" is "var/log"; NULL: not a path that can be followed by its text, or no memory. */
static char *plain_point(const char *dir) {
        size_t n;

        if (*dir != '/' || strstr(dir, "//") || strstr(dir, "/.") || strchr(dir, '\\'))
                return NULL;
        dir++;
        n = strlen(dir);
        if (n > 0 && dir[n - 1] == '/')
                n--;
        return strndup(dir, n);
}

static bool has_point(const Ext4System *s, const char *point) {
        for (size_t i = 0; i < s->n_mounts; i++)
                if (streq(s->mounts[i].point, point))
                        return true;
        return false;
}

/* Takes the volume's file system. */
static bool add_mount(Ext4System *s, Volume *v, const char *dir) {
        _cleanup_free_ char *point = plain_point(dir);
        uint8_t *seen = calloc(1, (size_t) v->fs->super->s_inodes_count / 8 + 1);

        if (!point || !seen || has_point(s, point)) {
                free(seen);
                return false;
        }
        s->mounts[s->n_mounts++] = (Ext4Mount) { TAKE_PTR(point), v->fs, seen };
        v->fs = NULL;
        v->used = true;
        return true;
}

static bool take_line(const Volumes *v, const Volume *root, const struct mntent *m, Ext4System *s) {
        Volume *volume;

        if (is_of_the_kernel(m->mnt_type))
                return true;
        if (streq(m->mnt_dir, "/")) /* which disk /dev/vda1 is, another machine knows */
                return startswith(m->mnt_fsname, "/dev/") || find_named(v, m->mnt_fsname) == root;
        volume = find_named(v, m->mnt_fsname);
        if (!volume || volume == root)
                return false;
        if (streq(volume->type, "vfat"))
                return !streq(m->mnt_dir, "/boot") &&
                       (strstr(m->mnt_dir, "efi") || strstr(m->mnt_dir, "EFI"));
        return volume->fs && add_mount(s, volume, m->mnt_dir);
}

/* False where a line is not understood. */
static bool read_fstab(
                const Volumes *v, const Volume *root, char *text, size_t size, Ext4System *s) {
        _cleanup_fclose_ FILE *f = size > 0 ? fmemopen(text, size, "r") : NULL;
        char line[4096];
        struct mntent m;

        while (f && getmntent_r(f, &m, line, sizeof(line)))
                if (!take_line(v, root, &m, s))
                        return false;
        return f;
}

static bool find_mounts(Volumes *v, Volume *root, ext2_ino_t fstab, Ext4System *s) {
        _cleanup_free_ char *text = NULL;
        const char *why;
        size_t size;
        Ext4Mount at = { .fs = root->fs };

        if (ext4_read_small(&at, fstab, FSTAB_MAX, &text, &size, &why) < 0)
                return false;
        if (!add_mount(s, root, "/") || !read_fstab(v, root, text, size, s))
                return false;
        for (size_t i = 0; i < v->n; i++)
                if (startswith(v->items[i].type, "ext") && !v->items[i].used)
                        return false; /* what is it for? */
        return true;
}

int ext4_system_open(int disk, const char *root, Ext4System *ret) {
        _cleanup_(volumes_done) Volumes volumes = {};
        _cleanup_ext4_system_ Ext4System s = {};
        ext2_ino_t fstab, release;
        Volume *on;

        if (!find_volumes(disk, &volumes))
                return 0;
        on = find_root(&volumes, root, &fstab);
        if (!on || !has_file(on, "/etc/os-release", &release))
                return 0;
        s.mounts = calloc(volumes.n, sizeof(*s.mounts));
        if (!s.mounts)
                return -ENOMEM;
        if (!find_mounts(&volumes, on, fstab, &s))
                return 0;
        *ret = s;
        s = (Ext4System) {};
        return 1;
}
