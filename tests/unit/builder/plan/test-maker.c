/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA(digit) digit digit digit digit digit digit digit digit
#define SHA256(digit) \
        SHA(digit) SHA(digit) SHA(digit) SHA(digit) SHA(digit) SHA(digit) SHA(digit) SHA(digit)

/* A project with an image and its tools, and the image's plan: a base with a package list on it. */
typedef struct World {
        char folder[64], *recipe_path;
        Overlay overlay, *overlays[2];
        char *packages[2];
        Recipe recipe;
        LockedPackage locked[2];
        LockedStage stages[2];
        Lock lock;
        Plan *plan;
        Digest before;
} World;

static char sha256[] = SHA256("a");

static void put(World *w, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(w->folder, name);

        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

/* tools.lock.json with these digests of mmdebstrap and of Perl, which runs it; NULL: not in it. */
static void put_tools(World *w, const char *mmdebstrap, const char *perl) {
        static const char line[] =
                        "{ \"name\": \"%s\", \"version\": \"1\", \"arch\": \"all\", \"origin\": \"debian\","
                        " \"path\": \"%s.deb\", \"size\": 1, \"sha256\": \"%s\" }%s";
        _cleanup_free_ char *first =
                        mmdebstrap ? strf(line, "mmdebstrap", "m", mmdebstrap, ", ") : strdup("");
        _cleanup_free_ char *second = strf(line, "perl", "p", perl, "");
        _cleanup_free_ char *text = strf(
                        "{ \"version\": 1, \"recipe\": \"tools\", \"epoch\": 1, \"origins\":"
                        " [ { \"name\": \"debian\", \"suite\": \"trixie\" } ], \"stages\": [ { \"id\": \"base\","
                        " \"request\": \"" SHA256(
                                        "b") "\", \"packages\": [ %s%s ] } ], \"artifacts\": [] }",
                        first, second);

        put(w, "tools.lock.json", text);
}

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        strcpy(w->folder, "/tmp/test-maker-XXXXXX");
        if (!w || !mkdtemp(w->folder))
                return -1;
        w->recipe_path = path_join(w->folder, "x.json");
        put(w, "x.json", "{}\n");
        put(w, "tools.json", "{}\n");
        w->packages[0] = (char *) "bash";
        w->overlay = (Overlay) {
                .name = (char *) "one", .path = w->folder, .packages = w->packages
        };
        w->overlays[0] = &w->overlay;
        w->recipe = (Recipe) { .name = (char *) "x",
                .kind = RECIPE_TREE,
                .base = { .distro = (char *) "debian",
                                .release = (char *) "trixie",
                                .arch = (char *) "amd64" },
                .overlays = w->overlays,
                .n_overlays = 1 };
        for (size_t i = 0; i < ELEMENTSOF(w->stages); i++) {
                w->locked[i] = (LockedPackage) { .name = w->packages[0], .sha256 = sha256 };
                w->stages[i] = (LockedStage) { .packages = w->locked + i, .n_packages = 1 };
        }
        w->stages[0].id = (char *) "base";
        w->stages[1].id = (char *) "packages:one";
        w->lock = (Lock) { .epoch = 1, .stages = w->stages, .n_stages = 2 };
        if (plan_new(&w->recipe, &w->lock, &w->plan) < 0)
                return -1;
        memcpy(w->before, w->plan->stages[1].digest, sizeof(Digest));
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        plan_free(w->plan);
        rm_rf(w->folder);
        free(w->recipe_path);
        free(w);
        return 0;
}

/* Whether what lies on the base has another digest than at the last call. */
static bool changes(World *w) {
        Context ctx = {};
        bool same;

        assert_int_equal(plan_find_maker(&ctx, w->recipe_path, w->plan), 0);
        same = streq(w->before, w->plan->stages[1].digest);
        memcpy(w->before, w->plan->stages[1].digest, sizeof(Digest));
        return !same;
}

static void tools_without_a_lock_are_unknown(void **state) {
        World *w = *state;

        assert_false(changes(w));
        assert_int_equal(w->plan->maker_kind, MAKER_UNKNOWN);
}

static void the_tools_mmdebstrap_is_in_the_digests(void **state) {
        World *w = *state;

        put_tools(w, SHA256("1"), SHA256("2"));
        assert_true(changes(w));
        assert_int_equal(w->plan->maker_kind, MAKER_TOOLS);
        put_tools(w, SHA256("3"), SHA256("2"));
        assert_true(changes(w));
}

static void what_only_runs_it_is_not(void **state) {
        World *w = *state;

        put_tools(w, SHA256("1"), SHA256("2"));
        assert_true(changes(w));
        put_tools(w, SHA256("1"), SHA256("4"));
        assert_false(changes(w));
}

static void tools_without_mmdebstrap_leave_it_to_the_host(void **state) {
        World *w = *state;

        put_tools(w, NULL, SHA256("2"));
        assert_false(changes(w));
        assert_int_equal(w->plan->maker_kind, MAKER_HOST);
}

static void the_tools_own_base_is_the_hosts(void **state) {
        World *w = *state;

        put_tools(w, SHA256("1"), SHA256("2"));
        free(w->recipe_path);
        w->recipe_path = path_join(w->folder, "./tools.json");
        assert_false(changes(w));
        assert_int_equal(w->plan->maker_kind, MAKER_SELF);
}

static void other_tools_are_planned_with_at_once(void **state) {
        World *w = *state;
        LockedPackage package = { .name = (char *) "mmdebstrap", .sha256 = sha256 };
        LockedStage base = { .packages = &package, .n_packages = 1 };

        put_tools(w, SHA256("1"), SHA256("2"));
        assert_true(changes(w));
        assert_int_equal(plan_set_maker(w->plan, &base), 0);
        assert_string_not_equal(w->before, w->plan->stages[1].digest);
        put_tools(w, SHA256("a"), SHA256("2"));
        assert_true(changes(w));
        assert_int_equal(plan_set_maker(w->plan, &base), 0);
        assert_string_equal(w->before, w->plan->stages[1].digest);
}

static void plan_says_so(void **state) {
        World *w = *state;
        const Stage *base = w->plan->stages;
        _cleanup_json_ json_object *record = json_object_new_object();
        _cleanup_free_ char *why = NULL;
        json_object *entry = json_object_new_object();

        assert_int_equal(json_set_fields(entry, JSON_STRING("digest", base->digest),
                                         JSON_TAKE("inputs", json_object_get(base->inputs))),
                        0);
        assert_int_equal(json_set(record, base->id, entry), 0);
        put_tools(w, SHA256("1"), SHA256("2"));
        assert_true(changes(w));
        why = plan_why(w->plan, 0, record);
        assert_string_equal(why, "mmdebstrap, dpkg, apt or tar of the tools changed");
}

static void nothing_is_said(int level, const char *line, void *userdata) {
        (void) level;
        (void) line;
        (void) userdata;
}

static void a_broken_lock_of_the_tools_is_no_plan(void **state) {
        World *w = *state;
        Context ctx = {};

        put(w, "tools.lock.json", "{");
        log_set_writer(nothing_is_said, NULL);
        assert_int_equal(plan_find_maker(&ctx, w->recipe_path, w->plan), -EINVAL);
        log_set_writer(NULL, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(tools_without_a_lock_are_unknown),
                TEST(the_tools_mmdebstrap_is_in_the_digests),
                TEST(what_only_runs_it_is_not),
                TEST(tools_without_mmdebstrap_leave_it_to_the_host),
                TEST(the_tools_own_base_is_the_hosts),
                TEST(other_tools_are_planned_with_at_once),
                TEST(plan_says_so),
                TEST(a_broken_lock_of_the_tools_is_no_plan),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
