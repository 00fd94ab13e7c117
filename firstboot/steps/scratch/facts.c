/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each disk is probed, the more thoroughly the less is found on it; then what stands on it is
 * climbed until our label is met; LVM is asked only where a disk is a physical volume, for the
 * answer takes its time. */

#include "steps/scratch/facts.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/parse-number.h"
#include "steps/common/remains.h"

#include <fcntl.h>
#include <limits.h>

#define DEPTH_MAX 8

/* A device with our label that stands on the named one, at any height; *ret_top is the first
 * holder met. */
static int climb(const char *name, const char *label, unsigned depth, char **ret_labelled,
                char **ret_top) {
        _cleanup_strv_free_ char **holders = NULL;
        int r;

        if (depth > DEPTH_MAX)
                return 0;
        r = disk_holders(name, &holders);
        if (r < 0)
                return r;

        STRV_FOREACH (h, holders) {
                _cleanup_free_ char *sys = fb_pathf("/sys/dev/block/%s", *h), *device = NULL;
                char real[PATH_MAX];

                if (!sys)
                        return -ENOMEM;
                if (!realpath(sys, real))
                        continue;
                const char *holder = path_basename(real);
                device = fb_pathf("/dev/%s", holder);
                if (!device)
                        return -ENOMEM;

                if (!*ret_top && !(*ret_top = strdup(holder)))
                        return -ENOMEM;
                if (*ret_labelled)
                        continue;
                if (probe_has_label(device, label)) {
                        *ret_labelled = TAKE_PTR(device);
                        continue;
                }
                r = climb(holder, label, depth + 1, ret_labelled, ret_top);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether the disk is a file system with our label, and nothing else. */
static bool carries_label(const DiskFacts *f, const char *label) {
        return f->n_signatures == 1 && streq(f->signatures[0].usage, "filesystem") &&
               streq(f->signatures[0].label, label);
}

/* Whether somebody has it for himself: it is mounted, or part of something. We have it for the
 * blink of an eye only, for a mount would fail in the meantime. */
static bool is_busy(const char *device) {
        _cleanup_close_ int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);

        return fd < 0 && errno == EBUSY;
}

int disk_probe(int fd, DiskFacts *f) {
        int n = probe_fd(fd, 0, f->signatures), r;

        if (n == 0)
                n = probe_remains(fd, f->signatures);
        if (n < 0)
                return n;
        f->n_signatures = n;
        if (n > 0)
                return 0;
        r = probe_data(fd, &f->data_at);
        f->has_data = r > 0;
        return MIN(r, 0);
}

static int look(const Disk *disk, const char *label, DiskFacts *f) {
        _cleanup_free_ char *device = disk_device(disk);
        _cleanup_close_ int fd = -EBADF;

        if (!device)
                return -ENOMEM;
        f->disk = disk;
        f->busy = is_busy(device);
        fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        f->probe_error = fd < 0 ? -errno : disk_probe(fd, f);
        if (f->probe_error < 0)
                return f->probe_error == -ENOMEM ? -ENOMEM : 0;

        if (!carries_label(f, label))
                return climb(disk->name, label, 0, &f->labelled, &f->holder);
        f->labelled = TAKE_PTR(device);
        return 0;
}

/* Takes what lvm reports of the physical volume that the disk is. */
static int take_report(DiskFacts *f, json_object *o) {
        const char *vg = json_get_string(o, "vg_name");
        uint64_t missing = 0, volumes = 0;
        bool in_group;

        f->orphan = isempty(vg);
        f->vg_lost = lvm_group_is_lost(vg);
        in_group = !f->orphan && !f->vg_lost;
        if (in_group && (parse_number(strempty(json_get_string(o, "lv_count")), 10, &volumes) < 0 ||
                                        parse_number(strempty(json_get_string(
                                                                     o, "vg_missing_pv_count")),
                                                        10, &missing) < 0))
                return -EBADMSG;
        f->vg_missing = (unsigned) missing;
        f->vg_volumes = (unsigned) volumes;

        f->vg_tags = strdup(strempty(json_get_string(o, "vg_tags")));
        f->vg_uuid = strdup(strempty(json_get_string(o, "vg_uuid")));
        f->vg = in_group ? strdup(vg) : NULL;
        return f->vg_tags && f->vg_uuid && (f->vg || !in_group) ? 0 : -ENOMEM;
}

static int add_lvm(const Lvm *lvm, DiskFacts *facts, size_t n) {
        _cleanup_json_ json_object *report = NULL;
        int r;

        r = lvm_report(lvm, &report);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *device = disk_device(facts[i].disk);
                json_object *o;

                if (!device)
                        return -ENOMEM;
                o = lvm_report_find(report, device);
                r = o ? take_report(&facts[i], o) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int gather(const Disks *disks, const Lvm *lvm, const char *label, DiskFacts *facts) {
        bool any_lvm = false;
        int r;

        for (size_t i = 0; i < disks->n; i++) {
                r = look(&disks->items[i], label, &facts[i]);
                if (r < 0)
                        return r;
                for (int k = 0; k < facts[i].n_signatures; k++)
                        any_lvm = any_lvm || streq(facts[i].signatures[k].type, "LVM2_member");
        }
        return any_lvm && lvm ? add_lvm(lvm, facts, disks->n) : 0;
}

int scratch_facts(const Disks *disks, const Lvm *lvm, const char *label, DiskFacts **ret) {
        DiskFacts *facts = calloc(disks->n + 1, sizeof(DiskFacts));
        int r;

        if (!facts)
                return -ENOMEM;
        r = gather(disks, lvm, label, facts);
        if (r < 0) {
                for (size_t i = 0; i < disks->n; i++)
                        disk_facts_done(&facts[i]);
                free(facts);
                return r;
        }
        *ret = facts;
        return 0;
}
