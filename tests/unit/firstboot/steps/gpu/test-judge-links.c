/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NVLinks and the fabric of NVSwitches. */

#include "gpu-judge-fixture.h"

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

int main(void) {
        const struct CMUnitTest tests[] = {
                T(links_are_counted_against_the_shape),
                T(without_a_shape_the_best_gpu_counts),
                T(a_link_without_any_counter_does_not_pass),
                T(crc_errors_have_a_limit_of_their_own),
                T(crc_errors_count_by_the_second),
                T(every_gpus_fabric_state_is_looked_at),
                T(fabrics_are_known_by_links_too),
                T(before_hopper_the_fabric_manager_alone_knows),
                T(the_fabrics_health_is_read_bit_by_bit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
