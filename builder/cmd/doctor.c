/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild doctor: what this host lacks for which verb, each with its remedy. */

#include "cmd/doctor-report.h"
#include "store/store.h"
#include "shared/spawn.h"
#include "cmd/verb.h"

#include <getopt.h>

static const char *const state_names[] = {
        [DOCTOR_OK] = "ok",
        [DOCTOR_SLOWER] = "slower",
        [DOCTOR_MISSING] = "missing",
};

static const char *const verbs[] = {
        "build",
        "plan",
        "lock",
        "check",
        "boot",
        "inspect",
        "diff",
        "export",
        "shell",
        "cache",
};

static void help(void) {
        printf("imgbuild doctor [VERB…] [OPTION…]\n\n"
               "Says what this host lacks, for all verbs or the ones named, and what to do about it.\n"
               "Exit code 5 where something is missing.\n\n"
               "      --json              one JSON object\n%s",
                        common_options_help);
}

static void print(const DoctorReport *r) {
        int width = 0;

        for (size_t i = 0; i < r->n; i++)
                width = MAX(width, (int) strlen(r->items[i].what));
        for (size_t i = 0; i < r->n; i++) {
                const DoctorItem *d = r->items + i;

                printf("%-8s %-*s  %s", state_names[d->state], width, d->what, strempty(d->found));
                if (d->state != DOCTOR_OK)
                        printf("\n%*s for %s\n%*s → %s", width + 10, "", d->verbs, width + 10, "",
                                        strempty(d->remedy));
                printf("\n");
        }
}

static int print_json(const DoctorReport *r) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *items = json_object_new_array();

        if (!o || !items || json_set(o, "items", items) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < r->n; i++) {
                const DoctorItem *d = r->items + i;
                json_object *item = json_object_new_object();

                if (!item || json_object_array_add(items, item) < 0 ||
                                json_set_string(item, "what", d->what) < 0 ||
                                json_set_string(item, "state", state_names[d->state]) < 0 ||
                                json_set_string(item, "found", d->found) < 0 ||
                                json_set_string(item, "needed_by", d->verbs) < 0 ||
                                json_set_string(item, "remedy", d->remedy) < 0)
                        return -ENOMEM;
        }
        printf("%s\n", json_object_to_json_string_ext(o,
                                       JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
        return 0;
}

int cmd_doctor(int argc, char *argv[]) {
        enum { OPT_JSON = OPT_VERB };
        static const struct option options[] = {
                { "json", no_argument, NULL, OPT_JSON },
                COMMON_LONG_OPTIONS,
                {},
        };
        _cleanup_common_options_ CommonOptions common = {};
        _cleanup_(doctor_report_done) DoctorReport report = {};
        bool json = false;
        int c, r;

        while ((c = getopt_long(argc, argv, "j:vh", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        help();
                        return EXIT_OK;
                case OPT_JSON:
                        json = true;
                        break;
                default:
                        r = c == '?' ? -EINVAL : common_option(&common, c, optarg);
                        if (r <= 0)
                                return EXIT_USAGE;
                }
        for (int i = optind; i < argc; i++) {
                bool known = false;

                for (size_t v = 0; v < ELEMENTSOF(verbs); v++)
                        known = known || streq(argv[i], verbs[v]);
                if (!known) {
                        log_error("There is no verb '%s'; 'imgbuild --help' lists them", argv[i]);
                        return EXIT_USAGE;
                }
        }
        r = interrupt_install();
        if (r >= 0)
                r = doctor_examine(argv + optind,
                                common.cache ? common.cache : store_default_path(), &report);
        if (r < 0) {
                log_error_errno(r, "Cannot examine this host");
                return interrupt_signal() ? EXIT_INTERRUPTED : EXIT_FAILED;
        }
        if (json)
                r = print_json(&report);
        else
                print(&report);
        if (r < 0)
                return log_oom(), EXIT_FAILED;
        return doctor_lacks_something(&report) ? EXIT_HOST : EXIT_OK;
}
