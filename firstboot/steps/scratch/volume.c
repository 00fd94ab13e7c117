/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The commands of lvm and mkfs in their order. Power may go between any two of them: the next boot
 * finds the group's tag, and begins anew. */

#include "steps/scratch/volume.h"
#include "contract/paths.h"

#include <fcntl.h>
#include <sys/file.h>

#define MKFS_USEC (300 * USEC_PER_SEC)
#define DEVICE_WAIT_USEC (20 * USEC_PER_SEC)
#define EXT4_BLOCK_BYTES 4096

static int lvm_step(const ScratchVolume *v, char *const words[]) {
        _cleanup_free_ char *last = NULL;
        int r = lvm_run(v->lvm, words, &last);

        if (r < 0)
                return step_fail_later(v->context, "scratch.lvm", "%s: %s", words[0],
                                isempty(last) ? strerror(-r) : last);
        return 0;
}

#define LVM(v, ...) lvm_step((v), ARGV(__VA_ARGS__))

/* Runs the command with the disks behind it that are not in the group yet; not at all where there
 * are none. */
static int add_disks(const ScratchVolume *v, char *const command[]) {
        _cleanup_strv_free_ char **words = NULL;
        size_t n = strv_length(command);
        int r;

        r = strv_extend_strv(&words, command);
        if (r < 0)
                return r;
        for (size_t i = 0; i < v->plan->n_use; i++) {
                const DiskFacts *f = &v->facts[v->plan->use[i]];

                if (f->vg)
                        continue;
                r = strv_push(&words, disk_device(f->disk));
                if (r < 0)
                        return r;
        }
        return strv_length(words) > n ? lvm_step(v, words) : 0;
}

/* 1 where the group has logical volumes, 0 where it has none. */
static int group_has_volumes(const ScratchVolume *v) {
        _cleanup_json_ json_object *list = NULL;
        int r;

        r = lvm_report(v->lvm, &list);
        if (r < 0)
                return step_fail_later(v->context, "scratch.lvm",
                                "LVM's report could not be read: %s", strerror(-r));
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);

                if (streq_ptr(json_get_string(o, "vg_name"), v->vg) &&
                                !streq(strempty(json_get_string(o, "lv_count")), "0"))
                        return 1;
        }
        return 0;
}

/* The group is ours and holds no data any more: its volumes go, its missing disks are struck off,
 * the disks at hand are added. None of that needs force. */
static int clear_group(const ScratchVolume *v) {
        int r;

        /* lvm changes nothing in a group that lacks disks; there, "no volumes" says incomplete
         * just as well. */
        if (!v->plan->vg_missing) {
                r = LVM(v, "vgchange", "--addtag", TAG_INCOMPLETE, v->vg);
                if (r < 0)
                        return r;
        }

        r = group_has_volumes(v);
        if (r < 0)
                return r;
        if (r > 0) {
                r = LVM(v, "lvremove", "--yes", v->vg);
                if (r < 0)
                        return r;
        }

        if (v->plan->vg_missing) {
                r = LVM(v, "vgreduce", "--removemissing", v->vg);
                if (r < 0)
                        return r;
                r = LVM(v, "vgchange", "--addtag", TAG_INCOMPLETE, v->vg);
                if (r < 0)
                        return r;
        }
        return add_disks(v, ARGV("vgextend", "--yes", v->vg));
}

static int make_group(const ScratchVolume *v) {
        if (v->plan->action == SCRATCH_REBUILD)
                return clear_group(v);
        return add_disks(v, ARGV("vgcreate", "--yes", "--addtag", TAG_OURS, "--addtag",
                                            TAG_INCOMPLETE, v->vg));
}

static int make_logical_volume(const ScratchVolume *v) {
        _cleanup_free_ char *stripes = strf("%zu", v->plan->n_use),
                            *size = strf("%llub", (unsigned long long) v->stripe_bytes);

        if (!stripes || !size)
                return -ENOMEM;
        /* --wipesignatures: what an earlier file system left on these extents must not be taken for
         * a new one. */
        if (v->plan->n_use == 1)
                return LVM(v, "lvcreate", "--yes", "--wipesignatures", "y", "--extents", "100%FREE",
                                "--name", v->lv, v->vg);
        return LVM(v, "lvcreate", "--yes", "--wipesignatures", "y", "--type", "striped",
                        "--stripes", stripes, "--stripesize", size, "--extents", "100%FREE",
                        "--name", v->lv, v->vg);
}

/* Tells mkfs of the stripes, where there are any. */
static int stripe_options(const ScratchVolume *v, char ***argv) {
        unsigned long long stripe = v->stripe_bytes, disks = v->plan->n_use,
                           blocks = stripe / EXT4_BLOCK_BYTES;
        int r;

        if (disks <= 1)
                return 0;
        if (streq(v->filesystem, "xfs")) {
                r = strv_extend(argv, "-d");
                return r < 0 ? r : strv_extendf(argv, "su=%llu,sw=%llu", stripe, disks);
        }
        if (streq(v->filesystem, "ext4")) {
                r = strv_extend(argv, "-E");
                return r < 0 ? r
                             : strv_extendf(argv, "stride=%llu,stripe_width=%llu", blocks,
                                               blocks * disks);
        }
        return 0;
}

static int mkfs_command(const ScratchVolume *v, const char *device, char ***argv) {
        int r;

        r = strv_extendf(argv, "mkfs.%s", v->filesystem);
        if (r < 0)
                return r;
        r = strv_extend_strv(argv, ARGV("-L", v->label));
        if (r < 0)
                return r;
        r = stripe_options(v, argv);
        return r < 0 ? r : strv_extend(argv, device);
}

static int make_filesystem(const ScratchVolume *v, const char *device) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        int r;

        r = mkfs_command(v, device, &argv);
        if (r < 0)
                return r;
        r = step_command(argv, MKFS_USEC, &last);
        if (r != 0)
                return step_fail_later(v->context, "scratch.mkfs", "%s: %s", argv[0],
                                r == -ENOENT ? "is not installed" : strempty(last));
        return 0;
}

static int wait_for_device(const ScratchVolume *v, const char *device) {
        for (uint64_t waited = 0; access(device, F_OK) < 0; waited += 100 * USEC_PER_MSEC) {
                if (waited >= DEVICE_WAIT_USEC)
                        return step_fail_later(
                                        v->context, "scratch.lvm", "%s did not appear", device);
                usleep(100 * USEC_PER_MSEC);
        }
        return 0;
}

/* File descriptors that hold the disks' locks. */
typedef struct Locks {
        int *fds;
        size_t n;
} Locks;

static void unlock_disks(Locks *l) {
        for (size_t i = 0; i < l->n; i++)
                safe_close(l->fds[i]);
        free(l->fds);
}

/* udev puts off the events of a whole disk that somebody holds a BSD lock on (systemd's "Locking
 * Block Device Access"): it sees no half-made state, and does not compete with us for the CPU. A
 * help, not a need: what cannot be locked is not. */
static int lock_disks(const ScratchVolume *v, Locks *ret) {
        ret->fds = calloc(v->plan->n_use + 1, sizeof(int));
        if (!ret->fds)
                return -ENOMEM;
        for (size_t i = 0; i < v->plan->n_use; i++) {
                _cleanup_free_ char *device = disk_device(v->facts[v->plan->use[i]].disk);
                int fd = device ? open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -EBADF;

                if (fd < 0)
                        continue;
                (void) flock(fd, LOCK_EX | LOCK_NB);
                ret->fds[ret->n++] = fd;
        }
        return 0;
}

int scratch_volume_activate(const ScratchVolume *v, const char *device) {
        int r = LVM(v, "vgchange", "--activate", "y", v->vg);

        return r < 0 ? r : wait_for_device(v, device);
}

int scratch_volume_make(const ScratchVolume *v, const char *device) {
        _cleanup_(unlock_disks) Locks locks = {};
        int r;

        r = lock_disks(v, &locks);
        if (r < 0)
                return r;
        r = make_group(v);
        if (r < 0)
                return r;
        r = make_logical_volume(v);
        if (r < 0)
                return r;
        r = wait_for_device(v, device);
        if (r < 0)
                return r;
        r = make_filesystem(v, device);
        if (r < 0)
                return r;
        return LVM(v, "vgchange", "--deltag", TAG_INCOMPLETE, v->vg);
}
