/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of metadata folders, and where they are looked for: libguestfs' glob is a double that looks
 * into a folder of the test's own. */

#include "inspect/internal.h"

#include "shared/file-util.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char root[] = "/tmp/imgbuild-test.XXXXXX";

/* The program's own comes before the library's. */
char **guestfs_glob_expand_opts(guestfs_h *g _unused_, const char *pattern, ...) {
        _cleanup_free_ char *path = strf("%s%s", root, pattern);
        _cleanup_strv_free_ char **found = NULL;
        glob_t results = {};

        assert_non_null(path);
        if (glob(path, GLOB_NOSORT, NULL, &results) == 0)
                for (size_t i = 0; i < results.gl_pathc; i++)
                        assert_return_code(
                                        strv_extend(&found, results.gl_pathv[i] + strlen(root)), 0);
        globfree(&results);
        return TAKE_PTR(found);
}

static int setup(void **state _unused_) {
        strcpy(root + strlen(root) - 6, "XXXXXX");
        return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state _unused_) {
        return rm_rf(root);
}

static void put(const char *folder) {
        _cleanup_free_ char *path = strf("%s%s/METADATA", root, folder);

        assert_non_null(path);
        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, "", 0, 0644), 0);
}

/* What inspect says of the part called key; NULL: nothing. The caller frees it. */
static char *found(const char *key) {
        _cleanup_json_ json_object *list = json_object_new_object();
        const char *version;

        assert_return_code(inspect_python(NULL, list), 0);
        version = json_get_string(json_get(list, key), "version");
        return version ? strdup(version) : NULL;
}

static void metadata_folders_name_their_version(void **state _unused_) {
        static const struct {
                const char *path, *name, *version;
        } cases[] = {
                { "/opt/ml/lib/python3.12/site-packages/torch-2.5.1+cu124.dist-info", "torch",
                                "2.5.1+cu124" },
                { "/usr/lib/python3/dist-packages/mpi4py-4.0.3.egg-info", "mpi4py", "4.0.3" },
                { "/x/torch-2.5.1.dist-info", "ray", NULL },
                { "/x/torchvision-0.20.1.dist-info", "torch", NULL },
                { "/x/ray-cpp.dist-info", "ray", NULL },
                { "/x/torch-2.5.1", "torch", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *version = inspect_python_version(cases[i].path, cases[i].name);

                assert_true(streq_ptr(version, cases[i].version));
        }
}

static void overlays_environments_are_looked_into(void **state _unused_) {
        _cleanup_free_ char *version = NULL;

        put("/opt/ml/torch-2.6/lib/python3.13/site-packages/torch-2.6.0+cpu.dist-info");
        version = found("torch");
        assert_string_equal(version, "2.6.0+cpu");
}

static void conda_environments_are_looked_into(void **state _unused_) {
        _cleanup_free_ char *version = NULL;

        put("/opt/conda/envs/my_ray/lib/python3.12/site-packages/ray-2.40.0.dist-info");
        version = found("ray");
        assert_string_equal(version, "2.40.0");
}

static void two_environments_show_both_versions_once(void **state _unused_) {
        _cleanup_free_ char *version = NULL;

        put("/opt/ml/a/lib/python3.13/site-packages/numpy-2.1.0.dist-info");
        put("/opt/ml/b/lib/python3.13/site-packages/numpy-2.1.0.dist-info");
        put("/opt/ml/c/lib/python3.13/site-packages/numpy-1.26.4.dist-info");
        version = found("numpy");
        assert_non_null(version);
        assert_int_equal(strlen(version), strlen("2.1.0, 1.26.4"));
        assert_non_null(strstr(version, "2.1.0"));
        assert_non_null(strstr(version, "1.26.4"));
}

static void what_is_not_installed_is_not_named(void **state _unused_) {
        _cleanup_free_ char *version = NULL;

        put("/opt/ml/a/share/python3.13/site-packages/torch-2.6.0.dist-info");
        version = found("torch");
        assert_null(version);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(metadata_folders_name_their_version),
                cmocka_unit_test_setup_teardown(
                                overlays_environments_are_looked_into, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                conda_environments_are_looked_into, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                two_environments_show_both_versions_once, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                what_is_not_installed_is_not_named, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
