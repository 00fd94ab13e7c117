/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild completion: a completion script for a shell, made from the verbs' tables. */

#include "cmd/verb.h"

#define VERBS_MAX 32

static const OptionSpec before_verb[] = {
        { "help", 'h', NULL, "show the verbs" },
        { "version", OPT_VERB, NULL, "show the version" },
        {},
};

static int completion(VerbCall *call) {
        VerbSpec specs[VERBS_MAX] = {};
        const ProgramSpec program = {
                .name = "imgbuild",
                .verbs = specs,
                .options = before_verb,
                .common = common_options,
        };
        size_t n = 0;
        int r;

        for (const Verb *const *v = call->verbs; *v && n + 1 < VERBS_MAX; v++)
                if (!(*v)->hidden)
                        specs[n++] = (*v)->spec;

        r = completion_write(stdout, call->arguments[0], &program);
        return r < 0 ? log_error_errno(r, "Cannot write the script") : EXIT_OK;
}

static int check(VerbCall *call) {
        const char *shell = call->arguments[0];

        return streq(shell, "bash") || streq(shell, "zsh") ? 0 : -EINVAL;
}

const Verb verb_completion = {
        .spec = { "completion", "print a completion script for a shell", NULL, "SHELL",
                        COMPLETE_CHOICES, "bash zsh" },
        .usage = "bash|zsh",
        .about = "Prints a script that completes imgbuild's verbs, options and their values.",
        .hidden = true,
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes bash or zsh",
        .check = check,
        .run = completion,
};
