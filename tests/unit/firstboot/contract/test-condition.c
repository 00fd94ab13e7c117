/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/condition.h"

static void put_device(const char *address, const char *vendor) {
        _cleanup_free_ char *path = fb_pathf("/sys/bus/pci/devices/%s/vendor", address);

        assert_return_code(mkdir_parents(path, 0755), 0);
        if (vendor)
                assert_return_code(write_file_atomic(path, vendor, strlen(vendor), 0444), 0);
}

/* What condition_holds() says of a step "gpu" with these words. */
static int holds(const char *config, char **ret_why, char *const words[]) {
        _cleanup_json_ json_object *o = json_tokener_parse(config);
        const Step s = { .name = (char *) "gpu", .only_if = (char **) words };

        return condition_holds(&s, o, ret_why);
}

#define HOLDS(config, ret_why, ...) holds(config, ret_why, (char *const[]) { __VA_ARGS__, NULL })
#define CONFIGURED ((char *) "configured")
#define ENABLED ((char *) "enabled")
#define NVIDIA ((char *) "pci:10de")

static void words_that_are_conditions(void **state) {
        static const struct {
                const char *word;
                bool valid;
        } cases[] = {
                { "configured", true },
                { "enabled", true },
                { "pci:10de", true },
                { "pci:10DE", false },
                { "pci:10d", false },
                { "pci:10dee", false },
                { "pci:", false },
                { "", false },
                { "Configured", false },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                if (condition_is_valid(cases[i].word) != cases[i].valid)
                        fail_msg("\"%s\"", cases[i].word);
}

static void a_step_without_conditions_runs(void **state) {
        const Step s = { .name = (char *) "gpu" };

        (void) state;
        assert_int_equal(condition_holds(&s, NULL, NULL), 1);
}

static void a_section_is_enough_even_an_empty_one(void **state) {
        (void) state;
        assert_int_equal(HOLDS("{\"gpu\":{}}", NULL, NVIDIA, CONFIGURED), 1);
}

static void a_switch_must_be_on(void **state) {
        static const char *const off[] = { "{}", "{\"gpu\":{}}", "{\"gpu\":{\"enabled\":false}}" };

        (void) state;
        assert_int_equal(HOLDS("{\"gpu\":{\"enabled\":true}}", NULL, ENABLED), 1);
        for (size_t i = 0; i < ELEMENTSOF(off); i++) {
                _cleanup_free_ char *why = NULL;

                assert_int_equal(HOLDS(off[i], &why, ENABLED), 0);
                assert_string_equal(why, "gpu.enabled is not set");
        }
}

static void a_device_is_enough(void **state) {
        (void) state;
        put_device("0000:00:00.0", "0x8086\n");
        put_device("0000:01:00.0", "0x10de\n");
        assert_int_equal(HOLDS("{}", NULL, CONFIGURED, NVIDIA), 1);
}

static void without_either_all_reasons_are_told(void **state) {
        _cleanup_free_ char *why = NULL;

        (void) state;
        put_device("0000:00:00.0", "0x8086\n");
        assert_int_equal(HOLDS("{\"nccl\":{}}", &why, CONFIGURED, NVIDIA), 0);
        assert_string_equal(why,
                        "no gpu section in the configuration, PCI shows no device of vendor 10de");
}

static void a_machine_without_pci_has_no_device(void **state) {
        _cleanup_free_ char *why = NULL;

        (void) state;
        assert_int_equal(HOLDS("{}", &why, NVIDIA), 0);
}

static void a_device_that_cannot_be_read_is_for_the_step_to_judge(void **state) {
        (void) state;
        put_device("0000:01:00.0", NULL);
        assert_int_equal(HOLDS("{}", NULL, NVIDIA), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_that_are_conditions),
                cmocka_unit_test(a_step_without_conditions_runs),
                cmocka_unit_test_setup_teardown(
                                a_section_is_enough_even_an_empty_one, root_setup, root_teardown),
                cmocka_unit_test(a_switch_must_be_on),
                cmocka_unit_test_setup_teardown(a_device_is_enough, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                without_either_all_reasons_are_told, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_machine_without_pci_has_no_device, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                a_device_that_cannot_be_read_is_for_the_step_to_judge, root_setup,
                                root_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
