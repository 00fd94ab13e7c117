/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/scratch/facts.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <limits.h>
#include <sys/stat.h>

/* A device with our label that stands on the named one, at any height; *ret_top is the first
 * holder met. */
static int climb(const char *name, const char *label, unsigned depth, char **ret_labelled,
                char **ret_top) {
        _cleanup_strv_free_ char **holders = NULL;
        int r;

        if (depth > 8)
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
                device = fb_pathf("/dev/%s", path_basename(real));
                if (!device)
                        return -ENOMEM;
                if (!*ret_top && !(*ret_top = strdup(path_basename(real))))
                        return -ENOMEM;
                if (!*ret_labelled && probe_has_label(device, label))
                        *ret_labelled = TAKE_PTR(device);
                if (!*ret_labelled) {
                        r = climb(path_basename(real), label, depth + 1, ret_labelled, ret_top);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int look(const Disk *disk, const char *label, DiskFacts *f) {
        _cleanup_free_ char *device = disk_device(disk);
        int n, r;

        if (!device)
                return -ENOMEM;
        f->disk = disk;
        n = probe_device(device, f->signatures);
        if (n < 0) {
                f->probe_error = n;
                return 0;
        }
        f->n_signatures = n;
        for (int i = 0; i < n; i++)
                if (n == 1 && streq(f->signatures[i].usage, "filesystem") &&
                                streq(f->signatures[i].label, label) &&
                                !(f->labelled = strdup(device)))
                        return -ENOMEM;
        if (!f->labelled) {
                r = climb(disk->name, label, 0, &f->labelled, &f->holder);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* lvm may know the device by another of its names. */
static bool same_file(const char *a, const char *b) {
        struct stat x, y;

        if (streq(a, b))
                return true;
        return stat(a, &x) >= 0 && stat(b, &y) >= 0 && S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode) &&
               x.st_rdev == y.st_rdev;
}

static int add_lvm(const Lvm *lvm, DiskFacts *facts, size_t n) {
        _cleanup_json_ json_object *list = NULL;
        int r;

        r = lvm_report(lvm, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);
                const char *pv = json_get_string(o, "pv_name"), *vg = json_get_string(o, "vg_name");

                for (size_t d = 0; pv && d < n; d++) {
                        DiskFacts *f = &facts[d];
                        _cleanup_free_ char *device = disk_device(f->disk);

                        if (!device)
                                return -ENOMEM;
                        if (!same_file(device, pv))
                                continue;
                        f->orphan = isempty(vg);
                        f->vg_empty = !f->orphan &&
                                      streq(strempty(json_get_string(o, "lv_count")), "0");
                        f->vg_missing = (unsigned) strtoul(
                                        strempty(json_get_string(o, "vg_missing_pv_count")), NULL,
                                        10);
                        f->vg_tags = strdup(strempty(json_get_string(o, "vg_tags")));
                        f->vg = isempty(vg) ? NULL : strdup(vg);
                        if (!f->vg_tags || (!f->vg && !isempty(vg)))
                                return -ENOMEM;
                }
        }
        return 0;
}

int scratch_facts(const Disks *disks, const Lvm *lvm, const char *label, DiskFacts **ret) {
        DiskFacts *facts = calloc(disks->n + 1, sizeof(DiskFacts));
        bool any_lvm = false;
        int r = facts ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < disks->n; i++) {
                r = look(&disks->items[i], label, &facts[i]);
                for (int k = 0; k < facts[i].n_signatures; k++)
                        any_lvm = any_lvm || streq(facts[i].signatures[k].type, "LVM2_member");
        }
        if (r >= 0 && any_lvm && lvm)
                r = add_lvm(lvm, facts, disks->n);
        if (r < 0) {
                for (size_t i = 0; facts && i < disks->n; i++)
                        disk_facts_done(&facts[i]);
                free(facts);
                return r;
        }
        *ret = facts;
        return 0;
}
