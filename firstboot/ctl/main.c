/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl: shows how the node came up, why not, and runs steps again. */

#include "contract/config-schema.h"
#include "ctl/ctl.h"
#include "shared/log.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>

typedef struct Verb {
        const char *name;
        int (*run)(Ctl *c, int argc, char *argv[]);
        const char *arguments, *help;
} Verb;

static const Verb verbs[] = {
        { "status", verb_status, "", "the node and its steps (the default)" },
        { "blame", verb_blame, "", "steps by the time they took" },
        { "plot", verb_plot, "", "time line of the boot as SVG on standard output" },
        { "explain", verb_explain, " [CODE]", "what is wrong, why, and what to do" },
        { "rerun", verb_rerun, " STEP|config", "run a step and what waits for it again" },
        { "config", verb_config, "", "the configuration, and where each value came from" },
        { "log", verb_log, " [STEP]", "the journal of a step, or of firstbootd" },
};

static void help(FILE *f) {
        fprintf(f, "Usage: firstbootctl [OPTION…] [VERB]\n\n");
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                _cleanup_free_ char *left = strf("%s%s", verbs[i].name, verbs[i].arguments);
                fprintf(f, "  %-20s %s\n", strempty(left), verbs[i].help);
        }
        fprintf(f, "\n      --wait           wait until the node has settled (status, rerun)\n"
                   "      --timeout=TIME   give up waiting after TIME, such as 90s or 10min\n"
                   "      --json           machine-readable output (status, config)\n"
                   "  -h, --help           this text\n\n"
                   "Exit code of status: 0 ready, 1 failed, 2 degraded, 3 still going, 4 not known.\n");
}

int main(int argc, char *argv[]) {
        enum { OPT_WAIT = 256, OPT_JSON, OPT_TIMEOUT };
        static const struct option options[] = {
                { "wait", no_argument, NULL, OPT_WAIT },
                { "json", no_argument, NULL, OPT_JSON },
                { "timeout", required_argument, NULL, OPT_TIMEOUT },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        Ctl c = {};
        int o, code = -1;

        setlocale(LC_CTYPE, "");
        log_set_program("firstbootctl");
        while ((o = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
                _cleanup_json_ json_object *value = NULL;

                switch (o) {
                case OPT_WAIT:
                        c.wait = true;
                        break;
                case OPT_JSON:
                        c.json = true;
                        break;
                case OPT_TIMEOUT:
                        value = json_object_new_string(optarg);
                        if (!value || parse_duration(value, &c.timeout_usec) < 0 ||
                                        c.timeout_usec == 0) {
                                log_error("--timeout=%s is no time such as 90s or 10min", optarg);
                                return EXIT_USAGE;
                        }
                        break;
                case 'h':
                        help(stdout);
                        return EXIT_SUCCESS;
                default:
                        return EXIT_USAGE;
                }
        }
        c.color = isatty(STDOUT_FILENO) && isempty(getenv("NO_COLOR"));
        c.utf8 = streq(nl_langinfo(CODESET), "UTF-8");
        const char *name = optind < argc ? argv[optind] : "status";
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        code = verbs[i].run(&c, MAX(argc - optind - 1, 0),
                                        argv + MIN(optind + 1, argc));
        if (code < 0) {
                log_error("There is no verb \"%s\"; see firstbootctl --help", name);
                code = EXIT_USAGE;
        } else if (code == EXIT_USAGE)
                log_error("Wrong arguments for %s; see firstbootctl --help", name);
        sd_bus_close_unref(c.bus);
        return code;
}
