/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One GPU by itself: ECC, memory, PCIe, clocks, power, temperature. */

#include "gpu-judge-fixture.h"

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

static void a_lowered_power_limit_is_a_finding(void **state) {
        (void) state;
        set(1, GPU_POWER_LIMIT, 500000);
        assert_finding(GPU_CODE_POWER_LIMIT, 1);
        wish.power_percent = 70;
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

int main(void) {
        const struct CMUnitTest tests[] = {
                T(a_gpu_without_ecc_passes_only_if_allowed),
                T(mig_hides_remapping),
                T(aggregate_errors_count_if_there_is_a_limit),
                T(sram_errors_do_not_pass),
                T(spare_rows_come_to_an_end),
                T(the_generation_counts_under_load),
                T(without_load_the_most_it_can_counts),
                T(pcie_rates_are_those_of_the_specification),
                T(bandwidth_is_a_share_of_the_link_or_a_number),
                T(bandwidth_that_was_not_measured_is_none),
                T(floors_are_those_of_azure),
                T(slowdowns_are_named_and_may_pass),
                T(a_lowered_power_limit_is_a_finding),
                T(temperature_has_the_gpus_own_threshold),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
