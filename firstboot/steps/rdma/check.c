/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/rdma/check.h"

#include <stdarg.h>

void rdma_verdict_done(RdmaVerdict *v) {
        for (size_t i = 0; i < v->n; i++) {
                free(v->findings[i].device);
                free(v->findings[i].value);
                free(v->findings[i].limit);
        }
        free(v->findings);
        free(v->ports);
        *v = (RdmaVerdict) {};
}

/* Takes value and limit over; NULL of them is out of memory. */
static int find(RdmaVerdict *v, RdmaFinding f, const char *device) {
        RdmaFinding *grown = reallocarray(v->findings, v->n + 1, sizeof(RdmaFinding));

        if (grown)
                v->findings = grown;
        f.device = device ? strdup(device) : NULL;
        if (!grown || !f.value || !f.limit || (device && !f.device)) {
                free(f.device);
                free(f.value);
                free(f.limit);
                return -ENOMEM;
        }
        v->findings[v->n++] = f;
        return 0;
}

static bool port_is_active(const RdmaPort *p) {
        return streq_ptr(p->state, "4: ACTIVE");
}

static bool wanted_by_name(const RdmaWish *w, const RdmaFacts *f) {
        STRV_FOREACH (d, w->devices)
                if (rdma_facts_device(f, *d))
                        return true;
        return false;
}

/* State, link layer and rate of one port that is wanted. *ret_good: NCCL may use it. */
static int check_port(RdmaVerdict *v, const RdmaPort *p, const RdmaWish *w, bool *ret_good) {
        bool good = true;
        int r = 0;

        if (!p->state || !p->link_layer || !p->rate) {
                const char *what = !p->state ? "state" : !p->link_layer ? "link_layer" : "rate";
                r = find(v,
                                (RdmaFinding) { .code = "rdma.unreadable",
                                                .port = p->port,
                                                .value = strf("%s cannot be read", what),
                                                .limit = strdup("readable") },
                                p->device);
                good = false;
        } else if (!port_is_active(p)) {
                r = find(v,
                                (RdmaFinding) { .code = "rdma.port-down",
                                                .port = p->port,
                                                .value = strf("%s, %s", p->state,
                                                                p->phys_state ? p->phys_state
                                                                              : "?"),
                                                .limit = strdup("4: ACTIVE"),
                                                .may_pass = true },
                                p->device);
                good = false;
        } else if (w->link_layer && !streq(p->link_layer, w->link_layer)) {
                r = find(v,
                                (RdmaFinding) { .code = "rdma.link-layer",
                                                .port = p->port,
                                                .value = strdup(p->link_layer),
                                                .limit = strdup(w->link_layer) },
                                p->device);
                good = false;
        } else if (w->rate_gbps > 0 && p->rate_gbps + 0.01 < w->rate_gbps)
                r = find(v,
                                (RdmaFinding) { .code = "rdma.rate",
                                                .port = p->port,
                                                .value = strdup(p->rate),
                                                .limit = strf("%g Gb/sec", w->rate_gbps),
                                                .may_pass = true },
                                p->device);
        *ret_good = good;
        return r;
}

static const char *counter_basename(const RdmaCounter *c) {
        const char *slash = strrchr(c->name, '/');

        return slash ? slash + 1 : c->name;
}

static int check_counters(
                RdmaVerdict *v, const RdmaPort *p, const RdmaPort *later, const RdmaWish *w) {
        int r = 0;

        if (p->n_counters == 0)
                return find(v,
                                (RdmaFinding) { .code = "rdma.unreadable",
                                                .port = p->port,
                                                .value = strdup("neither counters nor hw_counters"),
                                                .limit = strdup("readable") },
                                p->device);
        for (size_t i = 0; r >= 0 && i < p->n_counters; i++) {
                const RdmaCounter *c = &p->counters[i];
                const RdmaLimit *limit = NULL;

                for (size_t k = 0; k < w->n_limits; k++)
                        if (streq(w->limits[k].name, counter_basename(c)))
                                limit = &w->limits[k];
                if (!limit)
                        continue;
                const RdmaCounter *again = later ? rdma_port_counter(later, c->name) : NULL;
                if (!c->readable || (later && (!again || !again->readable)))
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.unreadable",
                                                        .port = p->port,
                                                        .value = strf("%s cannot be read", c->name),
                                                        .limit = strdup("readable") },
                                        p->device);
                else if (again && again->value > c->value)
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.errors-grow",
                                                        .port = p->port,
                                                        .value = strf("%s grew from %llu to %llu",
                                                                        c->name,
                                                                        (unsigned long long)
                                                                                        c->value,
                                                                        (unsigned long long) again
                                                                                        ->value),
                                                        .limit = strdup("no growth"),
                                                        .may_pass = true },
                                        p->device);
                else if (c->value > limit->max)
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.errors",
                                                        .port = p->port,
                                                        .value = strf("%s is %llu", c->name,
                                                                        (unsigned long long)
                                                                                        c->value),
                                                        .limit = strf("%llu",
                                                                        (unsigned long long) limit
                                                                                        ->max) },
                                        p->device);
        }
        return r;
}

static int check_device(RdmaVerdict *v, const RdmaDevice *d, const RdmaWish *w) {
        int r = 0;

        if (d->width > 0 && d->width < d->width_limit)
                r = find(v,
                                (RdmaFinding) { .code = "rdma.pcie",
                                                .warns = w->pcie_warns,
                                                .value = strf("PCIe x%u", d->width),
                                                .limit = strf("x%u", d->width_limit) },
                                d->name);
        if (r >= 0 && d->speed > 0 && d->speed + 0.01 < d->speed_limit)
                r = find(v,
                                (RdmaFinding) { .code = "rdma.pcie",
                                                .warns = w->pcie_warns,
                                                .value = strf("PCIe %g GT/s", d->speed),
                                                .limit = strf("%g GT/s", d->speed_limit) },
                                d->name);
        if (r >= 0 && w->firmware && !streq_ptr(d->firmware, w->firmware))
                r = find(v,
                                (RdmaFinding) { .code = "rdma.firmware",
                                                .value = strdup(d->firmware ? d->firmware
                                                                            : "unknown"),
                                                .limit = strdup(w->firmware) },
                                d->name);
        return r;
}

/* Cards of the same kind have the same firmware, that of the majority. */
static int check_firmware(RdmaVerdict *v, const RdmaDevice *const *devices, size_t n) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const char *usual = NULL;
                size_t best = 0;

                for (size_t k = 0; k < n; k++) {
                        size_t votes = 0;

                        if (!streq(devices[k]->type, devices[i]->type) || !devices[k]->firmware)
                                continue;
                        for (size_t m = 0; m < n; m++)
                                votes += streq(devices[m]->type, devices[i]->type) &&
                                         streq_ptr(devices[m]->firmware, devices[k]->firmware);
                        if (votes > best) {
                                best = votes;
                                usual = devices[k]->firmware;
                        }
                }
                if (usual && !streq_ptr(devices[i]->firmware, usual))
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.firmware",
                                                        .value = strdup(devices[i]->firmware
                                                                                        ? devices[i]->firmware
                                                                                        : "unknown"),
                                                        .limit = strf("%s, as %zu others have",
                                                                        usual, best) },
                                        devices[i]->name);
        }
        return r;
}

static const RdmaGid *gid_at(const RdmaPort *p, unsigned index) {
        for (size_t i = 0; i < p->n_gids; i++)
                if (p->gids[i].index == index)
                        return &p->gids[i];
        return NULL;
}

/* NCCL_IB_GID_INDEX is one number for all ports: the lowest that is RoCE v2 everywhere,
 * IPv4-mapped before others (those are routed). */
static int check_gids(RdmaVerdict *v) {
        bool any_ethernet = false, all_have = true;
        int r = 0;

        v->gid_index = -1;
        for (size_t i = 0; r >= 0 && i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];
                bool has = false;

                if (!streq(p->link_layer, "Ethernet"))
                        continue;
                any_ethernet = true;
                for (size_t k = 0; k < p->n_gids; k++)
                        has = has || p->gids[k].roce_v2;
                all_have = all_have && has;
                if (!has)
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.no-gid",
                                                        .port = p->port,
                                                        .value = strf("%zu GIDs, none of them RoCE v2",
                                                                        p->n_gids),
                                                        .limit = strdup("one RoCE v2 GID"),
                                                        .may_pass = true },
                                        p->device);
        }
        if (r < 0 || !any_ethernet || !all_have)
                return r;
        for (int ipv4 = 1; v->gid_index < 0 && ipv4 >= 0; ipv4--)
                for (unsigned index = 0; v->gid_index < 0 && index < 256; index++) {
                        bool everywhere = true;

                        for (size_t i = 0; i < v->n_ports; i++) {
                                const RdmaGid *g = gid_at(v->ports[i], index);

                                if (streq(v->ports[i]->link_layer, "Ethernet"))
                                        everywhere = everywhere && g && g->roce_v2 &&
                                                     (g->ipv4 || !ipv4);
                        }
                        if (everywhere)
                                v->gid_index = (int) index;
                }
        if (v->gid_index < 0)
                return find(v,
                                (RdmaFinding) { .code = "rdma.gid-differs",
                                                .value = strdup("no GID index is RoCE v2 on all ports"),
                                                .limit = strdup("one index for all"),
                                                .may_pass = true },
                                NULL);
        return 0;
}

static const RdmaPort *same_port(const RdmaFacts *f, const RdmaPort *p) {
        for (size_t i = 0; f && i < f->n_ports; i++)
                if (streq(f->ports[i].device, p->device) && f->ports[i].port == p->port)
                        return &f->ports[i];
        return NULL;
}

static int missing_devices(RdmaVerdict *v, const RdmaFacts *f, const RdmaWish *w) {
        int r = 0;

        STRV_FOREACH (d, w->devices)
                if (r >= 0 && !rdma_facts_device(f, *d))
                        r = find(v,
                                        (RdmaFinding) { .code = "rdma.device-missing",
                                                        .value = strdup("not there"),
                                                        .limit = strdup("in /sys/class/infiniband"),
                                                        .may_pass = true },
                                        *d);
        return r;
}

static bool is_other(const RdmaPort *p, const RdmaWish *w) {
        return !port_is_active(p) || (w->link_layer && !streq_ptr(p->link_layer, w->link_layer)) ||
               (w->ports > 0 && p->rate_gbps + 0.01 < w->rate_gbps);
}

int rdma_check(const RdmaFacts *facts, const RdmaFacts *later, const RdmaWish *wish,
                RdmaVerdict *ret) {
        _cleanup_(rdma_verdict_done) RdmaVerdict v = { .gid_index = -1, .n_expected = wish->ports };
        _cleanup_free_ const RdmaDevice **devices = calloc(facts->n_devices + 1, sizeof(*devices));
        /* Names may have been changed by udev's rules: then number and kind of the ports decide. */
        bool by_name = wish->devices && (wish->exact_names || wanted_by_name(wish, facts));
        _cleanup_free_ char *others = strdup("");
        size_t n_devices = 0;
        int r = 0;

        v.ports = calloc(facts->n_ports + 1, sizeof(*v.ports));
        if (!devices || !v.ports || !others)
                return -ENOMEM;
        if (facts->n_devices == 0)
                r = find(&v,
                                (RdmaFinding) { .code = "rdma.no-device",
                                                .value = strdup("/sys/class/infiniband has no device"),
                                                .limit = wish->ports ? strf("%u ports", wish->ports)
                                                                     : strdup("at least one port"),
                                                .may_pass = true },
                                NULL);
        else if (by_name)
                r = missing_devices(&v, facts, wish);
        for (size_t i = 0; r >= 0 && i < facts->n_ports; i++) {
                const RdmaPort *p = &facts->ports[i];
                bool good;

                if (by_name && !strv_contains(wish->devices, p->device))
                        continue;
                /* Without names a port of another kind may be one that has other work to do; but
                 * where ports are missing, it may be the one. */
                if (!by_name && is_other(p, wish)) {
                        char *more = strf("%s%s%s:%u %s, %s, %s", others, *others ? "; " : "",
                                        p->device, p->port, p->state ? p->state : "?",
                                        p->link_layer ? p->link_layer : "?",
                                        p->rate ? p->rate : "?");
                        free(others);
                        others = more;
                        if (!others)
                                return -ENOMEM;
                        continue;
                }
                r = check_port(&v, p, wish, &good);
                if (r >= 0 && good)
                        v.ports[v.n_ports++] = p;
                if (r >= 0)
                        r = check_counters(&v, p, same_port(later, p), wish);
                if (r >= 0 && later && !same_port(later, p))
                        r = find(&v,
                                        (RdmaFinding) { .code = "rdma.device-missing",
                                                        .port = p->port,
                                                        .value = strdup("went away"),
                                                        .limit = strdup("there"),
                                                        .may_pass = true },
                                        p->device);
                const RdmaDevice *d = rdma_facts_device(facts, p->device);
                if (d && (n_devices == 0 || devices[n_devices - 1] != d))
                        devices[n_devices++] = d;
        }
        for (size_t i = 0; r >= 0 && i < n_devices; i++)
                r = check_device(&v, devices[i], wish);
        if (r >= 0 && !wish->firmware)
                r = check_firmware(&v, devices, n_devices);
        if (r >= 0 && facts->n_devices > 0 && v.n_ports < (wish->ports ? wish->ports : 1))
                r = find(&v,
                                (RdmaFinding) { .code = "rdma.too-few-ports",
                                                .value = strf("%zu usable ports%s%s%s", v.n_ports,
                                                                *others ? " (not among them: " : "",
                                                                others, *others ? ")" : ""),
                                                .limit = strf("%u", wish->ports ? wish->ports : 1),
                                                .may_pass = true },
                                NULL);
        if (r >= 0)
                r = check_gids(&v);
        if (r < 0)
                return r;
        *ret = v;
        v = (RdmaVerdict) {};
        return 0;
}

char *rdma_finding_text(const RdmaFinding *f) {
        _cleanup_free_ char *where = !f->device    ? strdup("")
                                     : f->port > 0 ? strf("%s port %u: ", f->device, f->port)
                                                   : strf("%s: ", f->device);

        return where ? strf("%s%s, should be %s", where, f->value, f->limit) : NULL;
}
