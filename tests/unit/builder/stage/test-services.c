/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A unit that is not there: the message names the overlay that wants it. systemctl is a double that
 * has the words of the real one, of several versions. */

#include "sandbox-fixture.h"
#include "log-fixture.h"

#include "stage/internal.h"

static int begin(void **state) {
        log_begin();
        return setup(state);
}

static int end(void **state) {
        log_end();
        lines = strv_free(lines);
        return teardown(state);
}

#define UNITS(...) ((char *[]) { __VA_ARGS__, NULL })

/* Two overlays enable and mask a unit each; systemctl fails at one verb with these words. */
static char *services_fail(const char *verb, const char *words) {
        Overlay first = { .file = (char *) "overlays/first/overlay.json",
                .services.enable = UNITS((char *) "ssh.service", (char *) "nosuch") };
        Overlay second = { .file = (char *) "overlays/second/overlay.json",
                .services.enable = UNITS((char *) "nosuch-other.service"),
                .services.mask = UNITS((char *) "gone.timer") };
        Recipe recipe = { .overlays = (Overlay *[]) { &first, &second }, .n_overlays = 2 };
        Stage stage = { .kind = STAGE_SERVICES, .id = (char *) "services" };
        Plan plan = { .recipe = &recipe, .stages = &stage, .n_stages = 1 };
        Context ctx = { .store = f.store };
        StageBuild b = { .ctx = &ctx, .plan = &plan, .stage = &stage, .sandbox = f.sandbox };
        _cleanup_free_ char
                        *script = strf("#!/bin/sh\n[ \"$3\" != %s ] || { echo '%s'; exit 1; }\n",
                                        verb, words),
                        *path = path_join(f.lower, "opt/systemctl");

        put(f.lower, "opt/systemctl", script);
        assert_int_equal(chmod(path, 0755), 0);
        b.sandbox.path_prefix = "/opt";
        assert_int_equal(stage_services(&b), -EIO);
        return strv_join(lines, "\n");
}

static void the_overlay_that_enables_it_is_named(void **state _unused_) {
        static const char *const words[] = {
                "Failed to enable unit: Unit nosuch.service does not exist",
                "Failed to enable unit, unit nosuch.service does not exist.",
        };

        requires_namespaces();
        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                _cleanup_free_ char *text = services_fail("enable", words[i]);

                assert_non_null(strstr(text,
                                "overlays/first/overlay.json: $.services.enable: there is no unit nosuch in the image"));
                assert_null(strstr(text, "overlays/second"));
                lines = strv_free(lines);
        }
}

static void a_masked_unit_is_looked_for_among_the_masked(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text =
                        services_fail("mask", "Failed to mask unit: Unit gone.timer not found.");

        assert_non_null(strstr(text,
                        "overlays/second/overlay.json: $.services.mask: there is no unit gone.timer"));
}

static void another_failure_blames_no_overlay(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = services_fail("enable", "Failed to enable unit: File exists");

        assert_null(strstr(text, "overlay.json"));
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_overlay_that_enables_it_is_named, begin, end),
                cmocka_unit_test_setup_teardown(
                                a_masked_unit_is_looked_for_among_the_masked, begin, end),
                cmocka_unit_test_setup_teardown(another_failure_blames_no_overlay, begin, end),
        };

        if (geteuid() != 0 && userns_enter(argc, argv) < 0) {
                print_message("needs root or a user namespace\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
