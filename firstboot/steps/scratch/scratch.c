/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The striped file system on local NVMe disks: what is there is looked at (facts.c) and judged
 * (plan.c), then adopted, or looked at once more (hold.c) and made (volume.c), mounted, and proved
 * to be writable. Power may go at any line: until the file system is finished the volume group has
 * the tag "incomplete", and before the first byte is written the disks' serials are on record
 * (record.c). User data that makes volumes goes before all that (user-data.c). */

#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/parse-number.h"
#include "steps/common/mount-table.h"
#include "steps/common/mount-unit.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/scratch/facts.h"
#include "steps/scratch/fstab.h"
#include "steps/scratch/half-made.h"
#include "steps/scratch/hold.h"
#include "steps/scratch/label.h"
#include "steps/scratch/machine.h"
#include "steps/scratch/record.h"
#include "steps/scratch/user-data.h"
#include "steps/scratch/volume.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#define MOUNT_USEC (90 * USEC_PER_SEC)
#define STRIPE_BYTES (64 * 1024)
/* Less than the step's own limit, so that the step can say what it waited for. */
#define USER_DATA_USEC (8 * 60 * USEC_PER_SEC)

typedef struct Scratch {
        StepContext *context;
        const char *vg, *lv, *label, *filesystem, *mount_point, *options;
        uint64_t stripe_bytes;
        Disks disks;
        DiskFacts *facts;
        Lvm lvm;
        ScratchRecord record;
        ScratchPlan plan;
        ShapeDetected shape;
        char *machine, *expected_by, *left_out;
        char *user_command; /* by which user data makes volumes; NULL: it makes none */
        char **claim, **discard_partial;
} Scratch;

static void scratch_done(Scratch *s) {
        for (size_t i = 0; s->facts && i < s->disks.n; i++)
                disk_facts_done(&s->facts[i]);
        free(s->facts);
        disks_done(&s->disks);
        strv_free(s->lvm.devices);
        strv_free(s->record.serials);
        scratch_plan_done(&s->plan);
        shape_detected_done(&s->shape);
        free(s->machine);
        free(s->expected_by);
        free(s->left_out);
        free(s->user_command);
        strv_free(s->claim);
        strv_free(s->discard_partial);
}

static const char *instance_id(const Scratch *s) {
        return json_get_string(s->context->instance, "id");
}

/* Disks, what is on them, and what is on record. */
static int gather(Scratch *s) {
        StepContext *c = s->context;
        _cleanup_strv_free_ char **patterns = NULL;
        int r;

        r = json_get_strings(c->section, "models", &patterns);
        if (r < 0)
                return r;
        r = disks_local(patterns, &s->disks);
        if (r < 0)
                return step_fail_later(c, "scratch.probe-failed", "sysfs could not be read: %s",
                                strerror(-r));
        for (size_t i = 0; i < s->disks.n; i++) {
                r = strv_push(&s->lvm.devices, disk_device(&s->disks.items[i]));
                if (r < 0)
                        return r;
        }
        if (s->disks.emulated) {
                s->left_out = strv_join(s->disks.emulated, ", ");
                if (!s->left_out)
                        return -ENOMEM;
                log_info("Left alone, for a network volume may be behind it: %s. scratch.models would name it.",
                                s->left_out);
        }

        r = scratch_facts(&s->disks, &s->lvm, s->label, &s->facts);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return step_fail_later(c, "scratch.lvm",
                                "LVM's view of the local disks could not be read: %s",
                                strerror(-r));
        r = s->user_command ? user_data_adopt(&s->disks, s->mount_point, s->facts) : 0;
        return r < 0 ? r : scratch_record_load(instance_id(s), &s->record);
}

/* How many disks there must be: as configured; else as many as the machine's shape has, less those
 * that scratch.models leaves out or the running system is on, and not fewer than last time; else as
 * last time (-1). */
static int count_expected(Scratch *s, ScratchWish *wish) {
        int r;

        wish->expected = (int) json_get_int(s->context->section, "disks", -1);
        if (wish->expected >= 0) {
                s->expected_by = strf("scratch.disks is %d in %s", wish->expected,
                                step_source(s->context, "disks"));
                wish->expected_by = s->expected_by;
                return s->expected_by ? 0 : -ENOMEM;
        }
        r = shape_detect(s->context, NULL, &s->shape);
        if (r < 0)
                return r;
        const Shape *shape = s->shape.shape;
        if (!shape || shape->nvme_disks == SHAPE_NOT_SAID)
                return 0;

        int others = (int) s->disks.n_others, last = (int) strv_length(s->record.serials);
        wish->expected = MAX(MAX(shape->nvme_disks - others, last), 0);
        s->expected_by = strf("shape %s has %d local NVMe disks", shape->name, shape->nvme_disks);
        wish->expected_by = s->expected_by;
        return s->expected_by ? 0 : -ENOMEM;
}

/* What the configuration, the machine and the record want. */
static int make_wish(Scratch *s, ScratchWish *ret) {
        json_object *section = s->context->section;
        int r;

        r = machine_identity(&s->machine);
        if (r < 0)
                return r;
        r = json_get_strings(section, "claim", &s->claim);
        if (r < 0)
                return r;
        r = json_get_strings(section, "discard_partial", &s->discard_partial);
        if (r < 0)
                return r;
        *ret = (ScratchWish) {
                .vg = s->vg,
                .label = s->label,
                .allow_fewer = json_get_bool(section, "allow_fewer", false),
                .required = json_get_bool(section, "required", false),
                .users_choice = s->user_command != NULL,
                .claim = s->claim,
                .discard_partial = s->discard_partial,
                .machine = s->machine,
                .left_out = s->left_out,
        };
        return count_expected(s, ret);
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

/* Nothing has been written until here. The disks are looked at for the last time, put on record,
 * and then written to. */
static int make(Scratch *s, const ScratchVolume *v, const char *device) {
        _cleanup_(hold_done) Hold hold = {};
        int r;

        if (s->plan.action == SCRATCH_REBUILD) {
                r = scratch_volume_deactivate(v);
                if (r < 0)
                        return r;
        }
        r = hold_disks(v, &hold);
        if (r < 0)
                return r;
        r = scratch_record_save(instance_id(s), &s->disks, &s->plan, true);
        if (r < 0)
                return step_fail_later(s->context, "scratch.lvm",
                                "the record of the disks could not be saved: %s", strerror(-r));
        r = half_made_clear(v);
        if (r < 0)
                return r;
        hold_let_write(&hold);
        return scratch_volume_make(v, device);
}

/* Makes or activates what the plan says; *ret_device is what to mount (caller frees). */
static int prepare(Scratch *s, char **ret_device) {
        ScratchVolume v = {
                .context = s->context,
                .lvm = &s->lvm,
                .facts = s->facts,
                .plan = &s->plan,
                .vg = s->plan.vg ? s->plan.vg : s->vg,
                .lv = s->lv,
                .label = s->label,
                .filesystem = s->filesystem,
                .machine = s->machine,
                .stripe_bytes = s->stripe_bytes,
        };
        _cleanup_free_ char *device = NULL;
        int r;

        if (s->plan.action == SCRATCH_ADOPT_DEVICE) {
                *ret_device = TAKE_PTR(s->plan.device);
                return 0;
        }
        device = strf("/dev/%s/%s", v.vg, v.lv);
        if (!device)
                return -ENOMEM;
        r = s->plan.action == SCRATCH_ADOPT_VG ? scratch_volume_activate(&v, device)
                                               : make(s, &v, device);
        if (r < 0)
                return r;
        *ret_device = TAKE_PTR(device);
        return 0;
}

static int mount_it(Scratch *s, const char *device) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *source = NULL, *result = NULL;
        Signature signatures[SIGNATURES_MAX] = {};
        StepContext *c = s->context;
        int r;

        if (mounted_at(s->mount_point, &source)) {
                if (same_block_device(source, device))
                        return 0;
                return step_fail(c, "scratch.mount", "%s is taken: %s is mounted there",
                                s->mount_point, source);
        }

        /* What was adopted may be another file system than the one configured. */
        r = probe_device(device, signatures);
        if (r < 0)
                return step_fail_later(
                                c, "scratch.mount", "%s cannot be read: %s", device, strerror(-r));
        const char *found = signatures[0].type;

        r = unit_bus(&bus);
        if (r < 0)
                return unit_fail_no_bus(c, "scratch.mount", r);
        MountUnit m = {
                .what = device,
                .where = s->mount_point,
                .type = found[0] ? found : s->filesystem,
                .options = s->options,
                .description = "Local scratch",
                .timeout_usec = MOUNT_USEC,
        };
        r = mount_unit_start(bus, &m, &result);
        if (r < 0)
                return step_fail_later(c, "scratch.mount", "%s was not mounted at %s: %s", device,
                                s->mount_point, unit_job_words(r, result));

        if (!mounted_at(s->mount_point, &source) || !same_block_device(source, device))
                return step_fail_later(c, "scratch.mount",
                                "systemd reports success, but %s is not mounted at %s", device,
                                s->mount_point);
        return 0;
}

/* Its rights as configured; then written through to the disks, read back, removed. */
static int open_for_use(Scratch *s) {
        const char *text = json_get_string(s->context->section, "mode");
        uint64_t mode = 0;
        struct statvfs v;
        int r;

        (void) parse_number(text ? text : "1777", 8, &mode);
        if (chmod(s->mount_point, (mode_t) mode) < 0)
                r = -errno;
        else
                r = folder_prove_writable(s->mount_point);
        if (r < 0)
                return step_fail_later(s->context, "scratch.not-writable", "%s: %s", s->mount_point,
                                strerror(-r));

        if (statvfs(s->mount_point, &v) >= 0)
                step_figure(s->context, "bytes",
                                json_object_new_int64((int64_t) (v.f_blocks * v.f_frsize)));
        return 0;
}

/* The volume as user data has it stays so, and a boot with blank disks comes up to make it anew. */
static void keep_users_volume(const Scratch *s) {
        int r = s->user_command ? fstab_let_fail(s->mount_point) : 0;

        if (r < 0)
                log_warning_errno(r, "/etc/fstab could not be given nofail for %s", s->mount_point);
        if (r > 0)
                log_info("/etc/fstab has nofail for %s now: local disks may be blank at the next boot.",
                                s->mount_point);
}

static int fail_by_plan(Scratch *s) {
        StepContext *c = s->context;
        const ScratchPlan *p = &s->plan;

        /* Whoever uses a disk may let it go again. */
        if (!streq(p->code, "scratch.in-use"))
                return step_fail(c, p->code, "%s", p->message);
        if (s->user_command)
                step_remedy(c, "User data has %s: mount what it makes at %s, or set scratch.mount_point to where it is mounted",
                                s->user_command, s->mount_point);
        return step_fail_later(c, p->code, "%s", p->message);
}

static bool is_used(const ScratchPlan *p, size_t disk) {
        for (size_t i = 0; i < p->n_use; i++)
                if (p->use[i] == disk)
                        return p->action != SCRATCH_FAIL;
        return false;
}

static void add_figures(Scratch *s) {
        json_object *list = json_object_new_array();

        for (size_t i = 0; i < s->disks.n; i++) {
                const Disk *d = &s->disks.items[i];
                json_object *o = json_object_new_object();

                (void) json_set_fields(o, JSON_STRING("device", d->path),
                                JSON_STRING("serial", d->serial), JSON_STRING("model", d->model),
                                JSON_INT("bytes", d->bytes),
                                JSON_BOOL("used", is_used(&s->plan, i)));
                (void) json_append(list, o);
        }
        step_figure(s->context, "disks", list);
}

static const char *verb_of(ScratchAction action) {
        return action == SCRATCH_CREATE    ? "made"
               : action == SCRATCH_REBUILD ? "rebuilt"
                                           : "adopted";
}

int scratch_run(StepContext *c) {
        _cleanup_(scratch_done) Scratch s = {
                .context = c,
                .vg = json_get_string(c->section, "vg"),
                .lv = json_get_string(c->section, "lv"),
                .label = json_get_string(c->section, "label"),
                .filesystem = json_get_string(c->section, "filesystem"),
                .mount_point = json_get_string(c->section, "mount_point"),
                .options = json_get_string(c->section, "options"),
                .stripe_bytes = config_size(c->section, "stripe_size", STRIPE_BYTES),
        };
        ScratchWish wish = {};
        _cleanup_free_ char *device = NULL;
        int r;

        r = user_data_find(&s.user_command);
        if (r < 0)
                return r;
        r = s.user_command ? user_data_wait(c, s.user_command, USER_DATA_USEC) : 0;
        if (r < 0)
                return r;
        r = gather(&s);
        if (r < 0)
                return r;
        r = make_wish(&s, &wish);
        if (r < 0)
                return r;
        r = scratch_plan(s.facts, s.disks.n, &s.record, &wish, &s.plan);
        if (r < 0)
                return r;
        add_figures(&s);
        if (streq_ptr(s.plan.code, "scratch.disk-missing") &&
                        json_get_int(c->section, "disks", -1) > (int) s.disks.n)
                step_remedy(c, "If %zu disks are right for this machine: firstbootctl config set scratch.disks %zu (it is %d in %s), or scratch.allow_fewer true for any number. Else a disk is missing: compare the serials (lsblk -d -o NAME,SERIAL) with the provider's console.",
                                s.disks.n, s.disks.n, wish.expected, step_source(c, "disks"));
        if (s.plan.action == SCRATCH_FAIL)
                return fail_by_plan(&s);
        if (s.plan.code)
                (void) step_degrade(c, s.plan.code, "%s", s.plan.message);
        if (s.plan.action == SCRATCH_NOTHING)
                return step_skip(c, "no local NVMe disks%s%s%s", s.left_out ? "; left alone: " : "",
                                strempty(s.left_out),
                                s.left_out ? ", unless scratch.models names the model" : "");

        load_filesystem_module(&s);
        r = prepare(&s, &device);
        if (r < 0)
                return r;
        r = mount_it(&s, device);
        if (r < 0)
                return r;
        scratch_label(s.mount_point);
        r = open_for_use(&s);
        if (r < 0)
                return r;
        keep_users_volume(&s);

        r = scratch_record_save(instance_id(&s), &s.disks, &s.plan, false);
        if (r < 0)
                log_warning_errno(r, "The record of the disks could not be saved");
        return step_done(c, "%s on %zu disks %s and mounted at %s", s.label, s.plan.n_use,
                        verb_of(s.plan.action), s.mount_point);
}
