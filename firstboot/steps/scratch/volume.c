/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The commands of lvm and mkfs in their order. Power may go between any two of them: the next boot
 * finds the group's tag, and begins anew. None of the commands is told to say yes to lvm's
 * questions: lvm that has to ask has found what we did not. */

#include "steps/scratch/volume.h"
#include "contract/paths.h"

#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <linux/fs.h>

#define MKFS_USEC (300 * USEC_PER_SEC)
#define DEVICE_WAIT_USEC (20 * USEC_PER_SEC)
#define EXT4_BLOCK_BYTES 4096
#define ENDS_BYTES (4 * 1024 * 1024)

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

int scratch_volume_report(const ScratchVolume *v, json_object **ret) {
        int r = lvm_report(v->lvm, ret);

        return r < 0 ? step_fail_later(v->context, "scratch.lvm",
                                       "LVM's report could not be read: %s", strerror(-r))
                     : 0;
}

/* 1 where the group has logical volumes, 0 where it has none. */
static int group_has_volumes(const ScratchVolume *v) {
        _cleanup_json_ json_object *list = NULL;
        int r;

        r = scratch_volume_report(v, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);

                if (streq_ptr(json_get_string(o, "vg_name"), v->vg) &&
                                !streq(strempty(json_get_string(o, "lv_count")), "0"))
                        return 1;
        }
        return 0;
}

/* The tags of a group at work: incomplete, and this machine's in place of another's. */
static int tag_group(const ScratchVolume *v) {
        _cleanup_strv_free_ char **words = NULL, **tags = NULL;
        const char *text = NULL;
        int r;

        for (size_t i = 0; i < v->plan->n_use && !text; i++)
                text = v->facts[v->plan->use[i]].vg_tags;
        tags = strv_split(strempty(text), ",");

        r = strv_extend_strv(&words, ARGV("vgchange", "--addtag", TAG_INCOMPLETE));
        if (r < 0)
                return r;
        if (v->machine) {
                r = strv_extend(&words, "--addtag");
                if (r < 0)
                        return r;
                r = strv_extendf(&words, TAG_MACHINE "%s", v->machine);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (tag, tags) {
                const char *machine = startswith(*tag, TAG_MACHINE);

                if (!machine || streq_ptr(machine, v->machine))
                        continue;
                r = strv_extend_strv(&words, ARGV("--deltag", *tag));
                if (r < 0)
                        return r;
        }
        r = strv_extend(&words, v->vg);
        return r < 0 ? r : lvm_step(v, words);
}

/* Our volume alone goes; all of them where the configuration gives up the group by its UUID. */
static int remove_volumes(const ScratchVolume *v) {
        _cleanup_free_ char *volume = strf("%s/%s", v->vg, v->lv);
        int r;

        if (!volume)
                return -ENOMEM;
        r = group_has_volumes(v);
        if (r <= 0)
                return r;
        return LVM(v, "lvremove", v->plan->discard ? v->vg : volume);
}

/* The group is ours and holds no data any more: its volumes go, its missing disks are struck off,
 * the disks at hand are added. None of that needs force. */
static int clear_group(const ScratchVolume *v) {
        int r;

        /* lvm changes nothing in a group that lacks disks; there, "no volumes" says incomplete
         * just as well. */
        if (!v->plan->vg_missing) {
                r = tag_group(v);
                if (r < 0)
                        return r;
        }
        r = remove_volumes(v);
        if (r < 0)
                return r;
        if (v->plan->vg_missing) {
                r = LVM(v, "vgreduce", "--removemissing", v->vg);
                if (r < 0)
                        return r;
                r = tag_group(v);
                if (r < 0)
                        return r;
        }
        /* What was given up was the old group: with its UUID the configuration's word ends. */
        if (v->plan->discard) {
                r = LVM(v, "vgchange", "--uuid", v->vg);
                if (r < 0)
                        return r;
        }
        return add_disks(v, ARGV("vgextend", v->vg));
}

static int make_group(const ScratchVolume *v) {
        _cleanup_free_ char *machine = strf(TAG_MACHINE "%s", strempty(v->machine));

        if (!machine)
                return -ENOMEM;
        if (v->plan->action == SCRATCH_REBUILD)
                return clear_group(v);
        if (!v->machine)
                return add_disks(v, ARGV("vgcreate", "--addtag", TAG_OURS, "--addtag",
                                                    TAG_INCOMPLETE, v->vg));
        return add_disks(v, ARGV("vgcreate", "--addtag", TAG_OURS, "--addtag", TAG_INCOMPLETE,
                                            "--addtag", machine, v->vg));
}

/* lvm is not asked to wipe what it finds on the new volume, for that takes a "yes" that it would
 * take for its other questions too; clear_ends() does that. */
static int make_logical_volume(const ScratchVolume *v) {
        _cleanup_free_ char *stripes = strf("%zu", v->plan->n_use),
                            *size = strf("%llub", (unsigned long long) v->stripe_bytes);

        if (!stripes || !size)
                return -ENOMEM;
        if (v->plan->n_use == 1)
                return LVM(v, "lvcreate", "--wipesignatures", "n", "--extents", "100%FREE",
                                "--name", v->lv, v->vg);
        return LVM(v, "lvcreate", "--wipesignatures", "n", "--type", "striped", "--stripes",
                        stripes, "--stripesize", size, "--extents", "100%FREE", "--name", v->lv,
                        v->vg);
}

/* Where superblocks are: what an earlier file system left on these extents must not be taken for a
 * new one. Nobody else may have the volume open. */
static int clear_ends(const ScratchVolume *v, const char *device) {
        _cleanup_close_ int fd = open(device, O_RDWR | O_EXCL | O_CLOEXEC);
        uint64_t bytes = 0;
        int r = fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes) < 0 ? -errno : 0;

        for (int end = 0; end < 2 && r == 0; end++) {
                size_t size = (size_t) MIN(bytes, (uint64_t) ENDS_BYTES);

                r = write_zeros(fd, end ? (off_t) (bytes - size) : 0, size);
        }
        return r < 0 ? step_fail_later(v->context, "scratch.mkfs", "%s: %s", device, strerror(-r))
                     : 0;
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
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r;

        r = mkfs_command(v, device, &argv);
        if (r < 0)
                return r;
        r = step_command(argv, MKFS_USEC, &last);
        if (r == 0)
                return 0;
        why = step_command_failure(argv[0], r, last);
        return step_fail_later(v->context, "scratch.mkfs", "%s", strempty(why));
}

static int wait_for_device(const ScratchVolume *v, const char *device) {
        char limit[FORMAT_DURATION_MAX];

        for (uint64_t waited = 0; access(device, F_OK) < 0; waited += 100 * USEC_PER_MSEC) {
                if (waited >= DEVICE_WAIT_USEC)
                        return step_fail_later(v->context, "scratch.lvm",
                                        "LVM made %s, but udev did not show it within %s", device,
                                        format_duration(limit, DEVICE_WAIT_USEC));
                usleep(100 * USEC_PER_MSEC);
        }
        return 0;
}

int scratch_volume_activate(const ScratchVolume *v, const char *device) {
        _cleanup_free_ char *tag = strf(TAG_MACHINE "%s", strempty(v->machine));
        int r;

        if (!tag)
                return -ENOMEM;
        /* Groups of earlier versions do not say whose they are. */
        if (v->plan->untagged && v->machine &&
                        lvm_run(v->lvm, ARGV("vgchange", "--addtag", tag, v->vg), NULL) < 0)
                log_warning("Volume group %s could not be tagged with this machine.", v->vg);
        r = LVM(v, "vgchange", "--activate", "y", v->vg);
        return r < 0 ? r : wait_for_device(v, device);
}

int scratch_volume_deactivate(const ScratchVolume *v) {
        return LVM(v, "vgchange", "--activate", "n", v->vg);
}

int scratch_volume_make(const ScratchVolume *v, const char *device) {
        int r;

        r = make_group(v);
        if (r < 0)
                return r;
        r = make_logical_volume(v);
        if (r < 0)
                return r;
        r = wait_for_device(v, device);
        if (r < 0)
                return r;
        r = clear_ends(v, device);
        if (r < 0)
                return r;
        r = make_filesystem(v, device);
        if (r < 0)
                return r;
        return LVM(v, "vgchange", "--deltag", TAG_INCOMPLETE, v->vg);
}
