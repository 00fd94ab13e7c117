/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/file-util.h"
#include "daemon/state.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char folder[] = "/tmp/firstboot-state.XXXXXX";
static char *path;

static int setup(void **state) {
        (void) state;
        strcpy(folder + strlen(folder) - 6, "XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        path = path_join(folder, "state.json");
        return path ? 0 : -1;
}

static int teardown(void **state) {
        (void) state;
        free(path);
        return rm_rf(folder);
}

static State *load(const char *instance, const char *boot, StateOrigin *origin) {
        const Identity now = { .cloud_id = (char *) instance };
        const char *difference;
        State *s = NULL;

        assert_return_code(state_load(path, &now, boot, &s, origin, &difference), 0);
        assert_int_equal(*origin == STATE_OTHER_INSTANCE, difference != NULL);
        return s;
}

/* A state with one step done in one attempt and one under way. */
static void save_some(const char *instance, const char *boot) {
        StateOrigin origin;
        _cleanup_state_ State *s = load(instance, boot, &origin);
        StepRun *run = state_run(s, "a");

        run->status = STEP_DONE;
        run->completed = true;
        step_run_add_attempt(run, 10)->finished_usec = 20;
        run = state_run(s, "b");
        run->status = STEP_RUNNING;
        run->result = json_tokener_parse("{\"code\":\"x.y\"}");
        step_run_add_attempt(run, 30);
        s->node = NODE_STARTING;
        s->started_usec = 5;
        assert_return_code(state_save(s, path), 0);
}

static void there_is_none_at_first(void **state) {
        StateOrigin origin;
        _cleanup_state_ State *s = load("i", "b1", &origin);

        (void) state;
        assert_int_equal(origin, STATE_NEW);
        assert_int_equal(s->boots, 1);
}

static void it_is_resumed_within_a_boot(void **state) {
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        _cleanup_state_ State *s = load("i", "b1", &origin);
        assert_int_equal(origin, STATE_RESUMED);
        assert_int_equal(state_run(s, "a")->status, STEP_DONE);
        assert_int_equal(state_run(s, "b")->status, STEP_RUNNING);
        assert_int_equal(state_run(s, "b")->n_attempts, 1);
        assert_true(state_run(s, "b")->attempts[0].started_usec == 30);
        assert_string_equal(json_get_string(state_run(s, "b")->result, "code"), "x.y");
        assert_int_equal(s->boots, 1);
        assert_true(s->started_usec == 5);
}

static void another_boot_keeps_only_what_was_completed(void **state) {
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        _cleanup_state_ State *s = load("i", "b2", &origin);
        assert_int_equal(origin, STATE_NEXT_BOOT);
        assert_int_equal(s->boots, 2);
        assert_true(state_run(s, "a")->completed);
        assert_int_equal(state_run(s, "a")->status, STEP_WAITING);
        assert_int_equal(state_run(s, "a")->n_attempts, 0);
        assert_null(state_run(s, "b")->result);
}

static void a_start_over_keeps_only_what_was_completed(void **state) {
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        _cleanup_state_ State *s = load("i", "b1", &origin);
        assert_return_code(state_set_watch(s, "probe.bad", "it is bad"), 0);
        s->node = NODE_READY;
        s->settled_usec = 40;
        state_start_over(s);
        assert_int_equal(s->node, NODE_STARTING);
        assert_true(s->started_usec == 0 && s->settled_usec == 0);
        assert_null(s->watch_code);
        assert_int_equal(s->boots, 1);
        assert_true(state_run(s, "a")->completed);
        assert_int_equal(state_run(s, "b")->status, STEP_WAITING);
        assert_null(state_run(s, "b")->result);
}

static void another_instance_starts_afresh(void **state) {
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        _cleanup_state_ State *s = load("j", "b1", &origin);
        assert_int_equal(origin, STATE_OTHER_INSTANCE);
        assert_int_equal(s->boots, 1);
        assert_false(state_run(s, "a")->completed);
}

static void an_instance_that_the_cloud_does_not_name_this_time_keeps_its_name(void **state) {
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        _cleanup_state_ State *s = load(NULL, "b2", &origin);
        assert_int_equal(origin, STATE_NEXT_BOOT);
        assert_string_equal(s->instance_id, "i");
        assert_true(state_run(s, "a")->completed);
}

static void one_that_it_names_for_the_first_time_takes_the_name(void **state) {
        StateOrigin origin;

        (void) state;
        save_some(NULL, "b1");
        _cleanup_state_ State *s = load("i", "b2", &origin);
        assert_int_equal(origin, STATE_NEXT_BOOT);
        assert_string_equal(s->instance_id, "i");
}

static void put(const char *text) {
        assert_return_code(write_file_atomic(path, text, strlen(text), 0600), 0);
}

static void the_first_version_is_read(void **state) {
        StateOrigin origin;

        (void) state;
        put("{\"version\":1,\"instance_id\":\"i\",\"boot_id\":\"b1\",\"boots\":3,\"steps\":[]}");
        _cleanup_state_ State *same = load("i", "b2", &origin);
        assert_int_equal(origin, STATE_NEXT_BOOT);
        assert_int_equal(same->boots, 4);
        _cleanup_state_ State *other = load("j", "b2", &origin);
        assert_int_equal(origin, STATE_OTHER_INSTANCE);
        put("{\"version\":1,\"instance_id\":\"iid-datasource-none\",\"boot_id\":\"b1\",\"boots\":3,\"steps\":[]}");
        _cleanup_state_ State *fallback = load("j", "b2", &origin);
        assert_int_equal(origin, STATE_NEXT_BOOT);
        assert_string_equal(fallback->instance_id, "j");
}

static void a_damaged_file_is_kept_aside(void **state) {
        _cleanup_free_ char *aside = strf("%s.broken", path);
        StateOrigin origin;

        (void) state;
        save_some("i", "b1");
        assert_return_code(truncate(path, 40), 0);
        _cleanup_state_ State *s = load("i", "b1", &origin);
        assert_int_equal(origin, STATE_NEW);
        assert_int_equal(access(aside, F_OK), 0);
}

static void another_version_is_not_believed(void **state) {
        StateOrigin origin;

        (void) state;
        assert_return_code(write_file_atomic(path, "{\"version\":99}", 14, 0600), 0);
        _cleanup_state_ State *s = load("i", "b1", &origin);
        assert_int_equal(origin, STATE_NEW);
}

static void a_reset_forgets_all_but_completion(void **state) {
        StateOrigin origin;
        _cleanup_state_ State *s = load("i", "b1", &origin);
        StepRun *run = state_run(s, "a");

        (void) state;
        run->completed = true;
        run->status = STEP_FAILED;
        step_run_add_attempt(run, 1);
        step_run_reset(run);
        assert_int_equal(run->status, STEP_WAITING);
        assert_int_equal(run->n_attempts, 0);
        assert_true(run->completed);
        assert_string_equal(run->name, "a");
}

static void what_is_tried_slowly_goes_on_after_a_restart(void **state) {
        StateOrigin origin;
        _cleanup_state_ State *s = load("i", "b1", &origin), *again = NULL;
        StepRun *run = state_run(s, "a");

        (void) state;
        step_run_add_attempt(run, 10);
        run->status = STEP_FAILED;
        run->slow = run->despite = true;
        run->retry_usec = 4711;
        for (unsigned i = 0; i < 20; i++)
                step_run_add_attempt(run, 20 + i);
        assert_return_code(state_save(s, path), 0);

        again = load("i", "b1", &origin);
        run = state_run(again, "a");
        assert_true(run->slow && run->despite);
        assert_int_equal(run->retry_usec, 4711);
        assert_int_equal(run->n_attempts, 2);
        assert_int_equal(step_run_tries(run), 21);
        assert_int_equal(step_run_last_attempt(run)->started_usec, 39);

        step_run_reset(run);
        assert_false(run->slow || run->despite);
        assert_int_equal(step_run_tries(run), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_is_tried_slowly_goes_on_after_a_restart),
                TEST(there_is_none_at_first),
                TEST(it_is_resumed_within_a_boot),
                TEST(another_boot_keeps_only_what_was_completed),
                TEST(a_start_over_keeps_only_what_was_completed),
                TEST(another_instance_starts_afresh),
                TEST(an_instance_that_the_cloud_does_not_name_this_time_keeps_its_name),
                TEST(one_that_it_names_for_the_first_time_takes_the_name),
                TEST(the_first_version_is_read),
                TEST(a_damaged_file_is_kept_aside),
                TEST(another_version_is_not_believed),
                TEST(a_reset_forgets_all_but_completion),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
