/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NVML asked through its double, and our declarations held to the real header. */

#include "steps/gpu/nvml.h"
#include "steps/gpu/xid.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

static void addresses_are_as_sysfs_has_them(void **state) {
        static const char *const cases[][2] = {
                { "00000000:3B:00.0", "0000:3b:00.0" },
                { "00010000:3B:00.0", "00010000:3b:00.0" },
                { "0000:3B:00.0", "0000:3b:00.0" },
                { "", "" },
        };
        char pci[32];

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                nvml_pci_address(cases[i][0], pci, sizeof(pci));
                assert_string_equal(pci, cases[i][1]);
        }
        nvml_pci_address("00000000:3B:00.0", pci, 5);
        assert_string_equal(pci, "0000");
}

static void an_absent_library_is_told_from_one_that_lacks_a_function(void **state) {
        NvmlApi api;
        char error[200];

        (void) state;
        assert_int_equal(nvml_api_load("libno-such-library.so.1", &api, error, sizeof(error)),
                        -ENOENT);
        assert_non_null(strstr(error, "libno-such-library.so.1"));
        assert_int_equal(nvml_api_load("libc.so.6", &api, error, sizeof(error)), -ENOSYS);
        assert_string_equal(error, "libc.so.6 has no nvmlInit_v2");
}

static void every_fact_has_a_name_and_a_function(void **state) {
        (void) state;
        for (size_t i = 0; i < GPU_FACTS_N; i++) {
                assert_non_null(gpu_fact_names[i].name);
                assert_non_null(gpu_fact_names[i].unit);
                assert_non_null(gpu_fact_names[i].symbol);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(gpu_fact_names[i].name, gpu_fact_names[k].name);
        }
}

/* --- the child that asks
 * -------------------------------------------------------------------------- */

static void answer(GpuFacts *f, GpuPhase *phase, void *userdata) {
        (void) userdata;
        f->n = 3;
        gpu_phase_end(phase, GPU_PHASE_DONE, 0, "well");
}

static void crash(GpuFacts *f, GpuPhase *phase, void *userdata) {
        (void) f, (void) userdata;
        gpu_phase_enter(phase, "nvmlCrash", 2);
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
}

static void hang(GpuFacts *f, GpuPhase *phase, void *userdata) {
        (void) userdata;
        f->n = 5;
        gpu_phase_enter(phase, "nvmlHang", 4);
        signal(SIGTERM, SIG_IGN);
        for (;;)
                pause();
}

static void leave(GpuFacts *f, GpuPhase *phase, void *userdata) {
        (void) f, (void) phase, (void) userdata;
        _exit(0);
}

static void an_answer_comes_back(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_ask(f, &f->nvml, answer, NULL, 60 * USEC_PER_SEC);
        assert_int_equal(f->nvml.state, GPU_PHASE_DONE);
        assert_int_equal(f->n, 3);
}

static void a_child_that_hangs_is_killed_and_what_it_found_stays(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_ask(f, &f->nvml, hang, NULL, 300 * USEC_PER_MSEC);
        assert_int_equal(f->nvml.state, GPU_PHASE_TIMEOUT);
        assert_string_equal(f->nvml.call, "nvmlHang");
        assert_int_equal(f->nvml.gpu, 4);
        assert_int_equal(f->n, 5);
}

static void a_child_that_crashes_is_told(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_ask(f, &f->nvml, crash, NULL, 60 * USEC_PER_SEC);
        assert_int_equal(f->nvml.state, GPU_PHASE_CRASHED);
        assert_int_equal(f->nvml.error, SIGSEGV);
        assert_int_equal(f->nvml.gpu, 2);
}

static void a_child_that_says_nothing_has_not_answered(void **state) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();

        (void) state;
        gpu_ask(f, &f->nvml, leave, NULL, 60 * USEC_PER_SEC);
        assert_int_equal(f->nvml.state, GPU_PHASE_CRASHED);
}

/* --- NVIDIA's header
 * ------------------------------------------------------------------------------ */

/* $NVML_H, or that of a CUDA toolkit; NULL where there is none. */
static char *find_header(void) {
        const char *given = getenv("NVML_H");
        char *path = NULL;
        glob_t g;

        if (given)
                return strdup(given);
        if (access("/usr/include/nvml.h", R_OK) == 0)
                return strdup("/usr/include/nvml.h");
        if (glob("/usr/local/cuda*/include/nvml.h", 0, NULL, &g) == 0 && g.gl_pathc > 0)
                path = strdup(g.gl_pathv[0]);
        globfree(&g);
        return path;
}

#define SIZE(type) { "sizeof(" #type ")", sizeof(type) }
#define AT(type, member) { "offsetof(" #type "," #member ")", offsetof(type, member) }
#define IS(constant) { #constant, constant }

/* Sizes, offsets and numbers as the header may say them, and as we do. */
static const struct {
        const char *text;
        unsigned long long ours;
} declarations[] = {
        SIZE(nvmlPciInfo_t),
        AT(nvmlPciInfo_t, domain),
        AT(nvmlPciInfo_t, busId),
        SIZE(nvmlFieldValue_t),
        AT(nvmlFieldValue_t, scopeId),
        AT(nvmlFieldValue_t, valueType),
        AT(nvmlFieldValue_t, nvmlReturn),
        AT(nvmlFieldValue_t, value),
        SIZE(nvmlGpuFabricInfo_t),
        AT(nvmlGpuFabricInfo_t, status),
        AT(nvmlGpuFabricInfo_t, state),
        SIZE(nvmlGpuFabricInfo_v2_t),
        AT(nvmlGpuFabricInfo_v2_t, status),
        AT(nvmlGpuFabricInfo_v2_t, state),
        AT(nvmlGpuFabricInfo_v2_t, healthMask),
        SIZE(nvmlGpuFabricInfo_v3_t),
        AT(nvmlGpuFabricInfo_v3_t, healthMask),
        AT(nvmlGpuFabricInfo_v3_t, healthSummary),
        AT(nvmlGpuFabricInfo_v3_t, clusterUuid),
        AT(nvmlGpuFabricInfo_v3_t, cliqueId),
        SIZE(nvmlUtilization_t),
        SIZE(nvmlMarginTemperature_v1_t),
        AT(nvmlMarginTemperature_v1_t, marginTemperature),
        SIZE(nvmlEccSramErrorStatus_v1_t),
        AT(nvmlEccSramErrorStatus_v1_t, bThresholdExceeded),
        { "nvmlGpuFabricInfo_v2", NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v2_t, 2) },
        { "nvmlGpuFabricInfo_v3", NVML_STRUCT_VERSION(nvmlGpuFabricInfo_v3_t, 3) },
        { "nvmlMarginTemperature_v1", NVML_STRUCT_VERSION(nvmlMarginTemperature_v1_t, 1) },
        { "nvmlEccSramErrorStatus_v1", NVML_STRUCT_VERSION(nvmlEccSramErrorStatus_v1_t, 1) },
        { "nvmlClocksEventReasonGpuIdle", NVML_CLOCKS_IDLE },
        { "nvmlClocksEventReasonSwPowerCap", NVML_CLOCKS_SW_POWER_CAP },
        { "nvmlClocksThrottleReasonHwSlowdown", NVML_CLOCKS_HW_SLOWDOWN },
        { "nvmlClocksThrottleReasonSwThermalSlowdown", NVML_CLOCKS_SW_THERMAL_SLOWDOWN },
        { "nvmlClocksThrottleReasonHwThermalSlowdown", NVML_CLOCKS_HW_THERMAL_SLOWDOWN },
        { "nvmlClocksThrottleReasonHwPowerBrakeSlowdown", NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN },
        { "NVML_VALUE_TYPE_UNSIGNED_INT", 1 },
        { "NVML_NVLINK_ERROR_DL_REPLAY", 0 },
        { "NVML_NVLINK_ERROR_DL_RECOVERY", 1 },
        { "NVML_NVLINK_ERROR_DL_CRC_FLIT", 2 },
        { "NVML_NVLINK_ERROR_DL_CRC_DATA", 3 },
        { "NVML_DEVICE_ARCH_AMPERE", 7 },
        { "NVML_NVLINK_MAX_LINKS > 36", 0 },
        IS(NVML_ERROR_INVALID_ARGUMENT),
        IS(NVML_ERROR_NOT_SUPPORTED),
        IS(NVML_ERROR_INSUFFICIENT_SIZE),
        IS(NVML_ERROR_DRIVER_NOT_LOADED),
        IS(NVML_ERROR_GPU_IS_LOST),
        IS(NVML_ERROR_RESET_REQUIRED),
        IS(NVML_ERROR_LIB_RM_VERSION_MISMATCH),
        IS(NVML_CLOCK_SM),
        IS(NVML_MEMORY_LOCATION_SRAM),
        IS(NVML_GPU_VIRTUALIZATION_MODE_VGPU),
        IS(NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU),
        IS(NVML_BRAND_GEFORCE),
        IS(NVML_BRAND_TITAN),
        { "NVML_GPU_RECOVERY_ACTION_GPU_RESET", GPU_RECOVERY_RESET },
        { "NVML_GPU_RECOVERY_ACTION_NODE_REBOOT", GPU_RECOVERY_REBOOT },
        { "NVML_GPU_RECOVERY_ACTION_DRAIN_P2P", GPU_RECOVERY_DRAIN_P2P },
        { "NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET", GPU_RECOVERY_DRAIN_AND_RESET },
        { "NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN", GPU_RECOVERY_IMEX },
        IS(NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        IS(NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        IS(NVML_AGGREGATE_ECC),
        IS(NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR),
        IS(NVML_NVLINK_DEVICE_TYPE_SWITCH),
        IS(NVML_DEVICE_ARCH_HOPPER),
        IS(NVML_DEVICE_ARCH_BLACKWELL),
        IS(NVML_GPU_FABRIC_STATE_NOT_STARTED),
        IS(NVML_GPU_FABRIC_STATE_COMPLETED),
        IS(NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY),
        IS(NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS),
        IS(NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS),
        IS(NVML_FI_DEV_GET_GPU_RECOVERY_ACTION),
};

static void our_declarations_are_those_of_the_header(void **state) {
        _cleanup_free_ char *header = find_header(), *program = NULL, *output = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        char source[] = "/tmp/test-gpu-nvml.XXXXXX";
        int status = 0;

        (void) state;
        if (!header) {
                print_message("nvml.h is missing: no CUDA toolkit, and $NVML_H is not set\n");
                skip();
        }
        int fd = mkstemp(source);
        FILE *f = fdopen(fd, "we");
        assert_non_null(f);
        fprintf(f, "#include <stdio.h>\n#include <stddef.h>\n#include \"%s\"\nint main(void) {\n",
                        header);
        for (size_t i = 0; i < ELEMENTSOF(declarations); i++)
                fprintf(f, "printf(\"%%llu\\n\", (unsigned long long) (%s));\n",
                                declarations[i].text);
        fprintf(f, "return 0; }\n");
        assert_int_equal(fclose(f), 0);
        program = strf("%s.program", source);
        assert_return_code(spawn_capture(NULL, ARGV("cc", "-w", "-x", "c", "-o", program, source),
                                           &output, &status),
                        0);
        if (status != 0)
                fail_msg("%s", output);
        free(TAKE_PTR(output));
        assert_return_code(spawn_capture(NULL, ARGV(program), &output, &status), 0);
        unlink(program);
        unlink(source);
        lines = strv_split(output, "\n");
        assert_int_equal(strv_length(lines), ELEMENTSOF(declarations));
        for (size_t i = 0; i < ELEMENTSOF(declarations); i++)
                if (strtoull(lines[i], NULL, 10) != declarations[i].ours)
                        fail_msg("%s is %s in %s, %llu here", declarations[i].text, lines[i],
                                        header, declarations[i].ours);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_are_as_sysfs_has_them),
                cmocka_unit_test(an_absent_library_is_told_from_one_that_lacks_a_function),
                cmocka_unit_test(every_fact_has_a_name_and_a_function),
                cmocka_unit_test(an_answer_comes_back),
                cmocka_unit_test(a_child_that_hangs_is_killed_and_what_it_found_stays),
                cmocka_unit_test(a_child_that_crashes_is_told),
                cmocka_unit_test(a_child_that_says_nothing_has_not_answered),
                cmocka_unit_test(our_declarations_are_those_of_the_header),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
