/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "appliance/appliance.h"

#include "shared/file-util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The format of a file of `size` bytes that is zero but for `text` at `offset`. */
static int format_of(const char *text, size_t length, off_t offset, off_t size, const char **ret) {
        char path[] = "/tmp/test-image-XXXXXX";
        int fd = mkstemp(path), r;

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, size), 0);
        if (length > 0)
                assert_int_equal(pwrite(fd, text, length, offset), length);
        close(fd);
        r = image_format(path, ret);
        unlink(path);
        return r;
}

static void formats_are_known_by_their_headers(void **state _unused_) {
        static const struct {
                const char *text;
                size_t length;
                off_t offset;
                const char *format;
        } cases[] = {
                { "QFI\xfb", 4, 0, "qcow2" },
                { "KDMV", 4, 0, "vmdk" },
                { "# Disk DescriptorFile\n", 22, 0, "vmdk" },
                { "vhdxfile", 8, 0, "vhdx" },
                { "conectix", 8, 0, "vpc" },
                { "conectix", 8, 65536 - 512, "vpc" },
                { "\x7f\x10\xda\xbe", 4, 0x40, "vdi" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *format = NULL;

                assert_int_equal(format_of(cases[i].text, cases[i].length, cases[i].offset, 65536,
                                                 &format),
                                0);
                assert_string_equal(format, cases[i].format);
        }
}

static void file_system_makes_a_raw_disk(void **state _unused_) {
        /* An ext superblock's magic alone is not enough for blkid; XFS's is with its size fields,
         * LUKS's is. */
        const char *format = NULL;

        assert_int_equal(format_of("LUKS\xba\xbe\0\x01", 8, 0, 1 << 20, &format), 0);
        assert_string_equal(format, "raw");
}

static void what_is_no_image_is_refused(void **state _unused_) {
        const char *format = "unchanged";

        assert_int_equal(format_of("", 0, 0, 0, &format), -ENODATA);
        assert_int_equal(format_of("", 0, 0, 1, &format), -EMEDIUMTYPE);
        assert_int_equal(format_of("", 0, 0, 1 << 20, &format), -EMEDIUMTYPE);
        assert_int_equal(format_of("hello", 5, 0, 4096, &format), -EMEDIUMTYPE);
        assert_int_equal(format_of("QFI", 3, 0, 3, &format), -EMEDIUMTYPE);
        assert_int_equal(image_format("/tmp", &format), -EISDIR);
        assert_int_equal(image_format("/dev/null", &format), -EMEDIUMTYPE);
        assert_int_equal(image_format("/nonexistent", &format), -ENOENT);
        assert_string_equal(format, "unchanged");
}

static void qcow2_text_in_a_raw_disk_is_believed_only_at_its_start(void **state _unused_) {
        const char *format = NULL;

        assert_int_equal(format_of("QFI\xfb", 4, 512, 65536, &format), -EMEDIUMTYPE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(formats_are_known_by_their_headers),
                cmocka_unit_test(file_system_makes_a_raw_disk),
                cmocka_unit_test(what_is_no_image_is_refused),
                cmocka_unit_test(qcow2_text_in_a_raw_disk_is_believed_only_at_its_start),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
