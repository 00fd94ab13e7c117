/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/rdma/facts.h"
#include "shared/file-util.h"
#include "contract/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>

#define CLASS "/sys/class/infiniband"

static void port_done(RdmaPort *p) {
        for (size_t i = 0; i < p->n_counters; i++)
                free(p->counters[i].name);
        free(p->counters);
        free(p->gids);
        free(p->device);
        free(p->state);
        free(p->phys_state);
        free(p->link_layer);
        free(p->rate);
        free(p->netdev);
        *p = (RdmaPort) {};
}

static void device_done(RdmaDevice *d) {
        free(d->name);
        free(d->firmware);
        free(d->type);
        free(d->pci);
        *d = (RdmaDevice) {};
}

void rdma_facts_done(RdmaFacts *f) {
        for (size_t i = 0; i < f->n_ports; i++)
                port_done(&f->ports[i]);
        for (size_t i = 0; i < f->n_devices; i++)
                device_done(&f->devices[i]);
        free(f->ports);
        free(f->devices);
        *f = (RdmaFacts) {};
}

char *rdma_attribute(const char *folder, const char *name) {
        _cleanup_free_ char *path = fb_pathf("%s/%s", folder, name);
        char *text = NULL;

        return path && read_line_file(path, &text) >= 0 ? text : NULL;
}

/* PCIe of the device in the folder: lanes and GT/s; 0 where sysfs shows none, as it does for
 * virtual functions. */
static void link_of(const char *folder, const char *which, unsigned *ret_width, double *ret_speed) {
        _cleanup_free_ char *width_name = strf("%s_link_width", which),
                            *speed_name = strf("%s_link_speed", which),
                            *width = width_name ? rdma_attribute(folder, width_name) : NULL,
                            *speed = speed_name ? rdma_attribute(folder, speed_name) : NULL;
        unsigned long n = width ? strtoul(width, NULL, 10) : 0;

        *ret_width = n <= 32 ? (unsigned) n : 0; /* 255 stands for unknown */
        *ret_speed = speed && isdigit((unsigned char) *speed) ? strtod(speed, NULL) : 0;
}

/* A fast card in a slow slot is as fast as it can be: the slot's own limit counts too. */
static void read_pcie(RdmaDevice *d, const char *folder) {
        _cleanup_free_ char *link = strf("%s/device", folder), *full = link ? fb_path(link) : NULL,
                            *parent = strf("%s/device/..", folder);
        char real[PATH_MAX];
        unsigned width;
        double speed;

        if (!full || !parent || !realpath(full, real))
                return;
        d->pci = strdup(path_basename(real));
        link_of(link, "current", &d->width, &d->speed);
        link_of(link, "max", &d->width_limit, &d->speed_limit);
        link_of(parent, "max", &width, &speed);
        if (width > 0 && width < d->width_limit)
                d->width_limit = width;
        if (speed > 0 && speed < d->speed_limit)
                d->speed_limit = speed;
}

static int read_gids(RdmaPort *p, const char *folder) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *gids = strf("%s/gids", folder), *attrs = strf("%s/gid_attrs", folder);
        int r;

        r = gids && attrs ? fb_list(gids, &names) : -ENOMEM;
        if (r < 0)
                return r;
        p->gids = calloc(strv_length(names) + 1, sizeof(RdmaGid));
        if (!p->gids)
                return -ENOMEM;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *type_name = strf("types/%s", *name),
                                    *ndev_name = strf("ndevs/%s", *name),
                                    *gid = rdma_attribute(gids, *name), *type = NULL, *ndev = NULL;
                char *end;
                unsigned long index = strtoul(*name, &end, 10);

                if (!type_name || !ndev_name)
                        return -ENOMEM;
                if (*end || !gid || strspn(gid, "0:") == strlen(gid))
                        continue;
                /* An entry not in use cannot be read. */
                type = rdma_attribute(attrs, type_name);
                ndev = rdma_attribute(attrs, ndev_name);
                if (!type)
                        continue;
                p->gids[p->n_gids++] = (RdmaGid) {
                        .index = (unsigned) index,
                        .roce_v2 = streq(type, "RoCE v2"),
                        .ipv4 = startswith(gid, "0000:0000:0000:0000:0000:ffff:") != NULL,
                };
                if (!p->netdev && !isempty(ndev))
                        p->netdev = TAKE_PTR(ndev);
        }
        for (size_t i = 1; i < p->n_gids; i++) /* by index: the names were sorted as text */
                for (size_t k = i; k > 0 && p->gids[k - 1].index > p->gids[k].index; k--) {
                        RdmaGid swap = p->gids[k];
                        p->gids[k] = p->gids[k - 1];
                        p->gids[k - 1] = swap;
                }
        return 0;
}

static int read_counters(RdmaPort *p, const char *folder, const char *kind) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *path = strf("%s/%s", folder, kind);
        int r;

        r = path ? fb_list(path, &names) : -ENOMEM;
        if (r < 0)
                return r;
        RdmaCounter *grown = reallocarray(
                        p->counters, p->n_counters + strv_length(names) + 1, sizeof(RdmaCounter));
        if (!grown)
                return -ENOMEM;
        p->counters = grown;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *text = rdma_attribute(path, *name);
                RdmaCounter counter = { .name = strf("%s/%s", kind, *name) };
                char *end;

                if (!counter.name)
                        return -ENOMEM;
                /* A setting in ms, no counter; and what the driver says it does not count: "N/A
                 * (no PMA)". */
                if (streq(*name, "lifespan") || (text && startswith(text, "N/A"))) {
                        free(counter.name);
                        continue;
                }
                if (text && isdigit((unsigned char) *text)) {
                        errno = 0;
                        counter.value = strtoull(text, &end, 10);
                        counter.readable = errno == 0 && *end == '\0';
                }
                p->counters[p->n_counters++] = counter;
        }
        return 0;
}

static int read_port(RdmaFacts *f, const char *device, const char *name, bool alone) {
        _cleanup_free_ char *folder = strf(CLASS "/%s/ports/%s", device, name);
        char *end;
        unsigned long number = strtoul(name, &end, 10);
        int r;

        if (!folder)
                return -ENOMEM;
        if (*end || number == 0 || number > 255)
                return 0;
        RdmaPort *grown = reallocarray(f->ports, f->n_ports + 1, sizeof(RdmaPort));
        if (!grown)
                return -ENOMEM;
        f->ports = grown;
        RdmaPort *p = &f->ports[f->n_ports++];
        *p = (RdmaPort) {
                .device = strdup(device),
                .port = (unsigned) number,
                .alone = alone,
                .state = rdma_attribute(folder, "state"),
                .phys_state = rdma_attribute(folder, "phys_state"),
                .link_layer = rdma_attribute(folder, "link_layer"),
                .rate = rdma_attribute(folder, "rate"),
        };
        if (!p->device)
                return -ENOMEM;
        p->rate_gbps = p->rate && isdigit((unsigned char) *p->rate) ? strtod(p->rate, NULL) : 0;
        r = read_gids(p, folder);
        if (r >= 0)
                r = read_counters(p, folder, "counters");
        if (r >= 0)
                r = read_counters(p, folder, "hw_counters");
        return r;
}

static int read_device(RdmaFacts *f, const char *name) {
        _cleanup_free_ char *folder = strf(CLASS "/%s", name),
                            *ports = strf(CLASS "/%s/ports", name), *type = NULL, *board = NULL;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!folder || !ports)
                return -ENOMEM;
        RdmaDevice *grown = reallocarray(f->devices, f->n_devices + 1, sizeof(RdmaDevice));
        if (!grown)
                return -ENOMEM;
        f->devices = grown;
        RdmaDevice *d = &f->devices[f->n_devices++];
        *d = (RdmaDevice) { .name = strdup(name), .firmware = rdma_attribute(folder, "fw_ver") };
        type = rdma_attribute(folder, "hca_type");
        board = rdma_attribute(folder, "board_id");
        d->type = strf("%s %s", strempty(type), strempty(board));
        if (!d->name || !d->type)
                return -ENOMEM;
        read_pcie(d, folder);
        r = fb_list(ports, &names);
        STRV_FOREACH (p, names)
                if (r >= 0)
                        r = read_port(f, name, *p, strv_length(names) == 1);
        return r;
}

/* "mlx5_10" comes after "mlx5_9". */
static int by_name(const void *a, const void *b) {
        return strverscmp(*(char *const *) a, *(char *const *) b);
}

int rdma_facts(RdmaFacts *ret) {
        _cleanup_(rdma_facts_done) RdmaFacts f = {};
        _cleanup_strv_free_ char **names = NULL;
        int r = fb_list(CLASS, &names);

        if (r >= 0 && names)
                qsort(names, strv_length(names), sizeof(char *), by_name);
        STRV_FOREACH (name, names)
                if (r >= 0)
                        r = read_device(&f, *name);
        if (r < 0)
                return r;
        *ret = f;
        f = (RdmaFacts) {};
        return 0;
}

const RdmaDevice *rdma_facts_device(const RdmaFacts *f, const char *name) {
        for (size_t i = 0; i < f->n_devices; i++)
                if (streq(f->devices[i].name, name))
                        return &f->devices[i];
        return NULL;
}

const RdmaCounter *rdma_port_counter(const RdmaPort *p, const char *name) {
        for (size_t i = 0; i < p->n_counters; i++)
                if (streq(p->counters[i].name, name))
                        return &p->counters[i];
        return NULL;
}
