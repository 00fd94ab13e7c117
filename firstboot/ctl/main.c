/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl: shows how the node came up, why not, and runs steps again. The tables of verbs and
 * options here make --help, getopt's arguments and the completion scripts. */

#include "ctl/ctl.h"
#include "contract/codes.h"
#include "contract/quantity.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/option-error.h"
#include "shared/package-note.h"
#include "shared/streams.h"
#include "shared/suggest.h"
#include "shared/terminal.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>

PACKAGE_NOTE("firstboot", FIRSTBOOT_VERSION);

/* Names of steps are those of their files; reading the graph would need the configuration. */
#define LIST_STEPS \
        "ls /usr/lib/firstboot/steps.d /etc/firstboot/steps.d 2>/dev/null | sed -n 's/\\.json$//p'"

typedef struct Verb {
        const char *name, *argument, *help;
        int (*run)(Ctl *c, int argc, char *argv[]);
        CompletionKind value; /* of the argument */
        const char *words;
        const char *takes; /* more than `argument` says; NULL: that */
} Verb;

/* clang-format off */
static const Verb verbs[] = {
        { "status", NULL, "the node and its steps (the default)", verb_status, COMPLETE_NONE, NULL, NULL },
        { "blame", NULL, "steps by the time they took", verb_blame, COMPLETE_NONE, NULL, NULL },
        { "plot", NULL, "time line of the boot as SVG on standard output", verb_plot, COMPLETE_NONE, NULL, NULL },
        { "history", NULL, "the last verdicts and key figures", verb_history, COMPLETE_NONE, NULL, NULL },
        { "explain", "[CODE]", "what is wrong, why, and what to do", verb_explain,
          COMPLETE_CHOICES, NULL /* code_words() */, NULL },
        { "rerun", "STEP|config", "run a step and what waits for it again", verb_rerun,
          COMPLETE_COMMAND, "echo config; " LIST_STEPS, NULL },
        { "config", "[ACTION]", "the configuration, and where each value came from;\n"
          "                       get KEY, set KEY VALUE, unset KEY", verb_config,
          COMPLETE_CHOICES, "get set unset", "nothing, get KEY, set KEY VALUE or unset KEY" },
        { "check", NULL, "look whether the node is still well; changes nothing", verb_check, COMPLETE_NONE, NULL, NULL },
        { "log", "[STEP]", "the journal of a step, or of firstbootd", verb_log, COMPLETE_COMMAND, LIST_STEPS, NULL },
        { "completion", "bash|zsh", "completion script for a shell", verb_completion,
          COMPLETE_CHOICES, "bash zsh", NULL },
};
/* clang-format on */

enum {
        OPT_WAIT = 256,
        OPT_WATCH,
        OPT_JSON,
        OPT_TIMEOUT,
        OPT_QUICK,
        OPT_FULL,
        OPT_STEP,
        OPT_PROBES,
        OPT_HISTORY,
        OPT_NO_RERUN,
        OPT_BESIDE_JOBS
};

/* Every verb takes them all, before it or behind it. */
/* clang-format off */
static const OptionSpec options[] = {
        { .name = "wait", .id = OPT_WAIT, .help = "wait until the node has settled (status, rerun, config set)" },
        { .name = "watch", .id = OPT_WATCH,
          .help = "show it as it goes on, until Ctrl-C; with --wait until it has settled (status)" },
        { .name = "timeout", .id = OPT_TIMEOUT, .argument = "TIME",
          .help = "give up waiting after TIME, such as 90s or 10min" },
        { .name = "json", .id = OPT_JSON, .help = "machine-readable output (status, config, check, history, blame)" },
        { .name = "quick", .id = OPT_QUICK, .help = "a second, beside running jobs (check; the default)" },
        { .name = "full", .id = OPT_FULL, .help = "with load on GPUs and network; wants an idle node (check)" },
        { .name = "beside-jobs", .id = OPT_BESIDE_JOBS, .help = "a full one though jobs run, which it disturbs (check --full)" },
        { .name = "step", .id = OPT_STEP, .argument = "NAME", .help = "one step's probe alone (check)",
          .value = COMPLETE_COMMAND, .words = LIST_STEPS },
        { .name = "probes", .id = OPT_PROBES, .help = "the probes alone, not firstbootd's verdict (check)" },
        { .name = "history", .id = OPT_HISTORY, .help = "the key figures over time, not the boot (plot)" },
        { .name = "no-rerun", .id = OPT_NO_RERUN, .help = "write the file only (config set, config unset)" },
        { .name = "help", .id = 'h', .help = "this text" },
        {},
};
/* clang-format on */

/* Verb or option, and what it is for. */
static void help_row(FILE *f, const char *left, const char *text) {
        fprintf(f, "  %-20s %s\n", left, text);
}

static void help(FILE *f) {
        char left[40];

        fprintf(f, "Usage: firstbootctl [OPTION…] [VERB]\n\n");
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                const Verb *v = &verbs[i];

                snprintf(left, sizeof(left), "%s%s%s", v->name, v->argument ? " " : "",
                                strempty(v->argument));
                help_row(f, left, v->help);
        }
        fputc('\n', f);
        for (const OptionSpec *o = options; o->name; o++) {
                char letter[] = { '-', (char) o->id, ',', '\0' };

                snprintf(left, sizeof(left), "%3s --%s%s%s", o->id < 256 ? letter : "", o->name,
                                o->argument ? "=" : "", strempty(o->argument));
                help_row(f, left, o->help);
        }
        fprintf(f, "\nExit code of status: 0 ready, 1 failed, 2 degraded, 3 still going, 4 not known.\n"
                   "Of check: 0 well, 1 something is wrong, 2 wrong usage, 3 could not look,\n"
                   "4 did not look: a job runs.\n");
}

/* What getopt_long() wants to know of the options. */
static void long_options(struct option long_options[ELEMENTSOF(options)]) {
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                long_options[i] = (struct option) {
                        .name = options[i].name,
                        .has_arg = options[i].argument ? required_argument : no_argument,
                        .val = options[i].id,
                };
}

#define EXIT_HELPED 256 /* no exit code: --help was given */

/* Returns the index of the verb in argv; or -EXIT_USAGE, or -EXIT_HELPED. */
static int parse_options(Ctl *c, int argc, char *argv[]) {
        struct option list[ELEMENTSOF(options)];
        int o;

        long_options(list);
        opterr = 0;
        while ((o = getopt_long(argc, argv, "h", list, NULL)) >= 0) {
                if (o >= OPT_WAIT)
                        c->given |= 1u << (o - OPT_WAIT);
                switch (o) {
                case OPT_WAIT:
                        c->wait = true;
                        break;
                case OPT_JSON:
                        c->json = true;
                        break;
                case OPT_TIMEOUT:
                        if (parse_duration_text(optarg, &c->timeout_usec) < 0 ||
                                        c->timeout_usec == 0) {
                                log_error("--timeout=%s is no time such as 90s or 10min", optarg);
                                return -EXIT_USAGE;
                        }
                        break;
                case OPT_QUICK:
                        c->quick = true;
                        break;
                case OPT_WATCH:
                        c->watch = true;
                        break;
                case OPT_FULL:
                        c->full = true;
                        break;
                case OPT_STEP:
                        c->step = optarg;
                        break;
                case OPT_HISTORY:
                        c->history = true;
                        break;
                case OPT_NO_RERUN:
                        c->no_rerun = true;
                        break;
                case OPT_BESIDE_JOBS:
                        c->beside_jobs = true;
                        break;
                case OPT_PROBES:
                        c->probes = true;
                        break;
                case 'h':
                        help(stdout);
                        return -EXIT_HELPED;
                default:
                        log_bad_option(argv, list);
                        return -EXIT_USAGE;
                }
        }
        return optind;
}

/* All reason codes, for completion. */
static char *code_words(void) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < codes_count; i++)
                if (strv_extend(&l, codes[i].code) < 0)
                        return NULL;
        return strv_join(l, " ");
}

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

/* The table for completion, which has the words that only we know; specs: one more than verbs. */
static void fill_specs(VerbSpec *specs, const char *words_of_codes) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                const Verb *v = &verbs[i];

                specs[i] = (VerbSpec) {
                        .name = v->name,
                        .help = v->help,
                        .argument = v->argument,
                        .value = v->value,
                        .words = v->run == verb_explain ? words_of_codes : v->words,
                };
        }
}

/* Verbs that heed an option; those not named here are every verb's. */
static const struct {
        int id;
        const char *verbs;
} heeded[] = {
        { OPT_WAIT, "status rerun config" },
        { OPT_WATCH, "status" },
        { OPT_TIMEOUT, "status rerun config" },
        { OPT_JSON, "status rerun config check history blame" },
        { OPT_QUICK, "check" },
        { OPT_FULL, "check" },
        { OPT_BESIDE_JOBS, "check" },
        { OPT_STEP, "check" },
        { OPT_PROBES, "check" },
        { OPT_HISTORY, "plot" },
        { OPT_NO_RERUN, "config" },
};

/* Whoever gives an option that nobody heeds would believe that it counts. */
static bool heeds_all(const Ctl *c, const char *verb) {
        for (size_t i = 0; i < ELEMENTSOF(heeded); i++) {
                _cleanup_strv_free_ char **heeding = NULL;
                _cleanup_free_ char *list = NULL;
                const OptionSpec *o = options;

                if (!(c->given & 1u << (heeded[i].id - OPT_WAIT)))
                        continue;
                heeding = strv_split(heeded[i].verbs, " ");
                if (!heeding || strv_contains(heeding, verb))
                        continue;
                while (o->id != heeded[i].id)
                        o++;
                list = strv_join(heeding, ", ");
                log_error("'firstbootctl %s' does not heed --%s; it is for %s", verb, o->name,
                                strempty(list));
                return false;
        }
        return true;
}

static void log_unknown_verb(const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL;

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (strv_extend(&names, verbs[i].name) < 0)
                        return;
        meant = suggest_text(name, names);
        log_error("There is no verb \"%s\"%s", name,
                        isempty(meant) ? "; firstbootctl --help lists them" : meant);
}

static int run_verb(Ctl *c, int argc, char *argv[]) {
        VerbSpec specs[ELEMENTSOF(verbs) + 1] = {};
        const ProgramSpec program = {
                .name = "firstbootctl", .verbs = specs, .options = options, .common = options
        };
        const char *name = argc > 0 ? argv[0] : "status";
        _cleanup_free_ char *words = code_words();
        const Verb *v = find_verb(name);
        int code;

        if (!v) {
                log_unknown_verb(name);
                return EXIT_USAGE;
        }

        if (!heeds_all(c, name))
                return streq(name, "check") ? EXIT_CHECK_USAGE : EXIT_USAGE;
        fill_specs(specs, words);
        c->program = &program;
        code = v->run(c, MAX(argc - 1, 0), argc > 0 ? argv + 1 : argv);
        c->program = NULL;
        if (code == EXIT_USAGE)
                log_error("'firstbootctl %s' takes %s; firstbootctl --help has more", name,
                                v->takes      ? v->takes
                                : v->argument ? v->argument
                                              : "no arguments");
        return code;
}

static int run(int argc, char *argv[]) {
        Ctl c = {};
        int first, code;

        first = parse_options(&c, argc, argv);
        if (first < 0)
                return first == -EXIT_HELPED          ? EXIT_SUCCESS
                       : strv_contains(argv, "check") ? EXIT_CHECK_USAGE
                                                      : -first;
        c.color = terminal_is_capable(STDOUT_FILENO) && isempty(getenv("NO_COLOR"));
        c.utf8 = streq(nl_langinfo(CODESET), "UTF-8");

        code = run_verb(&c, argc - first, argv + first);
        sd_bus_close_unref(c.bus);
        return code;
}

int main(int argc, char *argv[]) {
        int r;

        setlocale(LC_CTYPE, "");
        log_set_program("firstbootctl");
        r = streams_hold();
        if (r < 0)
                return log_error_errno(r, "Cannot open /dev/null"), EXIT_FAILURE;

        return streams_finish(run(argc, argv));
}
