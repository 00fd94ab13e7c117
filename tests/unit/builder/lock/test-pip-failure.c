/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/python.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define WHERE "/opt/ml/x"

static char said[4096];
static char *with_old[] = { (char *) "Foo<2", NULL }, *with_new[] = { (char *) "foo>=2", NULL },
            *with_other[] = { (char *) "bar", NULL };
static Overlay old, new, other, *overlays[] = { &old, &new, &other };
static Recipe recipe = { .overlays = overlays, .n_overlays = 3 };
static PythonTarget target = { .name = (char *) "cpython-3.13.5-glibc-2.41-x86_64" };

static void remember(int level, const char *line, void *userdata) {
        (void) level;
        (void) userdata;
        snprintf(said, sizeof(said), "%s", line);
}

static int setup(void **state) {
        (void) state;
        log_set_writer(remember, NULL);
        old = (Overlay) { .name = (char *) "ml-old",
                .python = { .environment = (char *) WHERE, .requirements = with_old } };
        new = (Overlay) { .name = (char *) "ml-new",
                .python = { .environment = (char *) WHERE, .requirements = with_new } };
        other = (Overlay) { .name = (char *) "ml-other",
                .python = { .environment = (char *) WHERE, .requirements = with_other } };
        return 0;
}

static int teardown(void **state) {
        (void) state;
        log_set_writer(NULL, NULL);
        return 0;
}

static int explain(const char *output) {
        const PipCall call = { .target = &target };

        said[0] = '\0';
        return pip_explain(&recipe, WHERE, &call, output);
}

static void a_conflict_names_both_overlays_and_the_ways_out(void **state) {
        (void) state;
        assert_int_equal(
                        explain("Collecting foo\n"
                                "ERROR: Cannot install foo<2 and foo>=2 because these package versions have conflicting dependencies.\n"
                                "\nThe conflict is caused by:\n"
                                "    The user requested foo<2\n"
                                "    The user requested foo>=2\n"
                                "\nTo fix this you could try to:\n"),
                        -EINVAL);
        assert_string_equal(said,
                        "error: Environment " WHERE
                        ": what overlays ml-old and ml-new ask for does not go together: "
                        "The user requested foo<2; The user requested foo>=2. Loosen one of them, or give one overlay an environment of its own");
}

static void a_conflict_through_a_dependency_names_who_asks_for_it(void **state) {
        (void) state;
        assert_int_equal(explain("ERROR: ResolutionImpossible: see\n\nThe conflict is caused by:\n"
                                 "    bar 1.0 depends on foo==1\n"
                                 "    The user requested (constraint) foo>=2\n\n"),
                        -EINVAL);
        assert_non_null(strstr(said, "ml-old and ml-new and ml-other ask for"));
        assert_non_null(strstr(said, "bar 1.0 depends on foo==1; "));
}

static void an_index_that_does_not_answer_is_not_a_missing_package(void **state) {
        (void) state;
        assert_int_equal(
                        explain("WARNING: Retrying (Retry(total=0)) after connection broken by 'refused': /simple/foo/\n"
                                "ERROR: Could not find a version that satisfies the requirement foo<2 (from versions: none)\n"
                                "ERROR: No matching distribution found for foo<2\n"),
                        -ENETUNREACH);
        assert_non_null(strstr(said,
                        "does not answer: 'refused': /simple/foo/. See 'python3 -m pip config list'"));
}

static void what_the_driver_says_goes_before_what_pip_says(void **state) {
        (void) state;
        assert_int_equal(explain("WARNING: Retrying (x) after connection broken by 'refused': /\n"
                                 "imgbuild: out of TLS leads https://a to http://b\n"),
                        -ENETUNREACH);
        assert_non_null(strstr(said, "leads out of TLS, from https://a to http://b, where"));
        assert_int_equal(explain("imgbuild: by the proxy http://p:3128\n"
                                 "imgbuild: too slow is https://a\n"),
                        -ENETUNREACH);
        assert_non_null(strstr(said, "to go on: https://a, by the proxy http://p:3128. See"));
        assert_int_equal(explain("imgbuild: by the proxy http://p:3128\n"
                                 "WARNING: Retrying (x) after connection broken by 'refused': /\n"),
                        -ENETUNREACH);
        assert_non_null(strstr(said, "does not answer by the proxy http://p:3128: 'refused': /."));
}

static void an_index_without_tls_is_not_a_missing_package(void **state) {
        (void) state;
        assert_int_equal(
                        explain("WARNING: The repository located at a.example is not a trusted or secure host and is being ignored.\n"
                                "ERROR: No matching distribution found for foo\n"),
                        -EREMOTEIO);
        assert_non_null(strstr(said, "on a.example is not over TLS"));
        assert_non_null(strstr(said, "PIP_TRUSTED_HOST=a.example on this host"));
}

static void a_version_that_is_not_there_names_those_that_are(void **state) {
        (void) state;
        assert_int_equal(
                        explain("ERROR: Could not find a version that satisfies the requirement bar (from versions: 0.1, 0.2)\n"
                                "ERROR: No matching distribution found for bar\n"),
                        -EINVAL);
        assert_non_null(strstr(said,
                        "(overlay ml-other): no wheel for cpython-3.13.5-glibc-2.41-x86_64 answers bar. There are: 0.1, 0.2)"));
}

static void of_family_el_the_systems_python_may_be_too_old(void **state) {
        static const char output[] =
                        "ERROR: Could not find a version that satisfies the requirement bar (from versions: 0.1)\n"
                        "ERROR: No matching distribution found for bar\n";
        const PythonTarget before = target;

        (void) state;
        recipe.family = FAMILY_EL;
        target = (PythonTarget) { .name = (char *) "cpython-3.9.21-glibc-2.34-x86_64",
                .minor = (char *) "3.9" };
        assert_int_equal(explain(output), -EINVAL);
        assert_non_null(strstr(said,
                        "The environment is of the system's own Python, 3.9: name a newer one in the overlay's python.interpreter"));
        other.python.interpreter = (char *) "python3.12";
        assert_int_equal(explain(output), -EINVAL);
        assert_null(strstr(said, "the system's own Python"));
        recipe.family = FAMILY_DEBIAN;
        target = before;
}

static void anything_else_is_told_in_pips_words(void **state) {
        (void) state;
        assert_int_equal(explain("ERROR: something new\n"), -EREMOTEIO);
        assert_non_null(strstr(said, "pip finds no wheels for it: something new"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_conflict_names_both_overlays_and_the_ways_out),
                cmocka_unit_test(a_conflict_through_a_dependency_names_who_asks_for_it),
                cmocka_unit_test(an_index_that_does_not_answer_is_not_a_missing_package),
                cmocka_unit_test(what_the_driver_says_goes_before_what_pip_says),
                cmocka_unit_test(an_index_without_tls_is_not_a_missing_package),
                cmocka_unit_test(a_version_that_is_not_there_names_those_that_are),
                cmocka_unit_test(of_family_el_the_systems_python_may_be_too_old),
                cmocka_unit_test(anything_else_is_told_in_pips_words),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
