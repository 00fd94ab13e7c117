/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-judge.h"
#include "gpu-nvml.h"
#include "gpu-pci.h"
#include "strv.h"

#include <stdarg.h>

const char *const gpu_code_names[GPU_CODES_N] = {
        [GPU_CODE_NO_DRIVER] = "gpu.no-driver",
        [GPU_CODE_NONE] = "gpu.none",
        [GPU_CODE_LIBRARY] = "gpu.library",
        [GPU_CODE_SYMBOL] = "gpu.symbol",
        [GPU_CODE_TIMEOUT] = "gpu.timeout",
        [GPU_CODE_CRASHED] = "gpu.crashed",
        [GPU_CODE_VERSION] = "gpu.version",
        [GPU_CODE_NVML] = "gpu.nvml",
        [GPU_CODE_LOST] = "gpu.lost",
        [GPU_CODE_UNBOUND] = "gpu.unbound",
        [GPU_CODE_COUNT] = "gpu.count",
        [GPU_CODE_XID] = "gpu.xid",
        [GPU_CODE_REMAP_FAILED] = "gpu.remap-failed",
        [GPU_CODE_SRAM] = "gpu.sram",
        [GPU_CODE_ECC_ERRORS] = "gpu.ecc-errors",
        [GPU_CODE_ECC_OFF] = "gpu.ecc-off",
        [GPU_CODE_REMAP_PENDING] = "gpu.remap-pending",
        [GPU_CODE_PAGES_RETIRED] = "gpu.pages-retired",
        [GPU_CODE_PAGES_PENDING] = "gpu.pages-pending",
        [GPU_CODE_RECOVERY] = "gpu.recovery",
        [GPU_CODE_PCIE_WIDTH] = "gpu.pcie-width",
        [GPU_CODE_PCIE_GENERATION] = "gpu.pcie-generation",
        [GPU_CODE_FABRIC_VERSION] = "gpu.fabric-version",
        [GPU_CODE_FABRIC_MANAGER] = "gpu.fabric-manager",
        [GPU_CODE_NVLINK_DOWN] = "gpu.nvlink-down",
        [GPU_CODE_NVLINK_ERRORS] = "gpu.nvlink-errors",
        [GPU_CODE_FABRIC] = "gpu.fabric",
        [GPU_CODE_CLOCKS] = "gpu.clocks",
        [GPU_CODE_TEMPERATURE] = "gpu.temperature",
        [GPU_CODE_PERSISTENCE] = "gpu.persistence",
        [GPU_CODE_CUDA] = "gpu.cuda",
        [GPU_CODE_BANDWIDTH] = "gpu.bandwidth",
        [GPU_CODE_NOT_SUPPORTED] = "gpu.not-supported",
        [GPU_CODE_KERNEL_LOG] = "gpu.kernel-log",
};

/* Errors of applications, which leave the GPU healthy: what NVIDIA's own device plugin for
 * Kubernetes passes over (internal/rm/health.go). */
static const unsigned xid_ignore_default[] = { 13, 31, 43, 45, 68, 109 };

#define ARCH_AMPERE 7           /* NVML_DEVICE_ARCH_AMPERE: rows are remapped, no pages retired */
#define TEMPERATURE_FALLBACK 85 /* °C, where the GPU tells no threshold of its own */

GpuWish gpu_wish_default(void) {
        return (GpuWish){
                .count = -1,
                .nvlinks = -1,
                .ecc = GPU_ECC_ON,
                .persistence = true,
                .bandwidth = true,
                /* DCGM counts a GPU with 63 retired pages as bad, any replay or recovery of a link
                 * too, and CRC errors from a hundred a second on (dcgm_gpu_hardware_limits). */
                .retired_pages_max = 62,
                .nvlink_crc_max = 100,
                /* Uncorrectable errors since the driver was loaded: none. Those of the GPU's whole
                 * life were repaired by remapping, or show as one of the other findings. */
                .ecc_aggregate_max = -1,
                /* Azure's node health checks ask 10 of 15.75 GB/s of a V100. */
                .bandwidth_percent = 60,
                .xid_ignore = xid_ignore_default,
                .n_xid_ignore = ELEMENTSOF(xid_ignore_default),
        };
}

typedef struct Judge {
        const GpuFacts *facts;
        const GpuWish *wish;
        GpuFindings *findings;
        int r;
} Judge;

static GpuFinding *add(Judge *j, GpuCode code, GpuAction action, int gpu, const char *format, ...)
                _printf_(5, 6);

static GpuFinding *add(Judge *j, GpuCode code, GpuAction action, int gpu, const char *format, ...) {
        static GpuFinding lost;
        GpuFinding *items = reallocarray(j->findings->items, j->findings->n + 1, sizeof(*items));
        GpuFinding *f;
        va_list ap;

        if (!items) {
                j->r = -ENOMEM;
                return &lost;
        }
        j->findings->items = items;
        f = &items[j->findings->n++];
        *f = (GpuFinding){ .code = code, .action = action, .gpu = gpu };
        f->transient = action == GPU_ACTION_WAIT;
        va_start(ap, format);
        (void) vsnprintf(f->text, sizeof(f->text), format, ap);
        va_end(ap);
        if (gpu >= 0 && (unsigned) gpu < MIN(j->facts->n, (unsigned) GPUS_MAX)) {
                const Gpu *g = &j->facts->gpus[gpu];

                snprintf(f->uuid, sizeof(f->uuid), "%s", g->uuid);
                snprintf(f->serial, sizeof(f->serial), "%s", g->serial);
                snprintf(f->pci, sizeof(f->pci), "%s", g->pci);
        }
        return f;
}

static void with_value(GpuFinding *f, int64_t value) {
        f->has_value = true;
        f->value = value;
}

static void with_limit(GpuFinding *f, int64_t value, int64_t limit) {
        with_value(f, value);
        f->has_limit = true;
        f->limit = limit;
}

void gpu_findings_done(GpuFindings *f) {
        free(f->items);
        *f = (GpuFindings){};
}

int64_t gpu_pcie_rate(int generation, int width) {
        /* MB/s of one lane. */
        static const double lane[] = {
                0, 2500 / 10.0,          /* 2.5 GT/s, 8b/10b */
                5000 / 10.0,             /* 5 GT/s, 8b/10b */
                8000 / 8.0 * 128 / 130,  /* 8 GT/s, 128b/130b */
                16000 / 8.0 * 128 / 130, /* 16 GT/s */
                32000 / 8.0 * 128 / 130, /* 32 GT/s */
                64000 / 8.0 * 242 / 256, /* 64 GT/s, 242 of 256 bytes of a flit */
        };

        if (generation < 1 || (size_t) generation >= ELEMENTSOF(lane))
                return 0;
        return (int64_t) (lane[generation] * width);
}

/* --- what could not be read --------------------------------------------------------------------
 */

static bool is_unsupported(const GpuFact *f) {
        return f->state == GPU_ERROR && f->error == NVML_ERROR_NOT_SUPPORTED;
}

static bool may_be_unsupported(const Judge *j, GpuFactId id) {
        return j->wish->allow_unsupported & (UINT64_C(1) << id);
}

/* Tells why a fact that was needed is not there. */
static void not_read(Judge *j, int i, const GpuFact *f, const char *name, const char *symbol) {
        GpuFinding *x;

        if (f->state == GPU_NO_SYMBOL)
                (void) add(j, GPU_CODE_SYMBOL, GPU_ACTION_CONFIG, i,
                                "the NVML library lacks %s, so %s is not known", symbol, name);
        else if (is_unsupported(f))
                (void) add(j, GPU_CODE_NOT_SUPPORTED, GPU_ACTION_CONFIG, i,
                                "%s is not supported by this GPU, says %s", name, symbol);
        else if (f->state == GPU_ERROR && (f->error == NVML_ERROR_GPU_IS_LOST ||
                                                          f->error == NVML_ERROR_RESET_REQUIRED)) {
                x = add(j, GPU_CODE_LOST,
                                f->error == NVML_ERROR_GPU_IS_LOST ? GPU_ACTION_REBOOT
                                                                   : GPU_ACTION_RESET,
                                i, "%s: %s", symbol, nvml_error_text(f->error));
                with_value(x, f->error);
        } else if (f->state == GPU_ERROR) {
                x = add(j, GPU_CODE_NVML, GPU_ACTION_RESET, i, "%s, asked for %s: %s (%d)", symbol,
                                name, nvml_error_text(f->error), f->error);
                with_value(x, f->error);
        } else
                (void) add(j, GPU_CODE_TIMEOUT, GPU_ACTION_RESET, i, "%s was not read", name);
}

/* Whether the fact is known; a finding where it is not and nothing allows that. */
static bool need(Judge *j, int i, GpuFactId id) {
        const GpuFact *f = &j->facts->gpus[i].facts[id];

        if (f->state == GPU_READ)
                return true;
        if (!is_unsupported(f) || !may_be_unsupported(j, id))
                not_read(j, i, f, gpu_fact_names[id].name, gpu_fact_names[id].symbol);
        return false;
}

/* Whether a fact that only newer drivers or GPUs have is known; a finding for any other error. */
static bool may(Judge *j, int i, GpuFactId id) {
        const GpuFact *f = &j->facts->gpus[i].facts[id];

        if (f->state == GPU_READ)
                return true;
        if (!is_unsupported(f) && f->state != GPU_NO_SYMBOL &&
                        !(f->state == GPU_ERROR && f->error == NVML_ERROR_INVALID_ARGUMENT))
                not_read(j, i, f, gpu_fact_names[id].name, gpu_fact_names[id].symbol);
        return false;
}

static int64_t value(const Judge *j, int i, GpuFactId id) {
        return j->facts->gpus[i].facts[id].value;
}

/* --- the node ----------------------------------------------------------------------------------
 */

static void judge_phase(Judge *j, const GpuPhase *p, GpuCode failed) {
        GpuFinding *f;

        switch (p->state) {
        case GPU_PHASE_DONE:
                return;
        case GPU_PHASE_NO_LIBRARY:
                (void) add(j, failed == GPU_CODE_CUDA ? GPU_CODE_CUDA : GPU_CODE_LIBRARY,
                                GPU_ACTION_CONFIG, -1, "%s", p->text);
                return;
        case GPU_PHASE_NO_SYMBOL:
                (void) add(j, GPU_CODE_SYMBOL, GPU_ACTION_CONFIG, -1, "%s", p->text);
                return;
        case GPU_PHASE_FAILED:
                if (failed == GPU_CODE_NVML && p->error == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
                        f = add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1, "%s", p->text);
                else if (failed == GPU_CODE_NVML && p->error == NVML_ERROR_DRIVER_NOT_LOADED)
                        f = add(j, GPU_CODE_NO_DRIVER, GPU_ACTION_CONFIG, -1, "%s", p->text);
                else
                        f = add(j, failed, GPU_ACTION_REBOOT, p->gpu, "%s", p->text);
                with_value(f, p->error);
                return;
        case GPU_PHASE_TIMEOUT:
                (void) add(j, GPU_CODE_TIMEOUT, GPU_ACTION_REBOOT, p->gpu, "%s: %s", p->call,
                                p->text);
                return;
        case GPU_PHASE_CRASHED:
                f = add(j, GPU_CODE_CRASHED, GPU_ACTION_REBOOT, p->gpu, "%s: %s", p->call, p->text);
                with_value(f, p->error);
                return;
        default:
                (void) add(j, GPU_CODE_TIMEOUT, GPU_ACTION_REBOOT, -1, "%s was not asked",
                                failed == GPU_CODE_CUDA ? "CUDA" : "NVML");
        }
}

static void judge_versions(Judge *j) {
        const GpuFacts *f = j->facts;

        if (f->nvml.state != GPU_PHASE_DONE)
                return;
        if (!streq(f->driver_version, f->module_version))
                (void) add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1,
                                "the kernel module is %s, the driver calls itself %s",
                                f->module_version[0] ? f->module_version : "of unknown version",
                                f->driver_version);
        if (!streq(gpu_version_of_nvml(f->nvml_version), f->driver_version))
                (void) add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1,
                                "the driver is %s, the NVML library is %s", f->driver_version,
                                f->nvml_version);
}

static bool nvml_shows(const GpuFacts *f, const char *pci) {
        for (unsigned i = 0; i < f->n; i++)
                if (f->gpus[i].error == NVML_SUCCESS && streq(f->gpus[i].pci, pci))
                        return true;
        return false;
}

static void judge_count(Judge *j) {
        const GpuFacts *f = j->facts;
        GpuFinding *x;

        for (unsigned i = 0; i < f->n_pci; i++) {
                const GpuPci *p = &f->pci[i];

                if (!streq(p->driver, "nvidia"))
                        x = add(j, GPU_CODE_UNBOUND, GPU_ACTION_REBOOT, -1,
                                        "PCI shows it, but %s has it, not the driver nvidia",
                                        p->driver[0] ? p->driver : "no driver");
                else if (f->nvml.state == GPU_PHASE_DONE && !nvml_shows(f, p->address))
                        x = add(j, GPU_CODE_COUNT, GPU_ACTION_REBOOT, -1,
                                        "PCI shows it, NVML does not");
                else
                        continue;
                snprintf(x->pci, sizeof(x->pci), "%s", p->address);
        }
        if (j->wish->count >= 0 && f->n_pci != (unsigned) j->wish->count) {
                x = add(j, GPU_CODE_COUNT, GPU_ACTION_RMA, -1, "PCI shows %u GPUs, %d expected",
                                f->n_pci, j->wish->count);
                with_limit(x, f->n_pci, j->wish->count);
        }
        if (f->nvml.state == GPU_PHASE_DONE && f->n != f->n_pci) {
                x = add(j, GPU_CODE_COUNT, GPU_ACTION_REBOOT, -1,
                                "NVML shows %u GPUs, PCI shows %u", f->n, f->n_pci);
                with_limit(x, f->n, f->n_pci);
        }
}

/* Which GPU a report in the kernel log is about: NVML's index, or -1. */
static int gpu_at(const GpuFacts *f, const char *pci) {
        size_t n = strlen(pci);

        for (unsigned i = 0; i < f->n; i++)
                if (strncmp(f->gpus[i].pci, pci, n) == 0 && n > 0 &&
                                (f->gpus[i].pci[n] == '.' || f->gpus[i].pci[n] == '\0'))
                        return (int) i;
        return -1;
}

static bool xid_is_ignored(const GpuWish *w, const GpuXid *x) {
        if (x->is_switch)
                return !x->fatal;
        for (size_t i = 0; i < w->n_xid_ignore; i++)
                if (w->xid_ignore[i] == x->xid)
                        return true;
        return false;
}

static bool told_before(const GpuFacts *f, unsigned i) {
        for (unsigned k = 0; k < i; k++)
                if (f->xids[k].xid == f->xids[i].xid && streq(f->xids[k].pci, f->xids[i].pci) &&
                                f->xids[k].is_switch == f->xids[i].is_switch &&
                                f->xids[k].fatal == f->xids[i].fatal)
                        return true;
        return false;
}

static void judge_log(Judge *j) {
        const GpuFacts *f = j->facts;

        if (!f->log_read)
                (void) add(j, GPU_CODE_KERNEL_LOG, GPU_ACTION_CONFIG, -1,
                                "the kernel log could not be read: %s",
                                f->log_error ? strerror(f->log_error) : "nobody asked");
        else if (f->log_lost)
                (void) add(j, GPU_CODE_KERNEL_LOG, GPU_ACTION_REBOOT, -1,
                                "the kernel log does not reach back to the boot");
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++) {
                const GpuXid *x = &f->xids[i];
                GpuFinding *y;

                if (xid_is_ignored(j->wish, x) || told_before(f, i))
                        continue;
                y = add(j, GPU_CODE_XID, gpu_xid_action(x), gpu_at(f, x->pci), "%s %u: %s",
                                x->is_switch ? "SXid" : "Xid", x->xid, x->text);
                snprintf(y->pci, sizeof(y->pci), "%s", x->pci);
                with_value(y, x->xid);
        }
        if (f->n_xids > GPU_XIDS_MAX)
                (void) add(j, GPU_CODE_XID, GPU_ACTION_RESET, -1,
                                "%u Xids in the kernel log, of which %d were looked at", f->n_xids,
                                GPU_XIDS_MAX);
}

/* --- each GPU ----------------------------------------------------------------------------------
 */

static void judge_memory(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        const GpuWish *w = j->wish;
        bool ecc = gpu_fact_known(g, GPU_ECC) && value(j, i, GPU_ECC) == 1,
             none = is_unsupported(&g->facts[GPU_ECC]) && w->ecc != GPU_ECC_ON,
             mig = gpu_fact_known(g, GPU_MIG) && value(j, i, GPU_MIG) == 1;
        GpuFinding *f;

        if (w->ecc != GPU_ECC_ANY && !none && need(j, i, GPU_ECC) && !ecc) {
                f = add(j, GPU_CODE_ECC_OFF, GPU_ACTION_RESET, i, "ECC is off%s",
                                gpu_fact_known(g, GPU_ECC_PENDING) &&
                                                                value(j, i, GPU_ECC_PENDING) == 1
                                                ? ", and on after the next reset"
                                                : "");
                with_limit(f, 0, 1);
        }
        if (ecc && need(j, i, GPU_ECC_VOLATILE) &&
                        value(j, i, GPU_ECC_VOLATILE) > w->ecc_volatile_max) {
                f = add(j, GPU_CODE_ECC_ERRORS, GPU_ACTION_RESET, i,
                                "%lld uncorrectable ECC errors since the driver was loaded",
                                (long long) value(j, i, GPU_ECC_VOLATILE));
                with_limit(f, value(j, i, GPU_ECC_VOLATILE), w->ecc_volatile_max);
        }
        if (ecc && need(j, i, GPU_ECC_AGGREGATE) && w->ecc_aggregate_max >= 0 &&
                        value(j, i, GPU_ECC_AGGREGATE) > w->ecc_aggregate_max) {
                f = add(j, GPU_CODE_ECC_ERRORS, GPU_ACTION_RMA, i,
                                "%lld uncorrectable ECC errors in the GPU's life",
                                (long long) value(j, i, GPU_ECC_AGGREGATE));
                with_limit(f, value(j, i, GPU_ECC_AGGREGATE), w->ecc_aggregate_max);
        }
        if (ecc && may(j, i, GPU_SRAM_THRESHOLD) && value(j, i, GPU_SRAM_THRESHOLD))
                (void) add(j, GPU_CODE_SRAM, GPU_ACTION_RMA, i,
                                "uncorrectable errors of its SRAM are beyond NVIDIA's threshold");

        /* Rows are remapped since Ampere, pages retired before; MIG hides the former. */
        if (!need(j, i, GPU_ARCHITECTURE))
                return;
        if (value(j, i, GPU_ARCHITECTURE) >= ARCH_AMPERE) {
                if ((mig || none || !ecc) && is_unsupported(&g->facts[GPU_REMAP_PENDING]))
                        return;
                if (!need(j, i, GPU_REMAP_PENDING) || !need(j, i, GPU_REMAP_FAILED))
                        return;
                if (value(j, i, GPU_REMAP_FAILED))
                        (void) add(j, GPU_CODE_REMAP_FAILED, GPU_ACTION_RMA, i,
                                        "a row of its memory could not be remapped");
                if (value(j, i, GPU_REMAP_PENDING))
                        (void) add(j, GPU_CODE_REMAP_PENDING, GPU_ACTION_RESET, i,
                                        "a row of its memory waits to be remapped");
                return;
        }
        if ((none || !ecc) && is_unsupported(&g->facts[GPU_RETIRED_PENDING]))
                return;
        if (!need(j, i, GPU_RETIRED_PENDING) || !need(j, i, GPU_RETIRED_SINGLE_BIT) ||
                        !need(j, i, GPU_RETIRED_DOUBLE_BIT))
                return;
        int64_t pages = value(j, i, GPU_RETIRED_SINGLE_BIT) + value(j, i, GPU_RETIRED_DOUBLE_BIT);
        if (pages > w->retired_pages_max) {
                f = add(j, GPU_CODE_PAGES_RETIRED, GPU_ACTION_RMA, i,
                                "%lld pages of its memory are retired", (long long) pages);
                with_limit(f, pages, w->retired_pages_max);
        }
        if (value(j, i, GPU_RETIRED_PENDING))
                (void) add(j, GPU_CODE_PAGES_PENDING, GPU_ACTION_RESET, i,
                                "a page of its memory waits to be retired");
}

static void judge_pcie(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        const GpuWish *w = j->wish;
        int64_t width, generation;
        GpuFinding *f;

        if (!need(j, i, GPU_PCIE_WIDTH) || !need(j, i, GPU_PCIE_WIDTH_MAX) ||
                        !need(j, i, GPU_PCIE_GENERATION) || !need(j, i, GPU_PCIE_GENERATION_MAX))
                return;
        width = w->pcie_width > 0 ? w->pcie_width : value(j, i, GPU_PCIE_WIDTH_MAX);
        generation = w->pcie_generation > 0 ? w->pcie_generation
                                            : value(j, i, GPU_PCIE_GENERATION_MAX);
        if (value(j, i, GPU_PCIE_WIDTH) < width) {
                f = add(j, GPU_CODE_PCIE_WIDTH, GPU_ACTION_REBOOT, i, "PCIe has %lld lanes of %lld",
                                (long long) value(j, i, GPU_PCIE_WIDTH), (long long) width);
                with_limit(f, value(j, i, GPU_PCIE_WIDTH), width);
        }
        /* An idle GPU lowers its link's generation to save power, so what counts is the generation
         * under load, seen while bandwidth is measured; and the most that it could be. */
        int64_t best = gpu_fact_known(g, GPU_PCIE_GENERATION_LOAD)
                                       ? MAX(value(j, i, GPU_PCIE_GENERATION_LOAD),
                                                         value(j, i, GPU_PCIE_GENERATION))
                                       : value(j, i, GPU_PCIE_GENERATION_MAX);
        if (best < generation) {
                f = add(j, GPU_CODE_PCIE_GENERATION, GPU_ACTION_REBOOT, i,
                                "PCIe runs at generation %lld of %lld", (long long) best,
                                (long long) generation);
                with_limit(f, best, generation);
        }
        if (!w->bandwidth)
                return;
        static const struct {
                GpuFactId id;
                const char *what;
        } directions[] = { { GPU_H2D, "host to device" }, { GPU_D2H, "device to host" } };
        for (size_t d = 0; d < ELEMENTSOF(directions); d++) {
                const GpuFact *fact = &g->facts[directions[d].id];
                int64_t limit = directions[d].id == GPU_H2D ? w->h2d_min : w->d2h_min;

                if (limit <= 0) {
                        int64_t rate = gpu_pcie_rate((int) generation, (int) width);

                        /* A generation newer than this table is at least as fast as the last. */
                        if (rate == 0)
                                rate = gpu_pcie_rate(6, (int) width);
                        limit = rate * w->bandwidth_percent / 100;
                }
                if (fact->state == GPU_READ && fact->value < limit) {
                        f = add(j, GPU_CODE_BANDWIDTH, GPU_ACTION_REBOOT, i,
                                        "%s runs at %lld MB/s, at least %lld expected",
                                        directions[d].what, (long long) fact->value,
                                        (long long) limit);
                        with_limit(f, fact->value, limit);
                }
        }
}

static void judge_cuda(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        GpuFinding *f;

        if (!j->wish->bandwidth || (gpu_fact_known(g, GPU_MIG) && value(j, i, GPU_MIG) == 1))
                return;
        if (g->cuda_call[0]) {
                f = add(j, GPU_CODE_CUDA, GPU_ACTION_RESET, i, "%s: error %d of CUDA", g->cuda_call,
                                g->cuda_error);
                with_value(f, g->cuda_error);
        } else if (j->facts->cuda.state == GPU_PHASE_DONE &&
                        (g->facts[GPU_H2D].state != GPU_READ ||
                                        g->facts[GPU_D2H].state != GPU_READ))
                (void) add(j, GPU_CODE_CUDA, GPU_ACTION_RESET, i, "CUDA does not show this GPU");
}

static unsigned links_active(const Gpu *g) {
        unsigned n = 0;

        for (size_t k = 0; k < GPU_LINKS_MAX; k++)
                n += g->links[k].active.state == GPU_READ && g->links[k].active.value == 1;
        return n;
}

static void judge_link(Judge *j, int i, size_t k) {
        const GpuLink *l = &j->facts->gpus[i].links[k];
        bool counted = false;
        GpuFinding *f;

        if (l->active.state != GPU_READ || l->active.value != 1)
                return;
        for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++) {
                const GpuFact *n = &l->counters[c];
                bool crc = c == GPU_LINK_CRC_FLIT || c == GPU_LINK_CRC_DATA;
                int64_t limit = crc ? j->wish->nvlink_crc_max : j->wish->nvlink_errors_max;

                if (n->state == GPU_READ)
                        counted = true;
                else if (n->state == GPU_ERROR && n->error != NVML_ERROR_NOT_SUPPORTED &&
                                n->error != NVML_ERROR_INVALID_ARGUMENT)
                        not_read(j, i, n, gpu_link_counter_names[c],
                                        "nvmlDeviceGetNvLinkErrorCounter");
                if (n->state != GPU_READ || n->value <= limit)
                        continue;
                f = add(j, GPU_CODE_NVLINK_ERRORS, GPU_ACTION_RESET, i,
                                "NVLink %zu counts %lld %s errors", k, (long long) n->value,
                                gpu_link_counter_names[c]);
                with_limit(f, n->value, limit);
        }
        if (!counted) {
                GpuFact none = l->counters[GPU_LINK_REPLAY];
                char name[64];

                snprintf(name, sizeof(name), "any error counter of NVLink %zu", k);
                not_read(j, i, &none, name, "nvmlDeviceGetNvLinkErrorCounter");
        }
}

static void judge_links(Judge *j, int i, int expected) {
        const Gpu *g = &j->facts->gpus[i];
        unsigned active = links_active(g);
        char down[120] = "";
        GpuFinding *f;

        for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                judge_link(j, i, k);
                const GpuFact *a = &g->links[k].active;
                size_t n = strlen(down);

                if (a->state == GPU_READ && a->value != 1 && n + 4 < sizeof(down))
                        snprintf(down + n, sizeof(down) - n, "%s%zu", n ? "," : " (down: ", k);
                else if (a->state == GPU_ERROR && a->error != NVML_ERROR_NOT_SUPPORTED &&
                                a->error != NVML_ERROR_INVALID_ARGUMENT)
                        not_read(j, i, a, "an NVLink's state", "nvmlDeviceGetNvLinkState");
        }
        if (expected < 0 || active >= (unsigned) expected)
                return;
        if (g->links[0].active.state == GPU_NO_SYMBOL) {
                not_read(j, i, &g->links[0].active, "NVLink", "nvmlDeviceGetNvLinkState");
                return;
        }
        f = add(j, GPU_CODE_NVLINK_DOWN, GPU_ACTION_RESET, i,
                        "%u NVLinks are active, %d expected%s%s", active, expected, down,
                        down[0] ? ")" : "");
        with_limit(f, active, expected);
}

static void judge_clocks(Judge *j, int i) {
        static const struct {
                int64_t bit;
                const char *text;
        } reasons[] = {
                { NVML_CLOCKS_HW_THERMAL_SLOWDOWN, "hardware thermal slowdown" },
                { NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN, "power brake" },
                { NVML_CLOCKS_SW_THERMAL_SLOWDOWN, "software thermal slowdown" },
                { NVML_CLOCKS_HW_SLOWDOWN, "hardware slowdown" },
        };
        char text[120] = "";

        if (!need(j, i, GPU_CLOCK_REASONS))
                return;
        for (size_t k = 0; k < ELEMENTSOF(reasons); k++) {
                size_t n = strlen(text);

                if (value(j, i, GPU_CLOCK_REASONS) & reasons[k].bit)
                        snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
                                        reasons[k].text);
        }
        if (text[0])
                with_value(add(j, GPU_CODE_CLOCKS, GPU_ACTION_WAIT, i, "clocks are held down: %s",
                                           text),
                                value(j, i, GPU_CLOCK_REASONS));
}

static void judge_temperature(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        int64_t limit = j->wish->temperature_max, now;

        if (!need(j, i, GPU_TEMPERATURE))
                return;
        now = value(j, i, GPU_TEMPERATURE);
        if (limit <= 0 && gpu_fact_known(g, GPU_TEMPERATURE_MARGIN))
                limit = now + value(j, i, GPU_TEMPERATURE_MARGIN);
        else if (limit <= 0 && gpu_fact_known(g, GPU_TEMPERATURE_SLOWDOWN) &&
                        value(j, i, GPU_TEMPERATURE_SLOWDOWN) > 0)
                limit = value(j, i, GPU_TEMPERATURE_SLOWDOWN);
        else if (limit <= 0)
                limit = TEMPERATURE_FALLBACK;
        if (now >= limit)
                with_limit(add(j, GPU_CODE_TEMPERATURE, GPU_ACTION_WAIT, i,
                                           "it is at %lld °C, the limit is %lld", (long long) now,
                                           (long long) limit),
                                now, limit);
}

static void judge_recovery(Judge *j, int i) {
        /* nvmlDeviceGpuRecoveryAction_t */
        static const struct {
                const char *text;
                GpuAction action;
        } actions[] = {
                { "none", GPU_ACTION_NONE },
                { "a reset of the GPU", GPU_ACTION_RESET },
                { "a reboot of the node", GPU_ACTION_REBOOT },
                { "peer-to-peer traffic to be drained", GPU_ACTION_RESET },
                { "a drain and a reset of the GPU", GPU_ACTION_RESET },
                { "a recovery of the IMEX domain", GPU_ACTION_RESET },
                { "a reset of its PCIe bus", GPU_ACTION_REBOOT },
                { "a reboot of the system", GPU_ACTION_REBOOT },
        };
        int64_t v;

        if (!may(j, i, GPU_RECOVERY_ACTION) || (v = value(j, i, GPU_RECOVERY_ACTION)) == 0)
                return;
        bool known = v > 0 && (size_t) v < ELEMENTSOF(actions);
        with_limit(add(j, GPU_CODE_RECOVERY, known ? actions[v].action : GPU_ACTION_REBOOT, i,
                                   "the driver asks for %s",
                                   known ? actions[v].text : "an action we do not know"),
                        v, 0);
}

bool gpu_has_fabric(const GpuFacts *f, const GpuWish *w) {
        if (w->fabric != GPU_FABRIC_AUTO)
                return w->fabric == GPU_FABRIC_ON;
        if (f->n_switches > 0)
                return true;
        for (unsigned i = 0; i < f->n; i++)
                for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                        const GpuLink *l = &f->gpus[i].links[k];

                        if (l->active.state == GPU_READ && l->active.value == 1 &&
                                        l->remote_type.state == GPU_READ &&
                                        l->remote_type.value == NVML_NVLINK_DEVICE_TYPE_SWITCH)
                                return true;
                }
        return false;
}

static void judge_fabric(Judge *j, int i) {
        static const char *const states[] = { "not supported", "not started", "in progress",
                "completed" };
        const Gpu *g = &j->facts->gpus[i];
        int64_t state, status;

        /* GPUs before Hopper do not register; the fabric manager alone knows of them. */
        if (!need(j, i, GPU_ARCHITECTURE) ||
                        value(j, i, GPU_ARCHITECTURE) < NVML_DEVICE_ARCH_HOPPER)
                return;
        if (!need(j, i, GPU_FABRIC_STATE) || !need(j, i, GPU_FABRIC_STATUS))
                return;
        state = value(j, i, GPU_FABRIC_STATE);
        status = value(j, i, GPU_FABRIC_STATUS);
        if (state != NVML_GPU_FABRIC_STATE_COMPLETED) {
                bool waits = state == NVML_GPU_FABRIC_STATE_NOT_STARTED ||
                             state == NVML_GPU_FABRIC_STATE_IN_PROGRESS;

                with_limit(add(j, GPU_CODE_FABRIC, waits ? GPU_ACTION_WAIT : GPU_ACTION_REBOOT, i,
                                           "its place in the NVLink fabric is %s",
                                           state >= 0 && (size_t) state < ELEMENTSOF(states)
                                                           ? states[state]
                                                           : "unknown"),
                                state, NVML_GPU_FABRIC_STATE_COMPLETED);
                return;
        }
        if (status != NVML_SUCCESS) {
                with_limit(add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                           "joining the NVLink fabric ended in an error: %s",
                                           nvml_error_text((int) status)),
                                status, 0);
                return;
        }
        if (gpu_fact_known(g, GPU_FABRIC_SUMMARY) &&
                        value(j, i, GPU_FABRIC_SUMMARY) >=
                                        NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY) {
                with_value(add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                           "its part of the NVLink fabric is %s",
                                           value(j, i, GPU_FABRIC_SUMMARY) ==
                                                                           NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY
                                                           ? "unhealthy"
                                                           : "of limited capacity"),
                                value(j, i, GPU_FABRIC_SUMMARY));
                return;
        }
        /* NVML_GPU_FABRIC_HEALTH_MASK_*: two bits each, 1 says that it is so; the configuration has
         * four bits, of which 2 and more are errors. */
        static const struct {
                unsigned shift;
                const char *text;
        } health[] = {
                { 0, "bandwidth is degraded" },
                { 2, "routes are being recovered" },
                { 4, "a route is unhealthy" },
                { 6, "a recovery from access time-outs goes on" },
        };
        if (!gpu_fact_known(g, GPU_FABRIC_HEALTH))
                return;
        for (size_t k = 0; k < ELEMENTSOF(health); k++)
                if (((value(j, i, GPU_FABRIC_HEALTH) >> health[k].shift) & 3) == 1)
                        with_value(add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                                   "NVLink fabric: %s", health[k].text),
                                        value(j, i, GPU_FABRIC_HEALTH));
        if (((value(j, i, GPU_FABRIC_HEALTH) >> 8) & 0xf) >= 2)
                with_value(add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                           "NVLink fabric: it is not configured rightly"),
                                value(j, i, GPU_FABRIC_HEALTH));
}

static void judge_services(Judge *j) {
        const GpuFacts *f = j->facts;
        const GpuService *m = &f->fabric_manager;

        if (j->wish->persistence && f->persistenced.state == GPU_SERVICE_FAILED)
                (void) add(j, GPU_CODE_PERSISTENCE, GPU_ACTION_CONFIG, -1,
                                "nvidia-persistenced does not run: %s", f->persistenced.text);
        if (!gpu_has_fabric(f, j->wish))
                return;
        /* Where no switch is on PCI, as in some virtual machines, the fabric manager runs
         * elsewhere, and the GPUs' fabric state tells how it does. */
        if (m->state == GPU_SERVICE_FAILED ||
                        (m->state != GPU_SERVICE_RUNNING && f->n_switches > 0)) {
                (void) add(j, GPU_CODE_FABRIC_MANAGER, GPU_ACTION_CONFIG, -1,
                                "nvidia-fabricmanager %s%s%s",
                                m->state == GPU_SERVICE_ABSENT   ? "is not installed"
                                : m->state == GPU_SERVICE_FAILED ? "does not run"
                                                                 : "was not asked for",
                                m->text[0] ? ": " : "", m->text);
                return;
        }
        if (m->state == GPU_SERVICE_RUNNING && !streq(m->version, f->module_version))
                (void) add(j, GPU_CODE_FABRIC_VERSION, GPU_ACTION_CONFIG, -1,
                                "the fabric manager is %s, the driver is %s",
                                m->version[0] ? m->version : "of unknown version",
                                f->module_version);
}

static void judge_gpu(Judge *j, int i, int nvlinks, bool fabric) {
        const Gpu *g = &j->facts->gpus[i];
        GpuFinding *f;

        if (g->error != NVML_SUCCESS) {
                bool lost = g->error == NVML_ERROR_GPU_IS_LOST ||
                            g->error == NVML_ERROR_RESET_REQUIRED;

                f = add(j, lost ? GPU_CODE_LOST : GPU_CODE_NVML,
                                g->error == NVML_ERROR_RESET_REQUIRED ? GPU_ACTION_RESET
                                                                      : GPU_ACTION_REBOOT,
                                i, "NVML cannot open it: %s (%d)", nvml_error_text(g->error),
                                g->error);
                with_value(f, g->error);
                return;
        }
        if (!g->read) /* the phase tells why */
                return;
        judge_memory(j, i);
        judge_recovery(j, i);
        judge_pcie(j, i);
        judge_links(j, i, nvlinks);
        if (fabric)
                judge_fabric(j, i);
        judge_clocks(j, i);
        judge_temperature(j, i);
        if (j->wish->persistence && need(j, i, GPU_PERSISTENCE) &&
                        value(j, i, GPU_PERSISTENCE) != 1)
                with_limit(add(j, GPU_CODE_PERSISTENCE, GPU_ACTION_WAIT, i,
                                           "persistence mode is off"),
                                0, 1);
        judge_cuda(j, i);
}

static int by_code(const void *a, const void *b) {
        const GpuFinding *x = a, *y = b;

        if (x->code != y->code)
                return x->code < y->code ? -1 : 1;
        return x->gpu != y->gpu ? (x->gpu < y->gpu ? -1 : 1) : strcmp(x->text, y->text);
}

int gpu_judge(const GpuFacts *facts, const GpuWish *wish, GpuFindings *ret) {
        GpuFindings findings = {};
        Judge j = { facts, wish, &findings, 0 };
        int nvlinks = wish->nvlinks;
        bool fabric = gpu_has_fabric(facts, wish);

        if (facts->pci_error)
                (void) add(&j, GPU_CODE_COUNT, GPU_ACTION_CONFIG, -1,
                                "PCI devices cannot be listed: %s", strerror(facts->pci_error));
        if (facts->n_pci == 0 && facts->nvml.state == GPU_PHASE_NONE)
                (void) add(&j, GPU_CODE_NONE, GPU_ACTION_RMA, -1, "PCI shows no NVIDIA GPU");
        else if (facts->module_version[0] == '\0')
                (void) add(&j, GPU_CODE_NO_DRIVER, GPU_ACTION_CONFIG, -1,
                                "PCI shows %u NVIDIA GPUs, but the driver is not loaded",
                                facts->n_pci);
        else {
                judge_phase(&j, &facts->nvml, GPU_CODE_NVML);
                judge_versions(&j);
                judge_count(&j);
                judge_log(&j);
                if (wish->bandwidth && facts->n > 0 && facts->nvml.state == GPU_PHASE_DONE)
                        judge_phase(&j, &facts->cuda, GPU_CODE_CUDA);
                if (nvlinks < 0)
                        for (unsigned i = 0; i < facts->n; i++)
                                nvlinks = MAX(nvlinks, (int) links_active(&facts->gpus[i]));
                for (unsigned i = 0; i < facts->n; i++)
                        judge_gpu(&j, (int) i, nvlinks, fabric);
                judge_services(&j);
        }
        if (j.r < 0) {
                gpu_findings_done(&findings);
                return j.r;
        }
        if (findings.n > 1)
                qsort(findings.items, findings.n, sizeof(findings.items[0]), by_code);
        *ret = findings;
        return 0;
}

char *gpu_finding_sentence(const GpuFinding *f) {
        if (f->gpu < 0)
                return f->pci[0] ? strf("GPU at %s: %s", f->pci, f->text) : strf("%s", f->text);
        return strf("GPU %d (%s%s%s, %s): %s", f->gpu, f->uuid, f->serial[0] ? ", serial " : "",
                        f->serial, f->pci, f->text);
}
