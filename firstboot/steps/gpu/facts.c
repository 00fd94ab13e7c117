/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The facts in shared memory, the child that asks a library, and the facts on paper. */

#include "steps/gpu/facts.h"
#include "shared/duration.h"
#include "shared/pidfd.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define KILL_WAIT_MS 1000

const GpuFactName gpu_fact_names[GPU_FACTS_N] = {
        [GPU_ARCHITECTURE] = { "architecture", "", "nvmlDeviceGetArchitecture" },
        [GPU_PERSISTENCE] = { "persistence", "", "nvmlDeviceGetPersistenceMode" },
        [GPU_MIG] = { "mig", "", "nvmlDeviceGetMigMode" },
        [GPU_MIG_PENDING] = { "mig_pending", "", "nvmlDeviceGetMigMode" },
        [GPU_MIG_DEVICES] = { "mig_devices", "", "nvmlDeviceGetMigDeviceHandleByIndex" },
        [GPU_VIRTUALIZATION] = { "virtualization", "", "nvmlDeviceGetVirtualizationMode" },
        [GPU_BRAND] = { "brand", "", "nvmlDeviceGetBrand" },
        [GPU_ECC] = { "ecc", "", "nvmlDeviceGetEccMode" },
        [GPU_ECC_PENDING] = { "ecc_pending", "", "nvmlDeviceGetEccMode" },
        [GPU_ECC_VOLATILE] = { "ecc_volatile", "errors", "nvmlDeviceGetTotalEccErrors" },
        [GPU_ECC_AGGREGATE] = { "ecc_aggregate", "errors", "nvmlDeviceGetTotalEccErrors" },
        [GPU_SRAM_THRESHOLD] = { "sram_threshold", "", "nvmlDeviceGetSramEccErrorStatus" },
        [GPU_SRAM_VOLATILE] = { "sram_volatile", "errors", "nvmlDeviceGetMemoryErrorCounter" },
        [GPU_SRAM_AGGREGATE] = { "sram_aggregate", "errors", "nvmlDeviceGetMemoryErrorCounter" },
        [GPU_REMAPPED_CORRECTABLE] = { "remapped_correctable", "rows",
                        "nvmlDeviceGetRemappedRows" },
        [GPU_REMAPPED_UNCORRECTABLE] = { "remapped_uncorrectable", "rows",
                        "nvmlDeviceGetRemappedRows" },
        [GPU_REMAP_PENDING] = { "remap_pending", "", "nvmlDeviceGetRemappedRows" },
        [GPU_REMAP_FAILED] = { "remap_failed", "", "nvmlDeviceGetRemappedRows" },
        [GPU_RETIRED_SINGLE_BIT] = { "retired_single_bit", "pages", "nvmlDeviceGetRetiredPages" },
        [GPU_RETIRED_DOUBLE_BIT] = { "retired_double_bit", "pages", "nvmlDeviceGetRetiredPages" },
        [GPU_RETIRED_PENDING] = { "retired_pending", "", "nvmlDeviceGetRetiredPagesPendingStatus" },
        [GPU_PCIE_GENERATION] = { "pcie_generation", "", "nvmlDeviceGetCurrPcieLinkGeneration" },
        [GPU_PCIE_GENERATION_MAX] = { "pcie_generation_max", "",
                        "nvmlDeviceGetMaxPcieLinkGeneration" },
        [GPU_PCIE_GENERATION_DEVICE] = { "pcie_generation_device", "",
                        "nvmlDeviceGetGpuMaxPcieLinkGeneration" },
        [GPU_PCIE_GENERATION_LOAD] = { "pcie_generation_load", "",
                        "nvmlDeviceGetCurrPcieLinkGeneration" },
        [GPU_PCIE_WIDTH] = { "pcie_width", "lanes", "nvmlDeviceGetCurrPcieLinkWidth" },
        [GPU_PCIE_WIDTH_MAX] = { "pcie_width_max", "lanes", "nvmlDeviceGetMaxPcieLinkWidth" },
        [GPU_PCIE_REPLAYS] = { "pcie_replays", "", "nvmlDeviceGetPcieReplayCounter" },
        [GPU_CLOCK_REASONS] = { "clock_reasons", "", "nvmlDeviceGetCurrentClocksEventReasons" },
        [GPU_CLOCK_REASONS_LOAD] = { "clock_reasons_load", "",
                        "nvmlDeviceGetCurrentClocksEventReasons" },
        [GPU_CLOCK_MAX] = { "clock_max", "MHz", "nvmlDeviceGetMaxClockInfo" },
        [GPU_CLOCK_LOAD] = { "clock_load", "MHz", "nvmlDeviceGetClockInfo" },
        [GPU_CLOCK_LOAD_FREE] = { "clock_load_free", "MHz", "nvmlDeviceGetClockInfo" },
        [GPU_POWER_LIMIT] = { "power_limit", "mW", "nvmlDeviceGetEnforcedPowerLimit" },
        [GPU_POWER_LIMIT_DEFAULT] = { "power_limit_default", "mW",
                        "nvmlDeviceGetPowerManagementDefaultLimit" },
        [GPU_TEMPERATURE] = { "temperature", "C", "nvmlDeviceGetTemperature" },
        [GPU_TEMPERATURE_MARGIN] = { "temperature_margin", "C", "nvmlDeviceGetMarginTemperature" },
        [GPU_TEMPERATURE_SLOWDOWN] = { "temperature_slowdown", "C",
                        "nvmlDeviceGetTemperatureThreshold" },
        [GPU_RECOVERY_ACTION] = { "recovery_action", "", "nvmlDeviceGetFieldValues" },
        [GPU_FABRIC_STATE] = { "fabric_state", "", "nvmlDeviceGetGpuFabricInfoV" },
        [GPU_FABRIC_STATUS] = { "fabric_status", "", "nvmlDeviceGetGpuFabricInfoV" },
        [GPU_FABRIC_HEALTH] = { "fabric_health", "", "nvmlDeviceGetGpuFabricInfoV" },
        [GPU_FABRIC_SUMMARY] = { "fabric_summary", "", "nvmlDeviceGetGpuFabricInfoV" },
        [GPU_CLIQUE] = { "clique", "", "nvmlDeviceGetGpuFabricInfoV" },
        [GPU_H2D] = { "h2d", "MB/s", "cuMemcpyHtoDAsync" },
        [GPU_D2H] = { "d2h", "MB/s", "cuMemcpyDtoHAsync" },
};

const char *const gpu_link_counter_names[GPU_LINK_COUNTERS_N] = {
        [GPU_LINK_REPLAY] = "replay",
        [GPU_LINK_RECOVERY] = "recovery",
        [GPU_LINK_CRC_FLIT] = "crc_flit",
        [GPU_LINK_CRC_DATA] = "crc_data",
};

GpuFacts *gpu_facts_new(void) {
        void *p = mmap(NULL, sizeof(GpuFacts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

GpuFacts *gpu_facts_free(GpuFacts *f) {
        if (f)
                munmap(f, sizeof(GpuFacts));
        return NULL;
}

void gpu_phase_enter(GpuPhase *phase, const char *call, int gpu) {
        phase->gpu = gpu;
        snprintf(phase->call, sizeof(phase->call), "%s", call);
}

void gpu_phase_end(GpuPhase *phase, GpuPhaseState state, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(phase->text, sizeof(phase->text), format, ap);
        va_end(ap);
        phase->error = error;
        phase->state = state;
}

GpuChild gpu_ask_begin(GpuFacts *f, GpuPhase *phase,
                void (*ask)(GpuFacts *f, GpuPhase *phase, void *userdata), void *userdata) {
        *phase = (GpuPhase) { .gpu = -1 };
        pid_t pid = fork();
        if (pid < 0) {
                gpu_phase_end(phase, GPU_PHASE_FAILED, errno, "fork: %s", strerror(errno));
                return (GpuChild) { .pid = -1, .pidfd = -EBADF };
        }
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                /* The environment must not hide a GPU from us. */
                unsetenv("CUDA_VISIBLE_DEVICES");
                ask(f, phase, userdata);
                _exit(0);
        }
        return (GpuChild) { .pid = pid, .pidfd = pidfd_of_child(pid) };
}

void gpu_ask_end(GpuPhase *phase, GpuChild child, uint64_t timeout_usec) {
        _cleanup_close_ int pidfd = child.pidfd;
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        int ready = pidfd < 0 ? -1 : 0, status = 0;
        char limit[FORMAT_DURATION_MAX];

        if (child.pid < 0)
                return;
        if (pidfd >= 0)
                do
                        ready = poll(&p, 1, (int) MIN(timeout_usec / USEC_PER_MSEC, 3600000u));
                while (ready < 0 && errno == EINTR);
        if (ready <= 0) {
                /* One that is stuck in the kernel cannot be waited for. */
                kill(child.pid, SIGKILL);
                if (pidfd >= 0 && poll(&p, 1, KILL_WAIT_MS) > 0)
                        waitpid(child.pid, NULL, 0);
                gpu_phase_end(phase, GPU_PHASE_TIMEOUT, 0, "no answer within %s",
                                format_duration(limit, timeout_usec));
                return;
        }
        if (waitpid(child.pid, &status, 0) < 0 || !WIFEXITED(status))
                gpu_phase_end(phase, GPU_PHASE_CRASHED, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                "the process that asked was ended by signal %d",
                                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        else if (phase->state == GPU_PHASE_NONE)
                gpu_phase_end(phase, GPU_PHASE_CRASHED, 0,
                                "the process that asked ended with exit code %d",
                                WEXITSTATUS(status));
}

void gpu_ask(GpuFacts *f, GpuPhase *phase,
                void (*ask)(GpuFacts *f, GpuPhase *phase, void *userdata), void *userdata,
                uint64_t timeout_usec) {
        gpu_ask_end(phase, gpu_ask_begin(f, phase, ask, userdata), timeout_usec);
}

/* Of all links that tell. */
static GpuFact sum_of_links(const Gpu *g, GpuLinkCounter first, GpuLinkCounter last) {
        GpuFact sum = {};

        for (size_t k = 0; k < GPU_LINKS_MAX; k++)
                for (size_t c = first; c <= (size_t) last; c++) {
                        const GpuFact *f = &g->links[k].counters[c];

                        if (f->state != GPU_READ)
                                continue;
                        sum.state = GPU_READ;
                        sum.value += f->value;
                }
        return sum;
}

GpuFact gpu_counter(const Gpu *g, GpuCounter counter) {
        switch (counter) {
        case GPU_COUNT_ECC:
                return g->facts[GPU_ECC_VOLATILE];
        case GPU_COUNT_SRAM:
                return g->facts[GPU_SRAM_VOLATILE];
        case GPU_COUNT_PCIE_REPLAYS:
                return g->facts[GPU_PCIE_REPLAYS];
        case GPU_COUNT_LINK_ERRORS:
                return sum_of_links(g, GPU_LINK_REPLAY, GPU_LINK_RECOVERY);
        default:
                return sum_of_links(g, GPU_LINK_CRC_FLIT, GPU_LINK_CRC_DATA);
        }
}

static void print_fact(FILE *to, const char *prefix, const char *name, const GpuFact *f) {
        fprintf(to, "%s%s=", prefix, name);
        switch (f->state) {
        case GPU_READ:
                fprintf(to, "%lld\n", (long long) f->value);
                break;
        case GPU_ERROR:
                fprintf(to, "error %d\n", f->error);
                break;
        case GPU_NO_SYMBOL:
                fprintf(to, "no symbol\n");
                break;
        default:
                fprintf(to, "not read\n");
        }
}

static void print_phase(FILE *to, const char *name, const GpuPhase *p) {
        static const char *const states[] = {
                [GPU_PHASE_NONE] = "not asked",
                [GPU_PHASE_DONE] = "done",
                [GPU_PHASE_NO_LIBRARY] = "no library",
                [GPU_PHASE_NO_SYMBOL] = "no symbol",
                [GPU_PHASE_FAILED] = "failed",
                [GPU_PHASE_TIMEOUT] = "timeout",
                [GPU_PHASE_CRASHED] = "crashed",
        };

        fprintf(to, "%s.state=%s\n", name, states[p->state]);
        if (p->state != GPU_PHASE_DONE)
                fprintf(to, "%s.text=%s\n%s.call=%s\n", name, p->text, name, p->call);
}

/* Read of divided GPUs, or under load, alone. */
static bool is_occasional(GpuFactId id) {
        return id == GPU_MIG_DEVICES || id == GPU_CLOCK_REASONS_LOAD || id == GPU_CLOCK_LOAD ||
               id == GPU_CLOCK_LOAD_FREE;
}

static void print_gpu(FILE *to, unsigned i, const Gpu *g) {
        char prefix[32];
        unsigned supported = 0, active = 0;

        snprintf(prefix, sizeof(prefix), "gpu.%u.", i);
        fprintf(to, "%serror=%d\n", prefix, g->error);
        fprintf(to, "%sname=%s\n%suuid=%s\n%sserial=%s\n%svbios=%s\n%spci=%s\n", prefix, g->name,
                        prefix, g->uuid, prefix, g->serial, prefix, g->vbios, prefix, g->pci);
        for (size_t k = 0; k < GPU_FACTS_N; k++)
                if (g->facts[k].state != GPU_NOT_READ || !is_occasional(k))
                        print_fact(to, prefix, gpu_fact_names[k].name, &g->facts[k]);
        for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                const GpuLink *l = &g->links[k];
                char link[64];

                if (l->active.state != GPU_READ)
                        continue;
                supported++;
                active += l->active.value == 1;
                snprintf(link, sizeof(link), "%slink.%zu.", prefix, k);
                print_fact(to, link, "active", &l->active);
                print_fact(to, link, "remote_type", &l->remote_type);
                for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++)
                        print_fact(to, link, gpu_link_counter_names[c], &l->counters[c]);
        }
        fprintf(to, "%scluster=%s\n", prefix, g->cluster);
        fprintf(to, "%snvlinks=%u\n%snvlinks_active=%u\n", prefix, supported, prefix, active);
        if (g->cuda_call[0])
                fprintf(to, "%scuda=%s answered %d\n", prefix, g->cuda_call, g->cuda_error);
}

void gpu_facts_print(const GpuFacts *f, FILE *to) {
        fprintf(to, "pci.error=%d\npci.gpus=%u\npci.switches=%u\n", f->pci_error, f->n_pci,
                        f->n_switches);
        for (unsigned i = 0; i < f->n_pci; i++)
                fprintf(to, "pci.%u.address=%s\npci.%u.driver=%s\npci.%u.device=%04x\n", i,
                                f->pci[i].address, i, f->pci[i].driver, i, f->pci[i].device);
        fprintf(to, "module.version=%s\n", f->module_version);
        print_phase(to, "nvml", &f->nvml);
        fprintf(to, "nvml.driver_version=%s\nnvml.version=%s\nnvml.gpus=%u\n", f->driver_version,
                        f->nvml_version, f->n);
        for (unsigned i = 0; i < f->n; i++)
                print_gpu(to, i, &f->gpus[i]);
        print_phase(to, "cuda", &f->cuda);
        fprintf(to, "log.read=%d\nlog.lost=%d\nlog.error=%d\nlog.xids=%u\n", f->log_read,
                        f->log_lost, f->log_error, f->n_xids);
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++)
                fprintf(to, "xid.%u=%s %u %s\n", i, f->xids[i].pci, f->xids[i].xid,
                                f->xids[i].text);
}
