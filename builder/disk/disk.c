/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the layers of a finished tree to a raw disk that boots. The order: measure the tree, lay out
 * the disk, write root, partition table, ESP, BIOS boot loader. Every byte is written by a program
 * of the tools tree in its sandbox, straight into the file at the partition's offset: no loop
 * device, no mount, nothing to undo. */

#include "disk/keep.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/stat.h>

static int hash_text(const char *text, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        hash_bytes(h, text, strlen(text));
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

static int set_epoch(const Disk *d, const char *path) {
        const struct timespec times[2] = { { .tv_sec = d->plan->lock->epoch },
                { .tv_sec = d->plan->lock->epoch } };

        return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Takes `text`, which may be NULL: out of memory. */
static int write_stamped(const Disk *d, const char *top, const char *name, char *text, Digest ret) {
        _cleanup_free_ char *path = path_join(top, name), *owned = text;
        int r;

        if (!path || !owned)
                return -ENOMEM;
        r = hash_text(owned, ret);
        if (r < 0)
                return r;
        r = write_file_atomic(path, owned, strlen(owned), 0644);
        if (r < 0)
                return r;
        return set_epoch(d, path);
}

/* Each below `top`, with the mode every system has there and the lock's time. */
static int stamp_folders(const Disk *d, const char *top, const char *const *folders, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = path_join(top, folders[i]);
                int r;

                if (!path)
                        return -ENOMEM;
                if (chmod(path, 0755) < 0)
                        return -errno;
                r = set_epoch(d, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Its name as kernel-install gives it: the id of the machine, here of the disk, and the release. */
static int write_bls_entry(const Disk *d, const char *top, const BootKernel *kernel) {
        _cleanup_free_ char *system = strf("%s %s", d->plan->recipe->base.distro,
                                            d->plan->recipe->base.release),
                            *id = strdup(d->layout.disk_guid), *name = NULL;
        Digest ignored;

        if (!system || !id)
                return -ENOMEM;
        for (char *from = id, *to = id;; from++)
                if (*from != '-' && (*to++ = *from) == '\0')
                        break;
        name = strf("boot/loader/entries/%s-%s.conf", id, kernel->release);
        if (!name)
                return -ENOMEM;
        return write_stamped(d, top, name, layout_bls_entry(&d->layout, system, kernel), ignored);
}

static int write_boot_entries(Disk *d, const char *top) {
        const Plan *plan = d->plan;
        _cleanup_free_ char *initramfs = plan_initramfs(plan, plan->kernel);
        const BootKernel kernel = { plan->kernel, initramfs, plan->recipe->kernel.cmdline };
        int r;

        if (!initramfs)
                return -ENOMEM;
        r = write_stamped(d, top, "boot/grub/grub.cfg", layout_grub_config(&d->layout, &kernel),
                        d->info.grub_config);
        if (r < 0 || plan->recipe->family != FAMILY_EL)
                return r;
        return write_bls_entry(d, top, &kernel);
}

/* A throw-away layer with the files that need to know the disk. Its folders stand for those of the
 * tree below; parents come last, so that nothing changes their times again. */
static int make_top_layer(Disk *d) {
        /* The first two where there are entries of the Boot Loader Specification. */
        static const char *const all[] = { "boot/loader/entries", "boot/loader", "boot/efi",
                "boot/grub", "boot", "etc", "" };
        const size_t skip = d->plan->recipe->family == FAMILY_EL ? 0 : 2,
                     n = ELEMENTSOF(all) - skip;
        const char *const *folders = all + skip;
        _cleanup_free_ char *top = path_join(d->work, "top");
        Digest ignored;
        int r;

        if (!top)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *path = path_join(top, folders[i]);

                if (!path)
                        return -ENOMEM;
                r = mkdir_p(path, 0755);
                if (r < 0)
                        return r;
        }

        r = write_stamped(d, top, "etc/fstab", layout_fstab(&d->layout), d->info.fstab);
        if (r < 0)
                return r;
        r = write_boot_entries(d, top);
        if (r < 0)
                return r;
        if (d->labels == LABELS_AT_BOOT) {
                r = write_stamped(d, top, ".autorelabel", strdup(""), ignored);
                if (r < 0)
                        return r;
        }

        r = stamp_folders(d, top, folders, n);
        if (r < 0)
                return r;
        return strv_push(&d->layers, TAKE_PTR(top));
}

static int lay_out(Disk *d) {
        const Plan *plan = d->plan;
        uint64_t needed;
        int r;

        r = disk_measure(d);
        if (r < 0)
                return r;
        r = layout_make(plan->recipe, plan->stages[plan->n_stages - 1].digest, &d->tree, &d->layout,
                        &needed);
        if (r == -ENOSPC) {
                log_error("%s: $.disk.size: the tree has %llu MiB in %llu files and does not fit: say \"%llu MiB\" at least, or leave the size out",
                                plan->recipe->path, (unsigned long long) (d->tree.bytes / MIB),
                                (unsigned long long) d->tree.inodes,
                                (unsigned long long) (needed / MIB));
                return -EINVAL;
        }
        if (r < 0)
                return log_error_errno(r, "Cannot lay out the disk");

        /* The scratch disk is sparse: it takes what the tree has. */
        r = require_space(d->folder, d->tree.bytes + 64 * MIB, "the disk");
        if (r < 0)
                return r;
        r = make_top_layer(d);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot write what only the disk knows: fstab and grub.cfg");
        return 0;
}

static int make_file(Disk *d) {
        _cleanup_close_ int fd = open(d->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0 || ftruncate(fd, (off_t) d->layout.size) < 0)
                return log_error_errno(errno, "%s: cannot make the raw disk", d->path);
        return 0;
}

static int write_partition_table(Disk *d) {
        _cleanup_free_ char *script = layout_sfdisk_script(&d->layout),
                            *path = path_join(d->work, "partitions");
        int r;

        if (!script || !path)
                return log_oom();
        r = write_file_atomic(path, script, strlen(script), 0644);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write it", path);

        return disk_tool(d, NULL, &(SpawnOptions) { .stdin_path = path },
                        ARGV("sfdisk", "--quiet", "--no-tell-kernel", "--no-reread", "--wipe=never",
                                        d->file));
}

static int write_disk(Disk *d, char *const *layers) {
        int r;

        r = disk_prepare(d, layers);
        if (r < 0)
                return r;
        if (d->plan->recipe->disk.keep)
                return disk_keep(d);
        r = lay_out(d);
        if (r < 0)
                return r;
        r = make_file(d);
        if (r < 0)
                return r;

        r = disk_write_root(d);
        if (r < 0)
                return r;
        r = d->labels == LABELS_NOW ? disk_write_labels(d) : 0;
        if (r < 0)
                return r;
        r = write_partition_table(d);
        if (r < 0)
                return r;
        if (d->layout.uefi) {
                r = disk_write_esp(d);
                if (r < 0)
                        return r;
        }
        return d->layout.bios ? disk_write_bios(d) : 0;
}

static void describe(const Disk *d, DiskInfo *ret) {
        const Layout *l = &d->layout;

        *ret = d->info; /* with the digests that the makers left there */
        ret->size = l->size;
        ret->root_used = d->tree.bytes;
        ret->root_files = d->tree.inodes;
        ret->bios_start = l->bios_start;
        ret->esp_start = l->esp_start;
        ret->root_start = l->root_start;
        ret->root_size = l->root_size;
        memcpy(ret->root_uuid, l->root_uuid, sizeof(ret->root_uuid));
        memcpy(ret->disk_guid, l->disk_guid, sizeof(ret->disk_guid));
        if (l->uefi)
                memcpy(ret->esp_id, l->esp_id, sizeof(ret->esp_id));
}

int disk_build(Context *ctx, const Plan *plan, Tools *tools, char *const *layers, const char *path,
                DiskInfo *ret) {
        _cleanup_(disk_done) Disk d = { .ctx = ctx, .plan = plan, .tools = tools, .path = path };
        int r;

        r = write_disk(&d, layers);
        if (r < 0) {
                (void) unlink(path); /* half a disk is none */
                return r;
        }
        describe(&d, ret);
        return 0;
}
