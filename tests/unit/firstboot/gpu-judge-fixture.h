/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A node that is well, of which a test of judge*.c changes one fact at a time. */

#include "steps/gpu/judge.h"
#include "steps/gpu/nvml.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N 4
#define LINKS 18

static GpuFacts *facts;
static GpuWish wish;
static GpuFindings findings;

static inline void set(unsigned gpu, GpuFactId id, int64_t value) {
        facts->gpus[gpu].facts[id] = (GpuFact) { .state = GPU_READ, .value = value };
}

static inline void set_error(unsigned gpu, GpuFactId id, int error) {
        facts->gpus[gpu].facts[id] = (GpuFact) { .state = GPU_ERROR, .error = error };
}

static inline void set_link(unsigned gpu, unsigned link, int64_t active) {
        GpuLink *l = &facts->gpus[gpu].links[link];

        l->active = (GpuFact) { .state = GPU_READ, .value = active };
        l->remote_type = (GpuFact) { .state = GPU_READ, .value = NVML_NVLINK_DEVICE_TYPE_SWITCH };
        for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++)
                l->counters[c] = (GpuFact) { .state = GPU_READ };
}

/* Of each GPU, unless a test says otherwise. */
static const struct {
        GpuFactId id;
        int64_t value;
} healthy[] = {
        { GPU_ARCHITECTURE, NVML_DEVICE_ARCH_HOPPER },
        { GPU_PERSISTENCE, 1 },
        { GPU_MIG, 0 },
        { GPU_MIG_PENDING, 0 },
        { GPU_VIRTUALIZATION, 0 },
        { GPU_BRAND, 14 },
        { GPU_SRAM_VOLATILE, 0 },
        { GPU_SRAM_AGGREGATE, 0 },
        { GPU_CLOCK_MAX, 1980 },
        { GPU_POWER_LIMIT, 700000 },
        { GPU_POWER_LIMIT_DEFAULT, 700000 },
        { GPU_ECC, 1 },
        { GPU_ECC_PENDING, 1 },
        { GPU_ECC_VOLATILE, 0 },
        { GPU_ECC_AGGREGATE, 0 },
        { GPU_SRAM_THRESHOLD, 0 },
        { GPU_REMAPPED_CORRECTABLE, 0 },
        { GPU_REMAPPED_UNCORRECTABLE, 0 },
        { GPU_REMAP_PENDING, 0 },
        { GPU_REMAP_FAILED, 0 },
        { GPU_PCIE_GENERATION, 1 },
        { GPU_PCIE_GENERATION_MAX, 5 },
        { GPU_PCIE_GENERATION_DEVICE, 5 },
        { GPU_PCIE_GENERATION_LOAD, 5 },
        { GPU_PCIE_WIDTH, 16 },
        { GPU_PCIE_WIDTH_MAX, 16 },
        { GPU_PCIE_REPLAYS, 0 },
        { GPU_CLOCK_REASONS, 1 },
        { GPU_TEMPERATURE, 30 },
        { GPU_TEMPERATURE_MARGIN, 57 },
        { GPU_RECOVERY_ACTION, 0 },
        { GPU_FABRIC_STATE, NVML_GPU_FABRIC_STATE_COMPLETED },
        { GPU_FABRIC_STATUS, 0 },
        { GPU_FABRIC_HEALTH, 0x11aa },
        { GPU_FABRIC_SUMMARY, 1 },
        { GPU_H2D, 55000 },
        { GPU_D2H, 55000 },
};

static inline void set_healthy(unsigned i) {
        Gpu *g = &facts->gpus[i];

        g->read = true;
        snprintf(g->pci, sizeof(g->pci), "0000:%02x:00.0", 0x1b + i);
        snprintf(g->uuid, sizeof(g->uuid), "GPU-%u", i);
        snprintf(g->serial, sizeof(g->serial), "S%u", i);
        strcpy(facts->pci[i].address, g->pci);
        strcpy(facts->pci[i].driver, "nvidia");
        for (size_t k = 0; k < ELEMENTSOF(healthy); k++)
                set(i, healthy[k].id, healthy[k].value);
        set_error(i, GPU_RETIRED_SINGLE_BIT, NVML_ERROR_NOT_SUPPORTED);
        set_error(i, GPU_RETIRED_DOUBLE_BIT, NVML_ERROR_NOT_SUPPORTED);
        set_error(i, GPU_RETIRED_PENDING, NVML_ERROR_NOT_SUPPORTED);
        set_error(i, GPU_TEMPERATURE_SLOWDOWN, NVML_ERROR_NOT_SUPPORTED);
        for (unsigned k = 0; k < LINKS; k++)
                set_link(i, k, 1);
        g->links[LINKS].active =
                        (GpuFact) { .state = GPU_ERROR, .error = NVML_ERROR_INVALID_ARGUMENT };
}

/* Four healthy H100 on NVSwitches, unless a test says otherwise. */
static inline int setup(void **state) {
        (void) state;
        facts = gpu_facts_new();
        assert_non_null(facts);
        wish = gpu_wish_default();
        wish.count = N;
        wish.nvlinks = LINKS;
        facts->n = facts->n_pci = N;
        facts->n_switches = 4;
        facts->nvml.state = facts->cuda.state = GPU_PHASE_DONE;
        facts->log_read = true;
        strcpy(facts->module_version, "580.65.06");
        strcpy(facts->driver_version, "580.65.06");
        strcpy(facts->nvml_version, "13.580.65.06");
        facts->persistenced.state = facts->fabric_manager.state = GPU_SERVICE_RUNNING;
        strcpy(facts->fabric_manager.version, "580.65.06");
        for (unsigned i = 0; i < N; i++)
                set_healthy(i);
        return 0;
}

static inline int teardown(void **state) {
        (void) state;
        facts = gpu_facts_free(facts);
        gpu_findings_done(&findings);
        return 0;
}

static inline void judge(void) {
        gpu_findings_done(&findings);
        assert_return_code(gpu_judge(facts, &wish, &findings), 0);
}

static inline void assert_well(void) {
        judge();
        if (findings.n > 0)
                fail_msg("%s: %s", gpu_code_names[findings.items[0].code], findings.items[0].text);
}

/* One finding, of this code, about this GPU. */
static inline void assert_finding(GpuCode code, int gpu) {
        judge();
        if (findings.n != 1 || findings.items[0].code != code || findings.items[0].gpu != gpu) {
                for (size_t i = 0; i < findings.n; i++)
                        print_message("%s of GPU %d: %s\n", gpu_code_names[findings.items[i].code],
                                        findings.items[i].gpu, findings.items[i].text);
                fail_msg("not %s of GPU %d alone", gpu_code_names[code], gpu);
        }
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
