/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"

#include "shared/strv.h"
#include "steps/slurm/environment.h"
#include "steps/slurm/node.h"

static void assert_options_at(
                const char *section, const char *fabric, bool drained, const char *options) {
        JsonError e = {};
        _cleanup_json_ json_object *slurm = NULL;
        _cleanup_free_ char *is = NULL, *should = strf("SLURMD_OPTIONS='%s'\n", options);

        assert_return_code(json_parse(section, strlen(section), &e, &slurm), 0);
        is = slurmd_environment(slurm, "n1", fabric, drained);
        assert_string_equal(is, should);
}

static void assert_options(const char *section, bool drained, const char *options) {
        assert_options_at(section, NULL, drained, options);
}

static void all_controllers_are_named_and_options_come_last(void **state _unused_) {
        assert_options("{\"controllers\":[\"a:1\",\"b\"],\"options\":[\"-vv\",\"-b\"]}", false,
                        "--conf-server a:1,b -N n1 -vv -b");
}

static void a_dynamic_node_brings_what_it_is(void **state _unused_) {
        assert_options("{\"controllers\":[\"a\"],\"dynamic\":true}", false,
                        "--conf-server a -N n1 -Z");
        assert_options("{\"controllers\":[\"a\"],\"dynamic\":true,\"gres\":\"gpu:2\",\"features\":[\"h100\",\"nvme\"]}",
                        false, "--conf-server a -N n1 -Z --conf \"Feature=h100,nvme Gres=gpu:2\"");
}

static void a_static_node_says_nothing_of_itself(void **state _unused_) {
        assert_options("{\"controllers\":[\"a\"],\"gres\":\"gpu:2\",\"features\":[\"x\"]}", true,
                        "--conf-server a -N n1");
}

static void gpus_are_counted_by_their_devices(void **state _unused_) {
        STRV_FOREACH (name,
                        ARGV("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia10", "sda")) {
                _cleanup_free_ char *path = strf("/dev/%s", *name);

                root_put(path, "");
        }
        assert_options("{\"controllers\":[\"a\"],\"dynamic\":true,\"gres\":\"auto\"}", false,
                        "--conf-server a -N n1 -Z --conf \"Gres=gpu:3\"");
        assert_options("{\"controllers\":[\"a\"],\"dynamic\":true,\"gres\":\"none\"}", false,
                        "--conf-server a -N n1 -Z");
}

static void a_node_that_is_held_back_registers_drained(void **state _unused_) {
        assert_options("{\"controllers\":[\"a\"],\"dynamic\":true}", true,
                        "--conf-server a -N n1 -Z --conf \"State=DRAIN Reason=" DRAIN_JOINING "\"");
}

static void a_place_in_the_network_is_a_feature(void **state _unused_) {
        assert_options_at(
                        "{\"controllers\":[\"a\"],\"dynamic\":true,\"features\":[\"fast\"],\"gres\":\"none\"}",
                        "i.b.l", false,
                        "--conf-server a -N n1 -Z --conf \"Feature=fast,fabric.i.b.l\"");
        assert_options_at("{\"controllers\":[\"a\"],\"dynamic\":true,\"gres\":\"none\"}", "i.b.l",
                        true,
                        "--conf-server a -N n1 -Z --conf \"Feature=fabric.i.b.l State=DRAIN Reason=" DRAIN_JOINING
                        "\"");
}

static void a_place_that_the_configuration_names_stays(void **state _unused_) {
        assert_options_at(
                        "{\"controllers\":[\"a\"],\"dynamic\":true,\"features\":[\"fabric.rack7\"],\"gres\":\"none\"}",
                        "i.b.l", false, "--conf-server a -N n1 -Z --conf \"Feature=fabric.rack7\"");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(all_controllers_are_named_and_options_come_last),
                TEST(a_dynamic_node_brings_what_it_is),
                TEST(a_static_node_says_nothing_of_itself),
                TEST(gpus_are_counted_by_their_devices),
                TEST(a_node_that_is_held_back_registers_drained),
                TEST(a_place_in_the_network_is_a_feature),
                TEST(a_place_that_the_configuration_names_stays),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
