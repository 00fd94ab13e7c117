/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NVML asked for a GPU's NVLinks, its place in the fabric and single fields. */

#include "steps/gpu/nvml-ask-internal.h"

void nvml_keep(GpuFact *f, nvmlReturn_t r, int64_t value) {
        if (r == NVML_SUCCESS)
                *f = (GpuFact) { .state = GPU_READ, .value = value };
        else
                *f = (GpuFact) { .state = GPU_ERROR, .error = r };
}

void nvml_ask_field(Asking *a, GpuFact *fact, unsigned field, unsigned scope) {
        nvmlFieldValue_t v = { .fieldId = field, .scopeId = scope };

        if (!ASK(a, fact, DeviceGetFieldValues))
                return;
        nvmlReturn_t r = a->api->DeviceGetFieldValues(a->device, 1, &v);
        if (r == NVML_SUCCESS)
                r = v.nvmlReturn;
        /* nvmlValueType_t: 1 is unsigned int, 2 and 3 (unsigned long, long long) have 64 bits. */
        nvml_keep(fact, r, v.valueType == 1 ? (int64_t) v.value.uiVal : (int64_t) v.value.ullVal);
}

/* A UUID of zeros means that the NVLinks do not leave the node (NCCL's src/mnnvl.cc). */
static void keep_cluster(Gpu *g, const unsigned char uuid[16]) {
        static const unsigned char none[16];
        size_t n = 0;

        g->cluster[0] = '\0';
        if (memcmp(uuid, none, sizeof(none)) == 0)
                return;
        for (unsigned i = 0; i < 16; i++)
                n += (size_t) snprintf(g->cluster + n, sizeof(g->cluster) - n, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
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
                nvml_keep(&facts[GPU_FABRIC_STATE], r, v3.state);
                nvml_keep(&facts[GPU_FABRIC_STATUS], r, v3.status);
                nvml_keep(&facts[GPU_FABRIC_HEALTH], r, v3.healthMask);
                nvml_keep(&facts[GPU_FABRIC_SUMMARY], r, v3.healthSummary);
                nvml_keep(&facts[GPU_CLIQUE], r, v3.cliqueId);
                keep_cluster(a->gpu, v3.clusterUuid);
                return;
        }
        r = a->api->DeviceGetGpuFabricInfoV(a->device, &v2);
        nvml_keep(&facts[GPU_FABRIC_STATE], r, v2.state);
        nvml_keep(&facts[GPU_FABRIC_STATUS], r, v2.status);
        nvml_keep(&facts[GPU_FABRIC_HEALTH], r, v2.healthMask);
        nvml_keep(&facts[GPU_FABRIC_SUMMARY], NVML_ERROR_NOT_SUPPORTED, 0);
        nvml_keep(&facts[GPU_CLIQUE], r, v2.cliqueId);
        if (r == NVML_SUCCESS)
                keep_cluster(a->gpu, v2.clusterUuid);
}

void nvml_ask_fabric(Asking *a) {
        GpuFact *facts = a->gpu->facts;
        nvmlGpuFabricInfo_t info = {};

        if (a->api->DeviceGetGpuFabricInfoV) {
                ask_fabric_by_version(a);
                return;
        }
        if (!ASK(a, &facts[GPU_FABRIC_STATE], DeviceGetGpuFabricInfo))
                return;
        nvmlReturn_t r = a->api->DeviceGetGpuFabricInfo(a->device, &info);
        nvml_keep(&facts[GPU_FABRIC_STATE], r, info.state);
        nvml_keep(&facts[GPU_FABRIC_STATUS], r, info.status);
        nvml_keep(&facts[GPU_CLIQUE], r, info.cliqueId);
        if (r == NVML_SUCCESS)
                keep_cluster(a->gpu, info.clusterUuid);
        nvml_keep(&facts[GPU_FABRIC_HEALTH], NVML_ERROR_NOT_SUPPORTED, 0);
        nvml_keep(&facts[GPU_FABRIC_SUMMARY], NVML_ERROR_NOT_SUPPORTED, 0);
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
                nvml_keep(&l->remote_type, r, type);
        }
        l->remote[0] = '\0';
        if (a->api->DeviceGetNvLinkRemotePciInfo) {
                nvmlPciInfo_t pci = {};

                gpu_phase_enter(a->phase, "nvmlDeviceGetNvLinkRemotePciInfo", a->index);
                if (a->api->DeviceGetNvLinkRemotePciInfo(a->device, link, &pci) == NVML_SUCCESS)
                        nvml_pci_address(pci.busId, l->remote, sizeof(l->remote));
        }
        for (size_t i = 0; i < GPU_LINK_COUNTERS_N; i++) {
                unsigned long long n = 0;

                if (!ASK(a, &l->counters[i], DeviceGetNvLinkErrorCounter))
                        continue;
                nvmlReturn_t r = a->api->DeviceGetNvLinkErrorCounter(
                                a->device, link, counters[i], &n);
                nvml_keep(&l->counters[i], r, (int64_t) n);
        }

        /* NVLink 5 (Blackwell) counts in fields of its own. */
        if (l->counters[GPU_LINK_RECOVERY].state != GPU_READ)
                nvml_ask_field(a, &l->counters[GPU_LINK_RECOVERY],
                                NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, link);
        if (l->counters[GPU_LINK_CRC_FLIT].state != GPU_READ)
                nvml_ask_field(a, &l->counters[GPU_LINK_CRC_FLIT],
                                NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, link);
}

void nvml_ask_links(Asking *a) {
        for (unsigned i = 0; i < GPU_LINKS_MAX; i++) {
                GpuLink *l = &a->gpu->links[i];
                unsigned active = 0;

                if (!ASK(a, &l->active, DeviceGetNvLinkState))
                        return;
                nvmlReturn_t r = a->api->DeviceGetNvLinkState(a->device, i, &active);
                nvml_keep(&l->active, r, active);
                if (r == NVML_ERROR_INVALID_ARGUMENT) /* there is no such link, nor a later one */
                        return;
                if (r == NVML_SUCCESS && active)
                        ask_link(a, i);
        }
}
