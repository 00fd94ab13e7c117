/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What shows under load only. */

#include "gpu-judge-fixture.h"

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

int main(void) {
        const struct CMUnitTest tests[] = {
                T(a_healthy_load_passes),
                T(counters_that_grow_under_load_are_findings),
                T(clocks_locked_low_are_a_finding),
                T(a_slowdown_under_load_is_a_finding),
                T(a_gpu_slower_than_its_like_is_a_finding),
                T(a_load_that_fails_is_a_finding),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
