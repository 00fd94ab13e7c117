/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is wrong with which GPU: the node as a whole, what is not there, and several faults at
 * once. */

#include "gpu-judge-fixture.h"
#include "contract/config-schema.h"

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

/* Two at once, each of another GPU, in both orders: nothing hides anything, and the more serious
 * one gives the verdict its code. */
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

int main(void) {
        const struct CMUnitTest tests[] = {
                T(healthy_gpus_pass),
                T(nothing_read_never_passes),
                T(the_most_serious_comes_first),
                T(two_faults_at_once_are_both_found),
                T(two_faults_of_one_gpu_are_both_found),
                T(every_code_has_a_name),
                T(the_configurations_defaults_are_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
