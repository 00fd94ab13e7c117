/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sysfs tells which disks there are and what stands on what: a disk that carries anything of the
 * running system, however many layers up, is none of the local disks. */

#include "steps/common/blockdev.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "steps/common/mount-table.h"
#include "steps/common/sysfs.h"

#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

#define DEPTH_MAX 16

/* Network volumes that appear as NVMe over PCIe. Sources: AWS "Amazon EBS and NVMe on Linux
 * instances" (instance store is "Amazon EC2 NVMe Instance Storage"), Google "About Local SSD" and
 * its guest udev rules (local disks are "nvme_card"), Azure "Remote NVMe disks" (local ones are
 * "Microsoft NVMe Direct Disk"), Alibaba Cloud "Elastic Block Storage". */
static const char *const network_models[] = {
        "Amazon Elastic Block Store*",
        "nvme_card-pd",
        "MSFT NVMe Accelerator*",
        "Alibaba Cloud Elastic Block Storage*",
        "Alibaba Cloud EBS*",
};

bool model_is_network(const char *model) {
        for (size_t i = 0; i < ELEMENTSOF(network_models); i++)
                if (fnmatch(network_models[i], model, 0) == 0)
                        return true;
        return false;
}

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
        }
        free(d->items);
        *d = (Disks) {};
}

int block_slaves(const char *path, char ***ret_names) {
        _cleanup_free_ char *folder = strf("%s/slaves", path);

        return folder ? fb_list(folder, ret_names) : -ENOMEM;
}

/* Adds the whole disks below a block device that has the folder `path` in sysfs. */
static int descend(const char *path, unsigned depth, char ***names) {
        _cleanup_strv_free_ char **slaves = NULL;
        _cleanup_free_ char *partition = fb_pathf("%s/partition", path), *full = fb_path(path);
        char real[PATH_MAX];
        int r;

        if (!partition || !full)
                return -ENOMEM;
        if (depth > DEPTH_MAX)
                return -ELOOP;

        r = block_slaves(path, &slaves);
        if (r < 0)
                return r;
        STRV_FOREACH (s, slaves) {
                _cleanup_free_ char *below = strf("/sys/class/block/%s", *s);

                r = below ? descend(below, depth + 1, names) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        if (slaves)
                return 0;

        if (!realpath(full, real))
                return errno == ENOENT ? 0 : -errno;
        /* A partition's folder lies in that of its disk. */
        if (access(partition, F_OK) >= 0)
                *strrchr(real, '/') = '\0';
        const char *name = path_basename(real);
        return strv_contains(*names, name) ? 0 : strv_extend(names, name);
}

int disks_below(unsigned major, unsigned minor, char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *path = strf("/sys/dev/block/%u:%u", major, minor);
        int r;

        r = path ? descend(path, 0, &names) : -ENOMEM;
        if (r < 0)
                return r;
        *ret_names = TAKE_PTR(names);
        return 0;
}

static bool is_system_mount(const char *where) {
        static const char *const places[] = { "/", "/usr", "/boot", "/boot/efi", "/efi", "/var" };

        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (streq(where, places[i]))
                        return true;
        return false;
}

static int add_below_mount(char ***names, const Mount *m) {
        _cleanup_strv_free_ char **below = NULL;
        int r;

        r = disks_below(m->major, m->minor, &below);
        if (r < 0)
                return r;
        STRV_FOREACH (s, below) {
                if (strv_contains(*names, *s))
                        continue;
                r = strv_extend(names, *s);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The disks below swap devices; without /proc/swaps there is no swap. */
static int add_below_swaps(char ***names) {
        _cleanup_free_ char *path = fb_path("/proc/swaps"), *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;
        int r;

        if (!path)
                return -ENOMEM;
        f = fopen(path, "re");
        if (!f)
                return 0;

        while (getline(&line, &size, f) > 0) {
                _cleanup_free_ char *sys = NULL;

                if (!startswith(line, "/dev/"))
                        continue;
                line[strcspn(line, " \t")] = '\0';
                sys = strf("/sys/class/block/%s", path_basename(line));
                r = sys ? descend(sys, 0, names) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

int disks_of_system(char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_mount_table_ MountTable mounts = {};
        int r;

        r = mount_table_read(&mounts);
        if (r < 0)
                return r;
        for (size_t i = 0; i < mounts.n; i++) {
                if (!is_system_mount(mounts.items[i].where))
                        continue;
                r = add_below_mount(&names, &mounts.items[i]);
                if (r < 0)
                        return r;
        }

        r = add_below_swaps(&names);
        if (r < 0)
                return r;
        *ret_names = TAKE_PTR(names);
        return 0;
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

/* Adds the disk if it is one of those that are looked for. */
static int add_if_local(Disks *d, const char *name, char *const *patterns) {
        _cleanup_free_ char *folder = strf("/sys/block/%s", name), *model = NULL, *serial = NULL,
                            *transport = NULL;
        uint64_t sectors = 0;

        if (!folder)
                return -ENOMEM;
        model = sysfs_string(folder, "device/model");
        serial = sysfs_string(folder, "device/serial");
        transport = sysfs_string(folder, "device/transport");

        /* Multipath: the device belongs to a subsystem, which has model and serial but no
         * transport. */
        if (!model || !serial || (transport && !streq(transport, "pcie")))
                return 0;
        if (model_is_network(model) || !matches(patterns, model))
                return 0;
        /* An empty namespace has no size: nothing to stripe over. */
        if (sysfs_number(folder, "size", 10, &sectors) < 0 || sectors == 0)
                return 0;

        Disk *disk = &d->items[d->n++];
        *disk = (Disk) {
                .name = strdup(name),
                .path = strf("/dev/%s", name),
                .model = TAKE_PTR(model),
                .serial = TAKE_PTR(serial),
                .bytes = sectors * 512,
        };
        return disk->name && disk->path ? 0 : -ENOMEM;
}

int disks_local(char *const *patterns, Disks *ret) {
        _cleanup_strv_free_ char **names = NULL, **system = NULL;
        _cleanup_disks_ Disks d = {};
        int r;

        r = disks_of_system(&system);
        if (r < 0)
                return r;
        r = fb_list("/sys/block", &names);
        if (r < 0)
                return r;
        d.items = calloc(strv_length(names) + 1, sizeof(Disk));
        if (!d.items)
                return -ENOMEM;

        STRV_FOREACH (name, names) {
                if (!is_namespace(*name) || strv_contains(system, *name))
                        continue;
                r = add_if_local(&d, *name, patterns);
                if (r < 0)
                        return r;
        }

        qsort(d.items, d.n, sizeof(Disk), compare_disks);
        *ret = d;
        d = (Disks) {};
        return 0;
}
