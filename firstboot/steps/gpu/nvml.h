/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NVML, opened at run time (libnvidia-ml.so.1 comes with the driver), and the questions we ask it.
 *
 * No header of NVIDIA's is needed to build: the few types are declared here from the public nvml.h
 * (CUDA 12.2 to 13.3 agree on them; tests/unit/firstboot/steps/gpu/test-nvml.c compares them with
 * the header where a machine has one). */

#include "steps/gpu/facts.h"

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef int nvmlReturn_t;

enum {
        NVML_SUCCESS = 0,
        NVML_ERROR_INVALID_ARGUMENT = 2,
        NVML_ERROR_NOT_SUPPORTED = 3,
        NVML_ERROR_INSUFFICIENT_SIZE = 7,
        NVML_ERROR_DRIVER_NOT_LOADED = 9,
        NVML_ERROR_GPU_IS_LOST = 15,
        NVML_ERROR_RESET_REQUIRED = 16,
        NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,

        NVML_CLOCK_SM = 1,
        NVML_MEMORY_LOCATION_SRAM = 7,
        NVML_GPU_VIRTUALIZATION_MODE_VGPU = 2, /* a part of a GPU, in a virtual machine */
        NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU = 3,
        NVML_BRAND_GEFORCE = 5,
        NVML_BRAND_TITAN = 6,
        NVML_TEMPERATURE_GPU = 0,
        NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1,
        NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
        NVML_VOLATILE_ECC = 0,
        NVML_AGGREGATE_ECC = 1,
        NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
        NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1,
        NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
        NVML_DEVICE_ARCH_HOPPER = 9,
        NVML_DEVICE_ARCH_BLACKWELL = 10,

        NVML_GPU_FABRIC_STATE_NOT_SUPPORTED = 0,
        NVML_GPU_FABRIC_STATE_NOT_STARTED = 1,
        NVML_GPU_FABRIC_STATE_IN_PROGRESS = 2,
        NVML_GPU_FABRIC_STATE_COMPLETED = 3,
        NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY = 2,
        NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY = 3,

        NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS = 215,
        NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS = 208,
        NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230,
};

/* nvmlClocksEventReasons: what holds the clocks down. */
#define NVML_CLOCKS_IDLE 0x01
#define NVML_CLOCKS_SW_POWER_CAP 0x04
#define NVML_CLOCKS_HW_SLOWDOWN 0x08
#define NVML_CLOCKS_SW_THERMAL_SLOWDOWN 0x20
#define NVML_CLOCKS_HW_THERMAL_SLOWDOWN 0x40
#define NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN 0x80

typedef struct nvmlPciInfo_t {
        char busIdLegacy[16];
        unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
        char busId[32];
} nvmlPciInfo_t;

typedef struct nvmlFieldValue_t {
        unsigned fieldId, scopeId;
        long long timestamp, latencyUsec;
        int valueType; /* nvmlValueType_t */
        nvmlReturn_t nvmlReturn;
        union {
                double dVal;
                int siVal;
                unsigned uiVal;
                unsigned long ulVal;
                unsigned long long ullVal;
                long long sllVal;
                unsigned short usVal;
        } value;
} nvmlFieldValue_t;

/* nvmlDeviceGetGpuFabricInfo, R525 (CUDA 12.0) and later. */
typedef struct nvmlGpuFabricInfo_t {
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned cliqueId;
        unsigned char state;
} nvmlGpuFabricInfo_t;

/* nvmlDeviceGetGpuFabricInfoV: version 2 since R550 (CUDA 12.4), 3 since R580 (CUDA 13.0). */
typedef struct nvmlGpuFabricInfo_v2_t {
        unsigned version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned cliqueId;
        unsigned char state;
        unsigned healthMask;
} nvmlGpuFabricInfo_v2_t;
typedef struct nvmlGpuFabricInfo_v3_t {
        unsigned version;
        unsigned char clusterUuid[16];
        nvmlReturn_t status;
        unsigned cliqueId;
        unsigned char state;
        unsigned healthMask;
        unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct nvmlUtilization_t {
        unsigned gpu, memory; /* percent of the time */
} nvmlUtilization_t;

typedef struct nvmlMarginTemperature_v1_t {
        unsigned version;
        int marginTemperature;
} nvmlMarginTemperature_v1_t;

typedef struct nvmlEccSramErrorStatus_v1_t {
        unsigned version;
        unsigned long long counts[11];
        unsigned bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t;

#define NVML_STRUCT_VERSION(type, n) ((unsigned) sizeof(type) | ((n) << 24U))

/* MEMBER, SYMBOL, whether nothing can be asked without it, arguments. A function that is absent
 * and need not be there for all leaves its facts in the state GPU_NO_SYMBOL, which judge.c
 * refuses unless the driver is older than the function. */
#define NVML_FUNCTIONS(F)                                                                          \
        F(Init, "nvmlInit_v2", true, (void) )                                                      \
        F(Shutdown, "nvmlShutdown", true, (void) )                                                 \
        F(SystemGetDriverVersion, "nvmlSystemGetDriverVersion", true, (char *, unsigned) )         \
        F(SystemGetNVMLVersion, "nvmlSystemGetNVMLVersion", true, (char *, unsigned) )             \
        F(DeviceGetCount, "nvmlDeviceGetCount_v2", true, (unsigned *) )                            \
        F(DeviceGetHandleByIndex, "nvmlDeviceGetHandleByIndex_v2", true,                           \
                        (unsigned, nvmlDevice_t *) )                                               \
        F(DeviceGetPciInfo, "nvmlDeviceGetPciInfo_v3", true, (nvmlDevice_t, nvmlPciInfo_t *) )     \
        F(DeviceGetUUID, "nvmlDeviceGetUUID", true, (nvmlDevice_t, char *, unsigned) )             \
        F(DeviceGetName, "nvmlDeviceGetName", true, (nvmlDevice_t, char *, unsigned) )             \
        F(DeviceGetSerial, "nvmlDeviceGetSerial", false, (nvmlDevice_t, char *, unsigned) )        \
        F(DeviceGetVbiosVersion, "nvmlDeviceGetVbiosVersion", false,                               \
                        (nvmlDevice_t, char *, unsigned) )                                         \
        F(DeviceGetArchitecture, "nvmlDeviceGetArchitecture", false, (nvmlDevice_t, unsigned *) )  \
        F(DeviceGetPersistenceMode, "nvmlDeviceGetPersistenceMode", false,                         \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetMigMode, "nvmlDeviceGetMigMode", false,                                         \
                        (nvmlDevice_t, unsigned *, unsigned *) )                                   \
        F(DeviceGetMaxMigDeviceCount, "nvmlDeviceGetMaxMigDeviceCount", false,                     \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetMigDeviceHandleByIndex, "nvmlDeviceGetMigDeviceHandleByIndex", false,           \
                        (nvmlDevice_t, unsigned, nvmlDevice_t *) )                                 \
        F(DeviceGetVirtualizationMode, "nvmlDeviceGetVirtualizationMode", false,                   \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetBrand, "nvmlDeviceGetBrand", false, (nvmlDevice_t, unsigned *) )                \
        F(DeviceGetMemoryErrorCounter, "nvmlDeviceGetMemoryErrorCounter", false,                   \
                        (nvmlDevice_t, int, int, int, unsigned long long *) )                      \
        F(DeviceGetClockInfo, "nvmlDeviceGetClockInfo", false, (nvmlDevice_t, int, unsigned *) )   \
        F(DeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", false,                       \
                        (nvmlDevice_t, nvmlUtilization_t *) )                                      \
        F(DeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", false,                               \
                        (nvmlDevice_t, int, unsigned *) )                                          \
        F(DeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", false,                   \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetPowerManagementDefaultLimit, "nvmlDeviceGetPowerManagementDefaultLimit", false, \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetNvLinkRemotePciInfo, "nvmlDeviceGetNvLinkRemotePciInfo_v2", false,              \
                        (nvmlDevice_t, unsigned, nvmlPciInfo_t *) )                                \
        F(DeviceGetEccMode, "nvmlDeviceGetEccMode", false,                                         \
                        (nvmlDevice_t, unsigned *, unsigned *) )                                   \
        F(DeviceGetTotalEccErrors, "nvmlDeviceGetTotalEccErrors", false,                           \
                        (nvmlDevice_t, int, int, unsigned long long *) )                           \
        F(DeviceGetSramEccErrorStatus, "nvmlDeviceGetSramEccErrorStatus", false,                   \
                        (nvmlDevice_t, nvmlEccSramErrorStatus_v1_t *) )                            \
        F(DeviceGetRemappedRows, "nvmlDeviceGetRemappedRows", false,                               \
                        (nvmlDevice_t, unsigned *, unsigned *, unsigned *, unsigned *) )           \
        F(DeviceGetRetiredPages, "nvmlDeviceGetRetiredPages", false,                               \
                        (nvmlDevice_t, int, unsigned *, unsigned long long *) )                    \
        F(DeviceGetRetiredPagesPendingStatus, "nvmlDeviceGetRetiredPagesPendingStatus", false,     \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetCurrPcieLinkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", false,           \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetMaxPcieLinkGeneration, "nvmlDeviceGetMaxPcieLinkGeneration", false,             \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetGpuMaxPcieLinkGeneration, "nvmlDeviceGetGpuMaxPcieLinkGeneration", false,       \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetCurrPcieLinkWidth, "nvmlDeviceGetCurrPcieLinkWidth", false,                     \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetMaxPcieLinkWidth, "nvmlDeviceGetMaxPcieLinkWidth", false,                       \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetPcieReplayCounter, "nvmlDeviceGetPcieReplayCounter", false,                     \
                        (nvmlDevice_t, unsigned *) )                                               \
        F(DeviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons", false,     \
                        (nvmlDevice_t, unsigned long long *) )                                     \
        F(DeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons",      \
                        false, (nvmlDevice_t, unsigned long long *) )                              \
        F(DeviceGetTemperature, "nvmlDeviceGetTemperature", false,                                 \
                        (nvmlDevice_t, int, unsigned *) )                                          \
        F(DeviceGetTemperatureThreshold, "nvmlDeviceGetTemperatureThreshold", false,               \
                        (nvmlDevice_t, int, unsigned *) )                                          \
        F(DeviceGetMarginTemperature, "nvmlDeviceGetMarginTemperature", false,                     \
                        (nvmlDevice_t, nvmlMarginTemperature_v1_t *) )                             \
        F(DeviceGetFieldValues, "nvmlDeviceGetFieldValues", false,                                 \
                        (nvmlDevice_t, int, nvmlFieldValue_t *) )                                  \
        F(DeviceGetGpuFabricInfo, "nvmlDeviceGetGpuFabricInfo", false,                             \
                        (nvmlDevice_t, nvmlGpuFabricInfo_t *) )                                    \
        F(DeviceGetGpuFabricInfoV, "nvmlDeviceGetGpuFabricInfoV", false, (nvmlDevice_t, void *) )  \
        F(DeviceGetNvLinkState, "nvmlDeviceGetNvLinkState", false,                                 \
                        (nvmlDevice_t, unsigned, unsigned *) )                                     \
        F(DeviceGetNvLinkRemoteDeviceType, "nvmlDeviceGetNvLinkRemoteDeviceType", false,           \
                        (nvmlDevice_t, unsigned, unsigned *) )                                     \
        F(DeviceGetNvLinkErrorCounter, "nvmlDeviceGetNvLinkErrorCounter", false,                   \
                        (nvmlDevice_t, unsigned, int, unsigned long long *) )

typedef struct NvmlApi {
#define NVML_MEMBER(name, symbol, must, arguments) nvmlReturn_t(*name) arguments;
        NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
        void *handle;
} NvmlApi;

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* Opens the library. 0; -ENOENT: it cannot be loaded; -ENOSYS: it lacks a function without which
 * nothing can be asked. Then error holds a text for people. */
int nvml_api_load(const char *library, NvmlApi *ret, char *error, size_t error_size);

/* "Not Supported" and the like, for what NVML answers; never NULL. */
const char *nvml_error_text(nvmlReturn_t error);

/* "0000:3b:00.0" from NVML's "00000000:3B:00.0". */
void nvml_pci_address(const char *bus_id, char *ret, size_t size);

/* What clears or holds the clocks now, by whichever of its two names the library has; NULL where
 * it has neither. */
nvmlReturn_t (*nvml_clock_reasons(const NvmlApi *api))(nvmlDevice_t, unsigned long long *);

/* Asks everything, for gpu_ask() (nvml-ask.c). */
void gpu_ask_nvml(GpuFacts *f, GpuPhase *phase, void *userdata);
