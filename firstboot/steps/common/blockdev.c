/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sysfs tells which disks there are and what stands on what: a disk that carries anything of the
 * running system (system-disks.c), and one that is not in this machine (nvme.c), is none of the
 * local disks. */

#include "steps/common/blockdev.h"
#include "contract/paths.h"
#include "steps/common/nvme.h"
#include "steps/common/sysfs.h"
#include "steps/common/system-disks.h"

#include <fnmatch.h>
#include <sys/stat.h>

char *disk_device(const Disk *d) {
        _cleanup_free_ char *path = fb_path(d->path);
        char *real = path ? realpath(path, NULL) : NULL;

        return real ? real : TAKE_PTR(path);
}

bool same_block_device(const char *a, const char *b) {
        struct stat x, y;

        return stat(a, &x) >= 0 && stat(b, &y) >= 0 && S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode) &&
               x.st_rdev == y.st_rdev;
}

void disks_done(Disks *d) {
        for (size_t i = 0; i < d->n; i++) {
                free(d->items[i].name);
                free(d->items[i].path);
                free(d->items[i].model);
                free(d->items[i].serial);
                free(d->items[i].wwid);
        }
        free(d->items);
        strv_free(d->emulated);
        *d = (Disks) {};
}

int disk_holders(const char *name, char ***ret_holders) {
        _cleanup_strv_free_ char **holders = NULL, **entries = NULL, **direct = NULL;
        _cleanup_free_ char *folder = strf("/sys/block/%s", name),
                            *held = strf("/sys/block/%s/holders", name);
        int r;

        if (!folder || !held)
                return -ENOMEM;
        r = fb_list(held, &direct);
        if (r < 0)
                return r;
        r = fb_list(folder, &entries);
        if (r < 0)
                return r;
        STRV_FOREACH (e, entries) {
                if (!startswith(*e, name))
                        continue;
                r = strv_extend(&direct, *e);
                if (r < 0)
                        return r;
        }

        STRV_FOREACH (d, direct) {
                _cleanup_free_ char *device = strf("/sys/class/block/%s", *d), *number = NULL;

                if (!device)
                        return -ENOMEM;
                number = sysfs_string(device, "dev");
                if (!number)
                        continue;
                r = strv_push(&holders, TAKE_PTR(number));
                if (r < 0)
                        return r;
        }
        *ret_holders = TAKE_PTR(holders);
        return 0;
}

static int compare_disks(const void *a, const void *b) {
        const Disk *x = a, *y = b;
        int order = strcmp(x->serial, y->serial);

        return order ? order : strcmp(x->name, y->name);
}

static bool matches(char *const *patterns, const char *model) {
        STRV_FOREACH (p, patterns)
                if (fnmatch(*p, model, 0) == 0)
                        return true;
        return patterns == NULL;
}

/* "nvme0n1", but not "nvme0c1n1": the paths of a multipath device are no devices of their own. */
static bool is_namespace(const char *name) {
        unsigned controller, namespace;
        int end = 0;

        return sscanf(name, "nvme%un%u%n", &controller, &namespace, &end) == 2 && name[end] == '\0';
}

/* One namespace: 1 where it is one of those that are looked for; then *ret is filled. */
static int look_at(const char *name, char *const *patterns, bool system, Disks *d, Disk *ret) {
        _cleanup_free_ char *folder = strf("/sys/block/%s", name);
        _cleanup_(nvme_done) Nvme nvme = {};
        uint64_t sectors = 0;
        int r;

        if (!folder)
                return -ENOMEM;
        r = nvme_read(folder, &nvme);
        if (r <= 0)
                return r;
        /* An empty namespace has no size: nothing to stripe over. */
        if (!nvme.local || model_is_network(nvme.model) ||
                        sysfs_number(folder, "size", 10, &sectors) < 0 || sectors == 0)
                return 0;
        if (system || !matches(patterns, nvme.model)) {
                d->n_others++;
                return 0;
        }
        if (!patterns && nvme_is_emulated(&nvme))
                return strv_extendf(&d->emulated, "/dev/%s (model %s)", name, nvme.model);

        *ret = (Disk) {
                .name = strdup(name),
                .path = strf("/dev/%s", name),
                .model = TAKE_PTR(nvme.model),
                .serial = TAKE_PTR(nvme.serial),
                .bytes = sectors * 512,
                .wwid = TAKE_PTR(nvme.wwid),
        };
        return ret->name && ret->path ? 1 : -ENOMEM;
}

/* How many of the namespaces have this identity. */
static unsigned count_wwid(char *const *wwids, const char *wwid) {
        unsigned n = 0;

        STRV_FOREACH (w, wwids)
                n += streq(*w, wwid);
        return n;
}

/* The identities of all namespaces, the running system's included: a disk that is there twice is
 * one disk by two ways, or a copy of one. */
static int list_wwids(char *const *names, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;

        STRV_FOREACH (name, names) {
                _cleanup_free_ char *folder = strf("/sys/block/%s", *name), *wwid = NULL;

                if (!folder)
                        return -ENOMEM;
                if (!is_namespace(*name))
                        continue;
                wwid = sysfs_string(folder, "wwid");
                if (!isempty(wwid) && strv_push(&l, TAKE_PTR(wwid)) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

int disks_local(char *const *patterns, Disks *ret) {
        _cleanup_strv_free_ char **names = NULL, **system = NULL, **wwids = NULL;
        _cleanup_disks_ Disks d = {};
        int r;

        r = disks_of_system(&system);
        if (r < 0)
                return r;
        r = fb_list("/sys/block", &names);
        if (r < 0)
                return r;
        r = list_wwids(names, &wwids);
        if (r < 0)
                return r;
        d.items = calloc(strv_length(names) + 1, sizeof(Disk));
        if (!d.items)
                return -ENOMEM;

        STRV_FOREACH (name, names) {
                Disk *disk = &d.items[d.n];

                if (!is_namespace(*name))
                        continue;
                r = look_at(*name, patterns, strv_contains(system, *name), &d, disk);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                disk->twice = disk->wwid && count_wwid(wwids, disk->wwid) > 1;
                d.n++;
        }

        qsort(d.items, d.n, sizeof(Disk), compare_disks);
        *ret = d;
        d = (Disks) {};
        return 0;
}
