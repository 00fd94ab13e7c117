/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* RDMA between nodes: the ports that the machine's shape (or the configuration) says there must be
 * are there, active, as fast as they should be, without errors; then /etc/nccl.conf tells NCCL
 * which they are. Links train and addresses come for a while after boot, so what may pass is
 * looked at again until rdma.give_up. */

#include "contract/codes.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/time-util.h"
#include "steps/common/own-file.h"
#include "steps/nccl/conf.h"
#include "steps/rdma/check.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#define NCCL_CONF "/etc/nccl.conf"
#define FILE_MAX (1024 * 1024)
#define PAUSE_USEC USEC_PER_SEC

/* Counted since the driver was loaded. Some of the first four come with the training of a link;
 * the others mean that data was damaged or the buffers of the two ends do not fit.
 * rdma.counter_limits changes and adds. */
static const RdmaLimit default_limits[] = {
        { "symbol_error", 1000 },
        { "link_error_recovery", 10 },
        { "link_downed", 10 },
        { "port_rcv_errors", 100 },
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

/* The configuration before the shape. Returns 0 where nothing is expected, 1 where something is. */
static int take_wish(Rdma *s) {
        json_object *o = s->context->section;
        const Shape *shape = s->detected.shape;
        RdmaWish *w = &s->wish;
        int r;

        if (!o && (!shape || shape->rdma_ports <= 0))
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

                json_object_array_add(ports, port_json(p, rdma_facts_device(&s->facts, p->device)));
        }
        for (size_t i = 0; i < s->verdict.n; i++)
                json_object_array_add(findings, finding_json(&s->verdict.findings[i]));

        step_figure(s->context, "ports", ports);
        step_figure(s->context, "findings", findings);
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

/* The interface of the IPv4 default route with the lowest metric: NCCL's own connections go
 * there. */
static char *default_interface(void) {
        _cleanup_free_ char *path = fb_path("/proc/net/route"), *text = NULL, *best = NULL;
        unsigned long best_metric = 0;

        if (!path || read_file(path, FILE_MAX, &text, NULL) < 0)
                return NULL;
        for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
                        line = strtok_r(NULL, "\n", &save)) {
                char name[32];
                unsigned long destination, mask, metric;

                /* Iface Destination Gateway Flags RefCnt Use Metric Mask … */
                if (sscanf(line, "%31s %lx %*x %*x %*u %*u %lu %lx", name, &destination, &metric,
                                    &mask) != 4 ||
                                destination != 0 || mask != 0)
                        continue;
                if (best && metric >= best_metric)
                        continue;
                free(best);
                best = strf("=%s", name);
                best_metric = metric;
        }
        return TAKE_PTR(best);
}

static char *hca_list(const RdmaVerdict *v) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *joined = NULL;

        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                /* Others are not driven by NCCL's verbs transport (EFA has a plugin). */
                if (!streq(p->link_layer, "Ethernet") && !streq(p->link_layer, "InfiniBand"))
                        continue;
                if ((p->alone ? strv_extend(&l, p->device)
                              : strv_extendf(&l, "%s:%u", p->device, p->port)) < 0)
                        return NULL;
        }
        joined = strv_join(l, ",");
        return joined && *joined ? strf("=%s", joined) : NULL; /* "=": names, not prefixes */
}

/* What is ours to say in /etc/nccl.conf. */
enum {
        OUR_HCA,
        OUR_GID_INDEX,
        OUR_QPS,
        OUR_INTERFACE,
        OURS_N,
};
static const char *const our_keys[OURS_N] = {
        [OUR_HCA] = "NCCL_IB_HCA",
        [OUR_GID_INDEX] = "NCCL_IB_GID_INDEX",
        [OUR_QPS] = "NCCL_IB_QPS_PER_CONNECTION",
        [OUR_INTERFACE] = "NCCL_SOCKET_IFNAME",
};

static bool is_ours(const char *key) {
        for (size_t i = 0; i < OURS_N; i++)
                if (streq(key, our_keys[i]))
                        return true;
        return false;
}

static void values_done(char *(*values)[OURS_N]) {
        for (size_t i = 0; i < OURS_N; i++)
                free((*values)[i]);
}

/* A value stays NULL where there is nothing to say. */
static int take_values(Rdma *s, char *values[OURS_N]) {
        json_object *o = s->context->section;
        const char *shape_qps = shape_env(s->detected.shape, our_keys[OUR_QPS]),
                   *interface = json_get_string(o, "socket_interface");

        values[OUR_HCA] = hca_list(&s->verdict);
        if (s->verdict.gid_index >= 0) {
                values[OUR_GID_INDEX] = strf("%d", s->verdict.gid_index);
                if (!values[OUR_GID_INDEX])
                        return -ENOMEM;
        }
        if (json_get(o, "qps"))
                values[OUR_QPS] = strf("%lld", (long long) json_get_int(o, "qps", 1));
        else if (shape_qps)
                values[OUR_QPS] = strdup(shape_qps);
        values[OUR_INTERFACE] = interface ? strf("=%s", interface) : default_interface();
        return 0;
}

/* The shape's variables behind ours; they give way to what the file says. keys owns their names. */
static int add_shape_env(const Shape *shape, NcclSetting *settings, size_t *n, char ***keys) {
        int r;

        STRV_FOREACH (e, shape ? shape->nccl_env : NULL) {
                char *key = strndup(*e, strcspn(*e, "="));

                r = strv_push(keys, key);
                if (r < 0)
                        return r;
                if (!is_ours(key))
                        settings[(*n)++] = (NcclSetting) { key, *e + strlen(key) + 1, false };
        }
        return 0;
}

/* The file's new text, from its old. */
static int make_conf(Rdma *s, const char *old, char **ret) {
        const Shape *shape = s->detected.shape;
        size_t n = OURS_N, room = n + (shape ? strv_length(shape->nccl_env) : 0);
        _cleanup_free_ NcclSetting *settings = calloc(room, sizeof(NcclSetting));
        _cleanup_(values_done) char *values[OURS_N] = {};
        _cleanup_strv_free_ char **keys = NULL;
        int r;

        if (!settings)
                return -ENOMEM;
        r = take_values(s, values);
        if (r < 0)
                return r;
        for (size_t i = 0; i < OURS_N; i++)
                settings[i] = (NcclSetting) { our_keys[i], values[i], true };
        r = add_shape_env(shape, settings, &n, &keys);
        if (r < 0)
                return r;

        *ret = nccl_conf_merge(old, settings, n);
        return *ret ? 0 : -ENOMEM;
}

static int write_conf(Rdma *s) {
        _cleanup_free_ char *path = fb_path(NCCL_CONF), *old = NULL, *text = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_file(path, FILE_MAX, &old, NULL);
        if (r < 0 && r != -ENOENT)
                return step_fail(s->context, "rdma.nccl-conf", "%s not read: %s", NCCL_CONF,
                                strerror(-r));
        r = make_conf(s, strempty(old), &text);
        if (r < 0)
                return r;
        if (streq(strempty(old), text))
                return 0;

        r = own_file_put(NCCL_CONF, text, 0644, true);
        if (r < 0)
                return step_fail_later(s->context, "rdma.nccl-conf", "%s not written: %s",
                                NCCL_CONF, strerror(-r));
        log_info("%s is written", NCCL_CONF);
        return 0;
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
                                "no RDMA is expected: no rdma section in the configuration, and none in the machine's shape");

        r = look_until(&s);
        if (r < 0)
                return r;
        add_figures(&s);
        r = judge(&s);
        if (r < 0)
                return r;

        if (json_get_bool(c->section, "nccl_conf", true)) {
                r = write_conf(&s);
                if (r < 0)
                        return r;
        }
        return step_done(c, "%zu RDMA ports as they should be", s.verdict.n_ports);
}
