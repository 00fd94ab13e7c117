/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The striped file system on local NVMe disks: found, judged (scratch-plan.c), made or adopted,
 * mounted, and proved to be writable. Power may go at any line: until the file system is finished
 * the volume group has the tag "incomplete", and before the first byte is written the disks'
 * serials are on record. */

#include "steps/scratch/facts.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "steps/unit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MKFS_USEC (300 * USEC_PER_SEC)
#define DEVICE_WAIT_USEC (20 * USEC_PER_SEC)

typedef struct Scratch {
        StepContext *context;
        const char *vg, *lv, *label, *filesystem, *mount_point, *options;
        uint64_t stripe_bytes;
        Disks disks;
        DiskFacts *facts;
        Lvm lvm;
        ScratchRecord record;
        ScratchPlan plan;
        int *locks; /* of the disks while they are worked on, -EBADF: none */
} Scratch;

static void unlock_disks(Scratch *s) {
        for (size_t i = 0; s->locks && i < s->plan.n_use; i++)
                safe_close(s->locks[i]);
        free(TAKE_PTR(s->locks));
}

static void scratch_done(Scratch *s) {
        unlock_disks(s);
        for (size_t i = 0; s->facts && i < s->disks.n; i++)
                disk_facts_done(&s->facts[i]);
        free(s->facts);
        disks_done(&s->disks);
        strv_free(s->lvm.devices);
        strv_free(s->record.serials);
        scratch_plan_done(&s->plan);
}

/* The record counts only for the instance that it was made on. */
static int load_record(Scratch *s) {
        _cleanup_free_ char *path = fb_path(PATH_SCRATCH_RECORD);
        _cleanup_json_ json_object *o = NULL;
        const char *id = json_get_string(s->context->instance, "id");
        json_object *list;
        JsonError e = {};
        int r;

        r = path ? json_load(path, 1024 * 1024, &e, &o) : -ENOMEM;
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!streq_ptr(json_get_string(o, "instance_id"), id))
                return 0;
        list = json_get(o, "serials");
        for (size_t i = 0; json_object_is_type(list, json_type_array) &&
                           i < json_object_array_length(list);
                        i++) {
                r = strv_extend(&s->record.serials,
                                strempty(json_object_get_string(
                                                json_object_array_get_idx(list, i))));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int save_record(Scratch *s) {
        _cleanup_free_ char *path = fb_path(PATH_SCRATCH_RECORD);
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array();
        int r;

        if (!path || !o || json_set(o, "serials", list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < s->plan.n_use; i++)
                json_object_array_add(list,
                                json_object_new_string(s->disks.items[s->plan.use[i]].serial));
        r = json_set_string(o, "instance_id", json_get_string(s->context->instance, "id"));
        return r < 0 ? r : json_save(path, o, 0600);
}

static int gather(Scratch *s) {
        StepContext *c = s->context;
        json_object *models = json_get(c->section, "models");
        _cleanup_strv_free_ char **patterns = NULL;
        int r = 0;

        for (size_t i = 0; models && i < json_object_array_length(models); i++) {
                r = strv_extend(&patterns,
                                json_object_get_string(json_object_array_get_idx(models, i)));
                if (r < 0)
                        return r;
        }
        r = disks_local(patterns, &s->disks);
        if (r < 0)
                return step_fail_later(c, "scratch.probe-failed", "sysfs could not be read: %s",
                                strerror(-r));
        for (size_t i = 0; i < s->disks.n; i++) {
                r = strv_push(&s->lvm.devices, disk_device(&s->disks.items[i]));
                if (r < 0)
                        return r;
        }
        r = scratch_facts(&s->disks, &s->lvm, s->label, &s->facts);
        if (r < 0 && r != -ENOMEM)
                return step_fail_later(c, "scratch.lvm",
                                "LVM's view of the local disks could not be read: %s",
                                strerror(-r));
        return r < 0 ? r : load_record(s);
}

static int lvm_step(Scratch *s, char *const words[]) {
        _cleanup_free_ char *last = NULL;
        int r = lvm_run(&s->lvm, words, &last);

        return r < 0 ? step_fail_later(s->context, "scratch.lvm", "%s: %s", words[0],
                                       isempty(last) ? strerror(-r) : last)
                     : 0;
}

#define LVM(...) lvm_step(s, (char *const[]) { __VA_ARGS__, NULL })
#define W(text) ((char *) (text))

/* Adds the disks that are not in the group yet. */
static int add_disks(Scratch *s, const char *verb, const char *vg) {
        _cleanup_strv_free_ char **words = NULL;
        bool any = false;
        int r;

        r = streq(verb, "vgcreate") ? strv_extend_many(&words, verb, "--yes", "--addtag", TAG_OURS,
                                                      "--addtag", TAG_INCOMPLETE, vg, NULL)
                                    : strv_extend_many(&words, verb, "--yes", vg, NULL);
        for (size_t i = 0; r >= 0 && i < s->plan.n_use; i++) {
                const DiskFacts *f = &s->facts[s->plan.use[i]];
                _cleanup_free_ char *device = disk_device(f->disk);

                if (f->vg)
                        continue;
                any = true;
                r = device ? strv_extend(&words, device) : -ENOMEM;
        }
        if (r < 0)
                return r;
        return any ? lvm_step(s, words) : 0;
}

/* The group is ours and holds no data any more: its volumes go, its missing disks are struck off,
 * the disks at hand are added. None of that needs force. */
static int clear_group(Scratch *s) {
        char *vg = s->plan.vg;
        bool has_volumes = false;
        _cleanup_json_ json_object *list = NULL;
        int r;

        /* lvm changes nothing in a group that lacks disks; there, "no volumes" says incomplete
         * just as well. */
        if (!s->plan.vg_missing) {
                r = LVM(W("vgchange"), W("--addtag"), W(TAG_INCOMPLETE), vg);
                if (r < 0)
                        return r;
        }
        r = lvm_report(&s->lvm, &list);
        if (r < 0)
                return step_fail_later(s->context, "scratch.lvm",
                                "LVM's report could not be read: %s", strerror(-r));
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);

                if (streq_ptr(json_get_string(o, "vg_name"), vg) &&
                                !streq(strempty(json_get_string(o, "lv_count")), "0"))
                        has_volumes = true;
        }
        if (has_volumes) {
                r = LVM(W("lvremove"), W("--yes"), vg);
                if (r < 0)
                        return r;
        }
        if (s->plan.vg_missing) {
                r = LVM(W("vgreduce"), W("--removemissing"), vg);
                if (r >= 0)
                        r = LVM(W("vgchange"), W("--addtag"), W(TAG_INCOMPLETE), vg);
                if (r < 0)
                        return r;
        }
        return add_disks(s, "vgextend", vg);
}

static int make_volume(Scratch *s, const char *vg) {
        _cleanup_free_ char *stripes = strf("%zu", s->plan.n_use),
                            *size = strf("%llub", (unsigned long long) s->stripe_bytes);

        if (!stripes || !size)
                return -ENOMEM;
        /* --wipesignatures: what an earlier file system left on these extents must not be taken for
         * a new one. */
        if (s->plan.n_use == 1)
                return LVM(W("lvcreate"), W("--yes"), W("--wipesignatures"), W("y"), W("--extents"),
                                W("100%FREE"), W("--name"), W(s->lv), W(vg));
        return LVM(W("lvcreate"), W("--yes"), W("--wipesignatures"), W("y"), W("--type"),
                        W("striped"), W("--stripes"), stripes, W("--stripesize"), size,
                        W("--extents"), W("100%FREE"), W("--name"), W(s->lv), W(vg));
}

static int make_filesystem(Scratch *s, const char *device) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        unsigned long long stripe = s->stripe_bytes, disks = s->plan.n_use;
        int r;

        r = strv_extendf(&argv, "mkfs.%s", s->filesystem);
        if (r >= 0)
                r = strv_extend_many(&argv, "-L", s->label, NULL);
        if (r >= 0 && streq(s->filesystem, "xfs") && disks > 1)
                r = strv_extend_many(&argv, "-d", NULL),
                r = r < 0 ? r : strv_extendf(&argv, "su=%llu,sw=%llu", stripe, disks);
        if (r >= 0 && streq(s->filesystem, "ext4") && disks > 1)
                r = strv_extend_many(&argv, "-E", NULL),
                r = r < 0 ? r
                          : strv_extendf(&argv, "stride=%llu,stripe_width=%llu", stripe / 4096,
                                            stripe / 4096 * disks);
        if (r >= 0)
                r = strv_extend(&argv, device);
        if (r < 0)
                return r;
        r = step_command(argv, MKFS_USEC, &last);
        if (r != 0)
                return step_fail_later(s->context, "scratch.mkfs", "%s: %s", argv[0],
                                r == -ENOENT ? "is not installed" : strempty(last));
        return 0;
}

/* udev puts off the events of a whole disk that somebody holds a BSD lock on (systemd's "Locking
 * Block Device Access"): it sees no half-made state, and does not compete with us for the CPU. A
 * help, not a need: what cannot be locked is not. */
static int lock_disks(Scratch *s) {
        s->locks = malloc((s->plan.n_use + 1) * sizeof(int));
        if (!s->locks)
                return -ENOMEM;
        for (size_t i = 0; i < s->plan.n_use; i++) {
                _cleanup_free_ char *device = disk_device(s->facts[s->plan.use[i]].disk);

                s->locks[i] = device ? open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -EBADF;
                if (s->locks[i] >= 0)
                        (void) flock(s->locks[i], LOCK_EX | LOCK_NB);
        }
        return 0;
}

static int wait_for_device(Scratch *s, const char *device) {
        for (uint64_t waited = 0; access(device, F_OK) < 0; waited += 100 * USEC_PER_MSEC) {
                if (waited >= DEVICE_WAIT_USEC)
                        return step_fail_later(
                                        s->context, "scratch.lvm", "%s did not appear", device);
                usleep(100 * USEC_PER_MSEC);
        }
        return 0;
}

/* Makes or activates what the plan says; *ret_device is what to mount (caller frees). */
static int prepare(Scratch *s, char **ret_device) {
        _cleanup_free_ char *device = NULL;
        const char *vg = s->plan.vg ? s->plan.vg : s->vg;
        int r = 0;

        if (s->plan.action == SCRATCH_ADOPT_DEVICE) {
                *ret_device = TAKE_PTR(s->plan.device);
                return 0;
        }
        device = strf("/dev/%s/%s", vg, s->lv);
        if (!device)
                return -ENOMEM;
        if (s->plan.action == SCRATCH_ADOPT_VG) {
                r = LVM(W("vgchange"), W("--activate"), W("y"), W(vg));
                if (r >= 0)
                        r = wait_for_device(s, device);
        } else {
                r = save_record(s);
                if (r < 0)
                        return step_fail_later(s->context, "scratch.lvm",
                                        "the record of the disks could not be saved: %s",
                                        strerror(-r));
                r = lock_disks(s);
                if (r >= 0)
                        r = s->plan.action == SCRATCH_CREATE ? add_disks(s, "vgcreate", vg)
                                                             : clear_group(s);
                if (r >= 0)
                        r = make_volume(s, vg);
                if (r >= 0)
                        r = wait_for_device(s, device);
                if (r >= 0)
                        r = make_filesystem(s, device);
                if (r >= 0)
                        r = LVM(W("vgchange"), W("--deltag"), W(TAG_INCOMPLETE), W(vg));
                unlock_disks(s);
        }
        if (r < 0)
                return r;
        *ret_device = TAKE_PTR(device);
        return 0;
}

static bool same_device(const char *a, const char *b) {
        struct stat x, y;

        return stat(a, &x) >= 0 && stat(b, &y) >= 0 && S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode) &&
               x.st_rdev == y.st_rdev;
}

static int mount_it(Scratch *s, const char *device) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *source = NULL, *result = NULL;
        Signature signatures[SIGNATURES_MAX] = {};
        StepContext *c = s->context;
        int r;

        if (mounted_at(s->mount_point, &source)) {
                if (same_device(source, device))
                        return 0;
                return step_fail(c, "scratch.mount", "%s is taken: %s is mounted there",
                                s->mount_point, source);
        }
        /* What was adopted may be another file system than the one configured. */
        r = probe_device(device, signatures);
        if (r < 0)
                return step_fail_later(
                                c, "scratch.mount", "%s cannot be read: %s", device, strerror(-r));
        r = unit_bus(&bus);
        if (r < 0)
                return step_fail_later(c, "scratch.mount", "the system bus does not answer: %s",
                                strerror(-r));
        MountUnit m = { device, s->mount_point,
                r >= 0 && signatures[0].type[0] ? signatures[0].type : s->filesystem, s->options,
                "Local scratch", false, 90 * USEC_PER_SEC };
        r = unit_mount(bus, &m, &result);
        if (r < 0)
                return step_fail_later(c, "scratch.mount", "%s not mounted at %s: %s", device,
                                s->mount_point, isempty(result) ? strerror(-r) : result);
        if (!mounted_at(s->mount_point, &source) || !same_device(source, device))
                return step_fail_later(c, "scratch.mount",
                                "systemd reports success, but %s is not mounted at %s", device,
                                s->mount_point);
        return 0;
}

/* Written through to the disks, read back, removed. */
static int check_writable(Scratch *s) {
        static const char probe[] = "firstboot was here\n";
        _cleanup_free_ char *path = path_join(s->mount_point, ".firstboot-probe"), *text = NULL;
        struct statvfs v;
        int r;

        if (!path)
                return -ENOMEM;
        r = write_file_durable(path, probe, strlen(probe), 0600);
        if (r >= 0)
                r = read_file(path, sizeof(probe), &text, NULL);
        if (r >= 0 && !streq(text, probe))
                r = -EIO;
        if (unlink(path) < 0 && r >= 0)
                r = -errno;
        if (r < 0)
                return step_fail_later(s->context, "scratch.not-writable", "%s: %s", s->mount_point,
                                strerror(-r));
        if (statvfs(s->mount_point, &v) >= 0)
                step_figure(s->context, "bytes",
                                json_object_new_int64((int64_t) (v.f_blocks * v.f_frsize)));
        return 0;
}

/* The kernel's module for the file system takes its time to load (2 s for XFS on a slow CPU) and
 * is wanted last: it loads while LVM works. Not waited for, and its failure is not ours: the mount
 * asks for the module again, and tells. */
static void load_filesystem_module(const Scratch *s) {
        _cleanup_free_ char *alias = strf("fs-%s", s->filesystem);

        if (alias && fork() == 0) {
                execlp("modprobe", "modprobe", "--quiet", "--use-blacklist", alias, (char *) NULL);
                _exit(127);
        }
}

static void add_figures(Scratch *s) {
        json_object *list = json_object_new_array();

        for (size_t i = 0; i < s->disks.n; i++) {
                json_object *o = json_object_new_object();
                bool used = false;

                for (size_t k = 0; k < s->plan.n_use; k++)
                        used = used || (s->plan.use[k] == i && s->plan.action != SCRATCH_FAIL);
                json_set_string(o, "device", s->disks.items[i].path);
                json_set_string(o, "serial", s->disks.items[i].serial);
                json_set_string(o, "model", s->disks.items[i].model);
                json_set_int(o, "bytes", (int64_t) s->disks.items[i].bytes);
                json_set(o, "used", json_object_new_boolean(used));
                json_object_array_add(list, o);
        }
        step_figure(s->context, "disks", list);
}

int scratch_run(StepContext *c) {
        static const char *const verbs[] = {
                [SCRATCH_ADOPT_DEVICE] = "adopted",
                [SCRATCH_ADOPT_VG] = "adopted",
                [SCRATCH_REBUILD] = "rebuilt",
                [SCRATCH_CREATE] = "made",
        };
        _cleanup_(scratch_done) Scratch s = {
                .context = c,
                .vg = json_get_string(c->section, "vg"),
                .lv = json_get_string(c->section, "lv"),
                .label = json_get_string(c->section, "label"),
                .filesystem = json_get_string(c->section, "filesystem"),
                .mount_point = json_get_string(c->section, "mount_point"),
                .options = json_get_string(c->section, "options"),
                .stripe_bytes = config_size(c->section, "stripe_size", 64 * 1024),
        };
        ScratchWish wish = {
                .vg = s.vg,
                .label = s.label,
                .expected = (int) json_get_int(c->section, "disks", -1),
                .allow_fewer = json_get_bool(c->section, "allow_fewer", false),
                .required = json_get_bool(c->section, "required", false),
        };
        _cleanup_free_ char *device = NULL;
        const char *mode = json_get_string(c->section, "mode");
        int r;

        r = gather(&s);
        if (r >= 0)
                r = scratch_plan(s.facts, s.disks.n, &s.record, &wish, &s.plan);
        if (r < 0)
                return r;
        add_figures(&s);
        if (s.plan.action == SCRATCH_FAIL)
                return step_fail(c, s.plan.code, "%s", s.plan.message);
        if (s.plan.code)
                (void) step_degrade(c, s.plan.code, "%s", s.plan.message);
        if (s.plan.action == SCRATCH_NOTHING)
                return step_skip(c, "no local NVMe disks");

        load_filesystem_module(&s);
        r = prepare(&s, &device);
        if (r >= 0)
                r = mount_it(&s, device);
        if (r >= 0 && chmod(s.mount_point, (mode_t) strtoul(mode ? mode : "1777", NULL, 8)) < 0)
                r = step_fail_later(c, "scratch.not-writable", "%s: %s", s.mount_point,
                                strerror(errno));
        if (r >= 0)
                r = check_writable(&s);
        if (r < 0)
                return r;
        r = save_record(&s);
        if (r < 0)
                log_warning_errno(r, "The record of the disks could not be saved");
        return step_done(c, "%s on %zu disks %s and mounted at %s", s.label, s.plan.n_use,
                        verbs[s.plan.action], s.mount_point);
}
