/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/seed.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void swallow(int level _unused_, const char *line _unused_, void *userdata _unused_) {
}

static int read_keys(const char *text, char ***keys) {
        char path[] = "/tmp/test-seed-XXXXXX";
        int fd = mkstemp(path), r;

        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, text, strlen(text)), 0);
        close(fd);
        log_set_writer(swallow, NULL);
        r = seed_read_keys(path, keys);
        log_set_writer(NULL, NULL);
        unlink(path);
        return r;
}

static void keys_are_read_line_by_line(void **state _unused_) {
        _cleanup_strv_free_ char **keys = NULL;

        assert_int_equal(
                        read_keys("# mine\nssh-ed25519 AAAA me@host \r\n\n  ecdsa-sha2-nistp256 BBBB\n",
                                        &keys),
                        0);
        assert_int_equal(strv_length(keys), 2);
        assert_string_equal(keys[0], "ssh-ed25519 AAAA me@host");
        assert_string_equal(keys[1], "ecdsa-sha2-nistp256 BBBB");
}

static void wrong_keys_are_refused(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "# nothing\n",
                "hello\n",
                "-----BEGIN OPENSSH PRIVATE KEY-----\nssh-x\n",
                "ssh-ed25519 AAAA\nroot:x:0:0\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_strv_free_ char **keys = NULL;
                assert_int_equal(read_keys(bad[i], &keys), -EINVAL);
        }
}

static void meta_data_quotes_what_it_is_given(void **state _unused_) {
        char *const keys[] = { (char *) "ssh-ed25519 AAAA a\"b: c", NULL };
        const SeedOptions o = { .keys = keys, .instance_id = "i-1", .hostname = "node" };
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *m = NULL;
        JsonError error;

        assert_int_equal(seed_meta_data(&o, &text), 0);
        assert_int_equal(json_parse(text, strlen(text), &error, &m), 0);
        assert_string_equal(json_get_string(m, "instance-id"), "i-1");
        assert_string_equal(json_object_get_string(json_object_array_get_idx(
                                            json_get(m, "public-keys"), 0)),
                        keys[0]);
}

static void vendor_data_opens_root_only_for_keys(void **state _unused_) {
        char *const keys[] = { (char *) "ssh-ed25519 AAAA", NULL };
        const SeedOptions with = { .keys = keys }, without = {};
        _cleanup_free_ char *a = NULL, *b = NULL;

        assert_int_equal(seed_vendor_data(&with, &a), 0);
        assert_non_null(startswith(a, "#cloud-config\n"));
        assert_non_null(strstr(a, "disable_root"));
        assert_int_equal(seed_vendor_data(&without, &b), 0);
        assert_null(strstr(b, "disable_root"));
}

static void an_older_guest_is_asked_for_its_journal(void **state _unused_) {
        const SeedOptions o = { .instance_id = "i" };
        _cleanup_free_ char *text = NULL;

        assert_int_equal(seed_vendor_data(&o, &text), 0);
        assert_non_null(strstr(text, "\"bootcmd\""));
        assert_non_null(strstr(text, "port=/dev/virtio-ports/org.imgbuild.journal; [ -e $port ]"));
        /* One that has the unit by credential has it once. */
        assert_non_null(strstr(text, "systemctl cat imgbuild-journal.service >/dev/null 2>&1 || "));
}

static void hosts_are_added_by_vendor_data(void **state _unused_) {
        const SeedOptions o = { .hosts = "10.0.0.1 head\n" };
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *v = NULL;
        JsonError error;

        assert_int_equal(seed_vendor_data(&o, &text), 0);
        const char *json = startswith(text, "#cloud-config\n");
        assert_int_equal(json_parse(json, strlen(json), &error, &v), 0);
        json_object *file = json_object_array_get_idx(json_get(v, "write_files"), 0);
        assert_string_equal(json_get_string(file, "path"), "/etc/hosts");
        assert_string_equal(json_get_string(file, "content"), "10.0.0.1 head\n");
        assert_true(json_get_bool(file, "append", false));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys_are_read_line_by_line),
                cmocka_unit_test(wrong_keys_are_refused),
                cmocka_unit_test(meta_data_quotes_what_it_is_given),
                cmocka_unit_test(an_older_guest_is_asked_for_its_journal),
                cmocka_unit_test(hosts_are_added_by_vendor_data),
                cmocka_unit_test(vendor_data_opens_root_only_for_keys),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
