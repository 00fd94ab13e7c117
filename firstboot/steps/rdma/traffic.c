/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A port that is up has carried nothing yet. ib_write_bw (perftest) writes from the port to itself
 * where there are verbs; fi_pingpong (libfabric) sends and compares where there are none, on AWS'
 * EFA. Both go through the card, with one GPU or without any; whether GPUs get at it is the nccl
 * step's part. */

#include "steps/rdma/traffic.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/parse-number.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/common/sysfs.h"
#include "steps/rdma/growth.h"
#include "steps/rdma/pair.h"
#include "steps/rdma/tally.h"

#define LIMIT_USEC (20 * USEC_PER_SEC)
#define TRIES 2 /* somebody else may have taken the TCP port, or called it first */
/* Of what port and PCIe link can carry. Azure's node health checks ask 375 of 400 Gb/s (94 %) of
 * ib_write_bw with a GPU's memory, on machines they know (nd96isr_h100_v5.conf); ours is for any,
 * with the host's memory. */
#define PERCENT 75
#define PCIE_PERCENT 85 /* what headers leave of a link's raw rate */
#define MESSAGE (UINT64_C(1) << 20)
#define SECONDS 0.25 /* what a port at its full rate is busy for */
#define MESSAGES_MIN 16
#define MESSAGES_MAX 50000
#define PINGPONG_ROUNDS 20
#define WORDS_MAX 3 /* lines of a program that failed */

typedef struct Traffic {
        StepContext *context;
        const RdmaFacts *facts;
        const RdmaPort *port;
        char *program, *cpus;
        bool binds; /* ib_write_bw can be told where to listen */
        char *output;
} Traffic;

static void traffic_done(Traffic *t) {
        free(t->program);
        free(t->cpus);
        free(t->output);
}

double rdma_traffic_bandwidth(const char *output) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n");
        double found = -1, value;

        STRV_FOREACH (line, lines) {
                const char *number = *line + strspn(*line, " \t");
                size_t n = strspn(number, "0123456789.");

                if (n > 0 && number[n + strspn(number + n, " \t\r")] == '\0' &&
                                parse_leading_real(number, &value) >= 0)
                        found = value;
        }
        return found;
}

/* "1m 20 =20 40m 0.01s …": sent, and "=" before the number of answers that came, all of them. */
bool rdma_traffic_answered(const char *output, unsigned rounds) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n");
        _cleanup_free_ char *sent = strf("%u", rounds), *answered = strf("=%u", rounds);

        STRV_FOREACH (line, lines) {
                _cleanup_strv_free_ char **words = strv_split(*line, " \t");

                if (strv_length(words) > 2 && streq_ptr(words[1], sent) &&
                                streq_ptr(words[2], answered))
                        return true;
        }
        return false;
}

/* The last lines of text that the program said: the first of them tends to be the cause, and the
 * last what came of it. */
static char *last_words(const char *output) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n"), **words = NULL;
        size_t n;

        STRV_FOREACH (line, lines) {
                const char *text = *line + strspn(*line, " \t");

                if (text[strspn(text, " \t0123456789.-")] && strv_extend(&words, text) < 0)
                        return NULL;
        }
        n = strv_length(words);
        return n == 0 ? strdup("it said nothing")
                      : strv_join(words + (n > WORDS_MAX ? n - WORDS_MAX : 0), "; ");
}

static bool has_verbs(const RdmaPort *p) {
        return streq_ptr(p->link_layer, "InfiniBand") || streq_ptr(p->link_layer, "Ethernet");
}

/* The image's program for this kind of port; NULL where there is none. */
static char *find_program(const RdmaPort *p) {
        static const char *const verbs[] = { "/usr/bin/ib_write_bw", NULL }, *const fabric[] = {
                "/opt/amazon/efa/bin/fi_pingpong", "/usr/bin/fi_pingpong", NULL
        };

        STRV_FOREACH (path, has_verbs(p) ? verbs : fabric) {
                _cleanup_free_ char *full = fb_path(*path);

                if (full && access(full, X_OK) >= 0)
                        return TAKE_PTR(full);
        }
        return NULL;
}

/* 10⁹ bits a second that port and PCIe link can carry. */
static double rate_of(const Traffic *t) {
        const RdmaDevice *d = rdma_facts_device(t->facts, t->port->device);
        double pcie = d ? d->width * d->speed * PCIE_PERCENT / 100 : 0;

        return pcie > 0 ? MIN(t->port->rate_gbps, pcie) : t->port->rate_gbps;
}

/* The GID that packets go by: on Ethernet RoCE v2, IPv4-mapped before others, as NCCL takes it; -1:
 * the program's own choice. */
static int gid_of(const RdmaPort *p) {
        int any = -1;

        if (!streq_ptr(p->link_layer, "Ethernet"))
                return -1;
        for (size_t i = 0; i < p->n_gids; i++) {
                if (!p->gids[i].roce_v2)
                        continue;
                if (p->gids[i].ipv4)
                        return (int) p->gids[i].index;
                if (any < 0)
                        any = (int) p->gids[i].index;
        }
        return any;
}

/* Runs both halves; what they said is then in t->output. */
static int run(Traffic *t, unsigned tcp_port, char *const *server, char *const *client) {
        _cleanup_free_ char *text = strv_join(client, " ");
        const RdmaPair pair = {
                .server = server,
                .client = client,
                /* Else EFA's provider goes through shared memory within a node (fi_efa(7)). */
                .env = ARGV("FI_EFA_ENABLE_SHM_TRANSFER=0"),
                .cpus = t->cpus,
                .tcp_port = tcp_port,
                .timeout_usec = config_duration(t->context->section, "traffic_limit", LIMIT_USEC),
        };
        int r, status = 0;

        free(t->output);
        t->output = NULL;
        log_info("Running %s", strempty(text));
        r = rdma_pair_run(&pair, &t->output, &status);
        return r < 0 ? r : status;
}

static int run_verbs(Traffic *t) {
        unsigned tcp_port = rdma_pair_port();
        double messages = rate_of(t) * 1e9 / 8 * SECONDS / (double) MESSAGE;
        _cleanup_free_ char *port = strf("%u", t->port->port), *tcp = strf("%u", tcp_port),
                            *size = strf("%llu", (unsigned long long) MESSAGE),
                            *n = strf("%.0f", MIN(MAX(messages, MESSAGES_MIN), MESSAGES_MAX)),
                            *gid = strf("%d", gid_of(t->port));
        _cleanup_strv_free_ char **server = NULL, **client = NULL;

        if (tcp_port == 0 || !port || !tcp || !size || !n || !gid)
                return -ENOMEM;
        if (strv_extend_strv(&client, ARGV(t->program, "-d", t->port->device, "-i", port, "-p", tcp,
                                                      "-s", size, "-n", n, "-F", "--report_gbits",
                                                      "--output=bandwidth")) < 0 ||
                        (gid[0] != '-' && strv_extend_strv(&client, ARGV("-x", gid)) < 0) ||
                        strv_extend_strv(&server, client) < 0 ||
                        (t->binds && strv_extend(&server, "--bind_source_ip=127.0.0.1") < 0) ||
                        strv_extend(&client, "127.0.0.1") < 0)
                return -ENOMEM;
        return run(t, tcp_port, server, client);
}

static int run_fabric(Traffic *t) {
        unsigned tcp_port = rdma_pair_port();
        _cleanup_free_ char *tcp = strf("%u", tcp_port), *domain = strf("%s-rdm", t->port->device),
                            *rounds = strf("%d", PINGPONG_ROUNDS),
                            *size = strf("%llu", (unsigned long long) MESSAGE);

        if (tcp_port == 0 || !tcp || !domain || !rounds || !size)
                return -ENOMEM;
        return run(t, tcp_port,
                        ARGV(t->program, "-p", "efa", "-d", domain, "-e", "rdm", "-c", "-I", rounds,
                                        "-S", size, "-B", tcp),
                        ARGV(t->program, "-p", "efa", "-d", domain, "-e", "rdm", "-c", "-I", rounds,
                                        "-S", size, "-P", tcp, "127.0.0.1"));
}

static int fail_traffic(Traffic *t, int r) {
        const RdmaPort *p = t->port;
        _cleanup_free_ char *words = last_words(strempty(t->output));
        const char *name = path_basename(t->program);

        if (r == -ETIMEDOUT)
                return step_fail_later(t->context, "rdma.traffic",
                                "%s port %u: %s from the port to itself did not end in time",
                                p->device, p->port, name);
        if (r < 0)
                return step_fail_later(t->context, "rdma.traffic", "%s port %u: %s: %s", p->device,
                                p->port, name, strerror(-r));
        return step_fail_later(t->context, "rdma.traffic",
                        "%s port %u: %s from the port to itself ended with exit code %d: %s",
                        p->device, p->port, name, r, strempty(words));
}

/* Errors that came meanwhile. */
static int judge_errors(Traffic *t) {
        _cleanup_(rdma_facts_done) RdmaFacts later = {};
        const RdmaPort *p = t->port, *again;
        _cleanup_free_ char *growth = NULL;
        int r;

        r = rdma_facts(&later);
        if (r < 0)
                return r;
        again = rdma_facts_port(&later, p->device, p->port);
        if (!again)
                return step_fail_later(t->context, "rdma.device-missing",
                                "%s port %u went away while it carried data", p->device, p->port);
        growth = rdma_growth(p, again);
        return growth ? step_fail_later(t->context, "rdma.errors-grow",
                                        "%s port %u: %s while it carried data", p->device, p->port,
                                        growth)
                      : 0;
}

static int judge_verbs(Traffic *t, json_object *figure) {
        const RdmaPort *p = t->port;
        int64_t percent = json_get_int(t->context->section, "traffic_percent", PERCENT);
        double gbps = rdma_traffic_bandwidth(t->output),
               least = rate_of(t) * (double) percent / 100;

        if (gbps <= 0)
                return step_fail_later(t->context, "rdma.traffic",
                                "%s port %u: %s ended well, but names no bandwidth", p->device,
                                p->port, path_basename(t->program));
        (void) json_set(figure, "gbps", json_object_new_double(gbps));
        (void) json_set(figure, "min_gbps", json_object_new_double(least));
        return gbps < least ? step_fail(t->context, "rdma.slow",
                                              "%s port %u carries %.1f Gb/s from itself to itself, should be %.1f (%lld %% of %.0f)",
                                              p->device, p->port, gbps, least, (long long) percent,
                                              rate_of(t))
                            : 0;
}

static int judge_fabric(Traffic *t) {
        if (rdma_traffic_answered(t->output, PINGPONG_ROUNDS))
                return 0;
        return step_fail_later(t->context, "rdma.traffic",
                        "%s port %u: %s ended well, but does not say that all was answered",
                        t->port->device, t->port->port, path_basename(t->program));
}

static int try_port(Traffic *t, json_object *figure) {
        bool verbs = has_verbs(t->port);
        int r = -EAGAIN;

        (void) json_set_fields(figure, JSON_STRING("device", t->port->device),
                        JSON_INT("port", t->port->port),
                        JSON_STRING("program", path_basename(t->program)));
        for (unsigned i = 0; i < TRIES && r != 0 && r != -ETIMEDOUT; i++)
                r = verbs ? run_verbs(t) : run_fabric(t);
        if (r == -ENOMEM || r == -ECANCELED)
                return r;
        if (r != 0)
                return fail_traffic(t, r);
        r = verbs ? judge_verbs(t, figure) : judge_fabric(t);
        return r < 0 ? r : judge_errors(t);
}

/* ib_write_bw listens on all addresses, unless it can be told otherwise (perftest since September
 * 2021). */
static bool can_bind(const char *program) {
        const SpawnOptions o = { .timeout_usec = 10 * USEC_PER_SEC };
        _cleanup_free_ char *help = NULL;
        int status;

        return spawn_capture(&o, ARGV(program, "--help"), &help, &status) >= 0 &&
               strstr(help, "--bind_source_ip");
}

static char *cpus_of(const RdmaPort *p) {
        _cleanup_free_ char *folder = strf("/sys/class/infiniband/%s/device", p->device);

        return folder ? sysfs_string(folder, "local_cpulist") : NULL;
}

/* No program for the port: what that is, the configuration says. */
static int not_tried(StepContext *c, const RdmaPort *p) {
        const char *what = has_verbs(p) ? "ib_write_bw (perftest)" : "fi_pingpong (libfabric)";

        if (streq_ptr(json_get_string(c->section, "traffic"), "required"))
                return step_fail(c, "rdma.no-test", "%s port %u carries no test traffic: no %s",
                                p->device, p->port, what);
        log_info("%s port %u carries no test traffic: no %s", p->device, p->port, what);
        return 0;
}

static int one_port(
                StepContext *c, const RdmaFacts *facts, const RdmaPort *p, json_object *figures) {
        _cleanup_(traffic_done) Traffic t = {
                .context = c,
                .facts = facts,
                .port = p,
                .program = find_program(p),
                .cpus = cpus_of(p),
        };
        json_object *figure;
        int r;

        if (!t.program)
                return not_tried(c, p);
        t.binds = has_verbs(p) && can_bind(t.program);
        r = json_append_object(figures, &figure);
        return r < 0 ? r : try_port(&t, figure);
}

int rdma_traffic(StepContext *c, const RdmaFacts *facts, const RdmaVerdict *v) {
        json_object *figures;
        RdmaTally tally = {};

        if (streq_ptr(json_get_string(c->section, "traffic"), "off"))
                return 0;
        figures = json_object_new_array();
        if (!figures)
                return -ENOMEM;
        step_figure(c, "traffic", figures);
        for (size_t i = 0; i < v->n_ports; i++)
                if (!rdma_tally(&tally, one_port(c, facts, v->ports[i], figures)))
                        break;
        return tally.result;
}
