/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Headers that lead out of the image, made byte by byte; what QEMU itself writes is
 * tests/cli/import.sh's. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "appliance/appliance.h"
#include "log-fixture.h"
#include "shared/file-util.h"

#include <fcntl.h>

typedef struct Patch {
        off_t at;
        const char *bytes;
        size_t n;
} Patch;

static int judge(const char *format, const Patch *patches, size_t n) {
        char path[] = "/tmp/test-whole-XXXXXX";
        int fd = mkstemp(path), r;

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 1024 * 1024), 0);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(pwrite(fd, patches[i].bytes, patches[i].n, patches[i].at),
                                patches[i].n);
        close(fd);
        lines = strv_free(lines);
        log_begin();
        r = image_require_whole(path, format);
        log_end();
        unlink(path);
        return r;
}

static void assert_refused(const char *format, const Patch *patches, size_t n, const char *why) {
        assert_int_equal(judge(format, patches, n), -EPERM);
        assert_int_equal(strv_length(lines), 1);
        if (!strstr(lines[0], why))
                fail_msg("%s: not about %s", lines[0], why);
        lines = strv_free(lines);
}

#define QCOW2 { 0, "QFI\xfb\0\0\0\3", 8 }
#define VMDK                                                                                     \
        { 0, "KDMV\1\0\0\0", 8 }, { 12, "\0\10\0\0\0\0\0\0", 8 }, { 28, "\1\0\0\0\0\0\0\0", 8 }, \
                        { 36, "\24\0\0\0\0\0\0\0", 8 }

static void a_backing_file_is_refused(void **state _unused_) {
        const Patch p[] = { QCOW2, { 8, "\0\0\0\0\0\0\1\0", 8 }, { 16, "\0\0\0\13", 4 },
                { 256, "/etc/shadow", 11 } };

        assert_refused("qcow2", p, ELEMENTSOF(p), "backing file");
}

static void data_in_another_file_is_refused(void **state _unused_) {
        const Patch p[] = { QCOW2, { 72, "\0\0\0\0\0\0\0\4", 8 } };

        assert_refused("qcow2", p, ELEMENTSOF(p), "data in another file");
}

static void encryption_is_refused(void **state _unused_) {
        const Patch p[] = { QCOW2, { 32, "\0\0\0\2", 4 } };

        assert_refused("qcow2", p, ELEMENTSOF(p), "encrypted");
}

/* Version 2 has no such field: what lies there is the first extension. */
static void version_2_has_no_features(void **state _unused_) {
        const Patch p[] = { { 0, "QFI\xfb\0\0\0\2", 8 }, { 72, "\0\0\0\0\0\0\0\4", 8 } };

        assert_int_not_equal(judge("qcow2", p, ELEMENTSOF(p)), -EPERM);
}

static void vmdk_extents_elsewhere_are_refused(void **state _unused_) {
        const Patch descriptor
                        [] = { { 0, "# Disk DescriptorFile\nRW 1 FLAT \"/etc/shadow\" 0\n", 48 } },
              old[] = { { 0, "COWD", 4 } },
              /* QEMU takes the extents of an embedded descriptor where the header says no size. */
                        embedded[] = { VMDK, { 12, "\0\0\0\0\0\0\0\0", 8 },
                                { 512, "RW 1 FLAT \"/etc/shadow\" 0\n", 26 } };

        assert_refused("vmdk", descriptor, ELEMENTSOF(descriptor), "several files");
        assert_refused("vmdk", old, ELEMENTSOF(old), "several files");
        assert_refused("vmdk", embedded, ELEMENTSOF(embedded), "several files");
}

static void a_vmdk_with_a_parent_is_refused(void **state _unused_) {
        static const char hint[] = "parentCID=1\nparentFileNameHint=\"/etc/shadow\"\n";
        const Patch here[] = { VMDK, { 600, hint, sizeof(hint) } },
                    moved[] = { VMDK, { 28, "\0\1\0\0\0\0\0\0", 8 }, { 512, "x", 1 },
                            { 700, hint, sizeof(hint) } },
                    far[] = { VMDK, { 28, "\0\1\0\0\0\0\0\0", 8 },
                            { 256 * 512 + 9, hint, sizeof(hint) } },
                    endless[] = { VMDK, { 36, "\0\0\0\0\0\0\0\x7f", 8 } };

        assert_refused("vmdk", here, ELEMENTSOF(here), "difference");
        assert_refused("vmdk", moved, ELEMENTSOF(moved), "difference");
        assert_refused("vmdk", far, ELEMENTSOF(far), "difference");
        assert_refused("vmdk", endless, ELEMENTSOF(endless), "difference");
}

static void a_raw_disk_names_nothing(void **state _unused_) {
        const Patch p[] = { { 510, "\x55\xaa", 2 } };

        assert_int_equal(judge("raw", p, ELEMENTSOF(p)), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_backing_file_is_refused),
                cmocka_unit_test(data_in_another_file_is_refused),
                cmocka_unit_test(encryption_is_refused),
                cmocka_unit_test(version_2_has_no_features),
                cmocka_unit_test(vmdk_extents_elsewhere_are_refused),
                cmocka_unit_test(a_vmdk_with_a_parent_is_refused),
                cmocka_unit_test(a_raw_disk_names_nothing),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        strv_free(lines);
        return r;
}
