/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Devices, their ports, the ports' GIDs and counters, in the order of their names. */

#include "steps/rdma/facts.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/parse-number.h"
#include "steps/common/sysfs.h"

#include <fcntl.h>
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
        free(d->redirecting);
        *d = (RdmaDevice) {};
}

void rdma_facts_done(RdmaFacts *f) {
        for (size_t i = 0; i < f->n_ports; i++)
                port_done(&f->ports[i]);
        for (size_t i = 0; i < f->n_devices; i++)
                device_done(&f->devices[i]);
        free(f->ports);
        free(f->devices);
        strv_free(f->away);
        *f = (RdmaFacts) {};
}

/* PCIe of the device in the folder: lanes and GT/s; 0 where sysfs shows none, as it does for
 * virtual functions. */
static void link_of(const char *folder, const char *which, unsigned *ret_width, double *ret_speed) {
        _cleanup_free_ char *width_name = strf("%s_link_width", which),
                            *speed_name = strf("%s_link_speed", which),
                            *speed = speed_name ? sysfs_string(folder, speed_name) : NULL;
        uint64_t n = 0;

        if (width_name)
                (void) sysfs_number(folder, width_name, 10, &n);
        *ret_width = n <= 32 ? (unsigned) n : 0; /* 255 stands for unknown */
        *ret_speed = 0;
        (void) parse_leading_real(speed, ret_speed);
}

/* Little-endian numbers of PCI's configuration space; 0 beyond what was read. */
static uint32_t config_word(const uint8_t *config, size_t n, size_t at, size_t size) {
        uint32_t v = 0;

        for (size_t i = size; at + size <= n && i > 0; i--)
                v = v << 8 | config[at + i - 1];
        return v;
}

/* Whether the bridge redirects requests or completions between what hangs below it: the control
 * register of Access Control Services, an extended capability (PCI Express Base Specification,
 * 7.7.11; NCCL's troubleshooting guide, "PCI Access Control Services"). */
static bool redirects(const char *bridge) {
        enum {
                EXTENDED = 0x100,
                ID_ACS = 0x000d,
                CONTROL = 6,
                REDIRECT = 0x0c, /* P2P request, completion */
        };
        _cleanup_free_ char *path = strf("%s/config", bridge);
        _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        uint8_t config[4096];

        ssize_t n = fd < 0 ? -1 : read(fd, config, sizeof(config));
        if (n <= EXTENDED)
                return false;
        /* As many capabilities as there is room for: a list that runs in a circle ends. */
        for (size_t at = EXTENDED, i = 0; at >= EXTENDED && i < sizeof(config) / 8; i++) {
                uint32_t head = config_word(config, (size_t) n, at, 4);

                if ((head & 0xffff) == ID_ACS)
                        return config_word(config, (size_t) n, at + CONTROL, 2) & REDIRECT;
                at = head >> 20;
        }
        return false;
}

/* The nearest bridge above the device that redirects, up to the root. Root ports do by right:
 * there, what a card sends to another has to go that way. */
static char *find_redirecting(const char *device) {
        _cleanup_free_ char *path = strdup(device);
        char *slash;

        while (path && (slash = strrchr(path, '/'))) {
                *slash = '\0';
                const char *above = strrchr(path, '/');
                _cleanup_free_ char *parent = above ? strndup(path, (size_t) (above - path)) : NULL;

                if (!parent || startswith(path_basename(parent), "pci"))
                        return NULL;
                if (redirects(path))
                        return strdup(above + 1);
        }
        return NULL;
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
        d->redirecting = find_redirecting(real);
        link_of(link, "current", &d->width, &d->speed);
        link_of(link, "max", &d->width_limit, &d->speed_limit);
        link_of(parent, "max", &width, &speed);
        if (width > 0 && width < d->width_limit)
                d->width_limit = width;
        if (speed > 0 && speed < d->speed_limit)
                d->speed_limit = speed;
}

/* One entry of the GID table, if it is in use. */
static int read_gid(RdmaPort *p, const char *gids, const char *attrs, const char *name) {
        _cleanup_free_ char *type_name = strf("types/%s", name),
                            *ndev_name = strf("ndevs/%s", name), *gid = sysfs_string(gids, name),
                            *type = NULL, *ndev = NULL;
        uint64_t index;

        if (!type_name || !ndev_name)
                return -ENOMEM;
        if (parse_number(name, 10, &index) < 0 || !gid || strspn(gid, "0:") == strlen(gid))
                return 0;
        /* An entry not in use cannot be read. */
        type = sysfs_string(attrs, type_name);
        ndev = sysfs_string(attrs, ndev_name);
        if (!type)
                return 0;

        p->gids[p->n_gids++] = (RdmaGid) {
                .index = (unsigned) index,
                .roce_v2 = streq(type, "RoCE v2"),
                .ipv4 = startswith(gid, "0000:0000:0000:0000:0000:ffff:") != NULL,
        };
        if (!p->netdev && !isempty(ndev))
                p->netdev = TAKE_PTR(ndev);
        return 0;
}

static int by_index(const void *a, const void *b) {
        const RdmaGid *x = a, *y = b;

        return x->index < y->index ? -1 : x->index > y->index;
}

static int read_gids(RdmaPort *p, const char *folder) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *gids = strf("%s/gids", folder), *attrs = strf("%s/gid_attrs", folder);
        int r;

        if (!gids || !attrs)
                return -ENOMEM;
        r = fb_list(gids, &names);
        if (r < 0)
                return r;
        p->gids = calloc(strv_length(names) + 1, sizeof(RdmaGid));
        if (!p->gids)
                return -ENOMEM;

        STRV_FOREACH (name, names) {
                r = read_gid(p, gids, attrs, *name);
                if (r < 0)
                        return r;
        }
        qsort(p->gids, p->n_gids, sizeof(RdmaGid), by_index); /* the names were sorted as text */
        return 0;
}

static int read_counters(RdmaPort *p, const char *folder, const char *kind) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *path = strf("%s/%s", folder, kind);
        int r;

        if (!path)
                return -ENOMEM;
        r = fb_list(path, &names);
        if (r < 0)
                return r;
        RdmaCounter *grown = reallocarray(
                        p->counters, p->n_counters + strv_length(names) + 1, sizeof(RdmaCounter));
        if (!grown)
                return -ENOMEM;
        p->counters = grown;

        STRV_FOREACH (name, names) {
                _cleanup_free_ char *text = sysfs_string(path, *name);
                RdmaCounter counter = {};

                /* A setting in ms, no counter; and what the driver says it does not count: "N/A
                 * (no PMA)". */
                if (streq(*name, "lifespan") || (text && startswith(text, "N/A")))
                        continue;
                counter.name = strf("%s/%s", kind, *name);
                if (!counter.name)
                        return -ENOMEM;
                counter.readable = text && parse_number(text, 10, &counter.value) >= 0;
                p->counters[p->n_counters++] = counter;
        }
        return 0;
}

/* The port's interface: its MTU, and how often it lost its link since the driver was loaded, which
 * is a counter like the others (Documentation/ABI/testing/sysfs-class-net). */
static int read_netdev(RdmaPort *p) {
        _cleanup_free_ char *folder = p->netdev ? strf("/sys/class/net/%s", p->netdev) : NULL;
        uint64_t n = 0;

        if (!folder)
                return p->netdev ? -ENOMEM : 0;
        if (sysfs_number(folder, "mtu", 10, &n) >= 0)
                p->mtu = (unsigned) MIN(n, UINT64_C(65536));
        if (sysfs_number(folder, "carrier_down_count", 10, &n) < 0)
                return 0;
        RdmaCounter *grown = reallocarray(p->counters, p->n_counters + 1, sizeof(RdmaCounter));
        if (!grown)
                return -ENOMEM;
        p->counters = grown;
        char *name = strdup("netdev/carrier_down_count");
        if (!name)
                return -ENOMEM;
        p->counters[p->n_counters++] = (RdmaCounter) { .name = name, .readable = true, .value = n };
        return 0;
}

static int read_port(RdmaFacts *f, const char *device, const char *name, bool alone) {
        _cleanup_free_ char *folder = strf(CLASS "/%s/ports/%s", device, name);
        uint64_t number;
        int r;

        if (!folder)
                return -ENOMEM;
        if (parse_number(name, 10, &number) < 0 || number == 0 || number > 255)
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
                .state = sysfs_string(folder, "state"),
                .phys_state = sysfs_string(folder, "phys_state"),
                .link_layer = sysfs_string(folder, "link_layer"),
                .rate = sysfs_string(folder, "rate"),
        };
        if (!p->device)
                return -ENOMEM;
        (void) parse_leading_real(p->rate, &p->rate_gbps);

        r = read_gids(p, folder);
        if (r < 0)
                return r;
        r = read_counters(p, folder, "counters");
        if (r < 0)
                return r;
        r = read_counters(p, folder, "hw_counters");
        if (r < 0 || p->n_counters == 0) /* a driver that counts nothing is told of */
                return r;
        return read_netdev(p);
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
        *d = (RdmaDevice) { .name = strdup(name), .firmware = sysfs_string(folder, "fw_ver") };
        type = sysfs_string(folder, "hca_type");
        board = sysfs_string(folder, "board_id");
        d->type = strf("%s %s", strempty(type), strempty(board));
        if (!d->name || !d->type)
                return -ENOMEM;
        read_pcie(d, folder);

        r = fb_list(ports, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (p, names) {
                r = read_port(f, name, *p, strv_length(names) == 1);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* "mlx5_10" comes after "mlx5_9". */
static int by_name(const void *a, const void *b) {
        return strverscmp(*(char *const *) a, *(char *const *) b);
}

int rdma_facts(RdmaFacts *ret) {
        _cleanup_(rdma_facts_done) RdmaFacts f = {};
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = fb_list(CLASS, &names);
        if (r < 0)
                return r;
        if (names)
                qsort(names, strv_length(names), sizeof(char *), by_name);
        STRV_FOREACH (name, names) {
                r = read_device(&f, *name);
                if (r < 0)
                        return r;
        }
        r = rdma_facts_add_away(&f);
        if (r < 0)
                return r;
        *ret = f;
        f = (RdmaFacts) {};
        return 0;
}
