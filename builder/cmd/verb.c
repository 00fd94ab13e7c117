/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From a verb's table to a call of it: the tables for getopt_long(), --help, the order of things.
 * Options and arguments may be mixed; what follows "--" is arguments, or a command. */

#include "shared/option-error.h"
#include "shared/spawn.h"
#include "cmd/verb.h"

#include <getopt.h>

#define HELP_COLUMN 26

/* --- help ------------------------------------------------------------------------------------- */

static void print_indented(const char *text) {
        for (; *text; text++) {
                putchar(*text);
                if (*text == '\n')
                        printf("%*s", HELP_COLUMN, "");
        }
        putchar('\n');
}

static void print_options(const OptionSpec *options) {
        for (const OptionSpec *o = options; o && o->name; o++) {
                int n = o->id < 0x80 ? printf("  -%c, --%s", o->id, o->name)
                                     : printf("      --%s", o->name);

                if (o->argument)
                        n += printf("=%s", o->argument);
                if (n < HELP_COLUMN)
                        printf("%*s", HELP_COLUMN - n, "");
                else
                        printf("\n%*s", HELP_COLUMN, "");
                print_indented(o->help);
        }
}

static void print_help(const Verb *verb) {
        printf("imgbuild %s %s\n\n%s\n\n", verb->spec.name, verb->usage, verb->about);
        if (verb->more_about) {
                verb->more_about();
                printf("\n");
        }
        print_options(verb->spec.options);
        print_options(common_options);
}

/* --- parsing ---------------------------------------------------------------------------------- */

#define OPTIONS_MAX 64

typedef struct GetoptTables {
        struct option options[OPTIONS_MAX];
        size_t n;
        char letters[2 * OPTIONS_MAX + 2]; /* room for "-", and each option's letter and colon */
        size_t n_letters;
} GetoptTables;

/* An option with two lines of help, for two ways to write its value, counts once. */
static bool is_known(const GetoptTables *t, const char *name) {
        for (size_t i = 0; i < t->n; i++)
                if (streq(t->options[i].name, name))
                        return true;
        return false;
}

static void add_options(GetoptTables *t, const OptionSpec *options) {
        for (const OptionSpec *o = options; o && o->name && t->n + 1 < OPTIONS_MAX; o++) {
                if (is_known(t, o->name))
                        continue;

                t->options[t->n++] = (struct option) {
                        .name = o->name,
                        .has_arg = o->argument ? required_argument : no_argument,
                        .val = o->id,
                };
                if (o->id < 0x80) {
                        t->letters[t->n_letters++] = (char) o->id;
                        if (o->argument)
                                t->letters[t->n_letters++] = ':';
                }
        }
}

/* 0; 1 where that was all there was to do; -EINVAL (logged). */
static int take_option(VerbCall *call, int id, const char *value) {
        int r;

        if (id == 'h') {
                print_help(call->verb);
                return 1;
        }

        r = common_option(&call->common, id, value);
        if (r != 0)
                return MIN(r, 0);
        return call->verb->take ? call->verb->take(call->options, id, value) : -EINVAL;
}

static int parse(VerbCall *call, int argc, char *argv[]) {
        /* "-": words that are no options come in their order, as option 1. */
        GetoptTables tables = { .letters = "-", .n_letters = 1 };
        int id, r;

        add_options(&tables, call->verb->spec.options);
        add_options(&tables, common_options);

        opterr = 0;
        while ((id = getopt_long(argc, argv, tables.letters, tables.options, NULL)) >= 0) {
                if (id == '?') {
                        log_bad_option(argv, tables.options);
                        return -EINVAL;
                }
                if (id == 1) {
                        call->arguments[call->n_arguments++] = optarg;
                        continue;
                }

                r = take_option(call, id, optarg);
                if (r != 0)
                        return r;
        }

        if (call->verb->command && optind < argc)
                call->command = argv + optind;
        else
                for (int i = optind; i < argc; i++)
                        call->arguments[call->n_arguments++] = argv[i];
        return 0;
}

/* 0 or an exit code. */
static int check(VerbCall *call) {
        const Verb *v = call->verb;
        size_t n = call->n_arguments;
        int r = 0;

        if (v->max_arguments > 0 && (n < v->min_arguments || n > v->max_arguments))
                r = -EINVAL;
        else if (v->check)
                r = v->check(call);
        if (r >= 0)
                return r;

        log_error("'imgbuild %s' %s; see 'imgbuild %s --help'", v->spec.name, v->wanted,
                        v->spec.name);
        return EXIT_USAGE;
}

/* --- the call --------------------------------------------------------------------------------- */

static void call_done(VerbCall *call) {
        if (call->verb->done && call->options)
                call->verb->done(call->options);
        free(call->options);
        free(call->arguments);
        common_options_done(&call->common);
}

static int open_host(VerbCall *call, bool reads_only, Context *ctx) {
        int r;

        if (!call->verb->needs_store || reads_only) {
                r = interrupt_install();
                if (r < 0)
                        return log_error_errno(r, "Cannot catch signals"), EXIT_FAILED;
                return 0;
        }

        r = context_open(&call->common, ctx);
        if (r < 0)
                return EXIT_HOST; /* whatever is wrong with the place for the store */
        call->ctx = ctx;
        return context_open_remote(&call->common, ctx) < 0 ? EXIT_USAGE : 0;
}

int verb_main(const Verb *verb, const Verb *const *verbs, int argc, char *argv[]) {
        _cleanup_(call_done) VerbCall call = {
                .verb = verb,
                .verbs = verbs,
                .common.progress = verb->quiet ? PROGRESS_NONE : PROGRESS_AUTO,
                .options = calloc(1, MAX(verb->options_size, (size_t) 1)),
                .arguments = calloc((size_t) argc + 1, sizeof(char *)),
        };
        bool reads_only = verb->reads_only && strv_contains(argv, verb->reads_only);
        _cleanup_context_ Context ctx = {};
        int r;

        if (!call.options || !call.arguments)
                return log_oom(), EXIT_FAILED;
        if (verb->defaults)
                memcpy(call.options, verb->defaults, verb->options_size);

        r = parse(&call, argc, argv);
        if (r != 0)
                return r < 0 ? EXIT_USAGE : EXIT_OK;
        r = check(&call);
        if (r != 0)
                return r;
        r = open_host(&call, reads_only, &ctx);
        if (r != 0)
                return r;

        r = verb->run(&call);
        if (r >= 0)
                return r;
        if (!interrupt_signal())
                return exit_code_from_errno(r);
        log_error("Interrupted");
        return EXIT_INTERRUPTED;
}
