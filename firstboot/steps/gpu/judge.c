/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node as a whole, and each GPU in its turn. The order of the codes is that of their weight. */

#include "steps/gpu/judge-internal.h"
#include "steps/gpu/nvml.h"
#include "steps/gpu/pci.h"

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
        [GPU_CODE_VGPU] = "gpu.vgpu",
        [GPU_CODE_CONSUMER] = "gpu.consumer",
        [GPU_CODE_MIG] = "gpu.mig",
        [GPU_CODE_XID] = "gpu.xid",
        [GPU_CODE_REMAP_FAILED] = "gpu.remap-failed",
        [GPU_CODE_SRAM] = "gpu.sram",
        [GPU_CODE_ECC_ERRORS] = "gpu.ecc-errors",
        [GPU_CODE_ECC_OFF] = "gpu.ecc-off",
        [GPU_CODE_REMAP_PENDING] = "gpu.remap-pending",
        [GPU_CODE_REMAPPED_ROWS] = "gpu.remapped-rows",
        [GPU_CODE_PAGES_RETIRED] = "gpu.pages-retired",
        [GPU_CODE_PAGES_PENDING] = "gpu.pages-pending",
        [GPU_CODE_RECOVERY] = "gpu.recovery",
        [GPU_CODE_PCIE_WIDTH] = "gpu.pcie-width",
        [GPU_CODE_PCIE_GENERATION] = "gpu.pcie-generation",
        [GPU_CODE_PCIE_ERRORS] = "gpu.pcie-errors",
        [GPU_CODE_FABRIC_VERSION] = "gpu.fabric-version",
        [GPU_CODE_FABRIC_MANAGER] = "gpu.fabric-manager",
        [GPU_CODE_NVLINK_DOWN] = "gpu.nvlink-down",
        [GPU_CODE_NVLINK_ERRORS] = "gpu.nvlink-errors",
        [GPU_CODE_FABRIC] = "gpu.fabric",
        [GPU_CODE_IMEX] = "gpu.imex",
        [GPU_CODE_CLOCKS] = "gpu.clocks",
        [GPU_CODE_CLOCKS_LOCKED] = "gpu.clocks-locked",
        [GPU_CODE_POWER_LIMIT] = "gpu.power-limit",
        [GPU_CODE_TEMPERATURE] = "gpu.temperature",
        [GPU_CODE_PERSISTENCE] = "gpu.persistence",
        [GPU_CODE_CUDA] = "gpu.cuda",
        [GPU_CODE_BANDWIDTH] = "gpu.bandwidth",
        [GPU_CODE_LOAD] = "gpu.load",
        [GPU_CODE_SLOW] = "gpu.slow",
        [GPU_CODE_NOT_SUPPORTED] = "gpu.not-supported",
        [GPU_CODE_KERNEL_LOG] = "gpu.kernel-log",
};

/* Errors of applications, which leave the GPU healthy: what NVIDIA's own device plugin for
 * Kubernetes passes over (internal/rm/health.go). */
static const unsigned xid_ignore_default[] = { 13, 31, 43, 45, 68, 109 };

GpuWish gpu_wish_default(void) {
        return (GpuWish) {
                .count = -1,
                .nvlinks = -1,
                .ecc = GPU_ECC_ON,
                .persistence = true,
                .bandwidth = true,
                .load = true,
                .imex = true,
                /* DCGM counts a GPU with 63 retired pages as bad, any replay or recovery of a link
                 * too, and CRC errors from a hundred a second on (dcgm_gpu_hardware_limits). */
                .retired_pages_max = 62,
                .nvlink_crc_max = 100,
                /* Uncorrectable errors since the driver was loaded: none. Those of the GPU's whole
                 * life were repaired by remapping, or show as one of the other findings. */
                .ecc_aggregate_max = -1,
                /* NVIDIA's GPUs remap 512 rows at most ("GPU Memory Error Management"); Azure's
                 * node health checks take more for bad (azure_gpu_ecc.nhc), and any uncorrectable
                 * error of the SRAM. */
                .remapped_max = 512,
                /* DCGM_LIMIT_MAX_PCIREPLAY_RATE: eight a minute; the load is shorter. */
                .pcie_replays_max = 8,
                /* Ours: a GPU that nothing holds down runs within a few percent of its highest
                 * clock, and GPUs of one node differ by a few percent. */
                .clock_percent = 70,
                .power_percent = 100,
                .spread_percent = 85,
                .xid_ignore = xid_ignore_default,
                .n_xid_ignore = ELEMENTSOF(xid_ignore_default),
        };
}

static void judge_phase(Judge *j, const GpuPhase *p, GpuCode failed) {
        GpuFinding *f;

        switch (p->state) {
        case GPU_PHASE_DONE:
                return;
        case GPU_PHASE_NO_LIBRARY:
                (void) judge_add(j, failed == GPU_CODE_CUDA ? GPU_CODE_CUDA : GPU_CODE_LIBRARY,
                                GPU_ACTION_CONFIG, -1, "%s", p->text);
                return;
        case GPU_PHASE_NO_SYMBOL:
                (void) judge_add(j, GPU_CODE_SYMBOL, GPU_ACTION_CONFIG, -1, "%s", p->text);
                return;
        case GPU_PHASE_FAILED:
                if (failed == GPU_CODE_NVML && p->error == NVML_ERROR_LIB_RM_VERSION_MISMATCH)
                        f = judge_add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1, "%s", p->text);
                else if (failed == GPU_CODE_NVML && p->error == NVML_ERROR_DRIVER_NOT_LOADED)
                        f = judge_add(j, GPU_CODE_NO_DRIVER, GPU_ACTION_CONFIG, -1, "%s", p->text);
                else
                        f = judge_add(j, failed, GPU_ACTION_REBOOT, p->gpu, "%s", p->text);
                finding_value(f, p->error);
                return;
        case GPU_PHASE_TIMEOUT:
                (void) judge_add(j, GPU_CODE_TIMEOUT, GPU_ACTION_REBOOT, p->gpu, "%s: %s", p->call,
                                p->text);
                return;
        case GPU_PHASE_CRASHED:
                f = judge_add(j, GPU_CODE_CRASHED, GPU_ACTION_REBOOT, p->gpu, "%s: %s", p->call,
                                p->text);
                finding_value(f, p->error);
                return;
        default:
                (void) judge_add(j, GPU_CODE_TIMEOUT, GPU_ACTION_REBOOT, -1, "%s was not asked",
                                failed == GPU_CODE_CUDA ? "CUDA" : "NVML");
        }
}

static void judge_versions(Judge *j) {
        const GpuFacts *f = j->facts;

        if (f->nvml.state != GPU_PHASE_DONE)
                return;
        if (!streq(f->driver_version, f->module_version))
                (void) judge_add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1,
                                "the kernel module is %s, the driver calls itself %s",
                                f->module_version[0] ? f->module_version : "of unknown version",
                                f->driver_version);
        if (!streq(gpu_version_of_nvml(f->nvml_version), f->driver_version))
                (void) judge_add(j, GPU_CODE_VERSION, GPU_ACTION_REBOOT, -1,
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
                        x = judge_add(j, GPU_CODE_UNBOUND, GPU_ACTION_REBOOT, -1,
                                        "PCI shows it, but %s has it, not the driver nvidia",
                                        p->driver[0] ? p->driver : "no driver");
                else if (f->nvml.state == GPU_PHASE_DONE && !nvml_shows(f, p->address))
                        x = judge_add(j, GPU_CODE_COUNT, GPU_ACTION_REBOOT, -1,
                                        "PCI shows it, NVML does not");
                else
                        continue;
                snprintf(x->pci, sizeof(x->pci), "%s", p->address);
        }
        if (j->wish->count >= 0 && f->n_pci != (unsigned) j->wish->count) {
                x = judge_add(j, GPU_CODE_COUNT, GPU_ACTION_RMA, -1,
                                "PCI shows %u GPUs, %d expected", f->n_pci, j->wish->count);
                finding_limit(x, f->n_pci, j->wish->count);
        }
        if (f->nvml.state == GPU_PHASE_DONE && f->n != f->n_pci) {
                x = judge_add(j, GPU_CODE_COUNT, GPU_ACTION_REBOOT, -1,
                                "NVML shows %u GPUs, PCI shows %u", f->n, f->n_pci);
                finding_limit(x, f->n, f->n_pci);
        }
}

static void judge_services(Judge *j) {
        const GpuFacts *f = j->facts;
        const GpuService *m = &f->fabric_manager;

        if (j->wish->persistence && f->persistenced.state == GPU_SERVICE_FAILED)
                (void) judge_add(j, GPU_CODE_PERSISTENCE, GPU_ACTION_CONFIG, -1,
                                "nvidia-persistenced does not run: %s", f->persistenced.text);
        if (!gpu_has_fabric(f, j->wish))
                return;
        /* Where no switch is on PCI, as in some virtual machines, the fabric manager runs
         * elsewhere, and the GPUs' fabric state tells how it does. */
        if (m->state == GPU_SERVICE_FAILED ||
                        (m->state != GPU_SERVICE_RUNNING && f->n_switches > 0)) {
                (void) judge_add(j, GPU_CODE_FABRIC_MANAGER, GPU_ACTION_CONFIG, -1,
                                "nvidia-fabricmanager %s%s%s",
                                m->state == GPU_SERVICE_ABSENT   ? "is not installed"
                                : m->state == GPU_SERVICE_FAILED ? "does not run"
                                                                 : "was not asked for",
                                m->text[0] ? ": " : "", m->text);
                return;
        }
        if (m->state == GPU_SERVICE_RUNNING && !streq(m->version, f->module_version))
                (void) judge_add(j, GPU_CODE_FABRIC_VERSION, GPU_ACTION_CONFIG, -1,
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

                f = judge_add(j, lost ? GPU_CODE_LOST : GPU_CODE_NVML,
                                g->error == NVML_ERROR_RESET_REQUIRED ? GPU_ACTION_RESET
                                                                      : GPU_ACTION_REBOOT,
                                i, "NVML cannot open it: %s (%d)", nvml_error_text(g->error),
                                g->error);
                finding_value(f, g->error);
                return;
        }
        if (!g->read) /* the phase tells why */
                return;
        if (!judge_kind(j, i))
                return;
        judge_device(j, i);
        judge_load_device(j, i);
        judge_links(j, i, nvlinks);
        if (fabric)
                judge_fabric(j, i);
}

static int by_code(const void *a, const void *b) {
        const GpuFinding *x = a, *y = b;

        if (x->code != y->code)
                return x->code < y->code ? -1 : 1;
        return x->gpu != y->gpu ? (x->gpu < y->gpu ? -1 : 1) : strcmp(x->text, y->text);
}

int gpu_judge(const GpuFacts *facts, const GpuWish *wish, GpuFindings *ret) {
        GpuFindings findings = {};
        Judge j = { .facts = facts, .wish = wish, .findings = &findings };
        int nvlinks = wish->nvlinks;
        bool fabric = gpu_has_fabric(facts, wish);

        if (facts->pci_error)
                (void) judge_add(&j, GPU_CODE_COUNT, GPU_ACTION_CONFIG, -1,
                                "PCI devices cannot be listed: %s", strerror(facts->pci_error));

        if (facts->n_pci == 0 && facts->nvml.state == GPU_PHASE_NONE)
                (void) judge_add(&j, GPU_CODE_NONE, GPU_ACTION_RMA, -1, "PCI shows no NVIDIA GPU");
        else if (facts->module_version[0] == '\0')
                (void) judge_add(&j, GPU_CODE_NO_DRIVER, GPU_ACTION_CONFIG, -1,
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
                                nvlinks = MAX(nvlinks, (int) gpu_links_active(&facts->gpus[i]));
                for (unsigned i = 0; i < facts->n; i++)
                        judge_gpu(&j, (int) i, nvlinks, fabric);
                judge_cluster(&j);
                judge_load(&j);
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
