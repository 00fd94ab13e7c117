/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Findings are added one by one: of ports, of their counters, of devices, of the machine. A wish
 * that names nothing is fulfilled by whatever is there and works. */

#include "steps/rdma/finding.h"
#include "steps/rdma/roce.h"
#include "shared/file-util.h"

/* Rates and speeds are compared with this much room for rounding. */
#define TOLERANCE 0.01

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
                r = rdma_find_port(v, p, "rdma.unreadable", RDMA_LASTS,
                                strf("%s cannot be read", unreadable), strdup("readable"));
        else if (!port_is_active(p))
                r = rdma_find_port(v, p, "rdma.port-down", RDMA_MAY_PASS,
                                strf("%s, %s", p->state, p->phys_state ? p->phys_state : "?"),
                                strdup("4: ACTIVE"));
        else if (w->link_layer && !streq(p->link_layer, w->link_layer))
                r = rdma_find_port(v, p, "rdma.link-layer", RDMA_LASTS, strdup(p->link_layer),
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
        return rdma_find_port(v, p, "rdma.rate", RDMA_MAY_PASS, strdup(p->rate),
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
                return rdma_find_port(v, p, "rdma.unreadable", RDMA_LASTS,
                                strf("%s cannot be read", c->name), strdup("readable"));
        if (next > value)
                return rdma_find_port(v, p, "rdma.errors-grow", RDMA_MAY_PASS,
                                strf("%s grew from %llu to %llu", c->name, value, next),
                                strdup("no growth"));
        if (value > max)
                return rdma_find_port(v, p, "rdma.errors", RDMA_LASTS,
                                strf("%s is %llu", c->name, value), strf("%llu", max));
        return 0;
}

static int check_counters(
                RdmaVerdict *v, const RdmaPort *p, const RdmaPort *later, const RdmaWish *w) {
        int r;

        if (p->n_counters == 0)
                return rdma_find_port(v, p, "rdma.unreadable", RDMA_LASTS,
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
                r = rdma_find(v, d->name, "rdma.pcie", w->pcie_warns ? RDMA_WARNS : RDMA_LASTS,
                                strf("PCIe x%u", d->width), strf("x%u", d->width_limit));
                if (r < 0)
                        return r;
        }
        if (d->redirecting && !w->acs_ignored) {
                r = rdma_find(v, d->name, "rdma.acs", w->acs_warns ? RDMA_WARNS : RDMA_LASTS,
                                strf("bridge %s redirects", d->redirecting),
                                strdup("no redirection"));
                if (r < 0)
                        return r;
        }
        if (d->speed <= 0 || !is_below(d->speed, d->speed_limit))
                return 0;
        return rdma_find(v, d->name, "rdma.pcie", w->pcie_warns ? RDMA_WARNS : RDMA_LASTS,
                        strf("PCIe %g GT/s", d->speed), strf("%g GT/s", d->speed_limit));
}

static int find_firmware(RdmaVerdict *v, const RdmaDevice *d, char *limit) {
        return rdma_find(v, d->name, "rdma.firmware", RDMA_LASTS,
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

static int check_missing(RdmaVerdict *v, const RdmaFacts *f, const RdmaWish *w) {
        int r;

        STRV_FOREACH (d, w->devices) {
                if (rdma_facts_device(f, *d) || strv_contains(f->away, *d))
                        continue;
                r = rdma_find(v, *d, "rdma.device-missing", RDMA_MAY_PASS, strdup("not there"),
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
                if (rdma_facts_device(f, *d) || strv_contains(f->away, *d))
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
        const RdmaPort *again = c->later ? rdma_facts_port(c->later, p->device, p->port) : NULL;
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
        if (c->later && !again && !strv_contains(c->later->away, p->device)) {
                r = rdma_find_port(v, p, "rdma.device-missing", RDMA_MAY_PASS, strdup("went away"),
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

        if (c->facts->n_devices == 0 || c->verdict.n_ports + c->facts->n_away_ports >= wanted)
                return 0;
        others = strv_join(c->others, "; ");
        if (!others)
                return -ENOMEM;
        return rdma_find(&c->verdict, NULL, "rdma.too-few-ports", RDMA_MAY_PASS,
                        strf("%zu usable ports%s%s%s", c->verdict.n_ports,
                                        *others ? " (not among them: " : "", others,
                                        *others ? ")" : ""),
                        strf("%u", wanted));
}

static int check_presence(Check *c) {
        const RdmaWish *w = c->wish;

        if (c->facts->n_devices > 0 || c->facts->away)
                return c->by_name ? check_missing(&c->verdict, c->facts, w) : 0;
        return rdma_find(&c->verdict, NULL, "rdma.no-device", RDMA_MAY_PASS,
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
        r = rdma_check_gids(&c.verdict, wish);
        if (r < 0)
                return r;
        r = rdma_check_mtu(&c.verdict, wish);
        if (r < 0)
                return r;

        *ret = c.verdict;
        c.verdict = (RdmaVerdict) {};
        return 0;
}
