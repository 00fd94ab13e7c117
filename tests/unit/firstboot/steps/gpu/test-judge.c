/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is wrong with which GPU: one fact changed at a time on a node that is well. */

#include "steps/gpu/judge.h"
#include "contract/config-schema.h"
#include "steps/gpu/nvml.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N 4
#define LINKS 18

static GpuFacts *facts;
static GpuWish wish;
static GpuFindings findings;

static void set(unsigned gpu, GpuFactId id, int64_t value) {
        facts->gpus[gpu].facts[id] = (GpuFact) { .state = GPU_READ, .value = value };
}

static void set_error(unsigned gpu, GpuFactId id, int error) {
        facts->gpus[gpu].facts[id] = (GpuFact) { .state = GPU_ERROR, .error = error };
}

static void set_link(unsigned gpu, unsigned link, int64_t active) {
        GpuLink *l = &facts->gpus[gpu].links[link];

        l->active = (GpuFact) { .state = GPU_READ, .value = active };
        l->remote_type = (GpuFact) { .state = GPU_READ, .value = NVML_NVLINK_DEVICE_TYPE_SWITCH };
        for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++)
                l->counters[c] = (GpuFact) { .state = GPU_READ };
}

/* Four healthy H100 on NVSwitches, unless a test says otherwise. */
static int setup(void **state) {
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
        for (unsigned i = 0; i < N; i++) {
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
                g->links[LINKS].active = (GpuFact) { .state = GPU_ERROR,
                        .error = NVML_ERROR_INVALID_ARGUMENT };
        }
        return 0;
}

static int teardown(void **state) {
        (void) state;
        facts = gpu_facts_free(facts);
        gpu_findings_done(&findings);
        return 0;
}

static void judge(void) {
        gpu_findings_done(&findings);
        assert_return_code(gpu_judge(facts, &wish, &findings), 0);
}

static void assert_well(void) {
        judge();
        if (findings.n > 0)
                fail_msg("%s: %s", gpu_code_names[findings.items[0].code], findings.items[0].text);
}

/* One finding, of this code, about this GPU. */
static void assert_finding(GpuCode code, int gpu) {
        judge();
        if (findings.n != 1 || findings.items[0].code != code || findings.items[0].gpu != gpu) {
                for (size_t i = 0; i < findings.n; i++)
                        print_message("%s of GPU %d: %s\n", gpu_code_names[findings.items[i].code],
                                        findings.items[i].gpu, findings.items[i].text);
                fail_msg("not %s of GPU %d alone", gpu_code_names[code], gpu);
        }
}

static void healthy_gpus_pass(void **state) {
        (void) state;
        assert_well();
}

static void nothing_read_never_passes(void **state) {
        (void) state;
        memset(facts, 0, sizeof(*facts));
        judge();
        assert_int_equal(findings.items[0].code, GPU_CODE_NONE);
        facts->n_pci = 1;
        strcpy(facts->pci[0].driver, "nvidia");
        strcpy(facts->module_version, "580.65.06");
        wish.count = 1;
        judge();
        assert_int_equal(findings.items[0].code, GPU_CODE_TIMEOUT);
}

/* Each fact that is needed, taken away in each way. */
static void each_fact_is_needed(void **state) {
        static const GpuFactId needed[] = { GPU_ARCHITECTURE, GPU_PERSISTENCE, GPU_ECC,
                GPU_ECC_VOLATILE, GPU_ECC_AGGREGATE, GPU_REMAP_PENDING, GPU_REMAP_FAILED,
                GPU_PCIE_GENERATION, GPU_PCIE_GENERATION_MAX, GPU_PCIE_WIDTH, GPU_PCIE_WIDTH_MAX,
                GPU_CLOCK_REASONS, GPU_TEMPERATURE, GPU_FABRIC_STATE, GPU_FABRIC_STATUS };
        static const struct {
                GpuFact fact;
                GpuCode code;
        } ways[] = {
                { { GPU_NOT_READ, 0, 0 }, GPU_CODE_TIMEOUT },
                { { GPU_NO_SYMBOL, 0, 0 }, GPU_CODE_SYMBOL },
                { { GPU_ERROR, NVML_ERROR_NOT_SUPPORTED, 0 }, GPU_CODE_NOT_SUPPORTED },
                { { GPU_ERROR, NVML_ERROR_GPU_IS_LOST, 0 }, GPU_CODE_LOST },
                { { GPU_ERROR, 999, 0 }, GPU_CODE_NVML },
        };

        for (size_t i = 0; i < ELEMENTSOF(needed); i++)
                for (size_t k = 0; k < ELEMENTSOF(ways); k++) {
                        bool found = false;

                        facts->gpus[2].facts[needed[i]] = ways[k].fact;
                        judge();
                        for (size_t n = 0; n < findings.n; n++)
                                found = found || (findings.items[n].code == ways[k].code &&
                                                                 findings.items[n].gpu == 2);
                        if (!found)
                                fail_msg("without %s (%d) there is no %s",
                                                gpu_fact_names[needed[i]].name, ways[k].fact.error,
                                                gpu_code_names[ways[k].code]);
                        teardown(state);
                        setup(state);
                }
}

static void what_may_be_unsupported_passes_if_named(void **state) {
        (void) state;
        set_error(1, GPU_CLOCK_REASONS, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_NOT_SUPPORTED, 1);
        wish.allow_unsupported = UINT64_C(1) << GPU_CLOCK_REASONS;
        assert_well();
        set_error(1, GPU_CLOCK_REASONS, 999);
        assert_finding(GPU_CODE_NVML, 1);
}

static void newer_facts_need_not_be_there(void **state) {
        (void) state;
        facts->gpus[1].facts[GPU_SRAM_THRESHOLD] = (GpuFact) { .state = GPU_NO_SYMBOL };
        set_error(1, GPU_RECOVERY_ACTION, NVML_ERROR_NOT_SUPPORTED);
        assert_well();
        set_error(1, GPU_RECOVERY_ACTION, 999);
        assert_finding(GPU_CODE_NVML, 1);
}

static void findings_say_which_gpu_and_what_to_do(void **state) {
        (void) state;
        set(3, GPU_ECC_VOLATILE, 7);
        assert_finding(GPU_CODE_ECC_ERRORS, 3);
        assert_string_equal(findings.items[0].uuid, "GPU-3");
        assert_string_equal(findings.items[0].serial, "S3");
        assert_string_equal(findings.items[0].pci, "0000:1e:00.0");
        assert_true(findings.items[0].has_value && findings.items[0].has_limit);
        assert_int_equal(findings.items[0].value, 7);
        assert_int_equal(findings.items[0].limit, 0);
        assert_int_equal(findings.items[0].action, GPU_ACTION_RESET);
        _cleanup_free_ char *text = gpu_finding_sentence(&findings.items[0]);
        assert_string_equal(text,
                        "GPU 3 (GPU-3, serial S3, 0000:1e:00.0): 7 uncorrectable ECC errors since the driver was loaded");
}

static void a_gpu_without_ecc_passes_only_if_allowed(void **state) {
        (void) state;
        set_error(0, GPU_ECC, NVML_ERROR_NOT_SUPPORTED);
        set_error(0, GPU_ECC_VOLATILE, NVML_ERROR_NOT_SUPPORTED);
        set_error(0, GPU_ECC_AGGREGATE, NVML_ERROR_NOT_SUPPORTED);
        set_error(0, GPU_REMAP_PENDING, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_NOT_SUPPORTED, 0);
        wish.ecc = GPU_ECC_IF_SUPPORTED;
        assert_well();
        set(0, GPU_ECC, 0);
        assert_finding(GPU_CODE_ECC_OFF, 0);
        wish.ecc = GPU_ECC_ANY;
        assert_well();
}

static void mig_hides_remapping(void **state) {
        (void) state;
        wish.mig = GPU_MIG_ANY;
        set(0, GPU_MIG, 1);
        set_error(0, GPU_REMAP_PENDING, NVML_ERROR_NOT_SUPPORTED);
        assert_well();
}

static void aggregate_errors_count_if_there_is_a_limit(void **state) {
        (void) state;
        set(0, GPU_ECC_AGGREGATE, 3);
        assert_well();
        wish.ecc_aggregate_max = 2;
        assert_finding(GPU_CODE_ECC_ERRORS, 0);
        assert_int_equal(findings.items[0].action, GPU_ACTION_RMA);
}

static void the_generation_counts_under_load(void **state) {
        (void) state;
        set(1, GPU_PCIE_GENERATION, 1);
        assert_well(); /* idle */
        set(1, GPU_PCIE_GENERATION_LOAD, 4);
        assert_finding(GPU_CODE_PCIE_GENERATION, 1);
        set(1, GPU_PCIE_GENERATION, 5); /* and the idle look met it at its best */
        assert_well();
}

static void without_load_the_most_it_can_counts(void **state) {
        (void) state;
        wish.bandwidth = false;
        facts->gpus[1].facts[GPU_PCIE_GENERATION_LOAD] = (GpuFact) {};
        assert_well();
        wish.pcie_generation = 6;
        judge();
        assert_int_equal(findings.n, N);
        assert_int_equal(findings.items[0].code, GPU_CODE_PCIE_GENERATION);
}

static void pcie_rates_are_those_of_the_specification(void **state) {
        (void) state;
        assert_int_equal(gpu_pcie_rate(1, 16), 4000);
        assert_int_equal(gpu_pcie_rate(3, 16), 15753);
        assert_int_equal(gpu_pcie_rate(4, 16), 31507);
        assert_int_equal(gpu_pcie_rate(5, 16), 63015);
        assert_int_equal(gpu_pcie_rate(5, 8), 31507);
        assert_int_equal(gpu_pcie_rate(0, 16), 0);
        assert_int_equal(gpu_pcie_rate(99, 16), 0);
}

static void bandwidth_is_a_share_of_the_link_or_a_number(void **state) {
        (void) state;
        set(2, GPU_H2D, 37000);
        assert_finding(GPU_CODE_BANDWIDTH, 2);
        wish.h2d_min = 36000;
        assert_well();
        wish.h2d_min = 56000;
        judge();
        assert_int_equal(findings.n, N);
}

static void bandwidth_that_was_not_measured_is_none(void **state) {
        (void) state;
        facts->gpus[2].facts[GPU_D2H] = (GpuFact) {};
        assert_finding(GPU_CODE_CUDA, 2);
        facts->gpus[2].cuda_error = 2;
        strcpy(facts->gpus[2].cuda_call, "cuMemAlloc");
        assert_finding(GPU_CODE_CUDA, 2);
        facts->cuda.state = GPU_PHASE_NONE;
        strcpy(facts->gpus[2].cuda_call, "");
        assert_finding(GPU_CODE_TIMEOUT, -1);
        wish.bandwidth = false;
        assert_well();
}

static void links_are_counted_against_the_shape(void **state) {
        (void) state;
        set_link(1, 17, 0);
        assert_finding(GPU_CODE_NVLINK_DOWN, 1);
        assert_string_equal(
                        findings.items[0].text, "17 NVLinks are active, 18 expected (down: 17)");
        wish.nvlinks = 17;
        assert_well();
}

static void without_a_shape_the_best_gpu_counts(void **state) {
        (void) state;
        wish.nvlinks = -1;
        assert_well();
        set_link(1, 0, 0);
        assert_finding(GPU_CODE_NVLINK_DOWN, 1);
        for (unsigned i = 0; i < N; i++)
                for (unsigned k = 0; k < LINKS; k++)
                        set_link(i, k, 0);
        assert_well();
}

static void a_link_without_any_counter_does_not_pass(void **state) {
        (void) state;
        for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++)
                facts->gpus[1].links[4].counters[c] =
                                (GpuFact) { .state = GPU_ERROR, .error = NVML_ERROR_NOT_SUPPORTED };
        assert_finding(GPU_CODE_NOT_SUPPORTED, 1);
        facts->gpus[1].links[4].counters[GPU_LINK_RECOVERY] = (GpuFact) { .state = GPU_READ };
        assert_well();
}

static void crc_errors_have_a_limit_of_their_own(void **state) {
        (void) state;
        facts->gpus[1].links[4].counters[GPU_LINK_CRC_FLIT].value = 100;
        assert_well();
        facts->gpus[1].links[4].counters[GPU_LINK_CRC_FLIT].value = 101;
        assert_finding(GPU_CODE_NVLINK_ERRORS, 1);
        facts->gpus[1].links[4].counters[GPU_LINK_CRC_FLIT].value = 0;
        facts->gpus[1].links[4].counters[GPU_LINK_RECOVERY].value = 1;
        assert_finding(GPU_CODE_NVLINK_ERRORS, 1);
}

static void crc_errors_count_by_the_second(void **state) {
        (void) state;
        facts->uptime_usec = 3600 * (uint64_t) 1000000;
        facts->gpus[1].links[4].counters[GPU_LINK_CRC_DATA].value = 3600 * 100;
        assert_well();
        facts->gpus[1].links[4].counters[GPU_LINK_CRC_DATA].value++;
        assert_finding(GPU_CODE_NVLINK_ERRORS, 1);
}

static void every_gpus_fabric_state_is_looked_at(void **state) {
        (void) state;
        for (unsigned i = 0; i < N; i++) {
                set(i, GPU_FABRIC_STATE, NVML_GPU_FABRIC_STATE_IN_PROGRESS);
                assert_finding(GPU_CODE_FABRIC, (int) i);
                assert_true(findings.items[0].transient);
                set(i, GPU_FABRIC_STATE, NVML_GPU_FABRIC_STATE_COMPLETED);
        }
}

static void fabrics_are_known_by_links_too(void **state) {
        (void) state;
        facts->n_switches = 0;
        facts->fabric_manager = (GpuService) {};
        assert_true(gpu_has_fabric(facts, &wish));
        assert_well();
        set(2, GPU_FABRIC_STATUS, 999);
        assert_finding(GPU_CODE_FABRIC, 2);
        wish.fabric = GPU_FABRIC_OFF;
        assert_well();
}

static void before_hopper_the_fabric_manager_alone_knows(void **state) {
        (void) state;
        for (unsigned i = 0; i < N; i++) {
                set(i, GPU_ARCHITECTURE, 7);
                set_error(i, GPU_FABRIC_STATE, NVML_ERROR_NOT_SUPPORTED);
        }
        assert_well();
        facts->fabric_manager.state = GPU_SERVICE_FAILED;
        assert_finding(GPU_CODE_FABRIC_MANAGER, -1);
}

static void the_fabrics_health_is_read_bit_by_bit(void **state) {
        static const int64_t ill[] = { 0x11a9, 0x11a6, 0x119a, 0x116a, 0x12aa, 0x18aa };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(ill); i++) {
                set(1, GPU_FABRIC_HEALTH, ill[i]);
                assert_finding(GPU_CODE_FABRIC, 1);
        }
        set(1, GPU_FABRIC_HEALTH, 0);
        assert_well(); /* nothing of it is supported */
}

static void slowdowns_are_named_and_may_pass(void **state) {
        (void) state;
        set(1, GPU_CLOCK_REASONS, NVML_CLOCKS_HW_THERMAL_SLOWDOWN | NVML_CLOCKS_HW_SLOWDOWN);
        assert_finding(GPU_CODE_CLOCKS, 1);
        assert_string_equal(findings.items[0].text,
                        "clocks are held down: hardware thermal slowdown, hardware slowdown");
        assert_true(findings.items[0].transient);
        set(1, GPU_CLOCK_REASONS, 0x4); /* the power cap is no fault */
        assert_well();
}

static void temperature_has_the_gpus_own_threshold(void **state) {
        (void) state;
        set(1, GPU_TEMPERATURE_MARGIN, 0);
        assert_finding(GPU_CODE_TEMPERATURE, 1);
        set_error(1, GPU_TEMPERATURE_MARGIN, NVML_ERROR_NOT_SUPPORTED);
        set(1, GPU_TEMPERATURE_SLOWDOWN, 90);
        set(1, GPU_TEMPERATURE, 90);
        assert_finding(GPU_CODE_TEMPERATURE, 1);
        set(1, GPU_TEMPERATURE, 89);
        assert_well();
        set_error(1, GPU_TEMPERATURE_SLOWDOWN, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_TEMPERATURE, 1); /* none of its own: 85 */
        wish.temperature_max = 95;
        assert_well();
}

static void xids_belong_to_their_gpu(void **state) {
        (void) state;
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 48, pid=1, DBE");
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 48, pid=1, DBE again");
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:1d:00): 13, pid=1, an application's");
        assert_finding(GPU_CODE_XID, 2);
        assert_int_equal(findings.items[0].value, 48);
}

static void an_xid_of_a_gpu_that_is_gone_keeps_its_address(void **state) {
        (void) state;
        gpu_xid_message(facts, "NVRM: Xid (PCI:0000:99:00): 79, fallen off the bus");
        assert_finding(GPU_CODE_XID, -1);
        assert_string_equal(findings.items[0].pci, "0000:99:00");
}

static void the_most_serious_comes_first(void **state) {
        (void) state;
        set(0, GPU_TEMPERATURE_MARGIN, -1);
        set(3, GPU_REMAP_FAILED, 1);
        set(1, GPU_REMAP_PENDING, 1);
        judge();
        assert_int_equal(findings.n, 3);
        assert_int_equal(findings.items[0].code, GPU_CODE_REMAP_FAILED);
        assert_int_equal(findings.items[2].code, GPU_CODE_TEMPERATURE);
}

/* Two at once, each of another GPU, in both orders: nothing hides anything, and the more serious one
 * gives the verdict its code. */
static void two_faults_at_once_are_both_found(void **state) {
        static const struct {
                GpuCode code;
                GpuFactId id;
                int64_t bad, good;
        } faults[] = {
                { GPU_CODE_REMAP_FAILED, GPU_REMAP_FAILED, 1, 0 },
                { GPU_CODE_SRAM, GPU_SRAM_THRESHOLD, 1, 0 },
                { GPU_CODE_ECC_ERRORS, GPU_ECC_VOLATILE, 3, 0 },
                { GPU_CODE_ECC_OFF, GPU_ECC, 0, 1 },
                { GPU_CODE_REMAP_PENDING, GPU_REMAP_PENDING, 1, 0 },
                { GPU_CODE_REMAPPED_ROWS, GPU_REMAPPED_UNCORRECTABLE, 5000, 0 },
                { GPU_CODE_RECOVERY, GPU_RECOVERY_ACTION, 1, 0 },
                { GPU_CODE_PCIE_WIDTH, GPU_PCIE_WIDTH, 8, 16 },
                { GPU_CODE_PCIE_GENERATION, GPU_PCIE_GENERATION_LOAD, 3, 5 },
                { GPU_CODE_CLOCKS, GPU_CLOCK_REASONS, 0x40, 1 },
                { GPU_CODE_POWER_LIMIT, GPU_POWER_LIMIT, 400000, 700000 },
                { GPU_CODE_TEMPERATURE, GPU_TEMPERATURE_MARGIN, 0, 57 },
                { GPU_CODE_PERSISTENCE, GPU_PERSISTENCE, 0, 1 },
                { GPU_CODE_BANDWIDTH, GPU_D2H, 1000, 55000 },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(faults); i++) {
                set(1, faults[i].id, faults[i].bad);
                assert_finding(faults[i].code, 1);
                for (size_t k = 0; k < ELEMENTSOF(faults); k++) {
                        bool first = faults[i].code < faults[k].code;

                        if (k == i)
                                continue;
                        set(2, faults[k].id, faults[k].bad);
                        judge();
                        assert_int_equal(findings.n, 2);
                        assert_int_equal(findings.items[!first].code, faults[i].code);
                        assert_int_equal(findings.items[!first].gpu, 1);
                        assert_int_equal(findings.items[first].code, faults[k].code);
                        assert_int_equal(findings.items[first].gpu, 2);
                        set(2, faults[k].id, faults[k].good);
                }
                set(1, faults[i].id, faults[i].good);
        }
        assert_well();
}

/* The same two on one GPU. */
static void two_faults_of_one_gpu_are_both_found(void **state) {
        static const struct {
                GpuCode code;
                GpuFactId id;
                int64_t bad, good;
        } faults[] = {
                { GPU_CODE_SRAM, GPU_SRAM_THRESHOLD, 1, 0 },
                { GPU_CODE_ECC_ERRORS, GPU_ECC_VOLATILE, 3, 0 },
                { GPU_CODE_REMAP_PENDING, GPU_REMAP_PENDING, 1, 0 },
                { GPU_CODE_PCIE_WIDTH, GPU_PCIE_WIDTH, 8, 16 },
                { GPU_CODE_CLOCKS, GPU_CLOCK_REASONS, 0x40, 1 },
                { GPU_CODE_POWER_LIMIT, GPU_POWER_LIMIT, 400000, 700000 },
                { GPU_CODE_PERSISTENCE, GPU_PERSISTENCE, 0, 1 },
                { GPU_CODE_BANDWIDTH, GPU_D2H, 1000, 55000 },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(faults); i++)
                for (size_t k = i + 1; k < ELEMENTSOF(faults); k++) {
                        set(0, faults[i].id, faults[i].bad);
                        set(0, faults[k].id, faults[k].bad);
                        judge();
                        assert_int_equal(findings.n, 2);
                        assert_int_equal(findings.items[0].code, faults[i].code);
                        assert_int_equal(findings.items[1].code, faults[k].code);
                        set(0, faults[i].id, faults[i].good);
                        set(0, faults[k].id, faults[k].good);
                }
}

static void every_code_has_a_name(void **state) {
        (void) state;
        for (size_t i = 0; i < GPU_CODES_N; i++) {
                assert_non_null(gpu_code_names[i]);
                assert_non_null(startswith(gpu_code_names[i], "gpu."));
        }
}

/* A node without the section is judged by the defaults of the configuration. */
static void the_configurations_defaults_are_the_same(void **state) {
        static const char xids[] = "[\"13\",\"31\",\"43\",\"45\",\"68\",\"109\"]";
        const struct {
                const char *key;
                int64_t value;
        } numbers[] = {
                { "gpu.ecc_volatile_max", wish.ecc_volatile_max },
                { "gpu.retired_pages_max", wish.retired_pages_max },
                { "gpu.nvlink_errors_max", wish.nvlink_errors_max },
                { "gpu.nvlink_crc_max", wish.nvlink_crc_max },
                { "gpu.sram_max", wish.sram_max },
                { "gpu.remapped_max", wish.remapped_max },
                { "gpu.pcie_replays_max", wish.pcie_replays_max },
                { "gpu.clock_percent", wish.clock_percent },
                { "gpu.power_percent", wish.power_percent },
                { "gpu.spread_percent", wish.spread_percent },
        };
        char text[200] = "[";

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                assert_int_equal(strtoll(config_key_find(numbers[i].key)->fallback, NULL, 10),
                                numbers[i].value);
        assert_string_equal(config_key_find("gpu.bandwidth")->fallback,
                        wish.bandwidth ? "true" : "false");
        assert_string_equal(config_key_find("gpu.persistence")->fallback,
                        wish.persistence ? "true" : "false");
        assert_string_equal(config_key_find("gpu.xid_ignore")->fallback, xids);
        for (size_t i = 0; i < wish.n_xid_ignore; i++) {
                size_t n = strlen(text);

                snprintf(text + n, sizeof(text) - n, "%s\"%u\"", i ? "," : "", wish.xid_ignore[i]);
        }
        strcat(text, "]");
        assert_string_equal(text, xids);
}

static void mig_is_as_configured(void **state) {
        (void) state;
        set(1, GPU_MIG, 1);
        set(1, GPU_MIG_PENDING, 1);
        set(1, GPU_MIG_DEVICES, 7);
        assert_finding(GPU_CODE_MIG, 1);
        wish.mig = GPU_MIG_ANY;
        assert_well();
        wish.mig = GPU_MIG_ON;
        judge();
        assert_int_equal(findings.n, N - 1); /* the others are whole */
        wish.mig = GPU_MIG_OFF;
        set(1, GPU_MIG, 0);
        assert_finding(GPU_CODE_MIG, 1); /* on after the next reset */
        set_error(1, GPU_MIG, NVML_ERROR_NOT_SUPPORTED);
        assert_well();
}

static void a_divided_gpu_has_parts(void **state) {
        (void) state;
        wish.mig = GPU_MIG_ON;
        for (unsigned i = 0; i < N; i++) {
                set(i, GPU_MIG, 1);
                set(i, GPU_MIG_PENDING, 1);
                set(i, GPU_MIG_DEVICES, i);
        }
        assert_finding(GPU_CODE_MIG, 0);
}

static void a_vgpu_has_a_verdict_of_its_own(void **state) {
        (void) state;
        set(2, GPU_VIRTUALIZATION, NVML_GPU_VIRTUALIZATION_MODE_VGPU);
        set_error(2, GPU_ECC, NVML_ERROR_NOT_SUPPORTED);
        set_error(2, GPU_PCIE_WIDTH, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_VGPU, 2);
        wish.vgpu = true;
        assert_well();
        set(2, GPU_REMAP_FAILED, 1); /* what it tells counts all the same */
        assert_finding(GPU_CODE_REMAP_FAILED, 2);
        wish.vgpu = false;
        set(2, GPU_VIRTUALIZATION, 1); /* passed through: a whole GPU */
        set(2, GPU_REMAP_FAILED, 0);
        judge();
        assert_int_equal(findings.items[0].code, GPU_CODE_NOT_SUPPORTED);
}

static void a_consumers_gpu_has_a_verdict_of_its_own(void **state) {
        (void) state;
        set(0, GPU_BRAND, NVML_BRAND_GEFORCE);
        set_error(0, GPU_ECC, NVML_ERROR_NOT_SUPPORTED);
        set_error(0, GPU_REMAP_PENDING, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_CONSUMER, 0);
        wish.consumer = true;
        assert_well();
}

static void clusters_need_imex(void **state) {
        (void) state;
        for (unsigned i = 0; i < N; i++) {
                strcpy(facts->gpus[i].cluster, "01000000-0000-0000-0000-000000000000");
                set(i, GPU_CLIQUE, 5);
        }
        assert_finding(GPU_CODE_IMEX, -1);
        facts->imex.state = GPU_SERVICE_RUNNING;
        assert_finding(GPU_CODE_IMEX, -1); /* without a channel */
        facts->imex_channel = true;
        assert_well();
        set(3, GPU_CLIQUE, 6);
        assert_finding(GPU_CODE_FABRIC, 3);
        set(3, GPU_CLIQUE, 5);
        facts->gpus[2].cluster[0] = '\0';
        assert_finding(GPU_CODE_FABRIC, 2);
}

static void sram_errors_do_not_pass(void **state) {
        (void) state;
        set(1, GPU_SRAM_AGGREGATE, 1);
        assert_finding(GPU_CODE_SRAM, 1);
        wish.sram_max = 1;
        assert_well();
}

static void spare_rows_come_to_an_end(void **state) {
        (void) state;
        set(1, GPU_REMAPPED_CORRECTABLE, 511);
        assert_well();
        set(1, GPU_REMAPPED_UNCORRECTABLE, 1);
        assert_finding(GPU_CODE_REMAPPED_ROWS, 1);
}

static void a_lowered_power_limit_is_a_finding(void **state) {
        (void) state;
        set(1, GPU_POWER_LIMIT, 500000);
        assert_finding(GPU_CODE_POWER_LIMIT, 1);
        wish.power_percent = 70;
        assert_well();
}

static void floors_are_those_of_azure(void **state) {
        (void) state;
        assert_int_equal(gpu_pcie_floor(5, 16), 48000);
        assert_int_equal(gpu_pcie_floor(4, 16), 21000);
        assert_int_equal(gpu_pcie_floor(3, 16), 10000);
        assert_int_equal(gpu_pcie_floor(5, 8), 24000);
        assert_true(gpu_pcie_floor(6, 16) > 90000);
        assert_int_equal(gpu_pcie_floor(0, 16), 0);
        set(0, GPU_H2D, 47000);
        assert_finding(GPU_CODE_BANDWIDTH, 0);
}

/* All is well under load. */
static void load(void) {
        facts->load.state = facts->load.watch.state = GPU_PHASE_DONE;
        for (unsigned i = 0; i < N; i++) {
                for (size_t c = 0; c < GPU_COUNTERS_N; c++)
                        facts->load.before[i][c] = gpu_counter(&facts->gpus[i], c);
                facts->load.hbm_gbps[i] = 3000;
                facts->load.gemm_tflops[i] = 700;
                set(i, GPU_CLOCK_LOAD, 1980);
                set(i, GPU_CLOCK_LOAD_FREE, 1980);
                set(i, GPU_CLOCK_REASONS_LOAD, 0);
                for (unsigned k = 0; k < N; k++)
                        if (k != i)
                                facts->load.pairs[facts->load.n_pairs++] =
                                                (GpuPair) { (uint8_t) i, (uint8_t) k, 370 };
        }
}

static void a_healthy_load_passes(void **state) {
        (void) state;
        load();
        assert_well();
}

static void counters_that_grow_under_load_are_findings(void **state) {
        (void) state;
        wish.ecc_volatile_max = wish.sram_max = wish.nvlink_errors_max = 1000;
        set(1, GPU_ECC_VOLATILE, 5);
        set(1, GPU_PCIE_REPLAYS, 100);
        load();
        assert_well();
        set(1, GPU_ECC_VOLATILE, 6);
        assert_finding(GPU_CODE_ECC_ERRORS, 1);
        set(1, GPU_ECC_VOLATILE, 5);
        set(1, GPU_PCIE_REPLAYS, 108);
        assert_well();
        set(1, GPU_PCIE_REPLAYS, 109);
        assert_finding(GPU_CODE_PCIE_ERRORS, 1);
        set(1, GPU_PCIE_REPLAYS, 0); /* was reset */
        assert_well();
        facts->gpus[2].links[3].counters[GPU_LINK_REPLAY].value = 1;
        assert_finding(GPU_CODE_NVLINK_ERRORS, 2);
        facts->gpus[2].links[3].counters[GPU_LINK_REPLAY].value = 0;
        set(3, GPU_SRAM_VOLATILE, 1);
        assert_finding(GPU_CODE_SRAM, 3);
}

static void clocks_locked_low_are_a_finding(void **state) {
        (void) state;
        load();
        set(1, GPU_CLOCK_LOAD, 1300);
        set(1, GPU_CLOCK_LOAD_FREE, 1300);
        assert_finding(GPU_CODE_CLOCKS_LOCKED, 1);
        facts->gpus[1].facts[GPU_CLOCK_LOAD_FREE] = (GpuFact) {}; /* power held it all the time */
        assert_well();
        set(1, GPU_CLOCK_LOAD, 700);
        assert_finding(GPU_CODE_CLOCKS_LOCKED, 1);
        facts->gpus[1].facts[GPU_CLOCK_LOAD] = (GpuFact) {};
        assert_finding(GPU_CODE_TIMEOUT, 1); /* what nobody read does not pass */
}

static void a_slowdown_under_load_is_a_finding(void **state) {
        (void) state;
        load();
        set(1, GPU_CLOCK_REASONS_LOAD, NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN);
        assert_finding(GPU_CODE_CLOCKS, 1);
}

static void a_gpu_slower_than_its_like_is_a_finding(void **state) {
        (void) state;
        load();
        facts->load.hbm_gbps[2] = 2500;
        assert_finding(GPU_CODE_SLOW, 2);
        facts->load.hbm_gbps[2] = 0;
        assert_finding(GPU_CODE_LOAD, 2);
        facts->load.hbm_gbps[2] = 3000;
        facts->load.pairs[0].gbps = 25;
        assert_finding(GPU_CODE_SLOW, 0);
        facts->load.n_pairs--;
        facts->load.pairs[0].gbps = 370;
        assert_finding(GPU_CODE_LOAD, -1);
}

static void a_load_that_fails_is_a_finding(void **state) {
        (void) state;
        facts->load.state = GPU_PHASE_FAILED;
        assert_finding(GPU_CODE_LOAD, -1);
        load();
        facts->load.watch.state = GPU_PHASE_TIMEOUT;
        assert_finding(GPU_CODE_TIMEOUT, 0);
}

static void a_reset_that_nvml_shows_ends_xids(void **state) {
        (void) state;
        facts->n_xids = 2;
        facts->xids[0] = (GpuXid) { .pci = "0000:1c:00", .xid = 119 };
        facts->xids[1] = (GpuXid) {
                .pci = "0000:1c:00", .xid = 154, .tells_recovery = true, .recovery = 1
        };
        assert_well(); /* the driver asks for nothing any more */
        set_error(1, GPU_RECOVERY_ACTION, NVML_ERROR_NOT_SUPPORTED);
        judge();
        assert_int_equal(findings.n, 2);
        set(1, GPU_RECOVERY_ACTION, 0);
        facts->xids[1].recovery = 2; /* a reboot */
        judge();
        assert_int_equal(findings.n, 2);
        facts->n_xids = 1; /* no reset was asked for, so none is known to have been */
        assert_finding(GPU_CODE_XID, 1);
        facts->xids[0].cured = true;
        assert_well();
}

static void facts_that_may_be_unsupported_are_facts(void **state) {
        const ConfigKey *key = config_key_find("gpu.allow_unsupported");
        size_t n = 0;

        (void) state;
        for (size_t i = 0; i < GPU_FACTS_N; i++)
                n += key->check(gpu_fact_names[i].name) == NULL;
        assert_int_equal(n, 18); /* those of the list in config-schema.c, none of them misspelt */
        assert_non_null(key->check("nonsense"));
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(healthy_gpus_pass),
                T(nothing_read_never_passes),
                T(each_fact_is_needed),
                T(what_may_be_unsupported_passes_if_named),
                T(newer_facts_need_not_be_there),
                T(findings_say_which_gpu_and_what_to_do),
                T(a_gpu_without_ecc_passes_only_if_allowed),
                T(mig_hides_remapping),
                T(aggregate_errors_count_if_there_is_a_limit),
                T(the_generation_counts_under_load),
                T(without_load_the_most_it_can_counts),
                T(pcie_rates_are_those_of_the_specification),
                T(bandwidth_is_a_share_of_the_link_or_a_number),
                T(bandwidth_that_was_not_measured_is_none),
                T(links_are_counted_against_the_shape),
                T(without_a_shape_the_best_gpu_counts),
                T(a_link_without_any_counter_does_not_pass),
                T(crc_errors_have_a_limit_of_their_own),
                T(crc_errors_count_by_the_second),
                T(every_gpus_fabric_state_is_looked_at),
                T(fabrics_are_known_by_links_too),
                T(before_hopper_the_fabric_manager_alone_knows),
                T(the_fabrics_health_is_read_bit_by_bit),
                T(slowdowns_are_named_and_may_pass),
                T(temperature_has_the_gpus_own_threshold),
                T(xids_belong_to_their_gpu),
                T(an_xid_of_a_gpu_that_is_gone_keeps_its_address),
                T(the_most_serious_comes_first),
                T(two_faults_at_once_are_both_found),
                T(two_faults_of_one_gpu_are_both_found),
                T(every_code_has_a_name),
                T(the_configurations_defaults_are_the_same),
                T(mig_is_as_configured),
                T(a_divided_gpu_has_parts),
                T(a_vgpu_has_a_verdict_of_its_own),
                T(a_consumers_gpu_has_a_verdict_of_its_own),
                T(clusters_need_imex),
                T(sram_errors_do_not_pass),
                T(spare_rows_come_to_an_end),
                T(a_lowered_power_limit_is_a_finding),
                T(floors_are_those_of_azure),
                T(a_healthy_load_passes),
                T(counters_that_grow_under_load_are_findings),
                T(clocks_locked_low_are_a_finding),
                T(a_slowdown_under_load_is_a_finding),
                T(a_gpu_slower_than_its_like_is_a_finding),
                T(a_load_that_fails_is_a_finding),
                T(a_reset_that_nvml_shows_ends_xids),
                T(facts_that_may_be_unsupported_are_facts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
