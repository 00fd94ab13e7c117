/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild: bakes GPU node images. This file lists the verbs, and finds the one that is called. */

#include "common/userns.h"
#include "cmd/verb.h"
#include "inspect/inspect.h"

#include "shared/log.h"
#include "shared/streams.h"
#include "shared/strv.h"
#include "shared/suggest.h"

#include <pwd.h>

extern const Verb verb_init, verb_build, verb_plan, verb_lock, verb_check, verb_boot, verb_cluster,
                verb_inspect, verb_diff, verb_export, verb_apply, verb_sbom, verb_sign, verb_verify,
                verb_shell, verb_cache, verb_doctor, verb_schema, verb_completion;

static const Verb *const verbs[] = {
        &verb_init,
        &verb_build,
        &verb_plan,
        &verb_lock,
        &verb_check,
        &verb_boot,
        &verb_cluster,
        &verb_inspect,
        &verb_diff,
        &verb_export,
        &verb_apply,
        &verb_sbom,
        &verb_sign,
        &verb_verify,
        &verb_shell,
        &verb_cache,
        &verb_doctor,
        &verb_schema,
        &verb_completion,
        NULL,
};

static void help(void) {
        printf("imgbuild VERB [OPTION…] …\n\n"
               "Bakes GPU node images from recipes and overlays, and proves them.\n\n");
        for (const Verb *const *v = verbs; *v; v++)
                if (!(*v)->hidden)
                        printf("  %-9s %s\n", (*v)->spec.name, (*v)->spec.help);
        printf("\n'imgbuild VERB --help' shows a verb's options; imgbuild(1) is the manual.\n"
               "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad recipe, 4 download failed,\n"
               "5 the host lacks something (imgbuild doctor), 124 timed out, 130 interrupted.\n");
}

static const Verb *find_verb(const char *name) {
        for (const Verb *const *v = verbs; *v; v++)
                if (streq(name, (*v)->spec.name))
                        return *v;
        return NULL;
}

static bool is_given(const char *option, int argc, char *argv[]) {
        for (int i = 2; i < argc && !streq(argv[i], "--"); i++)
                if (streq_ptr(option, argv[i]))
                        return true;
        return false;
}

/* Help needs no namespace. */
static bool needs_root(const Verb *verb, int argc, char *argv[]) {
        return verb->needs_root && !is_given("--help", argc, argv) && !is_given("-h", argc, argv) &&
               !is_given(verb->reads_only, argc, argv);
}

/* A command line without any file that is there is a mistake, which is told before minutes of
 * work. */
static bool names_a_file(int argc, char *argv[]) {
        for (int i = 2; i < argc && !streq(argv[i], "--"); i++)
                if (argv[i][0] != '-' && access(argv[i], F_OK) >= 0)
                        return true;
        return false;
}

static int become_root(const Verb *verb, int argc, char *argv[]) {
        if (verb->unproved && !is_given(verb->unproved, argc, argv) && names_a_file(argc, argv) &&
                        appliance_prepare_for_user() < 0)
                return log_oom();
        return userns_enter(argc, argv);
}

static void log_unknown_verb(const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL;

        for (const Verb *const *v = verbs; *v; v++)
                if (!(*v)->hidden && strv_extend(&names, (*v)->spec.name) < 0)
                        return;
        meant = suggest_text(name, names);
        log_error("There is no verb '%s'%s", name,
                        isempty(meant) ? "; 'imgbuild --help' lists them" : meant);
}

/* A service or a job may have no HOME: then it is the one that the user database names, before a
 * user namespace makes everybody root. */
static int set_home(void) {
        const struct passwd *user;

        if (!isempty(getenv("HOME")))
                return 0;
        user = getpwuid(getuid());
        return !user || setenv("HOME", user->pw_dir, 1) >= 0 ? 0 : -errno;
}

static int run(int argc, char *argv[]) {
        const Verb *verb;

        if (argc < 2) {
                help();
                return EXIT_USAGE;
        }
        if (streq(argv[1], "help") && argc == 3 && argv[2][0] != '-') { /* "help build" */
                static char option[] = "--help";

                argv[1] = argv[2];
                argv[2] = option;
        }
        if (streq(argv[1], "--help") || streq(argv[1], "-h") || streq(argv[1], "help")) {
                help();
                return EXIT_OK;
        }
        if (streq(argv[1], "--version")) {
                printf("imgbuild %s\n", VERSION);
                return EXIT_OK;
        }

        if (argv[1][0] == '-') {
                log_error("The verb comes first, then options: 'imgbuild VERB %s'; 'imgbuild --help' lists the verbs",
                                argv[1]);
                return EXIT_USAGE;
        }

        verb = find_verb(argv[1]);
        if (!verb) {
                log_unknown_verb(argv[1]);
                return EXIT_USAGE;
        }
        if (needs_root(verb, argc, argv) && become_root(verb, argc, argv) < 0)
                return EXIT_HOST;
        return verb_main(verb, verbs, argc - 1, argv + 1);
}

int main(int argc, char *argv[]) {
        int r;

        log_set_program("imgbuild");
        r = streams_hold();
        if (r < 0)
                return log_error_errno(r, "Cannot open /dev/null"), EXIT_FAILED;
        if (set_home() < 0)
                return log_oom(), EXIT_FAILED;

        return streams_finish(run(argc, argv));
}
