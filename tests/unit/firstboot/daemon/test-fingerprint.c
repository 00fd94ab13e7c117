/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/fingerprint.h"
#include "daemon/metrics.h"
#include "root-fixture.h"
#include "shared/strv.h"

static void fill(void) {
        root_put("/sys/class/dmi/id/bios_version", "  1.4.2 \n");
        root_put("/sys/class/dmi/id/bios_date", "01/02/2025\n");
        root_put("/sys/module/nvidia/version", "550.54.15\n");
        root_put("/etc/os-release",
                        "PRETTY_NAME=\"Debian\"\nIMAGE_ID=gpu-node\nIMAGE_VERSION='7'\n");
        for (int i = 0; i < 8; i++) {
                _cleanup_free_ char *board = strf("/sys/class/infiniband/mlx5_%d/board_id", i),
                                    *firmware = strf("/sys/class/infiniband/mlx5_%d/fw_ver", i);

                root_put(board, "MT_0000000838\n");
                root_put(firmware, i == 5 ? "28.37.1014\n" : "28.39.1002\n");
        }
}

static void test_versions_are_gathered_and_those_that_differ_show(void **state) {
        Node n = {};

        (void) state;
        fill();
        _cleanup_json_ json_object *o = fingerprint_read(&n);
        assert_string_equal(json_get_string(o, "image"), "gpu-node 7");
        assert_string_equal(json_get_string(o, "bios"), "1.4.2 01/02/2025");
        assert_string_equal(json_get_string(o, "driver"), "550.54.15");
        assert_string_equal(json_get_string(o, "nic"),
                        "MT_0000000838 28.37.1014, MT_0000000838 28.39.1002 (7)");
        assert_non_null(json_get_string(o, "kernel"));
        assert_null(json_get_string(o, "vbios"));
}

static void test_one_version_more_is_another_id(void **state) {
        Node n = {};

        (void) state;
        fill();
        _cleanup_json_ json_object *a = fingerprint_read(&n), *same = fingerprint_read(&n);
        assert_string_equal(json_get_string(a, "id"), json_get_string(same, "id"));
        root_put("/sys/module/nvidia/version", "550.54.16\n");
        _cleanup_json_ json_object *b = fingerprint_read(&n);
        assert_string_not_equal(json_get_string(a, "id"), json_get_string(b, "id"));
}

static void test_it_is_a_metric(void **state) {
        State s = {};
        Node n = { .state = &s };
        _cleanup_free_ char *text = NULL;

        (void) state;
        fill();
        root_put("/sys/class/dmi/id/bios_version", "a\"b\\c\n");
        n.fingerprint = fingerprint_read(&n);
        text = metrics_text(&n);
        assert_non_null(strstr(text, "firstboot_node_info{kernel=\""));
        assert_non_null(strstr(text, "bios=\"a\\\"b\\\\c 01/02/2025\""));
        assert_non_null(strstr(text, ",id=\""));
        json_object_put(n.fingerprint);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                test_versions_are_gathered_and_those_that_differ_show, root_setup,
                                root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_one_version_more_is_another_id, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(test_it_is_a_metric, root_setup, root_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
