/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The Python of a base image: what its own database of packages says, and what no run asks
 * twice. */

#include "lock/python.h"
#include "sandbox/sandbox.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TARGET "cpython-3.9.21-glibc-2.34-x86_64"

static char path[64], said[256];
static const char *answer;
static unsigned asked;
static Context ctx;
static Overlay overlay = { .name = (char *) "wheels",
        .python = { .environment = (char *) "/opt/x" } };
static Overlay *overlays[] = { &overlay };
static Recipe recipe;
static Resolution x;

static void remember(int level _unused_, const char *line, void *userdata _unused_) {
        snprintf(said, sizeof(said), "%s", line);
}

/* dnf-ask.py, as far as it matters here. */
static int answer_for_rpm(Context *c _unused_, const char *near _unused_,
                const struct Limits *limits _unused_, const struct SandboxBind *binds,
                size_t n_binds, char *const argv[]) {
        _cleanup_free_ char *to = path_join(binds[1].source, "answer.json");

        assert_int_equal(n_binds, 3);
        assert_string_equal(argv[2], "installed");
        asked++;
        return write_file_atomic(to, answer, strlen(answer), 0644);
}

/* data_folder(), by the linker: dnf-ask.py is looked for beside imgbuild, and a test's program lies
 * deeper. */
char *__wrap_data_folder(void);

char *__wrap_data_folder(void) {
        const char *top = getenv("TOP");

        return realpath(top ? top : ".", NULL);
}

static int setup(void **state _unused_) {
        asked = 0;
        answer = "{\"packages\": []}";
        ctx = (Context) { .run_el_tool = answer_for_rpm };
        overlay.python.interpreter = NULL;
        recipe = (Recipe) { .name = (char *) "r",
                .path = (char *) "r.json",
                .overlays = overlays,
                .n_overlays = 1,
                .base = { .arch = (char *) "amd64", .release = (char *) "9.6" } };
        x = (Resolution) { .ctx = &ctx,
                .recipe = &recipe,
                .image = { .name = (char *) "vendor.qcow2", .sha256 = (char *) SHA } };
        snprintf(path, sizeof(path), "/tmp/test-image-python.XXXXXX");
        assert_non_null(mkdtemp(path));
        log_set_writer(remember, NULL);
        return store_open(path, &ctx.store);
}

static int teardown(void **state _unused_) {
        log_set_writer(NULL, NULL);
        free(x.image.status);
        ctx.store = store_free(ctx.store);
        return rm_rf(path);
}

/* What the image's database of packages is. */
static void put_status(const char *text) {
        _cleanup_free_ char *folder = NULL, *file = NULL;
        Digest digest;

        assert_int_equal(store_scratch(ctx.store, "status", &folder), 0);
        file = path_join(folder, "status");
        assert_int_equal(write_file_atomic(file, text, strlen(text), 0644), 0);
        assert_int_equal(store_add_blob(ctx.store, file, NULL, digest), 0);
        x.image.status = strdup(digest);
}

static void dpkgs_status_says_it(void **state _unused_) {
        _cleanup_python_target_ PythonTarget t = {};
        _cleanup_lock_free_ Lock *l = NULL;

        put_status("Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.41-12\n\n"
                   "Package: python3.13\nStatus: install ok installed\nArchitecture: amd64\nVersion: 3.13.5-2\n\n"
                   "Package: python3\nStatus: install ok installed\nArchitecture: amd64\nVersion: 3.13.5-1\n");
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(resolution_python(&x, l, &overlay, NULL, &t), 0);
        assert_string_equal(t.name, "cpython-3.13.5-glibc-2.41-x86_64");
}

static void what_is_only_configured_is_not_there(void **state _unused_) {
        _cleanup_lock_free_ Lock *l = NULL;
        PythonTarget t;

        put_status("Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.41-12\n\n"
                   "Package: python3\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 3.13.5-1\n");
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(resolution_python(&x, l, &overlay, NULL, &t), -EINVAL);
        assert_non_null(strstr(said,
                        "Overlay wheels fills the Python environment /opt/x, and the image has no python3: add \"python3\""));
}

static void rpm_is_asked_and_only_once(void **state _unused_) {
        _cleanup_python_target_ PythonTarget first = {}, again = {}, moved = {};
        _cleanup_lock_free_ Lock *l = NULL, *old = NULL;
        const LockedEnvironment e = { .target = (char *) TARGET };
        LockedStage *s;

        recipe.family = FAMILY_EL;
        answer = "{\"packages\": [{\"name\": \"glibc\", \"version\": \"2.34-168.el9\"},"
                 " {\"name\": \"python3\", \"version\": \"3.9.21-2.el9\"}, {\"name\": \"other\", \"version\": \"1\"}]}";
        put_status("a database");
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(resolution_python(&x, l, &overlay, NULL, &first), 0);
        assert_string_equal(first.name, TARGET);
        assert_int_equal(asked, 1);

        assert_int_equal(lock_new("r", &old), 0);
        old->image.sha256 = strdup(SHA);
        x.old = old;
        assert_int_equal(resolution_python(&x, l, &overlay, &e, &again), 0);
        assert_string_equal(again.name, TARGET);
        assert_int_equal(asked, 1);

        assert_int_equal(lock_add_stage(l, "packages:wheels", SHA, &s), 0);
        assert_int_equal(resolution_python(&x, l, &overlay, &e, &moved), 0);
        assert_int_equal(asked, 2);
}

static void another_python_of_the_image_is_named(void **state _unused_) {
        _cleanup_lock_free_ Lock *l = NULL;
        PythonTarget t;

        recipe.family = FAMILY_EL;
        overlay.python.interpreter = (char *) "python3.12";
        answer = "{\"packages\": [{\"name\": \"glibc\", \"version\": \"2.34-168.el9\"},"
                 " {\"name\": \"python3\", \"version\": \"3.9.21-2.el9\"}]}";
        put_status("a database");
        assert_int_equal(lock_new("r", &l), 0);
        assert_int_equal(resolution_python(&x, l, &overlay, NULL, &t), -EINVAL);
        assert_non_null(strstr(said, "the image has no python3.12: add \"python3.12\""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(dpkgs_status_says_it, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                what_is_only_configured_is_not_there, setup, teardown),
                cmocka_unit_test_setup_teardown(rpm_is_asked_and_only_once, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                another_python_of_the_image_is_named, setup, teardown),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
