/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which stages begin before their turn, and what comes back of them. Nothing is made: the maker is
 * ours. */

#include "recipe-fixture.h"

#include "stage/internal.h"

enum { BASE, FIRST, SECOND, COMPILED, AFTER, N_STAGES };

static Compile compile;
static Overlay one = { .name = (char *) "one", .compile = &compile, .n_compile = 1 },
               two = { .name = (char *) "two" };
static Overlay *overlays[] = { &one, &two };
static const Recipe recipe = { .overlays = overlays, .n_overlays = 2 };
static Stage stages[] = {
        [BASE] = { .kind = STAGE_BASE, .id = (char *) "base" },
        [FIRST] = { .kind = STAGE_PACKAGES, .id = (char *) "packages:one", .overlay = &one },
        [SECOND] = { .kind = STAGE_PACKAGES, .id = (char *) "packages:two", .overlay = &two },
        [COMPILED] = { .kind = STAGE_COMPILE, .id = (char *) "compile:one/0", .overlay = &one },
        [AFTER] = { .kind = STAGE_FINALIZE, .id = (char *) "finalize" },
};
static const Plan plan = { .recipe = &recipe, .stages = stages, .n_stages = N_STAGES };

static int succeed(Context *ctx, const Plan *p, const Maker *m _unused_, size_t i) {
        log_notice("made %s%s", p->stages[i].id, ctx->progress ? " in sight" : "");
        return 0;
}

static int find_made(Context *ctx _unused_, const Plan *p _unused_, const Maker *m _unused_,
                size_t i _unused_) {
        return 1;
}

typedef int (*Build)(Context *ctx, const Plan *plan, const Maker *maker, size_t i);

static Beside *begin_with(Build build, Context *ctx, const bool *missing) {
        const BesideWork work = { .plan = &plan, .build = build };
        Beside *b = beside_new(&plan);

        assert_non_null(b);
        beside_begin(b, ctx, &work, missing, N_STAGES - 1);
        return b;
}

static const bool second_missing[N_STAGES] = { [SECOND] = true, [COMPILED] = true, [AFTER] = true };

static bool begins(const bool *missing, Context ctx) {
        _cleanup_(beside_freep) Beside *b = begin_with(succeed, &ctx, missing);

        for (size_t i = 0; i < N_STAGES; i++)
                if (i != COMPILED)
                        assert_false(beside_has(b, i));
        return beside_has(b, COMPILED);
}

static void it_begins_once_what_it_is_made_on_is_there(void **state _unused_) {
        const Context two_jobs = { .jobs = 2 };

        assert_true(begins(second_missing, two_jobs));
        assert_false(begins((const bool[N_STAGES]) { [BASE] = true, [COMPILED] = true }, two_jobs));
        assert_false(begins((const bool[N_STAGES]) { [SECOND] = true }, two_jobs));
}

static void it_does_not_begin_when_its_turn_has_come(void **state _unused_) {
        const Context two_jobs = { .jobs = 2 };

        assert_false(begins(
                        (const bool[N_STAGES]) { [COMPILED] = true, [AFTER] = true }, two_jobs));
}

static void one_job_is_one_at_a_time(void **state _unused_) {
        assert_false(begins(second_missing, (Context) { .jobs = 1 }));
}

static void a_shell_on_error_wants_the_terminal(void **state _unused_) {
        assert_false(begins(second_missing, (Context) { .jobs = 2, .error_shell = true }));
}

static void what_it_says_is_told_in_its_turn(void **state) {
        Context ctx = { .jobs = 2 };
        _cleanup_(beside_freep) Beside *b = begin_with(succeed, &ctx, second_missing);

        usleep(50000);
        assert_false(was_logged(*state, "made compile:one/0"));
        assert_int_equal(beside_finish(b, COMPILED), 0);
        assert_true(was_logged(*state, "made compile:one/0"));
        assert_false(was_logged(*state, "in sight"));
        assert_false(beside_has(b, COMPILED));
}

static void what_another_build_made_is_told_apart(void **state _unused_) {
        Context ctx = { .jobs = 2 };
        _cleanup_(beside_freep) Beside *b = begin_with(find_made, &ctx, second_missing);

        assert_int_equal(beside_finish(b, COMPILED), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(it_begins_once_what_it_is_made_on_is_there),
                TEST(it_does_not_begin_when_its_turn_has_come),
                TEST(one_job_is_one_at_a_time),
                TEST(a_shell_on_error_wants_the_terminal),
                TEST(what_it_says_is_told_in_its_turn),
                TEST(what_another_build_made_is_told_apart),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
