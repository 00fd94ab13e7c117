/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/blockdev.h"
#include "shared/file-util.h"
#include "contract/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

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

/* A sysfs attribute without the blanks that NVMe pads its strings with; NULL where it is not
 * there. */
static char *attribute(const char *name, const char *what) {
        _cleanup_free_ char *path = fb_pathf("/sys/block/%s/%s", name, what);
        char *text = NULL;

        if (!path || read_line_file(path, &text) < 0)
                return NULL;
        size_t n = strlen(text), skip = strspn(text, " \t");
        while (n > skip && isspace((unsigned char) text[n - 1]))
                text[--n] = '\0';
        memmove(text, text + skip, n - skip + 1);
        return text;
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
        if (depth > 16)
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

static int add_below(char ***names, unsigned major, unsigned minor) {
        _cleanup_strv_free_ char **below = NULL;
        int r = disks_below(major, minor, &below);

        STRV_FOREACH (s, below)
                if (r >= 0 && !strv_contains(*names, *s))
                        r = strv_extend(names, *s);
        return r;
}

int disks_of_system(char ***ret_names) {
        static const char *const system_mounts[] = { "/", "/usr", "/boot", "/boot/efi", "/efi",
                "/var" };
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *mountinfo = fb_path("/proc/self/mountinfo"),
                            *swaps = fb_path("/proc/swaps"), *line = NULL;
        _cleanup_fclose_ FILE *f = NULL, *g = NULL;
        size_t size = 0;
        int r = 0;

        if (!mountinfo || !swaps)
                return -ENOMEM;
        f = fopen(mountinfo, "re");
        if (!f)
                return -errno;
        while (r >= 0 && getline(&line, &size, f) > 0) {
                char where[PATH_MAX];
                unsigned major, minor;

                /* 36 35 98:0 /mnt1 /mnt2 rw,noatime … (proc_pid_mountinfo(5)) */
                if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, where) != 3)
                        continue;
                for (size_t i = 0; r >= 0 && i < ELEMENTSOF(system_mounts); i++)
                        if (streq(where, system_mounts[i]))
                                r = add_below(&names, major, minor);
        }
        g = fopen(swaps, "re");
        while (r >= 0 && g && getline(&line, &size, g) > 0) {
                _cleanup_free_ char *path = strndup(line, strcspn(line, " \t")), *sys = NULL;
                char *device = path ? strrchr(path, '/') : NULL;

                if (!device || !startswith(path, "/dev/"))
                        continue;
                sys = strf("/sys/class/block/%s", device + 1);
                r = sys ? descend(sys, 0, &names) : -ENOMEM;
        }
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
        if (r >= 0)
                r = fb_list(folder, &entries);
        STRV_FOREACH (e, entries)
                if (r >= 0 && startswith(*e, name))
                        r = strv_extend(&direct, *e);
        STRV_FOREACH (d, direct) {
                _cleanup_free_ char *path = fb_pathf("/sys/class/block/%s/dev", *d), *number = NULL;

                if (r < 0 || !path || read_line_file(path, &number) < 0)
                        continue;
                r = strv_push(&holders, TAKE_PTR(number));
        }
        if (r < 0)
                return r;
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
                _cleanup_free_ char *model = NULL, *serial = NULL, *transport = NULL,
                                    *sectors = NULL;
                unsigned controller, namespace;
                int end = 0;

                /* nvme0c1n1 are the paths of a multipath device, not a device of their own. */
                if (sscanf(*name, "nvme%un%u%n", &controller, &namespace, &end) != 2 ||
                                (*name)[end] != '\0')
                        continue;
                if (strv_contains(system, *name))
                        continue;
                model = attribute(*name, "device/model");
                serial = attribute(*name, "device/serial");
                transport = attribute(*name, "device/transport");
                sectors = attribute(*name, "size");
                /* Multipath: the device belongs to a subsystem, which has model and serial but no
                 * transport. */
                if (!model || !serial || (transport && !streq(transport, "pcie")))
                        continue;
                if (model_is_network(model) || !matches(patterns, model))
                        continue;
                /* An empty namespace has no size: nothing to stripe over. */
                uint64_t bytes = sectors ? strtoull(sectors, NULL, 10) * 512 : 0;
                if (bytes == 0)
                        continue;
                Disk *disk = &d.items[d.n];
                *disk = (Disk) {
                        .name = strdup(*name), .path = strf("/dev/%s", *name), .bytes = bytes
                };
                d.n++;
                if (!disk->name || !disk->path)
                        return -ENOMEM;
                disk->model = TAKE_PTR(model);
                disk->serial = TAKE_PTR(serial);
        }
        qsort(d.items, d.n, sizeof(Disk), compare_disks);
        *ret = d;
        d = (Disks) {};
        return 0;
}
