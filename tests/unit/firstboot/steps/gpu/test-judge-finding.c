/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a fact that was not read is found, and how a finding reads. */

#include "gpu-judge-fixture.h"
#include "contract/config-schema.h"

static void newer_facts_need_not_be_there(void **state) {
        (void) state;
        facts->gpus[1].facts[GPU_SRAM_THRESHOLD] = (GpuFact) { .state = GPU_NO_SYMBOL };
        set_error(1, GPU_RECOVERY_ACTION, NVML_ERROR_NOT_SUPPORTED);
        assert_well();
        set_error(1, GPU_RECOVERY_ACTION, 999);
        assert_finding(GPU_CODE_NVML, 1);
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
        const struct CMUnitTest tests[] = {
                T(newer_facts_need_not_be_there),
                T(each_fact_is_needed),
                T(what_may_be_unsupported_passes_if_named),
                T(findings_say_which_gpu_and_what_to_do),
                T(facts_that_may_be_unsupported_are_facts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
