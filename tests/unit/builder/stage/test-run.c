/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A run stage with a secret: its script sees it, nobody else does, and nothing of it stays. The
 * tree is a few of the host's own programs. */

#include "sandbox-fixture.h"
#include "log-fixture.h"

#include "stage/internal.h"

#define CANARY "canary-5d9e7f21-secret"
#define CANARY_BASE64 "Y2FuYXJ5LTVkOWU3ZjIxLXNlY3JldA==" /* all of it */

static char *const secret_names[] = { (char *) "token", NULL };
static Run run;
static Overlay overlay;
static Recipe recipe;
static Stage stage;
static Plan plan;
static Context ctx;

static int shell(const char *command) {
        int status = -1;
        int r = spawn_run(NULL, ARGV("/bin/sh", "-c", command), &status);

        return r < 0 ? r : status;
}

/* Programs with all that they load, where the host has them. */
static void put_programs(const char *tree) {
        _cleanup_free_ char *command = strf(
                        "cd %s && mkdir -p usr/bin usr/sbin usr/lib usr/lib64 && for p in sh cat ln mkdir setfattr; do"
                        " p=$(command -v $p) || continue; cp -L \"$p\" usr/bin/; ldd \"$p\" | grep -o '/[^ ]*' |"
                        " while read -r l; do cp -L --parents \"$l\" .; done; done",
                        tree);

        assert_int_equal(shell(command), 0);
}

static int begin(void **state) {
        _cleanup_free_ char *token = NULL, *argument = NULL;

        log_begin();
        assert_int_equal(setup(state), 0);
        put_programs(f.lower);
        put(f.path, "token", CANARY "\n");
        token = path_join(f.path, "token");
        argument = strf("token=%s", token);
        assert_int_equal(chmod(token, 0600), 0);

        ctx = (Context) { .store = f.store };
        assert_int_equal(secrets_add(&ctx.secrets, argument), 0);
        run = (Run) { .script = path_join(f.path, "script"), .secrets = (char **) secret_names };
        overlay = (Overlay) { .name = (char *) "x", .run = &run, .n_run = 1 };
        recipe = (Recipe) { .name = (char *) "small", .path = (char *) "images/small.json" };
        stage = (Stage) { .kind = STAGE_RUN, .id = (char *) "run:x/0", .overlay = &overlay };
        plan = (Plan) { .recipe = &recipe, .stages = &stage, .n_stages = 1 };
        return 0;
}

static int end(void **state) {
        secrets_done(&ctx.secrets);
        free(run.script);
        log_end();
        lines = strv_free(lines);
        return teardown(state);
}

static int run_script(const char *text) {
        StageBuild b = { .ctx = &ctx, .plan = &plan, .stage = &stage, .sandbox = f.sandbox };
        _cleanup_free_ char *script = strf("#!/bin/sh\nset -eu\n%s\n", text);

        put(f.path, "script", script);
        assert_int_equal(chmod(run.script, 0755), 0);
        return stage_run(&b);
}

static bool was_said(const char *what) {
        STRV_FOREACH (line, lines)
                if (strstr(*line, what))
                        return true;
        return false;
}

/* Nowhere below the folder but in the file that was given: no layer, no log. */
static bool is_nowhere(const char *what) {
        _cleanup_free_ char *command = strf("! grep -rqF -e '%s' --exclude=token %s", what, f.path);

        return shell(command) == 0 && !was_said(what);
}

static void the_script_sees_it_in_memory(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(
                        run_script("[ \"$SECRETS\" = /run/imgbuild/secrets ]\n"
                                   "read -r t <\"$SECRETS/token\"; [ \"$t\" = canary-5d9e7f21\"-secret\" ]\n"
                                   "[ -f \"$SECRETS/token\" ] && [ ! -e \"$SECRETS/other\" ]\n"
                                   "for m in $(cat /proc/self/mounts); do [ \"$m\" != \"$SECRETS/token\" ]; done\n"
                                   "for e in /proc/*/environ /proc/*/cmdline; do\n"
                                   "  case $(cat $e 2>/dev/null) in *\"$t\"*) echo $e has it; exit 3;; esac; done\n"
                                   "for d in /proc/$$/fd/*; do [ \"${d##*/}\" -le 3 ] || [ \"${d##*/}\" = 10 ]; done\n"
                                   "echo done >/made"),
                        0);
        assert_true(is_nowhere(CANARY));
        _cleanup_free_ char *made = path_join(f.upper, "made"), *runs = path_join(f.upper, "run");
        assert_int_equal(access(made, F_OK), 0);
        assert_int_equal(access(runs, F_OK), -1);
}

static void what_it_prints_is_masked(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(run_script("set -x; t=$(cat $SECRETS/token); echo \"Bearer $t\"; exit 4"),
                        -EIO);
        assert_true(was_said("Bearer [secret token]"));
        assert_true(is_nowhere(CANARY));
}

static void of_lines_in_pieces_nothing_is_shown(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(
                        run_script("t=$(cat $SECRETS/token); x=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do x=$x$x; done\n"
                                   "y=; for i in 1 2 3 4 5 6 7 8 9; do y=${y}yyyyyyyyy; done\n"
                                   "echo \"$x${x%%xxxxxxxxxx}$t$y\"; exit 4"),
                        -EIO);
        assert_true(was_said("[a line of more than 8 kB, of a script that has a secret]"));
        assert_true(is_nowhere("canary-"));
        assert_true(is_nowhere("-secret"
                               "yyy"));
}

static void a_layer_that_holds_it_is_refused(void **state _unused_) {
        static const struct {
                const char *script, *where;
        } ways[] = {
                { "cat $SECRETS/token >/etc/token", " in /etc/token" },
                { "echo \"{ \\\"auth\\\": \\\"" CANARY_BASE64 "\\\" }\" >/config", " in /config" },
                { "ln -s $(cat $SECRETS/token) /link", " in /link" },
                { "mkdir /$(cat $SECRETS/token)", " in /[secret" },
                { "setfattr -n user.x -v $(cat $SECRETS/token) /etc/below", " in /etc/below" },
        };

        requires_namespaces();
        for (size_t i = 0; i < ELEMENTSOF(ways) - (shell("command -v setfattr >/dev/null") != 0);
                        i++) {
                lines = strv_free(lines);
                assert_int_equal(run_script(ways[i].script), -EIO);
                assert_true(was_said("Stage run:x/0: its script left the secret token"));
                assert_true(was_said(ways[i].where));
                assert_false(was_said(CANARY));
                _cleanup_free_ char *clean = strf("rm -rf %s/* %s/*", f.upper, f.work);
                assert_int_equal(shell(clean), 0);
        }
}

/* Across the border of what is read at once. */
static void a_large_file_is_searched_whole(void **state _unused_) {
        requires_namespaces();
        for (int before = -12; before <= 0; before += 6) {
                _cleanup_free_ char *path = path_join(f.upper, "large"), *text = NULL;
                StageBuild b = {
                        .ctx = &ctx, .plan = &plan, .stage = &stage, .sandbox = f.sandbox
                };
                const Secret *const list[] = { ctx.secrets.secrets, NULL };

                text = malloc(1024 * 1024 + 100);
                memset(text, 'x', 1024 * 1024 + 100);
                memcpy(text + 1024 * 1024 + before, CANARY, strlen(CANARY));
                assert_int_equal(write_file_atomic(path, text, 1024 * 1024 + 100, 0644), 0);
                assert_int_equal(stage_find_secrets(&b, list), -EIO);
                assert_true(was_said("in /large"));
        }
}

static void a_script_without_one_gets_none(void **state _unused_) {
        requires_namespaces();
        run.secrets = NULL;
        assert_int_equal(run_script("[ -z \"${SECRETS-}\" ] && [ ! -e /run/imgbuild/secrets ]"), 0);
}

static void what_was_not_given_is_told_before_anything_runs(void **state _unused_) {
        bool missing = true;

        assert_int_equal(stage_have_secrets(&ctx, &plan, &missing, 0), 0);
        secrets_done(&ctx.secrets);
        assert_int_equal(stage_have_secrets(&ctx, &plan, &missing, 0), -EINVAL);
        assert_true(was_said(
                        "Stage run:x/0 needs the secret token: imgbuild build images/small.json --secret token=FILE"));
        missing = false; /* its layer is there */
        assert_int_equal(stage_have_secrets(&ctx, &plan, &missing, 0), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
                TEST(the_script_sees_it_in_memory),
                TEST(what_it_prints_is_masked),
                TEST(of_lines_in_pieces_nothing_is_shown),
                TEST(a_layer_that_holds_it_is_refused),
                TEST(a_large_file_is_searched_whole),
                TEST(a_script_without_one_gets_none),
                TEST(what_was_not_given_is_told_before_anything_runs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
