/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether the boot loader, the partition table and the files of a disk are what the tree had:
 * decided by comparing, never by trusting that no tool complained. What differs is said at the end
 * alone, once it is sure that the appliance has not died: then every question fails. */

#include "disk/proof-compare.h"

#include "appliance/appliance.h"
#include "disk/layout.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define DIFFERENCES_SHOWN 20
#define CHUNK (1024 * 1024) /* a message of libguestfs' has room for 4 MiB */
/* Smaller files are read and hashed here: starting a program in the appliance costs more. */
#define INLINE_MAX (512 * 1024)

typedef struct Proof {
        guestfs_h *g;
        const char *device;
        const DiskInfo *disk;
        const Recipe *recipe;
        char **shown; /* of the differences, the first */
        size_t differences;
} Proof;

static void _printf_(2, 3) differs(Proof *p, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (p->differences++ < DIFFERENCES_SHOWN)
                (void) strv_extend(&p->shown, text ? text : "something differs");
}

/* A call that failed: an error of the disk, as far as one can tell from here. */
static void failed(Proof *p, const char *what) {
        differs(p, "%s: %s", what, strempty(guestfs_last_error(p->g)));
}

static void expect(Proof *p, const char *what, const char *found, const char *expected) {
        if (!found)
                failed(p, what);
        else if (strcasecmp(found, expected) != 0)
                differs(p, "%s is %s on the disk and should be %s", what, found, expected);
}

static void check_table(Proof *p, const char *which, const PartitionTable *t) {
        const DiskInfo *d = p->disk;
        const uint64_t starts[] = { d->bios_start, d->esp_start, d->root_start };
        size_t n = 0;

        if (!streq(t->kind, "gpt"))
                return differs(p, "%s is %s and should be gpt", which,
                                t->kind[0] ? t->kind : "damaged");
        if (strcasecmp(t->id, d->disk_guid) != 0)
                differs(p, "%s gives the disk's GUID as %s and should give %s", which, t->id,
                                d->disk_guid);
        for (size_t i = 0; i < ELEMENTSOF(starts); i++) {
                if (starts[i] == 0)
                        continue;
                if (n >= t->n || t->partitions[n].start != starts[i])
                        differs(p, "%s: partition %zu does not begin at byte %llu", which, n + 1,
                                        (unsigned long long) starts[i]);
                else if (starts[i] == d->root_start && t->partitions[n].size != d->root_size)
                        differs(p, "%s: the root partition has %llu bytes and should have %llu",
                                        which, (unsigned long long) t->partitions[n].size,
                                        (unsigned long long) d->root_size);
                n++;
        }
        if (t->n != n)
                differs(p, "%s has %zu partitions and should have %zu", which, t->n, n);
}

/* The firmware reads either table, whichever is sound. */
static void check_partitions(Proof *p) {
        _cleanup_partition_table_ PartitionTable table = {}, backup = {};

        if (partition_table_read(p->g, p->device, &table) < 0)
                return failed(p, "the partition table");
        check_table(p, "the partition table", &table);
        if (partition_table_read_backup(p->g, p->device, &backup) < 0)
                return failed(p, "the backup partition table");
        check_table(p, "the backup partition table", &backup);
}

/* Adds a part of the disk (path NULL) or of a file on it. */
static int hash_guest(Proof *p, Hash *h, const char *path, uint64_t offset, uint64_t size) {
        while (size > 0) {
                int count = (int) MIN(size, (uint64_t) CHUNK);
                size_t got = 0;
                _cleanup_free_ char *data =
                                path ? guestfs_pread(p->g, path, count, (int64_t) offset, &got)
                                     : guestfs_pread_device(p->g, p->device, count,
                                                       (int64_t) offset, &got);

                if (!data || got == 0)
                        return -EIO;
                hash_bytes(h, data, got);
                offset += got;
                size -= got;
        }
        return 0;
}

static void check_bios_loader(Proof *p) {
        _cleanup_hash_free_ Hash *h = NULL;
        Digest found;

        if (p->disk->bios_start == 0)
                return;
        if (hash_new(&h) < 0 || hash_guest(p, h, NULL, 0, BIOS_BOOT_CODE) < 0 ||
                        hash_guest(p, h, NULL, p->disk->bios_start, p->disk->bios_loader_size) < 0)
                return failed(p, "the BIOS boot loader");
        hash_end(h, found);
        expect(p, "the BIOS boot loader's SHA-256", found, p->disk->bios_loader);
}

/* False where the files cannot be looked at, which is a difference. */
static bool mount_all(Proof *p) {
        unsigned number = 1 + (p->disk->bios_start > 0);
        _cleanup_free_ char *esp = NULL, *root = NULL, *type = NULL, *uuid = NULL, *esp_uuid = NULL;

        esp = strf("%s%u", p->device, number);
        root = strf("%s%u", p->device, number + (p->disk->esp_start > 0));
        if (!esp || !root) {
                differs(p, "out of memory");
                return false;
        }

        type = guestfs_vfs_type(p->g, root);
        uuid = guestfs_vfs_uuid(p->g, root);
        expect(p, "root's file system", type, p->recipe->disk.filesystem);
        expect(p, "root's UUID", uuid, p->disk->root_uuid);
        if (guestfs_mount_ro(p->g, root, "/") < 0) {
                failed(p, "the root file system does not mount");
                return false;
        }
        if (p->disk->esp_start == 0)
                return true;

        esp_uuid = guestfs_vfs_uuid(p->g, esp);
        expect(p, "the ESP's serial number", esp_uuid, p->disk->esp_id);
        if (guestfs_mount_ro(p->g, esp, "/boot/efi") < 0) {
                failed(p, "the ESP does not mount");
                return false;
        }
        return true;
}

/* Fills ret with the SHA-256 of a file on the disk; "" where that fails. */
static void digest_guest_file(Proof *p, const char *path, uint64_t size, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;

        ret[0] = '\0';
        if (size > INLINE_MAX) {
                _cleanup_free_ char *sum = guestfs_checksum(p->g, "sha256", path);
                if (sum && digest_valid(sum))
                        memcpy(ret, sum, sizeof(Digest));
        } else if (hash_new(&h) >= 0 && hash_guest(p, h, path, 0, size) >= 0)
                hash_end(h, ret);
}

static void check_file_digest(Proof *p, const char *path, const char *expected) {
        Digest found;

        if (!*expected)
                return;
        digest_guest_file(p, path, UINT64_MAX, found);
        if (!*found)
                failed(p, path);
        else if (!streq(found, expected))
                differs(p, "%s has SHA-256 %s and should have %s", path, found, expected);
}

static int guest_rights(Proof *p, const char *path, char **ret) {
        for (const char *const *name = sample_rights(p->recipe); *name; name++) {
                size_t size = 0;
                _cleanup_free_ char *value = guestfs_lgetxattr(p->g, path, *name, &size);

                if (value && sample_add_right(ret, *name, value, size) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void check_attributes(Proof *p, const Sample *s, const struct guestfs_statns *st) {
        uint32_t mode = (uint32_t) st->st_mode;

        if (mode != s->mode)
                differs(p, "%s has mode %06o and should have %06o", s->path, mode, s->mode);
        if (st->st_uid != s->uid || st->st_gid != s->gid)
                differs(p, "%s belongs to %lld:%lld and should to %u:%u", s->path,
                                (long long) st->st_uid, (long long) st->st_gid, s->uid, s->gid);
        if (st->st_mtime_sec != s->mtime)
                differs(p, "%s is of second %lld and should be of %lld", s->path,
                                (long long) st->st_mtime_sec, (long long) s->mtime);
}

static void check_content(Proof *p, const Sample *s, uint64_t size) {
        Digest found;

        if (size != s->size)
                return differs(p, "%s has %lld bytes and should have %llu", s->path,
                                (long long) size, (unsigned long long) s->size);
        digest_guest_file(p, s->path, s->size, found);
        if (!*found)
                failed(p, s->path);
        else if (!streq(found, s->sha256))
                differs(p, "%s has SHA-256 %s and should have %s", s->path, found, s->sha256);
}

static void check_rights(Proof *p, const Sample *s) {
        _cleanup_free_ char *found = NULL;

        if (!s->rights)
                return;
        if (guest_rights(p, s->path, &found) < 0)
                return failed(p, s->path);
        if (!streq_ptr(found, s->rights))
                differs(p, "%s has lost its file capabilities or access list", s->path);
}

static void check_target(Proof *p, const Sample *s) {
        _cleanup_free_ char *target = NULL;

        if (!s->target)
                return;
        target = guestfs_readlink(p->g, s->path);
        if (!target)
                failed(p, s->path);
        else if (!streq(target, s->target))
                differs(p, "%s leads to %s and should to %s", s->path, target, s->target);
}

static void check_sample(Proof *p, const Sample *s) {
        struct guestfs_statns *st = guestfs_lstatns(p->g, s->path);

        if (!st)
                return failed(p, s->path);
        check_attributes(p, s, st);
        check_rights(p, s);
        if (S_ISREG(st->st_mode) && S_ISREG(s->mode))
                check_content(p, s, (uint64_t) st->st_size);
        else if (S_ISLNK(st->st_mode))
                check_target(p, s);
        guestfs_free_statns(st);
}

/* The vendor's disk, as its own fstab says. */
static bool mount_kept(Proof *p) {
        _cleanup_free_ char *root = NULL;

        if (system_mount(p->g, p->recipe->base.image, p->recipe->base.root, false, &root) >= 0)
                return true;
        differs(p, "the vendor's disk has no system any more");
        return false;
}

static bool mount_disk(Proof *p) {
        if (p->recipe->disk.keep)
                return mount_kept(p);
        check_partitions(p);
        check_bios_loader(p);
        return mount_all(p);
}

/* Everything that is compared once root and the ESP are mounted. */
static void check_files(Proof *p, const Samples *samples, const ProofWatch *watch) {
        check_file_digest(p, "/boot/efi/EFI/BOOT/BOOTX64.EFI", p->disk->efi_loader);
        check_file_digest(p, "/etc/fstab", p->disk->fstab);
        check_file_digest(p, "/boot/grub/grub.cfg", p->disk->grub_config);
        for (size_t i = 0; i < samples->n && !interrupt_signal(); i++) {
                check_sample(p, samples->samples + i);
                watch->progress(i + 1, samples->n, watch->userdata);
        }
}

static void report(const Proof *p) {
        STRV_FOREACH (text, p->shown)
                log_error("proof: %s", *text);
        if (p->differences > DIFFERENCES_SHOWN)
                log_error("proof: %zu more differences", p->differences - DIFFERENCES_SHOWN);
        log_error("The finished disk is not what the tree was, so it is thrown away. Is the host's memory or disk damaged?");
}

int proof_samples(Context *ctx, const Plan *plan, char *const *layers, Samples *ret) {
        /* The disk's own: they come from the top layer that only disk.c has. Folders it
         * touched are left out too. */
        static const char *const of_the_disk[] = { "/etc/fstab", "/boot/grub/grub.cfg",
                "/boot/grub", "/boot/efi", "/boot/loader", "/boot/loader/entries", "/boot", "/etc",
                NULL };

        return samples_take(ctx->store, plan, layers, (char *const *) of_the_disk, ret);
}

int proof_compare(guestfs_h *g, const char *device, const Recipe *recipe, const DiskInfo *disk,
                const Samples *samples, const ProofWatch *watch) {
        Proof p = { .g = g, .device = device, .disk = disk, .recipe = recipe };
        _cleanup_strv_free_ char **shown = NULL;

        if (mount_disk(&p))
                check_files(&p, samples, watch);
        shown = p.shown;

        if (interrupt_signal())
                return -ECANCELED;
        if (guestfs_umount_all(g) < 0 || guestfs_is_ready(g) <= 0)
                return -EAGAIN;
        if (p.differences > 0) {
                report(&p);
                return -EIO;
        }
        log_debug("proof: boot loader, kernel, fstab and %zu files are what the tree had",
                        samples->n);
        return 0;
}
