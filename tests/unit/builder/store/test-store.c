/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Commits, locks between processes, sweeping of what a killed run left, pruning. */

#include "store/contents.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
#define EPOCH 1700000000

static char path[64];
static Store *store;

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-store.XXXXXX");
        assert_non_null(mkdtemp(path));
        assert_int_equal(store_open(path, &store), 0);
        return 0;
}

static int teardown(void **state _unused_) {
        store = store_free(store);
        return rm_rf(path);
}

static void put(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *p = path_join(folder, name);

        assert_int_equal(mkdir_parents(p, 0755), 0);
        assert_int_equal(write_file_atomic(p, text, strlen(text), 0644), 0);
}

static size_t count(const char *below) {
        _cleanup_free_ char *p = path_join(path, below), *output = NULL;
        char *const argv[] = { (char *) "find", p, (char *) "-mindepth", (char *) "1",
                (char *) "-maxdepth", (char *) "1", NULL };
        size_t n = 0;

        assert_int_equal(spawn_capture(NULL, argv, &output, NULL), 0);
        for (char *c = output; *c; c++)
                n += *c == '\n';
        return n;
}

static void make_layer(const char *digest, const char *text) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;

        assert_int_equal(store_begin_layer(store, digest, &d), 0);
        put(layer_draft_upper(d), "etc/file", text);
        assert_int_equal(store_commit_layer(d, EPOCH, NULL), 0);
}

static void set_age(const char *below, time_t seconds) {
        _cleanup_free_ char *p = path_join(path, below);
        const struct timeval t = { .tv_sec = time(NULL) - seconds };
        const struct timeval times[] = { t, t };

        assert_int_equal(utimes(p, times), 0);
}

static void a_layer_appears_by_its_commit(void **state _unused_) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        _cleanup_free_ char *tree = NULL, *text = NULL, *file = NULL;

        assert_int_equal(store_begin_layer(store, A, &d), 0);
        put(layer_draft_upper(d), "etc/file", "content");
        assert_false(store_has_layer(store, A));
        assert_int_equal(store_commit_layer(d, EPOCH, NULL), 0);
        assert_true(store_has_layer(store, A));
        tree = store_layer_tree(store, A);
        file = path_join(tree, "etc/file");
        assert_int_equal(read_file(file, 100, &text, NULL), 0);
        assert_string_equal(text, "content");
}

static void what_is_not_committed_is_removed(void **state _unused_) {
        LayerDraft *d = NULL;

        assert_int_equal(store_begin_layer(store, A, &d), 0);
        put(layer_draft_upper(d), "etc/file", "content");
        layer_draft_free(d);
        assert_false(store_has_layer(store, A));
        assert_int_equal(count("layers"), 0);
}

static void beginning_what_is_there_is_nothing_to_do(void **state _unused_) {
        LayerDraft *d = NULL;

        make_layer(A, "x");
        assert_int_equal(store_begin_layer(store, A, &d), 1);
        assert_null(d);
}

static void meta_carries_the_callers_fields_and_the_digest(void **state _unused_) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        _cleanup_json_ json_object *meta = json_object_new_object(), *got = NULL;

        assert_int_equal(json_set_string(meta, "stage", "base"), 0);
        assert_int_equal(store_begin_layer(store, A, &d), 0);
        assert_int_equal(store_commit_layer(d, EPOCH, meta), 0);
        assert_int_equal(store_read_layer_meta(store, A, &got), 0);
        assert_string_equal(json_get_string(got, "stage"), "base");
        assert_string_equal(json_get_string(got, "digest"), A);
        assert_true(json_get_int(got, "bytes", -1) >= 0);
}

static void newer_time_stamps_are_clamped_older_ones_stay(void **state _unused_) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        _cleanup_free_ char *tree = NULL;
        const struct timespec old[] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        struct stat st;

        assert_int_equal(store_begin_layer(store, A, &d), 0);
        put(layer_draft_upper(d), "folder/new", "");
        put(layer_draft_upper(d), "folder/old", "");
        int fd = open(layer_draft_upper(d), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(utimensat(fd, "folder/old", old, 0), 0);
        assert_int_equal(symlinkat("nowhere", fd, "link"), 0);
        close(fd);
        assert_int_equal(store_commit_layer(d, EPOCH, NULL), 0);

        tree = store_layer_tree(store, A);
        fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        static const struct {
                const char *name;
                time_t time;
        } expected[] = {
                { "folder", EPOCH },
                { "folder/new", EPOCH },
                { "folder/old", 1000 },
                { "link", EPOCH },
        };
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                assert_int_equal(fstatat(fd, expected[i].name, &st, AT_SYMLINK_NOFOLLOW), 0);
                assert_int_equal(st.st_mtim.tv_sec, expected[i].time);
                assert_int_equal(st.st_mtim.tv_nsec, 0);
        }
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mtim.tv_sec, EPOCH);
        close(fd);
}

/* Another process makes the layer while we want it too: we wait, and find it made. */
static void two_builds_make_a_layer_once(void **state _unused_) {
        int ready[2];
        LayerDraft *d = NULL;
        char byte;

        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        if (pid == 0) {
                Store *own = NULL;
                LayerDraft *draft = NULL;

                if (store_open(path, &own) < 0 || store_begin_layer(own, A, &draft) != 0 ||
                                write(ready[1], "", 1) != 1)
                        _exit(1);
                usleep(300000);
                int r = store_commit_layer(draft, EPOCH, NULL);
                layer_draft_free(draft);
                store_free(own);
                _exit(r < 0);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_false(store_has_layer(store, A));
        assert_int_equal(store_begin_layer(store, A, &d), 1);
        assert_null(d);
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
        close(ready[0]);
        close(ready[1]);
}

/* Leaves a store in the middle of a layer and ends without any clean-up. */
static void die_in_the_middle(void) {
        pid_t pid = fork();

        if (pid == 0) {
                Store *own = NULL;
                LayerDraft *draft = NULL;

                if (store_open(path, &own) < 0 || store_begin_layer(own, A, &draft) != 0)
                        _exit(1);
                put(layer_draft_upper(draft), "half", "half");
                kill(getpid(), SIGKILL);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
}

static void what_a_killed_build_left_is_swept(void **state _unused_) {
        die_in_the_middle();
        assert_int_equal(count("work"), 2); /* ours and the dead one's */
        Store *next = NULL;
        assert_int_equal(store_open(path, &next), 0);
        assert_int_equal(count("work"), 2); /* ours and next's: nobody sweeps what is in use */
        store_free(next);
        assert_int_equal(count("work"), 1);
        assert_false(store_has_layer(store, A));
}

static void a_killed_builds_lock_is_free(void **state _unused_) {
        die_in_the_middle();
        make_layer(A, "x");
        assert_true(store_has_layer(store, A));
}

static void scratch_goes_with_the_store(void **state _unused_) {
        Store *own = NULL;
        _cleanup_free_ char *scratch = NULL;

        assert_int_equal(store_open(path, &own), 0);
        assert_int_equal(store_scratch(own, "a:b/c", &scratch), 0);
        assert_int_equal(access(scratch, W_OK), 0);
        assert_null(strchr(path_basename(scratch), ':'));
        store_free(own);
        assert_int_equal(access(scratch, F_OK), -1);
}

static void scratch_of_a_child_is_its_own(void **state _unused_) {
        _cleanup_free_ char *ours = NULL;
        Store *own = NULL;
        int status;
        pid_t pid;

        assert_int_equal(store_open(path, &own), 0);
        pid = fork();
        if (pid == 0) {
                char *theirs = NULL;

                _exit(store_scratch(own, "x", &theirs) == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(store_scratch(own, "x", &ours), 0);
        store_free(own);
}

static void add(const char *expected, int result) {
        _cleanup_free_ char *scratch = NULL, *file = NULL;
        Digest digest;

        assert_int_equal(store_scratch(store, "blob", &scratch), 0);
        put(scratch, "x", "hello");
        file = path_join(scratch, "x");
        assert_int_equal(store_add_blob(store, file, expected, digest), result);
        assert_int_equal(access(file, F_OK), -1);
        if (result == 0)
                assert_string_equal(digest, HELLO);
}

static void blobs_are_found_by_their_digest(void **state _unused_) {
        assert_false(store_has_blob(store, HELLO));
        add(NULL, 0);
        assert_true(store_has_blob(store, HELLO));
        add(HELLO, 0); /* a second time changes nothing */
}

static void a_blob_with_another_digest_is_refused(void **state _unused_) {
        add(A, -EBADMSG);
        assert_false(store_has_blob(store, A));
        assert_false(store_has_blob(store, HELLO));
}

static void pruning_by_age_takes_the_old(void **state _unused_) {
        uint64_t freed;

        make_layer(A, "old");
        make_layer(B, "new");
        set_age("layers/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 7200);
        assert_int_equal(store_prune(store, 3600, UINT64_MAX, true, &freed), 0);
        assert_true(freed > 0);
        assert_true(store_has_layer(store, A)); /* a dry run takes nothing */
        assert_int_equal(store_prune(store, 3600, UINT64_MAX, false, &freed), 0);
        assert_false(store_has_layer(store, A));
        assert_true(store_has_layer(store, B));
}

static void pruning_by_size_takes_the_oldest_first(void **state _unused_) {
        StoreUsage usage;
        uint64_t freed;

        make_layer(A, "old");
        make_layer(B, "new");
        set_age("layers/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 7200);
        assert_int_equal(store_usage(store, &usage), 0);
        assert_int_equal(usage.layers, 2);
        assert_int_equal(store_prune(store, UINT64_MAX, usage.layer_bytes - 1, false, &freed), 0);
        assert_false(store_has_layer(store, A));
        assert_true(store_has_layer(store, B));
}

static void layers_in_use_are_not_pruned(void **state _unused_) {
        _cleanup_free_ char *tree = NULL;
        Store *other = NULL;
        uint64_t freed;

        make_layer(A, "x");
        tree = store_layer_tree(store, A);
        assert_int_equal(store_open(path, &other), 0);
        assert_int_equal(store_prune(other, 0, 0, false, &freed), 0);
        assert_int_equal(freed, 0);
        assert_true(store_has_layer(store, A));
        store_free(other);
}

static void blobs_stay_while_another_build_runs(void **state _unused_) {
        Store *other = NULL;
        uint64_t freed;

        add(HELLO, 0);
        assert_int_equal(store_open(path, &other), 0);
        assert_int_equal(store_prune(store, 0, 0, false, &freed), 0);
        assert_true(store_has_blob(store, HELLO));
        store_free(other);
        assert_int_equal(store_prune(store, 0, 0, false, &freed), 0);
        assert_false(store_has_blob(store, HELLO));
}

static void dropped_blobs_are_gone(void **state _unused_) {
        add(HELLO, 0);
        assert_int_equal(store_drop_blobs(store, (const char *const[]) { A, NULL }), 0);
        assert_true(store_has_blob(store, HELLO));
        assert_int_equal(store_drop_blobs(store, (const char *const[]) { A, HELLO, NULL }), 0);
        assert_false(store_has_blob(store, HELLO));
}

static void no_blob_is_dropped_under_another_build(void **state _unused_) {
        Store *other = NULL;

        add(HELLO, 0);
        assert_int_equal(store_open(path, &other), 0);
        assert_int_equal(store_drop_blobs(store, (const char *const[]) { HELLO, NULL }), -EBUSY);
        assert_true(store_has_blob(store, HELLO));
        store_free(other);
        assert_int_equal(store_drop_blobs(store, (const char *const[]) { HELLO, NULL }), 0);
        assert_false(store_has_blob(store, HELLO));
}

static void touching_makes_a_layer_young(void **state _unused_) {
        uint64_t freed;

        make_layer(A, "x");
        set_age("layers/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 7200);
        assert_int_equal(store_touch_layer(store, A), 0);
        Store *other = NULL;
        store = store_free(store); /* or the layer would be in use */
        assert_int_equal(store_open(path, &other), 0);
        assert_int_equal(store_prune(other, 3600, UINT64_MAX, false, &freed), 0);
        assert_true(store_has_layer(other, A));
        store_free(other);
}

static void the_list_is_oldest_first(void **state _unused_) {
        StoreEntry *entries;
        size_t n;

        make_layer(B, "x");
        make_layer(A, "x");
        set_age("layers/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 7200);
        assert_int_equal(store_list(store, &entries, &n), 0);
        assert_int_equal(n, 2);
        assert_string_equal(entries[0].digest, A);
        assert_string_equal(entries[1].digest, B);
        store_entries_free(entries, n);
}

static void discard(int level _unused_, const char *line _unused_, void *userdata _unused_) {
}

static void a_store_of_the_other_kind_is_refused(void **state _unused_) {
        const char *other = store_userxattr(store) ? "imgbuild store 1, trusted.overlay\n"
                                                   : "imgbuild store 1, user.overlay\n";
        Store *s = NULL;

        put(path, "format", other);
        log_set_writer(discard, NULL);
        assert_int_equal(store_open(path, &s), -EEXIST);
        log_set_writer(NULL, NULL);
        assert_null(s);
}

static void only_the_owner_may_look_in(void **state _unused_) {
        _cleanup_free_ char *made = path_join(path, "made/by/open");
        Store *own = NULL;
        struct stat st;

        assert_int_equal(store_open(made, &own), 0);
        assert_int_equal(stat(made, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        store_free(own);
}

static void an_open_store_is_tightened(void **state _unused_) {
        _cleanup_free_ char *empty = path_join(path, "empty");
        Store *own = NULL;
        struct stat st;

        assert_int_equal(mkdir(empty, 0755), 0);
        assert_int_equal(store_open(empty, &own), 0);
        assert_int_equal(stat(empty, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        own = store_free(own);

        assert_int_equal(chmod(empty, 0777), 0);
        assert_int_equal(store_open(empty, &own), 0);
        assert_int_equal(stat(empty, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        store_free(own);
}

static void an_open_folder_of_something_else_is_refused(void **state _unused_) {
        _cleanup_free_ char *folder = path_join(path, "home");
        Store *s = NULL;
        struct stat st;

        put(path, "home/notes", "");
        assert_int_equal(chmod(folder, 0755), 0);
        log_set_writer(discard, NULL);
        assert_int_equal(store_open(folder, &s), -EEXIST);
        log_set_writer(NULL, NULL);
        assert_int_equal(stat(folder, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0755);
        assert_null(s);
}

static void another_users_folder_is_refused(void **state _unused_) {
        _cleanup_free_ char *folder = path_join(path, "other");
        Store *s = NULL;

        assert_int_equal(mkdir(folder, 0700), 0);
        if (geteuid() != 0 || chown(folder, 65534, (gid_t) -1) < 0)
                skip();
        log_set_writer(discard, NULL);
        assert_int_equal(store_open(folder, &s), -EEXIST);
        log_set_writer(NULL, NULL);
        assert_null(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_layer_appears_by_its_commit),
                TEST(what_is_not_committed_is_removed),
                TEST(beginning_what_is_there_is_nothing_to_do),
                TEST(meta_carries_the_callers_fields_and_the_digest),
                TEST(newer_time_stamps_are_clamped_older_ones_stay),
                TEST(two_builds_make_a_layer_once),
                TEST(what_a_killed_build_left_is_swept),
                TEST(a_killed_builds_lock_is_free),
                TEST(scratch_goes_with_the_store),
                TEST(scratch_of_a_child_is_its_own),
                TEST(blobs_are_found_by_their_digest),
                TEST(a_blob_with_another_digest_is_refused),
                TEST(pruning_by_age_takes_the_old),
                TEST(pruning_by_size_takes_the_oldest_first),
                TEST(layers_in_use_are_not_pruned),
                TEST(blobs_stay_while_another_build_runs),
                TEST(dropped_blobs_are_gone),
                TEST(no_blob_is_dropped_under_another_build),
                TEST(touching_makes_a_layer_young),
                TEST(the_list_is_oldest_first),
                TEST(a_store_of_the_other_kind_is_refused),
                TEST(only_the_owner_may_look_in),
                TEST(an_open_store_is_tightened),
                TEST(an_open_folder_of_something_else_is_refused),
                TEST(another_users_folder_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
