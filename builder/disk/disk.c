/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the layers of a finished tree to a raw disk that boots. The order: measure the tree, lay
 * out the disk, write root, partition table, ESP, BIOS boot loader. Every byte is written by a
 * program of the tools tree in its sandbox, straight into the file at the partition's offset: no
 * loop device, no mount, nothing to undo. */

#include "disk/internal.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define BLOCK 4096u
#define SPACE_LOW (32 * MIB) /* less than this left after a failure: that was the reason */

char *absolute_folder(const char *path) {
        _cleanup_free_ char *folder = path_folder(path);

        return folder ? realpath(folder, NULL) : NULL;
}

int require_space(const char *folder, uint64_t bytes, const char *what) {
        struct statvfs v;

        if (statvfs(folder, &v) < 0)
                return log_error_errno(errno, "%s: cannot see how much space is free", folder);
        uint64_t available = (uint64_t) v.f_bavail * v.f_frsize;
        if (available >= bytes)
                return 0;
        log_error("No space for %s: %s has %llu MiB free and about %llu MiB are needed. Free some (imgbuild cache prune), or choose another place (--cache, --output)",
                        what, folder, (unsigned long long) (available / MIB),
                        (unsigned long long) (bytes / MIB) + 1);
        return -ENOSPC;
}

int disk_tool(const Disk *d, const char *tree, const SpawnOptions *options, char *const argv[]) {
        const SandboxBind binds[] = {
                { .source = d->work, .target = "/work", .writable = true },
                { .source = d->folder, .target = "/disk", .writable = true },
                { .source = tree, .target = "/tree" },
        };
        int r;

        r = tools_run(d->tools, binds, tree ? 3 : 2, NULL, options, argv);
        if (r < 0 && r != -ECANCELED && require_space(d->folder, SPACE_LOW, "the disk") == -ENOSPC)
                return -ENOSPC;
        return r;
}

int disk_with_tree(const Disk *d, int (*fn)(const char *root, void *userdata), void *userdata) {
        Sandbox s = {
                .store = d->ctx->store,
                .layers = d->layers,
                .read_only = true,
                .epoch = d->plan->lock->epoch,
        };

        return sandbox_call(&s, fn, userdata);
}

/* nftw() passes no context along; this only ever runs in a child of its own. */
static TreeSize measured;

static int measure_one(const char *path _unused_, const struct stat *st, int type,
                struct FTW *f _unused_) {
        if (type == FTW_DNR || type == FTW_NS)
                return EIO;
        measured.inodes++;
        if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
                measured.bytes += ((uint64_t) st->st_size + BLOCK - 1) / BLOCK * BLOCK;
        return 0;
}

typedef struct Measure {
        const Plan *plan;
        TreeSize *shared;
} Measure;

static int check_boot_file(const char *root, const char *prefix, const char *kernel) {
        _cleanup_free_ char *path = strf("%s/boot/%s%s", root, prefix, kernel);
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                return log_error_errno(-ENOENT,
                                "The tree has no /boot/%s%s, so nothing could boot it", prefix,
                                kernel);
        return 0;
}

static int measure_tree(const char *root, void *userdata) {
        const Measure *m = userdata;
        int r;

        r = check_boot_file(root, "vmlinuz-", m->plan->kernel);
        if (r >= 0)
                r = check_boot_file(root, "initrd.img-", m->plan->kernel);
        if (r < 0)
                return r;
        r = nftw(root, measure_one, 64, FTW_PHYS | FTW_MOUNT);
        if (r != 0)
                return log_error_errno(r > 0 ? r : errno, "Cannot read the finished tree");
        *m->shared = measured;
        return 0;
}

static int measure(Disk *d) {
        Measure m = { .plan = d->plan };
        int r;

        if (!d->plan->kernel)
                return log_error_errno(-EINVAL, "%s installs no kernel, so it has no disk",
                                d->plan->recipe->path);
        m.shared = mmap(NULL, sizeof(*m.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        if (m.shared == MAP_FAILED)
                return log_oom();
        r = disk_with_tree(d, measure_tree, &m);
        d->tree = *m.shared;
        munmap(m.shared, sizeof(*m.shared));
        return r;
}

int digest_bytes(const void *data, size_t size, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r = hash_new(&h);

        if (r < 0)
                return r;
        hash_bytes(h, data, size);
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

static int write_stamped(const Disk *d, const char *top, const char *name, char *text, Digest ret) {
        _cleanup_free_ char *path = path_join(top, name), *owned = text;
        const struct timespec times[2] = { { .tv_sec = d->plan->lock->epoch },
                { .tv_sec = d->plan->lock->epoch } };
        int r;

        if (!path || !owned)
                return -ENOMEM;
        r = digest_bytes(owned, strlen(owned), ret);
        if (r >= 0)
                r = write_file_atomic(path, owned, strlen(owned), 0644);
        if (r < 0)
                return r;
        return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* A throw-away layer with the files that need to know the disk. Its folders stand for those of the
 * tree below, so they get the modes every system has there. */
static int make_top_layer(Disk *d) {
        static const char *const folders[] = { "boot/efi", "boot/grub", "boot", "etc", "" };
        const struct timespec times[2] = { { .tv_sec = d->plan->lock->epoch },
                { .tv_sec = d->plan->lock->epoch } };
        _cleanup_free_ char *top = path_join(d->work, "top");
        int r = top ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(top, folders[i]);
                r = path ? mkdir_p(path, 0755) : -ENOMEM;
        }
        if (r >= 0)
                r = write_stamped(d, top, "etc/fstab", layout_fstab(&d->layout), d->info.fstab);
        if (r >= 0)
                r = write_stamped(d, top, "boot/grub/grub.cfg",
                                layout_grub_config(&d->layout, d->plan->kernel,
                                                d->plan->recipe->kernel.cmdline),
                                d->info.grub_config);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(top, folders[i]);
                if (!path)
                        r = -ENOMEM;
                else if (chmod(path, 0755) < 0 ||
                                utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) < 0)
                        r = -errno;
        }
        return r >= 0 ? strv_push(&d->layers, TAKE_PTR(top)) : r;
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

        char *argv[] = { (char *) "sfdisk", (char *) "--quiet", (char *) "--no-tell-kernel",
                (char *) "--no-reread", (char *) "--wipe=never", d->file, NULL };
        return disk_tool(d, NULL, &(SpawnOptions) { .stdin_path = path }, argv);
}

static int disk_prepare(Disk *d, char *const *layers) {
        int r;

        d->layers = strv_copy(layers);
        d->folder = absolute_folder(d->path);
        d->file = path_join("/disk", path_basename(d->path));
        if (!d->folder)
                return log_error_errno(errno, "%s: cannot make it there", d->path);
        if (!d->layers || !d->file)
                return log_oom();
        r = store_scratch(d->ctx->store, "disk-work", &d->work);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the disk");
        return 0;
}

static int lay_out(Disk *d) {
        const Plan *plan = d->plan;
        uint64_t needed;
        int r;

        r = measure(d);
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
        return r < 0 ? log_error_errno(r,
                                       "Cannot write what only the disk knows: fstab and grub.cfg")
                     : 0;
}

static void disk_done(Disk *d) {
        if (d->work)
                (void) rm_rf(d->work);
        free(d->work);
        free(d->folder);
        free(d->file);
        strv_free(d->layers);
}

static void describe(const Disk *d, DiskInfo *ret) {
        const Layout *l = &d->layout;

        *ret = d->info; /* with the digests that the writers left there */
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

        r = disk_prepare(&d, layers);
        if (r >= 0)
                r = lay_out(&d);
        if (r >= 0)
                r = make_file(&d);
        if (r >= 0)
                r = disk_write_root(&d);
        if (r >= 0)
                r = write_partition_table(&d);
        if (r >= 0 && d.layout.uefi)
                r = disk_write_esp(&d);
        if (r >= 0 && d.layout.bios)
                r = disk_write_bios(&d);
        if (r < 0) {
                (void) unlink(path); /* half a disk is none */
                return r;
        }
        describe(&d, ret);
        return 0;
}
