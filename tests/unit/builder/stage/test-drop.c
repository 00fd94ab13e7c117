/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

#include "stage/internal.h"
#include "store/store.h"

/* Three stages whose downloads are the texts "one" … "three"; the second one needs "one" too. */
typedef struct World {
        Store *store;
        Context ctx;
        Digest digests[3];
        LockedPackage first[1], second[2], third[1];
        LockedStage locked[3];
        Stage stages[3];
        Plan plan;
} World;

static void add(World *w, size_t i, const char *text) {
        _cleanup_free_ char *scratch = NULL, *file = NULL;

        assert_int_equal(store_scratch(w->store, "blob", &scratch), 0);
        file = path_join(scratch, "x");
        put_file(file, text);
        assert_int_equal(store_add_blob(w->store, file, NULL, w->digests[i]), 0);
}

static LockedPackage package(World *w, size_t i) {
        return (LockedPackage) { .name = (char *) "p", .sha256 = w->digests[i] };
}

static World *world(void) {
        static World w;

        w = (World) {};
        assert_int_equal(store_open("store", &w.store), 0);
        w.ctx.store = w.store;
        add(&w, 0, "one");
        add(&w, 1, "two");
        add(&w, 2, "three");
        w.first[0] = package(&w, 0);
        w.second[0] = package(&w, 0);
        w.second[1] = package(&w, 1);
        w.third[0] = package(&w, 2);
        w.locked[0] = (LockedStage) { .packages = w.first, .n_packages = 1 };
        w.locked[1] = (LockedStage) { .packages = w.second, .n_packages = 2 };
        w.locked[2] = (LockedStage) { .packages = w.third, .n_packages = 1 };
        for (size_t i = 0; i < ELEMENTSOF(w.stages); i++)
                w.stages[i] = (Stage) { .kind = STAGE_PACKAGES, .locked = w.locked + i };
        w.plan = (Plan) { .stages = w.stages, .n_stages = ELEMENTSOF(w.stages) };
        return &w;
}

/* What is there afterwards of the three, as bits; with the flags of which stages are missing. */
static unsigned left(const bool *missing, size_t last) {
        World *w = world();
        unsigned bits = 0;

        assert_int_equal(stage_drop_downloads(&w->ctx, &w->plan, missing, last), 0);
        for (size_t i = 0; i < ELEMENTSOF(w->digests); i++)
                bits |= (unsigned) store_has_blob(w->store, w->digests[i]) << i;
        store_free(w->store);
        return bits;
}

static void what_a_missing_stage_needs_stays(void **state _unused_) {
        assert_int_equal(left((const bool[]) { false, true, true }, 2), 7);
        assert_int_equal(left((const bool[]) { true, true, true }, 2), 7);
}

static void what_finished_layers_were_made_of_goes(void **state _unused_) {
        assert_int_equal(left((const bool[]) { false, false, true }, 2), 4);
        assert_int_equal(left((const bool[]) { false, false, false }, 2), 0);
        assert_int_equal(left((const bool[]) { true, false, false }, 2), 1);
}

static void stages_above_the_last_are_left_alone(void **state _unused_) {
        assert_int_equal(left((const bool[]) { false, false, false }, 1), 4);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(what_a_missing_stage_needs_stays),
                TEST(what_finished_layers_were_made_of_goes),
                TEST(stages_above_the_last_are_left_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
