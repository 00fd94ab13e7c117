/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "steps/common/attempt.h"

/* What a step of that name finds out while the status is so. */
static StepContext look_up(const char *status, const char *name) {
        StepContext c = { .name = name };

        setenv("FIRSTBOOT_NODE_SEED", "n1", 1);
        if (status)
                root_put(PATH_RUN_STATUS, status);
        attempt_look_up(&c);
        return c;
}

static uint64_t give_up(const StepContext *c, const char *section) {
        _cleanup_json_ json_object *o = json_tokener_parse(section);

        return attempt_give_up(c, o, 180 * USEC_PER_SEC) / USEC_PER_SEC;
}

static void without_a_status_it_is_the_first(void **state) {
        StepContext c = look_up(NULL, "a");

        (void) state;
        assert_false(c.slow);
        assert_int_equal(give_up(&c, "{}"), 180);
        assert_int_equal(give_up(&c, "{\"give_up\":\"7s\"}"), 7);
}

static void a_slow_attempt_asks_for_seconds_only(void **state) {
        StepContext c = look_up(
                        "{\"steps\":[{\"name\":\"b\"},{\"name\":\"a\",\"slow\":true}]}", "a");

        (void) state;
        assert_true(c.slow);
        assert_int_equal(give_up(&c, "{}"), 10);
        assert_int_equal(give_up(&c, "{\"give_up\":\"7s\"}"), 7);
        c = look_up(NULL, "b");
        assert_false(c.slow);
}

static void attempts_have_pauses_of_their_own(void **state) {
        uint64_t first = look_up("{\"steps\":[{\"name\":\"a\",\"attempts\":[]}]}", "a").seed,
                 begun = look_up("{\"steps\":[{\"name\":\"a\",\"attempts\":[{\"finished_usec\":0}]}]}",
                                 "a")
                                         .seed,
                 second = look_up(
                                 "{\"steps\":[{\"name\":\"a\",\"attempts\":[{\"finished_usec\":5}]}]}",
                                 "a")
                                          .seed;

        (void) state;
        assert_int_equal(first, begun);
        assert_int_not_equal(first, second);
}

static void nonsense_is_no_trouble(void **state) {
        static const char *const texts[] = { "", "[]", "{\"steps\":3}",
                "{\"steps\":[1,null,{\"name\":3}]}",
                "{\"steps\":[{\"name\":\"a\",\"attempts\":7,\"slow\":\"yes\"}]}" };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_false(look_up(texts[i], "a").slow);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(without_a_status_it_is_the_first),
                TEST(a_slow_attempt_asks_for_seconds_only),
                TEST(attempts_have_pauses_of_their_own),
                TEST(nonsense_is_no_trouble),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
