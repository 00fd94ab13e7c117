/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What comes back of work in a process of its own. */

#include "recipe-fixture.h"

#include "common/apart.h"
#include "shared/spawn.h"

#include <signal.h>
#include <sys/mman.h>

static Apart *begin(apart_function fn, void *userdata) {
        Context ctx = { .progress = (Progress *) &ctx };
        Apart *a = NULL;

        assert_int_equal(apart_begin(&ctx, fn, userdata, &a), 0);
        assert_non_null(a);
        return a;
}

static int return_number(Context *ctx _unused_, void *userdata) {
        return *(const int *) userdata;
}

static void what_it_returns_comes_back(void **state _unused_) {
        static const int numbers[] = { 0, 1, APART_MAX, -ENOENT, -EKEYREJECTED };

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                _cleanup_apart_free_ Apart *a = begin(return_number, (void *) (numbers + i));

                assert_int_equal(apart_finish(a, "it"), numbers[i]);
        }
}

static void an_errno_that_no_exit_status_holds_is_eio(void **state _unused_) {
        int number = -524;
        _cleanup_apart_free_ Apart *a = begin(return_number, &number);

        assert_int_equal(apart_finish(a, "it"), -EIO);
}

static int say(Context *ctx, void *userdata _unused_) {
        log_notice("at work%s", ctx->progress ? " in sight" : "");
        log_warning("little room");
        return log_error_return(-ENOSPC, "no room");
}

static void what_it_says_is_told_at_its_end(void **state) {
        _cleanup_apart_free_ Apart *a = begin(say, NULL);

        usleep(50000);
        assert_false(was_logged(*state, "at work"));
        assert_int_equal(apart_finish(a, "it"), -ENOSPC);
        assert_true(was_logged(*state, "at work"));
        assert_false(was_logged(*state, "in sight"));
        assert_true(was_logged(*state, "error: no room"));
        assert_false(was_logged(*state, "error: error:"));
        assert_true(was_logged(*state, "warning: little room"));
        assert_false(was_logged(*state, "warning: warning:"));
}

static int write_there(Context *ctx _unused_, void *userdata) {
        *(int *) userdata = 7;
        return 0;
}

static void shared_memory_is_how_more_comes_back(void **state _unused_) {
        int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        _cleanup_apart_free_ Apart *a = begin(write_there, shared);

        assert_int_equal(apart_finish(a, "it"), 0);
        assert_int_equal(*shared, 7);
        munmap(shared, sizeof(*shared));
}

static int crash(Context *ctx _unused_, void *userdata _unused_) {
        raise(SIGKILL);
        return 0;
}

static void a_process_that_dies_is_an_error_by_its_name(void **state) {
        _cleanup_apart_free_ Apart *a = begin(crash, NULL);

        assert_int_equal(apart_finish(a, "The work"), -EIO);
        assert_true(was_logged(*state, "The work: its process was ended by signal 9"));
}

/* As a command's watcher does. */
static int wait_for_an_interrupt(Context *ctx _unused_, void *userdata _unused_) {
        put_file("at-work", "");
        for (unsigned n = 0; n < 1000 && !interrupt_signal(); n++)
                usleep(10000);
        put_file(interrupt_signal() ? "interrupted" : "forgotten", "");
        return -ECANCELED;
}

static void who_does_not_wait_for_it_interrupts_it(void **state _unused_) {
        Apart *a = begin(wait_for_an_interrupt, NULL);

        for (unsigned n = 0; n < 1000 && access("at-work", F_OK) < 0; n++)
                usleep(10000);
        apart_free(a);
        assert_int_equal(access("interrupted", F_OK), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(what_it_returns_comes_back),
                TEST(an_errno_that_no_exit_status_holds_is_eio),
                TEST(what_it_says_is_told_at_its_end),
                TEST(shared_memory_is_how_more_comes_back),
                TEST(a_process_that_dies_is_an_error_by_its_name),
                TEST(who_does_not_wait_for_it_interrupts_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
