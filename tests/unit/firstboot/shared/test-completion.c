/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The scripts themselves are driven by real shells in tests/cli/completion.sh; here is what the
 * table becomes. */

#include "shared/completion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const OptionSpec bake[] = {
        { "output", 'o', "FOLDER", "where it's put", COMPLETE_FOLDER },
        { "disk", 0x100, "N", "so many [disks]: N\nor more", .repeats = true },
        { "disk", 0x100, "size=S", "to order" },
        { "force", 0x101, NULL, "all the same" },
        {},
};
static const OptionSpec common[] = {
        { "progress", 0x200, "HOW", "how", COMPLETE_CHOICES, "plain json" },
        {},
};
static const OptionSpec before[] = { { "help", 'h', NULL, "show this" }, {} };
static const VerbSpec verbs[] = {
        { "bake", "bake it", bake, "RECIPE", COMPLETE_FILE, "*.json" },
        { "eat", "eat it", NULL, "CAKE", COMPLETE_COMMAND, "oven list" },
        {},
};
static const ProgramSpec oven = { "the-oven", verbs, before, common };

static char *script(const char *shell, const ProgramSpec *program) {
        char *text = NULL;
        size_t length;
        FILE *f = open_memstream(&text, &length);

        assert_non_null(f);
        assert_int_equal(completion_write(f, shell, program), 0);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void has(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("No '%s' in:\n%s", part, text);
}

static void bash_knows_options_and_their_values(void **state _unused_) {
        _cleanup_free_ char *text = script("bash", &oven);

        has(text, "bake | eat) verb=");
        has(text, "options=( --output= --disk= --force --progress= )\n");
        has(text, "argument=(file '*.json')");
        has(text, "argument=(command 'oven list')");
        has(text, "bake\" --output\" | bake\" -o\") _the_oven_value folder ''");
        has(text, "*\" --progress\") _the_oven_value choices 'plain json'");
        has(text, "complete -F _the_oven the-oven\n");
}

static void zsh_knows_options_and_their_values(void **state _unused_) {
        _cleanup_free_ char *text = script("zsh", &oven);

        assert_int_equal(strncmp(text, "#compdef the-oven\n", 18), 0);
        has(text, "bake:'bake it'\n");
        has(text, "'(-o --output)-o+[where it'\\''s put]:FOLDER:_files -/'\n");
        has(text, "'(-o --output)--output=[where it'\\''s put]:FOLDER:_files -/'\n");
        has(text, "'*--disk=[so many \\[disks\\]\\: N]:N: '\n");
        has(text, "'--force[all the same]'\n");
        has(text, "'--progress=[how]:HOW:(plain json)'\n");
        has(text, "'*:RECIPE:_files -g \"*.json\"'\n");
}

static void a_program_needs_no_verbs(void **state _unused_) {
        const ProgramSpec program = {
                .name = "bench",
                .options = bake,
                .argument = "HOST",
                .value = COMPLETE_CHOICES,
                .words = "a b",
        };
        _cleanup_free_ char *bash = script("bash", &program), *zsh = script("zsh", &program);

        has(bash, "options=( --output= --disk= --force )\n");
        has(bash, "argument=(choices 'a b')");
        has(bash, "\" --output\" | \" -o\") _bench_value folder ''");
        has(zsh, "'*:HOST:(a b)'");
}

static void another_shell_is_refused(void **state _unused_) {
        assert_int_equal(completion_write(stdout, "csh", &oven), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bash_knows_options_and_their_values),
                cmocka_unit_test(zsh_knows_options_and_their_values),
                cmocka_unit_test(a_program_needs_no_verbs),
                cmocka_unit_test(another_shell_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
