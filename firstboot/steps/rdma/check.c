/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Findings are added one by one: of ports, of their counters, of devices, of the machine. A wish
 * that names nothing is fulfilled by whatever is there and works. */

#include "steps/rdma/check.h"
#include "shared/file-util.h"

/* Rates and speeds are compared with this much room for rounding. */
#define TOLERANCE 0.01

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

typedef enum Weight {
        LASTS,
        MAY_PASS, /* another look may show something better */
        WARNS,    /* a defect, no failure */
} Weight;

/* Adds a finding; device NULL: of the machine, port 0: of the device. Takes value and limit over;
 * NULL of them is out of memory. */
static int add(RdmaVerdict *v, const char *device, unsigned port, const char *code, Weight weight,
                char *value, char *limit) {
        RdmaFinding *grown = reallocarray(v->findings, v->n + 1, sizeof(RdmaFinding));
        RdmaFinding f = {
                .code = code,
                .device = device ? strdup(device) : NULL,
                .port = port,
                .value = value,
                .limit = limit,
                .warns = weight == WARNS,
                .may_pass = weight == MAY_PASS,
        };

        if (grown)
                v->findings = grown;
        if (!grown || !f.value || !f.limit || (device && !f.device)) {
                free(f.device);
                free(f.value);
                free(f.limit);
                return -ENOMEM;
        }
        v->findings[v->n++] = f;
        return 0;
}

static int find(RdmaVerdict *v, const char *device, const char *code, Weight weight, char *value,
                char *limit) {
        return add(v, device, 0, code, weight, value, limit);
}

static int find_port(RdmaVerdict *v, const RdmaPort *p, const char *code, Weight weight,
                char *value, char *limit) {
        return add(v, p->device, p->port, code, weight, value, limit);
}

static bool port_is_active(const RdmaPort *p) {
        return streq_ptr(p->state, "4: ACTIVE");
}

static bool is_below(double is, double wanted) {
        return is + TOLERANCE < wanted;
}

/* What keeps NCCL from using the port: state and link layer. 1 where it found something. */
static int check_usable(RdmaVerdict *v, const RdmaPort *p, const RdmaWish *w) {
        const char *unreadable = !p->state        ? "state"
                                 : !p->link_layer ? "link_layer"
                                 : !p->rate       ? "rate"
                                                  : NULL;
        int r;

        if (unreadable)
                r = find_port(v, p, "rdma.unreadable", LASTS, strf("%s cannot be read", unreadable),
                                strdup("readable"));
        else if (!port_is_active(p))
                r = find_port(v, p, "rdma.port-down", MAY_PASS,
                                strf("%s, %s", p->state, p->phys_state ? p->phys_state : "?"),
                                strdup("4: ACTIVE"));
        else if (w->link_layer && !streq(p->link_layer, w->link_layer))
                r = find_port(v, p, "rdma.link-layer", LASTS, strdup(p->link_layer),
                                strdup(w->link_layer));
        else
                return 0;
        return r < 0 ? r : 1;
}

/* State, link layer and rate of one port that is wanted. *ret_good: NCCL may use it. */
static int check_port(RdmaVerdict *v, const RdmaPort *p, const RdmaWish *w, bool *ret_good) {
        int r;

        r = check_usable(v, p, w);
        if (r < 0)
                return r;
        *ret_good = r == 0;
        if (r > 0 || w->rate_gbps <= 0 || !is_below(p->rate_gbps, w->rate_gbps))
                return 0;
        return find_port(v, p, "rdma.rate", MAY_PASS, strdup(p->rate),
                        strf("%g Gb/sec", w->rate_gbps));
}

static const RdmaLimit *limit_of(const RdmaWish *w, const RdmaCounter *c) {
        const RdmaLimit *limit = NULL;

        for (size_t i = 0; i < w->n_limits; i++)
                if (streq(w->limits[i].name, path_basename(c->name)))
                        limit = &w->limits[i];
        return limit;
}

/* One counter that has a limit; later: the port at the second look, or NULL. */
static int check_counter(RdmaVerdict *v, const RdmaPort *p, const RdmaCounter *c,
                const RdmaPort *later, const RdmaLimit *limit) {
        const RdmaCounter *again = later ? rdma_port_counter(later, c->name) : NULL;
        unsigned long long value = c->value, next = again ? again->value : value, max = limit->max;

        if (!c->readable || (later && (!again || !again->readable)))
                return find_port(v, p, "rdma.unreadable", LASTS, strf("%s cannot be read", c->name),
                                strdup("readable"));
        if (next > value)
                return find_port(v, p, "rdma.errors-grow", MAY_PASS,
                                strf("%s grew from %llu to %llu", c->name, value, next),
                                strdup("no growth"));
        if (value > max)
                return find_port(v, p, "rdma.errors", LASTS, strf("%s is %llu", c->name, value),
                                strf("%llu", max));
        return 0;
}

static int check_counters(
                RdmaVerdict *v, const RdmaPort *p, const RdmaPort *later, const RdmaWish *w) {
        int r;

        if (p->n_counters == 0)
                return find_port(v, p, "rdma.unreadable", LASTS,
                                strdup("neither counters nor hw_counters"), strdup("readable"));
        for (size_t i = 0; i < p->n_counters; i++) {
                const RdmaLimit *limit = limit_of(w, &p->counters[i]);

                if (!limit)
                        continue;
                r = check_counter(v, p, &p->counters[i], later, limit);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_pcie(RdmaVerdict *v, const RdmaDevice *d, const RdmaWish *w) {
        int r;

        if (d->width > 0 && d->width < d->width_limit) {
                r = find(v, d->name, "rdma.pcie", w->pcie_warns ? WARNS : LASTS,
                                strf("PCIe x%u", d->width), strf("x%u", d->width_limit));
                if (r < 0)
                        return r;
        }
        if (d->redirecting && !w->acs_ignored) {
                r = find(v, d->name, "rdma.acs", w->acs_warns ? WARNS : LASTS,
                                strf("bridge %s redirects", d->redirecting),
                                strdup("no redirection"));
                if (r < 0)
                        return r;
        }
        if (d->speed <= 0 || !is_below(d->speed, d->speed_limit))
                return 0;
        return find(v, d->name, "rdma.pcie", w->pcie_warns ? WARNS : LASTS,
                        strf("PCIe %g GT/s", d->speed), strf("%g GT/s", d->speed_limit));
}

static int find_firmware(RdmaVerdict *v, const RdmaDevice *d, char *limit) {
        return find(v, d->name, "rdma.firmware", LASTS,
                        strdup(d->firmware ? d->firmware : "unknown"), limit);
}

/* How many cards of this kind have this firmware. */
static size_t count_firmware(const RdmaDevice *const *devices, size_t n, const char *type,
                const char *firmware) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += streq(devices[i]->type, type) && streq_ptr(devices[i]->firmware, firmware);
        return count;
}

/* The firmware that most cards of this kind have, and how many; NULL where none tells. */
static const char *usual_firmware(
                const RdmaDevice *const *devices, size_t n, const char *type, size_t *ret_count) {
        const char *usual = NULL;

        *ret_count = 0;
        for (size_t i = 0; i < n; i++) {
                if (!streq(devices[i]->type, type) || !devices[i]->firmware)
                        continue;
                size_t count = count_firmware(devices, n, type, devices[i]->firmware);
                if (count > *ret_count) {
                        *ret_count = count;
                        usual = devices[i]->firmware;
                }
        }
        return usual;
}

/* Cards of the same kind have the same firmware, that of the majority. */
static int check_firmware(RdmaVerdict *v, const RdmaDevice *const *devices, size_t n) {
        int r;

        for (size_t i = 0; i < n; i++) {
                size_t count;
                const char *usual = usual_firmware(devices, n, devices[i]->type, &count);

                if (!usual || streq_ptr(devices[i]->firmware, usual))
                        continue;
                r = find_firmware(v, devices[i], strf("%s, as %zu others have", usual, count));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_devices(
                RdmaVerdict *v, const RdmaDevice *const *devices, size_t n, const RdmaWish *w) {
        int r;

        for (size_t i = 0; i < n; i++) {
                r = check_pcie(v, devices[i], w);
                if (r < 0)
                        return r;
                if (!w->firmware || streq_ptr(devices[i]->firmware, w->firmware))
                        continue;
                r = find_firmware(v, devices[i], strdup(w->firmware));
                if (r < 0)
                        return r;
        }
        return w->firmware ? 0 : check_firmware(v, devices, n);
}

static bool is_ethernet(const RdmaPort *p) {
        return streq(p->link_layer, "Ethernet");
}

static bool has_roce_v2(const RdmaPort *p) {
        for (size_t i = 0; i < p->n_gids; i++)
                if (p->gids[i].roce_v2)
                        return true;
        return false;
}

/* Whether the GID at this index of the port is RoCE v2 (and, where asked for, IPv4-mapped). */
static bool gid_serves(const RdmaPort *p, unsigned index, bool ipv4) {
        for (size_t i = 0; i < p->n_gids; i++)
                if (p->gids[i].index == index)
                        return p->gids[i].roce_v2 && (p->gids[i].ipv4 || !ipv4);
        return false;
}

static bool gid_serves_all(const RdmaVerdict *v, unsigned index, bool ipv4) {
        for (size_t i = 0; i < v->n_ports; i++)
                if (is_ethernet(v->ports[i]) && !gid_serves(v->ports[i], index, ipv4))
                        return false;
        return true;
}

/* The lowest index that is RoCE v2 everywhere, IPv4-mapped before others (those are routed); -1
 * where there is none. */
static int common_gid(const RdmaVerdict *v) {
        for (int ipv4 = 1; ipv4 >= 0; ipv4--)
                for (unsigned index = 0; index < 256; index++)
                        if (gid_serves_all(v, index, ipv4))
                                return (int) index;
        return -1;
}

/* Interfaces of one fabric have one MTU: packets of the larger would be lost at the smaller. */
static int check_mtu(RdmaVerdict *v, const RdmaWish *w) {
        unsigned most = 0;
        int r;

        for (size_t i = 0; i < v->n_ports; i++)
                if (is_ethernet(v->ports[i]))
                        most = MAX(most, v->ports[i]->mtu);
        most = w->mtu > 0 ? w->mtu : most;
        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                if (!is_ethernet(p) || p->mtu == 0 || p->mtu >= most)
                        continue;
                r = find_port(v, p, "rdma.mtu", LASTS, strf("MTU %u of %s", p->mtu, p->netdev),
                                strf("%u", most));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* NCCL_IB_GID_INDEX is one number for all ports. */
static int check_gids(RdmaVerdict *v, const RdmaWish *w) {
        bool any_ethernet = false, all_have = true;
        int r;

        v->gid_index = -1;
        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                if (!is_ethernet(p))
                        continue;
                any_ethernet = true;
                if (has_roce_v2(p))
                        continue;
                all_have = false;
                r = find_port(v, p, "rdma.no-gid", MAY_PASS,
                                strf("%zu GIDs, none of them RoCE v2", p->n_gids),
                                strdup("one RoCE v2 GID"));
                if (r < 0)
                        return r;
        }
        if (!any_ethernet || !all_have)
                return 0;

        v->gid_index = common_gid(v);
        if (v->gid_index >= 0 || w->gid_per_device)
                return 0;
        return find(v, NULL, "rdma.gid-differs", MAY_PASS,
                        strdup("no GID index is RoCE v2 on all ports"),
                        strdup("one index for all"));
}

static const RdmaPort *same_port(const RdmaFacts *f, const RdmaPort *p) {
        for (size_t i = 0; f && i < f->n_ports; i++)
                if (streq(f->ports[i].device, p->device) && f->ports[i].port == p->port)
                        return &f->ports[i];
        return NULL;
}

static int check_missing(RdmaVerdict *v, const RdmaFacts *f, const RdmaWish *w) {
        int r;

        STRV_FOREACH (d, w->devices) {
                if (rdma_facts_device(f, *d))
                        continue;
                r = find(v, *d, "rdma.device-missing", MAY_PASS, strdup("not there"),
                                strdup("in /sys/class/infiniband"));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Names may have been changed by udev's rules: then number and kind of the ports decide. */
static bool goes_by_name(const RdmaWish *w, const RdmaFacts *f) {
        if (w->devices && w->exact_names)
                return true;
        STRV_FOREACH (d, w->devices)
                if (rdma_facts_device(f, *d))
                        return true;
        return false;
}

static bool is_other(const RdmaPort *p, const RdmaWish *w) {
        return !port_is_active(p) || (w->link_layer && !streq_ptr(p->link_layer, w->link_layer)) ||
               (w->ports > 0 && is_below(p->rate_gbps, w->rate_gbps));
}

static char *describe_port(const RdmaPort *p) {
        return strf("%s:%u %s, %s, %s", p->device, p->port, p->state ? p->state : "?",
                        p->link_layer ? p->link_layer : "?", p->rate ? p->rate : "?");
}

/* A check under way. */
typedef struct Check {
        const RdmaFacts *facts, *later;
        const RdmaWish *wish;
        bool by_name;
        RdmaVerdict verdict;
        const RdmaDevice **devices; /* of the ports that were looked at */
        size_t n_devices;
        char **others; /* ports that seem to have other work to do */
} Check;

static void check_done(Check *c) {
        rdma_verdict_done(&c->verdict);
        free(c->devices);
        strv_free(c->others);
}

/* One port that is ours. */
static int take_port(Check *c, const RdmaPort *p) {
        const RdmaPort *again = same_port(c->later, p);
        RdmaVerdict *v = &c->verdict;
        bool good;
        int r;

        r = check_port(v, p, c->wish, &good);
        if (r < 0)
                return r;
        if (good)
                v->ports[v->n_ports++] = p;
        r = check_counters(v, p, again, c->wish);
        if (r < 0)
                return r;
        if (c->later && !again) {
                r = find_port(v, p, "rdma.device-missing", MAY_PASS, strdup("went away"),
                                strdup("there"));
                if (r < 0)
                        return r;
        }

        const RdmaDevice *d = rdma_facts_device(c->facts, p->device);
        if (d && (c->n_devices == 0 || c->devices[c->n_devices - 1] != d))
                c->devices[c->n_devices++] = d;
        return 0;
}

static int check_ports(Check *c) {
        int r;

        for (size_t i = 0; i < c->facts->n_ports; i++) {
                const RdmaPort *p = &c->facts->ports[i];

                if (c->by_name && !strv_contains(c->wish->devices, p->device))
                        continue;
                /* Without names a port of another kind may be one that has other work to do; but
                 * where ports are missing, it may be the one. */
                r = !c->by_name && is_other(p, c->wish) ? strv_push(&c->others, describe_port(p))
                                                        : take_port(c, p);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_number(Check *c) {
        unsigned wanted = c->wish->ports ? c->wish->ports : 1;
        _cleanup_free_ char *others = NULL;

        if (c->facts->n_devices == 0 || c->verdict.n_ports >= wanted)
                return 0;
        others = strv_join(c->others, "; ");
        if (!others)
                return -ENOMEM;
        return find(&c->verdict, NULL, "rdma.too-few-ports", MAY_PASS,
                        strf("%zu usable ports%s%s%s", c->verdict.n_ports,
                                        *others ? " (not among them: " : "", others,
                                        *others ? ")" : ""),
                        strf("%u", wanted));
}

static int check_presence(Check *c) {
        const RdmaWish *w = c->wish;

        if (c->facts->n_devices > 0)
                return c->by_name ? check_missing(&c->verdict, c->facts, w) : 0;
        return find(&c->verdict, NULL, "rdma.no-device", MAY_PASS,
                        strdup("/sys/class/infiniband has no device"),
                        w->ports ? strf("%u ports", w->ports) : strdup("at least one port"));
}

int rdma_check(const RdmaFacts *facts, const RdmaFacts *later, const RdmaWish *wish,
                RdmaVerdict *ret) {
        _cleanup_(check_done) Check c = {
                .facts = facts,
                .later = later,
                .wish = wish,
                .by_name = goes_by_name(wish, facts),
                .verdict = { .gid_index = -1, .n_expected = wish->ports },
                .devices = calloc(facts->n_devices + 1, sizeof(*c.devices)),
        };
        int r;

        c.verdict.ports = calloc(facts->n_ports + 1, sizeof(*c.verdict.ports));
        if (!c.devices || !c.verdict.ports)
                return -ENOMEM;

        r = check_presence(&c);
        if (r < 0)
                return r;
        r = check_ports(&c);
        if (r < 0)
                return r;
        r = check_devices(&c.verdict, c.devices, c.n_devices, wish);
        if (r < 0)
                return r;
        r = check_number(&c);
        if (r < 0)
                return r;
        r = check_gids(&c.verdict, wish);
        if (r < 0)
                return r;
        r = check_mtu(&c.verdict, wish);
        if (r < 0)
                return r;

        *ret = c.verdict;
        c.verdict = (RdmaVerdict) {};
        return 0;
}

char *rdma_finding_text(const RdmaFinding *f) {
        _cleanup_free_ char *where = !f->device    ? strdup("")
                                     : f->port > 0 ? strf("%s port %u: ", f->device, f->port)
                                                   : strf("%s: ", f->device);

        return where ? strf("%s%s, should be %s", where, f->value, f->limit) : NULL;
}
