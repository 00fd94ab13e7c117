/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild doctor: what this host lacks for which verb, each with its remedy. */

#include "cmd/doctor-report.h"
#include "store/store.h"
#include "shared/json-util.h"
#include "shared/spawn.h"
#include "shared/suggest.h"
#include "cmd/verb.h"

static const char *const state_names[] = {
        [DOCTOR_OK] = "ok",
        [DOCTOR_SLOWER] = "slower",
        [DOCTOR_MISSING] = "missing",
};

typedef struct DoctorOptions {
        bool json;
} DoctorOptions;

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

        if (!items || json_set_fields(o, JSON_TAKE("items", items)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < r->n; i++) {
                const DoctorItem *d = r->items + i;
                json_object *item;

                if (json_append_object(items, &item) < 0)
                        return -ENOMEM;
                if (json_set_fields(item, JSON_STRING("what", d->what),
                                    JSON_STRING("state", state_names[d->state]),
                                    JSON_STRING("found", d->found),
                                    JSON_STRING("needed_by", d->verbs),
                                    JSON_STRING("remedy", d->remedy)) < 0)
                        return -ENOMEM;
        }
        json_print(o, 0);
        return 0;
}

int doctor_examine(char *const *verbs, const char *store_path, DoctorReport *ret) {
        _cleanup_(doctor_report_done) DoctorReport report = {};
        int r;

        r = doctor_check_programs(&report, verbs);
        if (r < 0)
                return r;
        r = doctor_check_host(&report, store_path);
        if (r < 0)
                return r;

        doctor_keep(&report, verbs);
        *ret = report;
        report = (DoctorReport) {};
        return 0;
}

static const OptionSpec options[] = {
        { "json", OPT_VERB, NULL, "one JSON object" },
        {},
};

static int take(void *values, int id _unused_, const char *value _unused_) {
        DoctorOptions *o = values;

        o->json = true;
        return 0;
}

/* A verb that needs something of the host. */
static bool is_verb(const VerbCall *call, const char *name) {
        for (const Verb *const *v = call->verbs; *v; v++)
                if (streq(name, (*v)->spec.name))
                        return *v != call->verb && !(*v)->hidden;
        return false;
}

static int no_verb(const VerbCall *call, const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL;

        for (const Verb *const *v = call->verbs; *v; v++)
                if (is_verb(call, (*v)->spec.name) && strv_extend(&names, (*v)->spec.name) < 0)
                        return log_oom();
        meant = suggest_text(name, names);
        log_error("There is no verb '%s'%s", name,
                        isempty(meant) ? "; 'imgbuild --help' lists them" : meant);
        return EXIT_USAGE;
}

static int check(VerbCall *call) {
        STRV_FOREACH (name, call->arguments)
                if (!is_verb(call, *name))
                        return no_verb(call, *name);
        return 0;
}

static int run(VerbCall *call) {
        _cleanup_(doctor_report_done) DoctorReport report = {};
        const char *cache = call->common.cache;
        const DoctorOptions *o = call->options;
        int r;

        r = doctor_examine(call->arguments, cache ? cache : store_default_path(), &report);
        if (r < 0) {
                log_error_errno(r, "Cannot examine this host");
                return interrupt_signal() ? EXIT_INTERRUPTED : EXIT_FAILED;
        }

        if (!o->json)
                print(&report);
        else if (print_json(&report) < 0)
                return log_oom(), EXIT_FAILED;
        return doctor_lacks_something(&report) ? EXIT_HOST : EXIT_OK;
}

const Verb verb_doctor = {
        .spec = { "doctor", "say what this host lacks for which verb", options, "VERB",
                        COMPLETE_CHOICES,
                        "build plan lock check boot inspect diff export shell cache" },
        .usage = "[VERB…] [OPTION…]",
        .about = "Says what this host lacks, for all verbs or the ones named, and what to do about it.\n"
                 "Exit code 5 where something is missing.",
        .options_size = sizeof(DoctorOptions),
        .take = take,
        .check = check,
        .run = run,
};
