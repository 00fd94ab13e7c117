/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* RDMA between nodes: the ports that the machine's shape (or the configuration) says there must be
 * are there, active, as fast as they should be, without errors; then /etc/nccl.conf tells NCCL
 * which they are. Links train and addresses come for a while after boot, so what may pass is
 * looked at again until rdma.give_up. */

#include "contract/codes.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/time-util.h"
#include "steps/rdma/check.h"
#include "steps/rdma/nccl-conf.h"
#include "steps/rdma/traffic.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#include <limits.h>

#define PAUSE_USEC USEC_PER_SEC

/* Counted since the driver was loaded. Some of the first four come with the training of a link;
 * the others mean that data was damaged or the buffers of the two ends do not fit.
 * rdma.counter_limits changes and adds. */
static const RdmaLimit default_limits[] = {
        { "symbol_error", 1000 },
        { "link_error_recovery", 10 },
        { "link_downed", 10 },
        { "port_rcv_errors", 100 },
        { "carrier_down_count", 10 },
        { "local_link_integrity_errors", 0 },
        { "excessive_buffer_overrun_errors", 0 },
        { "port_xmit_constraint_errors", 0 },
        { "port_rcv_constraint_errors", 0 },
        { "rx_icrc_encapsulated", 0 },
};

typedef struct Rdma {
        StepContext *context;
        ShapeDetected detected;
        char **devices;
        RdmaLimit *limits;
        RdmaWish wish;
        RdmaFacts facts, later;
        RdmaVerdict verdict;
} Rdma;

static void rdma_done(Rdma *s) {
        rdma_verdict_done(&s->verdict);
        rdma_facts_done(&s->facts);
        rdma_facts_done(&s->later);
        shape_detected_done(&s->detected);
        strv_free(s->devices);
        free(s->limits);
}

/* Changes the limit of one counter, or adds it; a negative number asks that the counter is not
 * looked at. There is room for one more. */
static void take_limit(RdmaLimit *limits, size_t *n, const char *name, int64_t max) {
        size_t i = 0;

        while (i < *n && !streq(limits[i].name, name))
                i++;
        if (i == *n)
                limits[(*n)++].name = name;
        if (max >= 0)
                limits[i].max = (uint64_t) max;
        else
                limits[i] = limits[--*n];
}

static int take_limits(Rdma *s) {
        json_object *map = json_get(s->context->section, "counter_limits");
        size_t n = ELEMENTSOF(default_limits),
               room = n + (map ? (size_t) json_object_object_length(map) : 0);

        s->limits = calloc(room, sizeof(RdmaLimit));
        if (!s->limits)
                return -ENOMEM;
        memcpy(s->limits, default_limits, sizeof(default_limits));
        if (map) {
                json_object_object_foreach (map, key, value)
                        take_limit(s->limits, &n, key, json_object_get_int64(value));
        }
        s->wish.limits = s->limits;
        s->wish.n_limits = n;
        return 0;
}

/* Where nobody says what there must be, RDMA hardware beside GPUs is there to be used: it is looked
 * at, and NCCL told of it. Elsewhere it may be the ports of any network card. */
static bool has_gpus_and_rdma(const Rdma *s) {
        _cleanup_(rdma_facts_done) RdmaFacts facts = {};

        return s->detected.gpus > 0 && rdma_facts(&facts) >= 0 && facts.n_ports > 0;
}

/* NCCL 2.21 and later finds the RoCE v2 GID of each device where NCCL_IB_GID_INDEX is not set (its
 * release notes; src/transport/net_ib/connect.cc). The library's file is named after its version:
 * libnccl.so.2.28.9. */
static bool nccl_finds_gids(StepContext *c) {
        static const char *const folders[] = { "/usr/lib/x86_64-linux-gnu",
                "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib" };
        const char *configured = json_get_string(json_get(c->config, "nccl"), "nccl_library");

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = configured ? fb_path(configured)
                                                       : fb_pathf("%s/libnccl.so.2", folders[i]);
                char real[PATH_MAX];
                unsigned major, minor;

                if (!path || !realpath(path, real))
                        continue;
                if (sscanf(path_basename(real), "libnccl.so.%u.%u", &major, &minor) == 2)
                        return major > 2 || (major == 2 && minor >= 21);
        }
        return false;
}

/* The configuration before the shape. Returns 0 where nothing is expected, 1 where something is. */
static int take_wish(Rdma *s) {
        json_object *o = s->context->section;
        const Shape *shape = s->detected.shape;
        RdmaWish *w = &s->wish;
        int r;

        if (!o && (shape ? shape->rdma_ports == 0 : !has_gpus_and_rdma(s)))
                return 0;
        if (!o && shape && shape->rdma_ports < 0 && !has_gpus_and_rdma(s))
                return 0;
        if (json_get(o, "ports") && json_get_int(o, "ports", 0) == 0)
                return 0;

        if (shape) {
                w->ports = shape->rdma_ports > 0 ? (unsigned) shape->rdma_ports : 0;
                w->rate_gbps = shape->rdma_rate_gbps > 0 ? shape->rdma_rate_gbps : 0;
                w->link_layer = shape->rdma_link_layer;
                w->devices = shape->rdma_devices;
        }

        w->ports = (unsigned) json_get_int(o, "ports", w->ports);
        if (json_get(o, "rate_gbps"))
                w->rate_gbps = (double) json_get_int(o, "rate_gbps", 0);
        if (json_get_string(o, "link_layer"))
                w->link_layer = json_get_string(o, "link_layer");
        r = json_get_strings(o, "devices", &s->devices);
        if (r < 0)
                return r;
        if (s->devices) {
                w->devices = s->devices;
                w->exact_names = true;
                if (!json_get(o, "ports"))
                        w->ports = (unsigned) strv_length(s->devices);
        }
        w->firmware = json_get_string(o, "firmware");
        w->pcie_warns = streq_ptr(json_get_string(o, "pcie"), "warn");
        w->acs_warns = !streq_ptr(json_get_string(o, "acs"), "fail");
        w->acs_ignored = streq_ptr(json_get_string(o, "acs"), "ignore");
        w->mtu = (unsigned) json_get_int(o, "mtu", 0);
        w->gid_per_device = nccl_finds_gids(s->context);
        r = take_limits(s);
        return r < 0 ? r : 1;
}

/* What sysfs shows, twice where counters are watched. */
static int read_facts(Rdma *s, uint64_t watch_usec) {
        int r;

        rdma_verdict_done(&s->verdict); /* it points into the facts */
        rdma_facts_done(&s->facts);
        rdma_facts_done(&s->later);
        r = rdma_facts(&s->facts);
        if (r < 0 || s->facts.n_ports == 0 || watch_usec == 0)
                return r;
        usleep((useconds_t) watch_usec);
        return rdma_facts(&s->later);
}

static int look(Rdma *s, uint64_t watch_usec) {
        bool watched;
        int r;

        r = read_facts(s, watch_usec);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return step_fail_later(s->context, "rdma.unreadable", "/sys/class/infiniband: %s",
                                strerror(-r));
        watched = watch_usec > 0 && s->facts.n_ports > 0;
        return rdma_check(&s->facts, watched ? &s->later : NULL, &s->wish, &s->verdict);
}

/* 1 where another look may show something better. */
static int may_pass(const RdmaVerdict *v) {
        bool any = false;

        for (size_t i = 0; i < v->n; i++) {
                if (!v->findings[i].may_pass && !v->findings[i].warns)
                        return 0;
                any = any || v->findings[i].may_pass;
        }
        return any;
}

static int look_until(Rdma *s) {
        json_object *o = s->context->section;
        uint64_t watch = config_duration(o, "watch", USEC_PER_SEC),
                 deadline = now_usec() + config_duration(o, "give_up", 120 * USEC_PER_SEC);

        if (s->context->check)
                return look(s, s->context->check == STEP_CHECK_FULL ? watch : 0);

        for (;;) {
                int r = look(s, watch);

                if (r < 0 || !may_pass(&s->verdict) || now_usec() + PAUSE_USEC + watch > deadline)
                        return r;
                _cleanup_free_ char *text = rdma_finding_text(&s->verdict.findings[0]);
                log_info("%s (%s); looking again", strempty(text), s->verdict.findings[0].code);
                usleep(PAUSE_USEC);
        }
}

static json_object *finding_json(const RdmaFinding *f) {
        json_object *o = json_object_new_object();
        const Code *code = code_find(f->code);

        (void) json_set_fields(o, JSON_STRING("code", f->code), JSON_STRING("device", f->device));
        if (f->port > 0)
                (void) json_set_int(o, "port", f->port);
        (void) json_set_fields(o, JSON_STRING("value", f->value), JSON_STRING("limit", f->limit),
                        JSON_STRING("remedy", code ? code->remedy : NULL),
                        JSON_BOOL("fails", !f->warns));
        return o;
}

static json_object *port_json(const RdmaPort *p, const RdmaDevice *d) {
        json_object *o = json_object_new_object();

        (void) json_set_fields(o, JSON_STRING("device", p->device), JSON_INT("port", p->port),
                        JSON_STRING("link_layer", p->link_layer), JSON_STRING("rate", p->rate),
                        JSON_STRING("netdev", p->netdev));
        if (!d)
                return o;
        (void) json_set_fields(o, JSON_STRING("firmware", d->firmware), JSON_STRING("pci", d->pci));
        if (d->width > 0)
                (void) json_set_int(o, "pcie_width", d->width);
        return o;
}

static void add_figures(Rdma *s) {
        json_object *ports = json_object_new_array(), *findings = json_object_new_array();

        for (size_t i = 0; i < s->verdict.n_ports; i++) {
                const RdmaPort *p = s->verdict.ports[i];

                (void) json_append(ports, port_json(p, rdma_facts_device(&s->facts, p->device)));
        }
        for (size_t i = 0; i < s->verdict.n; i++)
                (void) json_append(findings, finding_json(&s->verdict.findings[i]));

        step_figure(s->context, "ports", ports);
        step_figure(s->context, "findings", findings);
        if (s->facts.away)
                step_figure(s->context, "away", json_from_strv(s->facts.away));
        if (s->verdict.gid_index >= 0)
                step_figure(s->context, "gid_index", json_object_new_int(s->verdict.gid_index));
}

static void log_finding(const RdmaFinding *f) {
        _cleanup_free_ char *text = rdma_finding_text(f);
        const Code *code = code_find(f->code);

        log_full(f->warns ? LOG_WARNING : LOG_ERR, 0, "%s: %s. %s", f->code, strempty(text),
                        code ? code->remedy : "");
}

/* Every finding is logged and in the figures; the verdict's sentence has the first and the number
 * of the others. */
static int judge(Rdma *s) {
        const RdmaVerdict *v = &s->verdict;
        const RdmaFinding *worst = NULL;
        bool later = true;

        for (size_t i = 0; i < v->n; i++) {
                const RdmaFinding *f = &v->findings[i];

                log_finding(f);
                if (!worst || (worst->warns && !f->warns))
                        worst = f;
                later = later && (f->may_pass || f->warns);
        }
        if (!worst)
                return 0;

        _cleanup_free_ char *text = rdma_finding_text(worst),
                            *more = v->n > 1 ? strf(" (and %zu more findings)", v->n - 1)
                                             : strdup("");
        if (!text || !more)
                return -ENOMEM;
        if (worst->warns)
                return step_degrade(s->context, worst->code, "%s%s", text, more);
        return later ? step_fail_later(s->context, worst->code, "%s%s", text, more)
                     : step_fail(s->context, worst->code, "%s%s", text, more);
}

int rdma_run(StepContext *c) {
        _cleanup_(rdma_done) Rdma s = { .context = c };
        int r;

        r = shape_detect(c, NULL, &s.detected);
        if (r < 0)
                return r;
        r = take_wish(&s);
        if (r < 0)
                return r;
        if (r == 0)
                return step_skip(c,
                                "no RDMA is expected: no rdma section in the configuration, none in the machine's shape, and no RDMA ports beside GPUs");

        r = look_until(&s);
        if (r < 0)
                return r;
        add_figures(&s);
        r = judge(&s);
        if (r < 0)
                return r;

        if (!c->check && json_get_bool(c->section, "nccl_conf", true)) {
                r = rdma_write_nccl_conf(c, s.detected.shape, &s.verdict);
                if (r < 0)
                        return r;
        }
        if (!c->check) { /* a job waits for a check, and the ports may be its */
                r = rdma_traffic(c, &s.facts, &s.verdict);
                if (r < 0)
                        return r;
        }
        return step_done(c, "%zu RDMA ports as they should be", s.verdict.n_ports);
}
