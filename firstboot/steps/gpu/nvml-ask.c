/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The questions put to NVML, each noted before it is asked: the child that asks may hang or die in
 * any of them. An answer that did not come stays what it was, not read. */

#include "steps/gpu/nvml-ask-internal.h"

/* Slowdowns are reported for a moment at a change of clocks too (nvml.h at HwSlowdown), so only
 * what stands in every one of some samples counts. */
#define CLOCK_SAMPLES 4
#define CLOCK_SAMPLE_USEC 50000

/* Questions of the form (device, unsigned *). */
static void ask_plain(Asking *a) {
        static const struct {
                GpuFactId id;
                size_t offset;
                const char *symbol;
        } questions[] = {
#define Q(id, function) { id, offsetof(NvmlApi, function), "nvml" #function }
                Q(GPU_ARCHITECTURE, DeviceGetArchitecture),
                Q(GPU_PERSISTENCE, DeviceGetPersistenceMode),
                Q(GPU_RETIRED_PENDING, DeviceGetRetiredPagesPendingStatus),
                Q(GPU_PCIE_GENERATION, DeviceGetCurrPcieLinkGeneration),
                Q(GPU_PCIE_GENERATION_MAX, DeviceGetMaxPcieLinkGeneration),
                Q(GPU_PCIE_GENERATION_DEVICE, DeviceGetGpuMaxPcieLinkGeneration),
                Q(GPU_PCIE_WIDTH, DeviceGetCurrPcieLinkWidth),
                Q(GPU_PCIE_WIDTH_MAX, DeviceGetMaxPcieLinkWidth),
                Q(GPU_PCIE_REPLAYS, DeviceGetPcieReplayCounter),
                Q(GPU_VIRTUALIZATION, DeviceGetVirtualizationMode),
                Q(GPU_BRAND, DeviceGetBrand),
                Q(GPU_POWER_LIMIT, DeviceGetEnforcedPowerLimit),
                Q(GPU_POWER_LIMIT_DEFAULT, DeviceGetPowerManagementDefaultLimit),
#undef Q
        };

        for (size_t i = 0; i < ELEMENTSOF(questions); i++) {
                nvmlReturn_t (*function)(nvmlDevice_t, unsigned *);
                GpuFact *fact = &a->gpu->facts[questions[i].id];
                unsigned value = 0;

                memcpy(&function, (const char *) a->api + questions[i].offset, sizeof(function));
                if (!function) {
                        fact->state = GPU_NO_SYMBOL;
                        continue;
                }
                gpu_phase_enter(a->phase, questions[i].symbol, a->index);
                nvmlReturn_t r = function(a->device, &value);
                nvml_keep(fact, r, value);
        }
}

/* Errors of the memory, as ECC counts them. */
static void ask_ecc(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        unsigned now = 0, pending = 0;
        unsigned long long count = 0;
        nvmlReturn_t r;

        if (ASK(a, &facts[GPU_ECC], DeviceGetEccMode)) {
                r = a->api->DeviceGetEccMode(a->device, &now, &pending);
                nvml_keep(&facts[GPU_ECC], r, now);
                nvml_keep(&facts[GPU_ECC_PENDING], r, pending);
        } else
                facts[GPU_ECC_PENDING].state = GPU_NO_SYMBOL;

        if (ASK(a, &facts[GPU_ECC_VOLATILE], DeviceGetTotalEccErrors)) {
                r = a->api->DeviceGetTotalEccErrors(a->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                NVML_VOLATILE_ECC, &count);
                nvml_keep(&facts[GPU_ECC_VOLATILE], r, (int64_t) count);
                r = a->api->DeviceGetTotalEccErrors(a->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                NVML_AGGREGATE_ECC, &count);
                nvml_keep(&facts[GPU_ECC_AGGREGATE], r, (int64_t) count);
        } else
                facts[GPU_ECC_AGGREGATE].state = GPU_NO_SYMBOL;

        if (ASK(a, &facts[GPU_SRAM_THRESHOLD], DeviceGetSramEccErrorStatus)) {
                nvmlEccSramErrorStatus_v1_t status = {
                        .version = NVML_STRUCT_VERSION(nvmlEccSramErrorStatus_v1_t, 1),
                };

                r = a->api->DeviceGetSramEccErrorStatus(a->device, &status);
                nvml_keep(&facts[GPU_SRAM_THRESHOLD], r, status.bThresholdExceeded);
        }
}

/* Uncorrectable errors of caches and registers, which no remapping repairs. */
static void ask_sram(Asking *a) {
        static const struct {
                GpuFactId id;
                int counter;
        } counters[] = {
                { GPU_SRAM_VOLATILE, NVML_VOLATILE_ECC },
                { GPU_SRAM_AGGREGATE, NVML_AGGREGATE_ECC },
        };

        for (size_t i = 0; i < ELEMENTSOF(counters); i++) {
                GpuFact *fact = &a->gpu->facts[counters[i].id];
                unsigned long long n = 0;

                if (!ASK(a, fact, DeviceGetMemoryErrorCounter))
                        continue;
                nvmlReturn_t r = a->api->DeviceGetMemoryErrorCounter(a->device,
                                NVML_MEMORY_ERROR_TYPE_UNCORRECTED, counters[i].counter,
                                NVML_MEMORY_LOCATION_SRAM, &n);
                nvml_keep(fact, r, (int64_t) n);
        }
}

/* Rows that were remapped (since Ampere), pages that were retired (before). */
static void ask_repairs(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        unsigned v[4] = {};
        nvmlReturn_t r;

        if (ASK(a, &facts[GPU_REMAP_PENDING], DeviceGetRemappedRows)) {
                r = a->api->DeviceGetRemappedRows(a->device, &v[0], &v[1], &v[2], &v[3]);
                for (size_t i = 0; i < 4; i++)
                        nvml_keep(&facts[GPU_REMAPPED_CORRECTABLE + i], r, v[i]);
        } else
                for (size_t i = 0; i < 4; i++)
                        facts[GPU_REMAPPED_CORRECTABLE + i].state = GPU_NO_SYMBOL;

        for (int cause = 0; cause < 2; cause++) {
                GpuFact *fact = &facts[GPU_RETIRED_SINGLE_BIT + cause];
                unsigned n = 0; /* asks for the number alone, which comes with an error */

                if (!ASK(a, fact, DeviceGetRetiredPages))
                        continue;
                r = a->api->DeviceGetRetiredPages(a->device, cause, &n, NULL);
                nvml_keep(fact, r == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : r, n);
        }
}

/* How many parts a divided GPU has. */
static void ask_mig_devices(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_MIG_DEVICES];
        unsigned max = 0, n = 0;

        if (!ASK(a, fact, DeviceGetMaxMigDeviceCount) ||
                        !ASK(a, fact, DeviceGetMigDeviceHandleByIndex))
                return;
        nvmlReturn_t r = a->api->DeviceGetMaxMigDeviceCount(a->device, &max);
        for (unsigned i = 0; r == NVML_SUCCESS && i < max; i++) {
                nvmlDevice_t part;

                n += a->api->DeviceGetMigDeviceHandleByIndex(a->device, i, &part) == NVML_SUCCESS;
        }
        nvml_keep(fact, r, n);
}

static void ask_mig(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_MIG];
        unsigned now = 0, pending = 0;

        if (!ASK(a, fact, DeviceGetMigMode))
                return;
        nvmlReturn_t r = a->api->DeviceGetMigMode(a->device, &now, &pending);
        nvml_keep(fact, r, now);
        nvml_keep(&a->gpu->facts[GPU_MIG_PENDING], r, pending);
        if (r == NVML_SUCCESS && now)
                ask_mig_devices(a);
}

static void ask_clocks(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_CLOCK_REASONS];
        nvmlReturn_t (*function)(nvmlDevice_t, unsigned long long *) = nvml_clock_reasons(a->api);
        unsigned long long all = ~0ULL;

        if (!function) {
                fact->state = GPU_NO_SYMBOL;
                return;
        }
        gpu_phase_enter(a->phase, "nvmlDeviceGetCurrentClocksEventReasons", a->index);
        for (unsigned i = 0; i < CLOCK_SAMPLES && all; i++) {
                unsigned long long reasons = 0;
                nvmlReturn_t r = function(a->device, &reasons);

                nvml_keep(fact, r, 0);
                if (r != NVML_SUCCESS)
                        return;
                all = i == 0 ? reasons : all & reasons;
                if (!(all & (NVML_CLOCKS_HW_SLOWDOWN | NVML_CLOCKS_SW_THERMAL_SLOWDOWN |
                                            NVML_CLOCKS_HW_THERMAL_SLOWDOWN |
                                            NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN)))
                        break;
                if (i + 1 < CLOCK_SAMPLES)
                        usleep(CLOCK_SAMPLE_USEC);
        }
        fact->value = (int64_t) all;
}

static void ask_clock_max(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_CLOCK_MAX];
        unsigned mhz = 0;

        if (!ASK(a, fact, DeviceGetMaxClockInfo))
                return;
        nvmlReturn_t r = a->api->DeviceGetMaxClockInfo(a->device, NVML_CLOCK_SM, &mhz);
        nvml_keep(fact, r, mhz);
}

static void ask_temperature(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        unsigned value = 0;
        nvmlReturn_t r;

        if (ASK(a, &facts[GPU_TEMPERATURE], DeviceGetTemperature)) {
                r = a->api->DeviceGetTemperature(a->device, NVML_TEMPERATURE_GPU, &value);
                nvml_keep(&facts[GPU_TEMPERATURE], r, value);
        }
        if (ASK(a, &facts[GPU_TEMPERATURE_SLOWDOWN], DeviceGetTemperatureThreshold)) {
                r = a->api->DeviceGetTemperatureThreshold(
                                a->device, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &value);
                nvml_keep(&facts[GPU_TEMPERATURE_SLOWDOWN], r, value);
        }
        if (ASK(a, &facts[GPU_TEMPERATURE_MARGIN], DeviceGetMarginTemperature)) {
                nvmlMarginTemperature_v1_t margin = {
                        .version = NVML_STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1),
                };

                r = a->api->DeviceGetMarginTemperature(a->device, &margin);
                nvml_keep(&facts[GPU_TEMPERATURE_MARGIN], r, margin.marginTemperature);
        }
}

/* Who it is: without address and UUID nothing else about it is of use. */
static nvmlReturn_t ask_identity(Asking *a) {
        const NvmlApi *api = a->api;
        Gpu *g = a->gpu;
        nvmlPciInfo_t pci = {};
        nvmlReturn_t r;

        gpu_phase_enter(a->phase, "nvmlDeviceGetHandleByIndex", a->index);
        r = api->DeviceGetHandleByIndex((unsigned) a->index, &a->device);
        if (r != NVML_SUCCESS)
                return r;
        gpu_phase_enter(a->phase, "nvmlDeviceGetPciInfo", a->index);
        r = api->DeviceGetPciInfo(a->device, &pci);
        if (r != NVML_SUCCESS)
                return r;
        nvml_pci_address(pci.busId, g->pci, sizeof(g->pci));
        gpu_phase_enter(a->phase, "nvmlDeviceGetUUID", a->index);
        r = api->DeviceGetUUID(a->device, g->uuid, sizeof(g->uuid));
        if (r != NVML_SUCCESS)
                return r;

        gpu_phase_enter(a->phase, "nvmlDeviceGetName", a->index);
        (void) api->DeviceGetName(a->device, g->name, sizeof(g->name));
        /* A card of a desktop has no serial number. */
        gpu_phase_enter(a->phase, "nvmlDeviceGetSerial", a->index);
        if (!api->DeviceGetSerial || api->DeviceGetSerial(a->device, g->serial, 30) != NVML_SUCCESS)
                g->serial[0] = '\0';
        gpu_phase_enter(a->phase, "nvmlDeviceGetVbiosVersion", a->index);
        if (!api->DeviceGetVbiosVersion ||
                        api->DeviceGetVbiosVersion(a->device, g->vbios, 32) != NVML_SUCCESS)
                g->vbios[0] = '\0';
        return NVML_SUCCESS;
}

static void ask_gpu(const NvmlApi *api, GpuPhase *phase, int index, Gpu *g) {
        Asking a = { .api = api, .phase = phase, .index = index, .gpu = g };

        g->error = ask_identity(&a);
        if (g->error != NVML_SUCCESS)
                return;
        ask_plain(&a);
        ask_mig(&a);
        ask_ecc(&a);
        ask_sram(&a);
        ask_repairs(&a);
        ask_clocks(&a);
        ask_clock_max(&a);
        ask_temperature(&a);
        nvml_ask_field(&a, &g->facts[GPU_RECOVERY_ACTION], NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 0);
        nvml_ask_fabric(&a);
        nvml_ask_links(&a);
        g->read = true;
}

/* Versions, and how many GPUs there are; the phase tells which call failed. */
static nvmlReturn_t ask_system(const NvmlApi *api, GpuPhase *phase, GpuFacts *f, unsigned *ret_n) {
        nvmlReturn_t r;

        gpu_phase_enter(phase, "nvmlInit_v2", -1);
        r = api->Init();
        if (r != NVML_SUCCESS)
                return r;
        gpu_phase_enter(phase, "nvmlSystemGetDriverVersion", -1);
        r = api->SystemGetDriverVersion(f->driver_version, sizeof(f->driver_version));
        if (r != NVML_SUCCESS)
                return r;
        gpu_phase_enter(phase, "nvmlSystemGetNVMLVersion", -1);
        r = api->SystemGetNVMLVersion(f->nvml_version, sizeof(f->nvml_version));
        if (r != NVML_SUCCESS)
                return r;
        gpu_phase_enter(phase, "nvmlDeviceGetCount_v2", -1);
        return api->DeviceGetCount(ret_n);
}

void gpu_ask_nvml(GpuFacts *f, GpuPhase *phase, void *userdata) {
        const char *library = userdata ? userdata : NVML_LIBRARY;
        char error[sizeof(phase->text)];
        NvmlApi api;
        unsigned n = 0;
        int r;

        gpu_phase_enter(phase, "dlopen", -1);
        r = nvml_api_load(library, &api, error, sizeof(error));
        if (r < 0) {
                gpu_phase_end(phase, r == -ENOENT ? GPU_PHASE_NO_LIBRARY : GPU_PHASE_NO_SYMBOL, 0,
                                "%s", error);
                return;
        }
        r = ask_system(&api, phase, f, &n);
        if (r != NVML_SUCCESS) {
                gpu_phase_end(phase, GPU_PHASE_FAILED, r, "%s: %s", phase->call,
                                nvml_error_text(r));
                return;
        }
        if (n > GPUS_MAX) {
                gpu_phase_end(phase, GPU_PHASE_FAILED, 0, "NVML shows %u GPUs, more than %d", n,
                                GPUS_MAX);
                return;
        }

        f->n = n;
        for (unsigned i = 0; i < n; i++)
                ask_gpu(&api, phase, (int) i, &f->gpus[i]);
        gpu_phase_enter(phase, "nvmlShutdown", -1);
        (void) api.Shutdown();
        gpu_phase_end(phase, GPU_PHASE_DONE, 0, "%u GPUs", n);
}
