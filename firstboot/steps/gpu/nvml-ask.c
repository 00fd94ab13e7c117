/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The questions put to NVML, each noted before it is asked: the child that asks may hang or die in
 * any of them. An answer that did not come stays what it was, not read. */

#include "steps/gpu/nvml.h"

/* Slowdowns are reported for a moment at a change of clocks too (nvml.h at HwSlowdown), so only
 * what stands in every one of some samples counts. */
#define CLOCK_SAMPLES 4
#define CLOCK_SAMPLE_USEC 50000

typedef struct Asking {
        const NvmlApi *api;
        GpuPhase *phase;
        nvmlDevice_t device;
        int index;
        Gpu *gpu;
} Asking;

static void keep(GpuFact *f, nvmlReturn_t r, int64_t value) {
        if (r == NVML_SUCCESS)
                *f = (GpuFact) { .state = GPU_READ, .value = value };
        else
                *f = (GpuFact) { .state = GPU_ERROR, .error = r };
}

/* Calls a function of the table if it is there; answers false and notes it where it is not. */
#define ASK(a, fact, function)                                                                  \
        ((a)->api->function ? (gpu_phase_enter((a)->phase, "nvml" #function, (a)->index), true) \
                            : ((fact)->state = GPU_NO_SYMBOL, false))

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
                keep(fact, r, value);
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
                keep(&facts[GPU_ECC], r, now);
                keep(&facts[GPU_ECC_PENDING], r, pending);
        } else
                facts[GPU_ECC_PENDING].state = GPU_NO_SYMBOL;

        if (ASK(a, &facts[GPU_ECC_VOLATILE], DeviceGetTotalEccErrors)) {
                r = a->api->DeviceGetTotalEccErrors(a->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                NVML_VOLATILE_ECC, &count);
                keep(&facts[GPU_ECC_VOLATILE], r, (int64_t) count);
                r = a->api->DeviceGetTotalEccErrors(a->device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                NVML_AGGREGATE_ECC, &count);
                keep(&facts[GPU_ECC_AGGREGATE], r, (int64_t) count);
        } else
                facts[GPU_ECC_AGGREGATE].state = GPU_NO_SYMBOL;

        if (ASK(a, &facts[GPU_SRAM_THRESHOLD], DeviceGetSramEccErrorStatus)) {
                nvmlEccSramErrorStatus_v1_t status = {
                        .version = NVML_STRUCT_VERSION(nvmlEccSramErrorStatus_v1_t, 1),
                };

                r = a->api->DeviceGetSramEccErrorStatus(a->device, &status);
                keep(&facts[GPU_SRAM_THRESHOLD], r, status.bThresholdExceeded);
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
                        keep(&facts[GPU_REMAPPED_CORRECTABLE + i], r, v[i]);
        } else
                for (size_t i = 0; i < 4; i++)
                        facts[GPU_REMAPPED_CORRECTABLE + i].state = GPU_NO_SYMBOL;

        for (int cause = 0; cause < 2; cause++) {
                GpuFact *fact = &facts[GPU_RETIRED_SINGLE_BIT + cause];
                unsigned n = 0; /* asks for the number alone, which comes with an error */

                if (!ASK(a, fact, DeviceGetRetiredPages))
                        continue;
                r = a->api->DeviceGetRetiredPages(a->device, cause, &n, NULL);
                keep(fact, r == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : r, n);
        }
}

static void ask_mig(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_MIG];
        unsigned now = 0, pending = 0;

        if (!ASK(a, fact, DeviceGetMigMode))
                return;
        nvmlReturn_t r = a->api->DeviceGetMigMode(a->device, &now, &pending);
        keep(fact, r, now);
}

static void ask_clocks(Asking *a) {
        GpuFact *fact = &a->gpu->facts[GPU_CLOCK_REASONS];
        /* The name up to R530 (CUDA 12.1). */
        nvmlReturn_t (*function)(nvmlDevice_t, unsigned long long *) =
                        a->api->DeviceGetCurrentClocksEventReasons
                                        ? a->api->DeviceGetCurrentClocksEventReasons
                                        : a->api->DeviceGetCurrentClocksThrottleReasons;
        unsigned long long all = ~0ULL;

        if (!function) {
                fact->state = GPU_NO_SYMBOL;
                return;
        }
        gpu_phase_enter(a->phase, "nvmlDeviceGetCurrentClocksEventReasons", a->index);
        for (unsigned i = 0; i < CLOCK_SAMPLES && all; i++) {
                unsigned long long reasons = 0;
                nvmlReturn_t r = function(a->device, &reasons);

                keep(fact, r, 0);
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

static void ask_temperature(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        unsigned value = 0;
        nvmlReturn_t r;

        if (ASK(a, &facts[GPU_TEMPERATURE], DeviceGetTemperature)) {
                r = a->api->DeviceGetTemperature(a->device, NVML_TEMPERATURE_GPU, &value);
                keep(&facts[GPU_TEMPERATURE], r, value);
        }
        if (ASK(a, &facts[GPU_TEMPERATURE_SLOWDOWN], DeviceGetTemperatureThreshold)) {
                r = a->api->DeviceGetTemperatureThreshold(
                                a->device, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &value);
                keep(&facts[GPU_TEMPERATURE_SLOWDOWN], r, value);
        }
        if (ASK(a, &facts[GPU_TEMPERATURE_MARGIN], DeviceGetMarginTemperature)) {
                nvmlMarginTemperature_v1_t margin = {
                        .version = NVML_STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1),
                };

                r = a->api->DeviceGetMarginTemperature(a->device, &margin);
                keep(&facts[GPU_TEMPERATURE_MARGIN], r, margin.marginTemperature);
        }
}

static void ask_field(Asking *a, GpuFact *fact, unsigned field, unsigned scope) {
        nvmlFieldValue_t v = { .fieldId = field, .scopeId = scope };

        if (!ASK(a, fact, DeviceGetFieldValues))
                return;
        nvmlReturn_t r = a->api->DeviceGetFieldValues(a->device, 1, &v);
        if (r == NVML_SUCCESS)
                r = v.nvmlReturn;
        /* nvmlValueType_t: 1 is unsigned int, 2 and 3 (unsigned long, long long) have 64 bits. */
        keep(fact, r, v.valueType == 1 ? (int64_t) v.value.uiVal : (int64_t) v.value.ullVal);
}

/* Since R550; version 3 of the answer since R580. */
static void ask_fabric_by_version(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        nvmlGpuFabricInfo_v3_t v3 = { .version = NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v3_t, 3) };
        nvmlGpuFabricInfo_v2_t v2 = { .version = NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v2_t, 2) };
        nvmlReturn_t r;

        gpu_phase_enter(a->phase, "nvmlDeviceGetGpuFabricInfoV", a->index);
        r = a->api->DeviceGetGpuFabricInfoV(a->device, &v3);
        if (r == NVML_SUCCESS) {
                keep(&facts[GPU_FABRIC_STATE], r, v3.state);
                keep(&facts[GPU_FABRIC_STATUS], r, v3.status);
                keep(&facts[GPU_FABRIC_HEALTH], r, v3.healthMask);
                keep(&facts[GPU_FABRIC_SUMMARY], r, v3.healthSummary);
                return;
        }
        r = a->api->DeviceGetGpuFabricInfoV(a->device, &v2);
        keep(&facts[GPU_FABRIC_STATE], r, v2.state);
        keep(&facts[GPU_FABRIC_STATUS], r, v2.status);
        keep(&facts[GPU_FABRIC_HEALTH], r, v2.healthMask);
        keep(&facts[GPU_FABRIC_SUMMARY], NVML_ERROR_NOT_SUPPORTED, 0);
}

/* By the newest form that this driver knows. */
static void ask_fabric(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        nvmlGpuFabricInfo_t info = {};

        if (a->api->DeviceGetGpuFabricInfoV) {
                ask_fabric_by_version(a);
                return;
        }
        if (!ASK(a, &facts[GPU_FABRIC_STATE], DeviceGetGpuFabricInfo))
                return;
        nvmlReturn_t r = a->api->DeviceGetGpuFabricInfo(a->device, &info);
        keep(&facts[GPU_FABRIC_STATE], r, info.state);
        keep(&facts[GPU_FABRIC_STATUS], r, info.status);
        keep(&facts[GPU_FABRIC_HEALTH], NVML_ERROR_NOT_SUPPORTED, 0);
        keep(&facts[GPU_FABRIC_SUMMARY], NVML_ERROR_NOT_SUPPORTED, 0);
}

static void ask_link(Asking *a, unsigned link) {
        static const int counters[GPU_LINK_COUNTERS_N] = {
                [GPU_LINK_REPLAY] = 0,   /* NVML_NVLINK_ERROR_DL_REPLAY */
                [GPU_LINK_RECOVERY] = 1, /* NVML_NVLINK_ERROR_DL_RECOVERY */
                [GPU_LINK_CRC_FLIT] = 2, /* NVML_NVLINK_ERROR_DL_CRC_FLIT */
                [GPU_LINK_CRC_DATA] = 3, /* NVML_NVLINK_ERROR_DL_CRC_DATA */
        };
        GpuLink *l = &a->gpu->links[link];
        unsigned type = 0;

        if (ASK(a, &l->remote_type, DeviceGetNvLinkRemoteDeviceType)) {
                nvmlReturn_t r = a->api->DeviceGetNvLinkRemoteDeviceType(a->device, link, &type);
                keep(&l->remote_type, r, type);
        }
        for (size_t i = 0; i < GPU_LINK_COUNTERS_N; i++) {
                unsigned long long n = 0;

                if (!ASK(a, &l->counters[i], DeviceGetNvLinkErrorCounter))
                        continue;
                nvmlReturn_t r = a->api->DeviceGetNvLinkErrorCounter(
                                a->device, link, counters[i], &n);
                keep(&l->counters[i], r, (int64_t) n);
        }

        /* NVLink 5 (Blackwell) counts in fields of its own. */
        if (l->counters[GPU_LINK_RECOVERY].state != GPU_READ)
                ask_field(a, &l->counters[GPU_LINK_RECOVERY],
                                NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, link);
        if (l->counters[GPU_LINK_CRC_FLIT].state != GPU_READ)
                ask_field(a, &l->counters[GPU_LINK_CRC_FLIT], NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS,
                                link);
}

static void ask_links(Asking *a) {
        for (unsigned i = 0; i < GPU_LINKS_MAX; i++) {
                GpuLink *l = &a->gpu->links[i];
                unsigned active = 0;

                if (!ASK(a, &l->active, DeviceGetNvLinkState))
                        return;
                nvmlReturn_t r = a->api->DeviceGetNvLinkState(a->device, i, &active);
                keep(&l->active, r, active);
                if (r == NVML_ERROR_INVALID_ARGUMENT) /* there is no such link, nor a later one */
                        return;
                if (r == NVML_SUCCESS && active)
                        ask_link(a, i);
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
        ask_repairs(&a);
        ask_clocks(&a);
        ask_temperature(&a);
        ask_field(&a, &g->facts[GPU_RECOVERY_ACTION], NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, 0);
        ask_fabric(&a);
        ask_links(&a);
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
