/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NCCL over each RDMA port alone: two GPUs of this node that may use neither NVLink nor shared
 * memory send everything out of the port and in again. That a port is up says nothing about
 * whether NCCL can use it: memory registration, GIDs, limits and GPUDirect show here, before a job
 * finds out. As Azure's node health checks do it (azure_nccl_allreduce_ib_loopback.nhc). */

#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/nccl/conf.h"
#include "steps/nccl/internal.h"
#include "steps/rdma/growth.h"
#include "steps/rdma/tally.h"

#include <limits.h>

#define BYTES (UINT64_C(256) << 20)
/* Below this size getting started counts more than the port. */
#define BYTES_OF_LIMIT (UINT64_C(64) << 20)
/* Both GPUs share the port, so each gets half of it; of that, Azure asks 18 of 25 GB/s (72 %)
 * where every GPU has a port of its own. Two on one port, and copies through the same PCIe link
 * out and in, leave less. */
#define PERCENT 50

/* One port as NCCL_IB_HCA names it: "mlx5_0" or "mlx5_0:1". */
typedef struct Port {
        char *name, *device;
        const RdmaPort *facts; /* before; NULL: sysfs does not show it */
} Port;

static void port_done(Port *p) {
        free(p->name);
        free(p->device);
        *p = (Port) {};
}

/* The ports that the rdma step wrote into /etc/nccl.conf: "=mlx5_0,mlx5_3:1". */
static int list_ports(const Nccl *s, char ***ret) {
        _cleanup_free_ char *value = nccl_conf_get(s->conf, "NCCL_IB_HCA");

        *ret = NULL;
        if (!value || value[0] != '=' || !value[1])
                return 0;
        *ret = strv_split(value + 1, ",");
        return *ret ? 0 : -ENOMEM;
}

static int make_port(const char *name, const RdmaFacts *facts, Port *ret) {
        _cleanup_(port_done) Port p = { .name = strdup(name),
                .device = strndup(name, strcspn(name, ":")) };
        const char *colon = strchr(name, ':');

        if (!p.name || !p.device)
                return -ENOMEM;
        p.facts = rdma_facts_port(facts, p.device, colon ? (unsigned) atoi(colon + 1) : 1);
        *ret = p;
        p = (Port) {};
        return 0;
}

/* How many parts of their way from the root both devices have in common. */
static size_t common_way(const char *a, const char *b) {
        size_t n = 0;

        for (size_t i = 0; a[i] && a[i] == b[i]; i++)
                n += a[i] == '/';
        return n;
}

static size_t closeness(const char *gpu, const char *device) {
        _cleanup_free_ char *gpu_path = fb_pathf("/sys/bus/pci/devices/%s", gpu),
                            *device_path = fb_pathf("/sys/class/infiniband/%s/device", device);
        char x[PATH_MAX], y[PATH_MAX];

        if (!gpu_path || !device_path || !realpath(gpu_path, x) || !realpath(device_path, y))
                return 0;
        return common_way(x, y);
}

/* The two GPUs that are closest to the port, as ncclbench takes them: "4,5". */
static char *closest_gpus(const char *device) {
        _cleanup_strv_free_ char **gpus = NULL;
        size_t first = 0, second = 1, n;

        if (shape_gpu_addresses(&gpus) < 0)
                return NULL;
        n = strv_length(gpus);
        for (size_t i = 0; i < n; i++)
                if (closeness(gpus[i], device) > closeness(gpus[first], device))
                        first = i;
        if (first == second)
                second = 0;
        for (size_t i = 0; i < n; i++)
                if (i != first && closeness(gpus[i], device) > closeness(gpus[second], device))
                        second = i;
        return strf("%zu,%zu", MIN(first, second), MAX(first, second));
}

/* GB/s that must be reached; 0: no limit. */
static double limit_of(const Nccl *s, const Port *p, uint64_t bytes) {
        int64_t percent = json_get_int(s->context->section, "loopback_percent", PERCENT);

        if (!p->facts || bytes < BYTES_OF_LIMIT)
                return 0;
        return p->facts->rate_gbps / 8 / 2 * (double) percent / 100;
}

/* Errors that came while the port carried data. */
static int judge_counters(Nccl *s, const Port *p) {
        _cleanup_(rdma_facts_done) RdmaFacts later = {};
        _cleanup_(port_done) Port again = {};
        _cleanup_free_ char *growth = NULL;
        int r;

        if (!p->facts)
                return 0;
        r = rdma_facts(&later);
        if (r < 0)
                return r;
        r = make_port(p->name, &later, &again);
        if (r < 0)
                return r;
        if (!again.facts)
                return step_fail_later(s->context, "rdma.device-missing",
                                "%s went away while NCCL used it", p->name);
        growth = rdma_growth(p->facts, again.facts);
        return growth ? step_fail_later(s->context, "rdma.errors-grow",
                                        "%s: %s while NCCL used the port", p->name, growth)
                      : 0;
}

static int judge_run(Nccl *s, const Port *p, const NcclRun *run, json_object *figure) {
        json_object *verdict = json_get(run->report, "verdict"),
                    *row = nccl_row(run->report, run->bytes);
        double busbw = nccl_number(row, "busbw");
        const char *code;

        if (run->code)
                return step_fail_later(s->context, run->code, "over %s: %s", p->name, run->text);
        if (!json_get_bool(verdict, "pass", false)) {
                code = nccl_code_of(json_get_string(verdict, "reason"));
                code = streq_ptr(code, "nccl.slow")           ? "rdma.slow"
                       : streq_ptr(code, "nccl.wrong-result") ? code
                                                              : "rdma.traffic";
                return step_fail_later(s->context, code, "NCCL over %s alone: %s", p->name,
                                strempty(json_get_string(verdict, "text")));
        }
        /* A pass must hold what it stands for. */
        if (busbw < 0 || nccl_number(row, "wrong") != 0 ||
                        json_get_int(run->report, "n_ranks", 0) != 2 ||
                        (run->min_gbps > 0 && busbw < run->min_gbps))
                return step_fail(s->context, "nccl.no-verdict",
                                "over %s: ncclbench's report says pass, but does not show it",
                                p->name);
        (void) json_set(figure, p->name, json_object_new_double(busbw));
        return judge_counters(s, p);
}

/* Carries traffic over one port. */
static int try_port(Nccl *s, const Port *p, json_object *figure) {
        _cleanup_free_ char *hca = strf("NCCL_IB_HCA==%s", p->name),
                            *gpus = closest_gpus(p->device);
        uint64_t bytes = MIN(s->bytes, BYTES);
        _cleanup_(nccl_run_done) NcclRun run = {
                .devices = gpus,
                .bytes = bytes,
                .min_gbps = limit_of(s, p, bytes),
                /* Nothing is left but the port: NCCL's user guide, "Environment Variables". */
                .settings = ARGV(hca, "NCCL_NET=IB", "NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1",
                                "NCCL_NVLS_ENABLE=0", "NCCL_COLLNET_ENABLE=0",
                                "NCCL_MNNVL_ENABLE=0", "CUDA_DEVICE_ORDER=PCI_BUS_ID"),
        };
        int r;

        if (!hca || !gpus)
                return -ENOMEM;
        r = nccl_bench(s, &run);
        return r < 0 ? r : judge_run(s, p, &run, figure);
}

/* How a network card gets at a GPU's memory, as far as can be told from outside: DMA-BUF needs the
 * open kernel modules and Linux 5.12, else there is the module nvidia-peermem (NVIDIA's GPU
 * Operator documentation, "GPUDirect RDMA"). */
static const char *gpudirect(const char *module) {
        _cleanup_free_ char *peermem = fb_pathf("/sys/module/%s", module),
                            *version = fb_path("/proc/driver/nvidia/version"), *text = NULL;

        if (!version || read_file(version, 65536, &text, NULL) < 0)
                return NULL;
        if (strstr(text, "Open Kernel Module"))
                return "dma-buf";
        return peermem && access(peermem, F_OK) == 0 ? "peermem" : "none";
}

static int say_gpudirect(Nccl *s) {
        const char *how = gpudirect("nvidia_peermem");

        if (!how)
                return 0;
        step_figure(s->context, "gpudirect", json_object_new_string(how));
        if (!streq(how, "none"))
                return 0;
        return step_degrade(s->context, "rdma.no-gpudirect",
                        "data between GPUs and network goes through host memory: neither the open kernel modules (DMA-BUF) nor nvidia-peermem are loaded");
}

/* EFA is no port of NCCL's verbs transport, and its driver may have ways of its own to a GPU's
 * memory: what is known is told, and nothing held against the node. */
static int say_fabric(Nccl *s) {
        _cleanup_(rdma_facts_done) RdmaFacts facts = {};
        const char *how;

        if (rdma_facts(&facts) < 0)
                return 0;
        for (size_t i = 0; i < facts.n_ports; i++) {
                if (streq_ptr(facts.ports[i].link_layer, "InfiniBand") ||
                                streq_ptr(facts.ports[i].link_layer, "Ethernet"))
                        continue;
                how = gpudirect("efa_nv_peermem");
                if (how)
                        step_figure(s->context, "gpudirect",
                                        json_object_new_string(
                                                        streq(how, "none") ? "unknown" : how));
                return 0;
        }
        return 0;
}

/* Each port in its turn; the verdict is that of the first that fails. */
static int try_ports(Nccl *s, char *const *names, const RdmaFacts *facts, json_object *figure) {
        RdmaTally tally = {};

        STRV_FOREACH (name, names) {
                _cleanup_(port_done) Port p = {};
                int r;

                r = make_port(*name, facts, &p);
                if (r < 0)
                        return r;
                if (!rdma_tally(&tally, try_port(s, &p, figure)))
                        break;
        }
        return tally.result;
}

int nccl_loopback(Nccl *s) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_(rdma_facts_done) RdmaFacts facts = {};
        int r;

        if (!json_get_bool(s->context->section, "loopback", true))
                return 0;
        r = list_ports(s, &names);
        if (r < 0)
                return r;
        if (!names)
                return say_fabric(s);
        if (json_get_int(s->report, "n_ranks", 0) < 2) {
                log_info("RDMA ports are not tried by NCCL: that needs two GPUs");
                return say_gpudirect(s);
        }
        r = rdma_facts(&facts);
        if (r < 0)
                return step_fail_later(s->context, "rdma.unreadable", "/sys/class/infiniband: %s",
                                strerror(-r));
        json_object *figure = json_object_new_object();
        if (!figure)
                return -ENOMEM;
        step_figure(s->context, "loopback", figure);
        r = try_ports(s, names, &facts, figure);
        return r < 0 ? r : say_gpudirect(s);
}
