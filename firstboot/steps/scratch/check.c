/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The scratch volume as it is now: mounted, on the disks that are on record for this machine, and
 * written to. */

#include "shared/time-util.h"
#include "shared/duration.h"
#include "steps/common/mount-table.h"
#include "steps/common/own-file.h"
#include "steps/common/patience.h"
#include "steps/common/sysfs.h"
#include "steps/common/system-disks.h"
#include "steps/scratch/record.h"
#include "steps/steps.h"

#include <sys/statvfs.h>

/* A job that writes at full speed makes an fsync wait for its own blocks; a disk that is gone never
 * comes back. */
#define WRITE_USEC (20 * USEC_PER_SEC)

typedef struct Look {
        StepContext *context;
        const char *mount_point;
        ScratchRecord record;
} Look;

static void look_done(Look *l) {
        strv_free(l->record.serials);
}

/* The serials of the disks that a device stands on. */
static int serials_below(const Mount *m, char ***ret) {
        _cleanup_strv_free_ char **names = NULL, **serials = NULL;
        int r;

        r = disks_below(m->major, m->minor, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *folder = strf("/sys/block/%s", *name),
                                    *serial = folder ? sysfs_string(folder, "device/serial") : NULL;

                if (!folder)
                        return -ENOMEM;
                if (!serial)
                        continue;
                r = strv_push(&serials, TAKE_PTR(serial));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(serials);
        return 0;
}

static int check_disks(const Look *l, const Mount *m) {
        _cleanup_strv_free_ char **serials = NULL;
        int r;

        r = serials_below(m, &serials);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return step_fail_later(l->context, "scratch.disk-missing",
                                "what %s stands on cannot be read: %s", l->mount_point,
                                strerror(-r));
        STRV_FOREACH (serial, l->record.serials)
                if (!strv_contains(serials, *serial))
                        return step_fail(l->context, "scratch.disk-missing",
                                        "%s no longer stands on the disk with serial %s",
                                        l->mount_point, *serial);
        return 0;
}

static const Mount *find_mount(const MountTable *t, const char *where) {
        for (size_t i = t->n; i > 0; i--)
                if (streq(t->items[i - 1].where, where))
                        return &t->items[i - 1];
        return NULL;
}

static int write_probe(void *userdata) {
        const Look *l = userdata;
        struct statvfs v;

        if (statvfs(l->mount_point, &v) < 0)
                return -errno;
        if (v.f_flag & ST_RDONLY)
                return -EROFS;
        return folder_prove_writable(l->mount_point);
}

static int check_write(Look *l) {
        char limit[FORMAT_DURATION_MAX];
        uint64_t start = now_usec();
        int r = patience_run("scratch", WRITE_USEC, write_probe, l);

        if (r == -ENOSPC || r == -EDQUOT)
                return step_degrade(
                                l->context, "scratch.full", "%s: %s", l->mount_point, strerror(-r));
        if (r == -ETIMEDOUT || r == -EBUSY)
                return step_fail_later(l->context, "scratch.hangs",
                                "a write to %s did not end within %s", l->mount_point,
                                format_duration(limit, WRITE_USEC));
        if (r < 0)
                return step_fail_later(l->context, "scratch.not-writable", "%s: %s", l->mount_point,
                                strerror(-r));
        step_figure(l->context, "write_ms",
                        json_object_new_double((double) (now_usec() - start) / USEC_PER_MSEC));
        return 0;
}

int scratch_check(StepContext *c) {
        _cleanup_(look_done) Look l = { c, json_get_string(c->section, "mount_point"), {} };
        _cleanup_mount_table_ MountTable table = {};
        const Mount *m;
        int r;

        r = scratch_record_load(json_get_string(c->instance, "id"), &l.record);
        if (r < 0)
                return r;
        if (!l.record.serials && !json_get_bool(c->section, "required", false))
                return step_skip(c, "no scratch volume was made on this instance");

        r = mount_table_read(&table);
        if (r < 0)
                return step_fail_later(c, "scratch.mount", "the mount table cannot be read: %s",
                                strerror(-r));
        m = find_mount(&table, l.mount_point);
        if (!m)
                return step_fail_later(
                                c, "scratch.mount", "nothing is mounted at %s", l.mount_point);
        r = check_disks(&l, m);
        if (r < 0)
                return r;
        r = check_write(&l);
        return r < 0 ? r : step_done(c, "%s is mounted and writable", l.mount_point);
}
