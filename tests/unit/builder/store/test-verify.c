/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What happens to a layer or blob behind the store's back is found. */

#include "store/verify.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define TREE "layers/" NAME "/tree/"
#define EPOCH 1700000000

static char path[64];
static Store *store;
static char **lines;

static void take_line(int level _unused_, const char *line, void *userdata _unused_) {
        assert_int_equal(strv_extend(&lines, line), 0);
}

static void put(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *p = path_join(folder, name);

        assert_int_equal(mkdir_parents(p, 0755), 0);
        assert_int_equal(write_file_atomic(p, text, strlen(text), 0644), 0);
}

static void make_layer(void) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        _cleanup_free_ char *link = NULL;

        assert_int_equal(store_begin_layer(store, A, &d), 0);
        put(layer_draft_upper(d), "etc/file", "text");
        put(layer_draft_upper(d), "etc/other", "text");
        link = path_join(layer_draft_upper(d), "etc/link");
        assert_int_equal(symlink("file", link), 0);
        assert_int_equal(store_commit_layer(d, EPOCH, NULL), 0);
}

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-verify.XXXXXX");
        assert_non_null(mkdtemp(path));
        assert_int_equal(chdir(path), 0);
        assert_int_equal(store_open(path, &store), 0);
        log_set_writer(take_line, NULL);
        make_layer();
        return 0;
}

static int teardown(void **state _unused_) {
        log_set_writer(NULL, NULL);
        lines = strv_free(lines);
        store = store_free(store);
        assert_int_equal(chdir("/"), 0);
        return rm_rf(path);
}

static void host_starts_again(void) {
        assert_int_equal(unlink("layers/" NAME "/verified"), 0);
}

/* The time stamp that a careful hand puts back. */
static void set_time(const char *file, int64_t seconds) {
        const struct timespec t = { .tv_sec = seconds };
        const struct timespec times[] = { t, t };

        assert_int_equal(utimensat(AT_FDCWD, file, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void a_whole_layer_is_found_whole(void **state _unused_) {
        assert_int_equal(store_check_layer(store, A), 1);
        host_starts_again();
        assert_int_equal(store_check_layer(store, A), 1);
        assert_int_equal(access("layers/" NAME "/verified", F_OK), 0);
        assert_null(lines);
}

static void it_is_looked_at_once_in_a_start_of_the_host(void **state _unused_) {
        StoreVerdict v;

        put(TREE "etc", "file", "tExt");
        assert_int_equal(store_check_layer(store, A), 1);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.damaged, 1);
        assert_int_equal(store_check_layer(store, A), -ENOENT);
}

/* As an older imgbuild left it. */
static void forget_the_digest(void) {
        _cleanup_json_ json_object *meta = NULL;
        JsonError error;

        assert_int_equal(json_load("layers/" NAME "/meta.json", 1 << 20, &error, &meta), 0);
        json_object_object_del(meta, "tree_sha256");
        assert_int_equal(json_save("layers/" NAME "/meta.json", meta, 0644), 0);
        host_starts_again();
}

static void a_layer_without_a_digest_gets_one_when_it_is_first_used(void **state _unused_) {
        forget_the_digest();
        assert_int_equal(store_check_layer(store, A), 1);
        assert_null(lines);
        host_starts_again();
        put(TREE "etc", "file", "tExt");
        assert_int_equal(store_check_layer(store, A), 0);
}

static void a_layer_that_got_its_digest_is_not_taken_for_used(void **state _unused_) {
        struct stat st;
        StoreVerdict v;

        forget_the_digest();
        set_time("layers/" NAME, EPOCH);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.unknown, 1);
        assert_int_equal(stat("layers/" NAME, &st), 0);
        assert_int_equal(st.st_mtime, EPOCH);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.unknown, 0);
        assert_int_equal(v.layers, 1);
}

static void flip_a_bit(void) {
        int fd = open(TREE "etc/file", O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, "u", 1, 0), 1);
        close(fd);
        set_time(TREE "etc/file", EPOCH);
}

static void change_a_mode(void) {
        assert_int_equal(chmod(TREE "etc/file", 04755), 0);
}

static void change_a_time(void) {
        set_time(TREE "etc/file", EPOCH - 1);
}

static void lose_a_file(void) {
        assert_int_equal(unlink(TREE "etc/other"), 0);
        set_time(TREE "etc", EPOCH);
}

static void add_a_file(void) {
        put(TREE "etc", "more", "");
        set_time(TREE "etc/more", EPOCH);
        set_time(TREE "etc", EPOCH);
}

static void swap_names(void) {
        assert_int_equal(renameat2(AT_FDCWD, TREE "etc/link", AT_FDCWD, TREE "etc/file",
                                         RENAME_EXCHANGE),
                        0);
        set_time(TREE "etc", EPOCH);
}

static void turn_a_link(void) {
        assert_int_equal(unlink(TREE "etc/link"), 0);
        assert_int_equal(symlink("/etc/shadow", TREE "etc/link"), 0);
        set_time(TREE "etc/link", EPOCH);
        set_time(TREE "etc", EPOCH);
}

static void add_an_attribute(void) {
        if (setxattr(TREE "etc/file", "user.x", "1", 1, 0) < 0) {
                assert_int_equal(errno, ENOTSUP);
                change_a_mode(); /* a file system without them */
        }
}

static void damage_the_record(void) {
        put("layers/" NAME, "meta.json", "{");
}

static void every_kind_of_damage_is_found(void **state _unused_) {
        static void (*const kinds[])(void) = { flip_a_bit, change_a_mode, change_a_time,
                lose_a_file, add_a_file, swap_names, turn_a_link, add_an_attribute,
                damage_the_record };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                kinds[i]();
                host_starts_again();
                assert_int_equal(store_check_layer(store, A), 0);
                assert_int_equal(strv_length(lines), i + 1);
                assert_non_null(strstr(lines[i], "is not what it was"));
                assert_false(store_has_layer(store, A));
                assert_int_equal(access("damaged/" NAME "/tree", F_OK), 0);
                make_layer();
                assert_int_equal(store_touch_layer(store, A), 0);
        }
}

static void what_a_host_may_change_is_no_damage(void **state _unused_) {
        assert_int_equal(link(TREE "etc/file", "elsewhere"), 0);
        if (setxattr(TREE "etc/file", "security.selinux", "x", 1, 0) < 0)
                assert_true(errno == ENOTSUP || errno == EPERM || errno == EINVAL);
        host_starts_again();
        assert_int_equal(store_check_layer(store, A), 1);
}

static void a_damaged_blob_is_set_aside(void **state _unused_) {
        put(path, "hello", "hello");
        assert_int_equal(store_add_blob(store, "hello", HELLO, NULL), 0);
        assert_int_equal(store_check_blob(store, HELLO), 1);
        assert_int_equal(truncate("blobs/sha256/2c/" HELLO, 4), 0);
        assert_int_equal(store_check_blob(store, HELLO), 0);
        assert_false(store_has_blob(store, HELLO));
        assert_int_equal(access("damaged/" HELLO, F_OK), 0);
        assert_int_equal(store_check_blob(store, HELLO), -ENOENT);
}

static void everything_is_verified_in_one_go(void **state _unused_) {
        StoreVerdict v;

        put(path, "hello", "hello");
        assert_int_equal(store_add_blob(store, "hello", HELLO, NULL), 0);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.layers, 1);
        assert_int_equal(v.blobs, 1);
        assert_int_equal(v.damaged, 0);

        damage_the_record();
        assert_int_equal(truncate("blobs/sha256/2c/" HELLO, 4), 0);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.damaged, 2);
        assert_int_equal(store_verify(store, &v), 0);
        assert_int_equal(v.layers + v.blobs + v.damaged, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(a_whole_layer_is_found_whole),
                TEST(it_is_looked_at_once_in_a_start_of_the_host),
                TEST(a_layer_without_a_digest_gets_one_when_it_is_first_used),
                TEST(a_layer_that_got_its_digest_is_not_taken_for_used),
                TEST(every_kind_of_damage_is_found),
                TEST(what_a_host_may_change_is_no_damage),
                TEST(a_damaged_blob_is_set_aside),
                TEST(everything_is_verified_in_one_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
