/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

#include "shared/package-note.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

PACKAGE_NOTE("test", "9.8~rc1");

static void a_program_tells_its_version(void **state _unused_) {
        _cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *version = NULL;

        assert_int_equal(inspect_note_version(fd, &version), 0);
        assert_string_equal(version, "9.8~rc1");
}

static void a_program_without_a_note_tells_none(void **state _unused_) {
        _cleanup_close_ int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *version = NULL;

        assert_int_equal(inspect_note_version(fd, &version), -ENOENT);
        assert_null(version);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_program_tells_its_version),
                cmocka_unit_test(a_program_without_a_note_tells_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
