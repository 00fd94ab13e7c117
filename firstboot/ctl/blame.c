/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl blame: steps by the time they took, and the chain that decided how long the boot
 * took. */

#include "ctl/ctl.h"
#include "shared/duration.h"
#include "shared/log.h"

typedef struct Row {
        json_object *step;
        uint64_t usec;
} Row;

static int compare_rows(const void *a, const void *b) {
        const Row *x = a, *y = b;

        return x->usec < y->usec ? 1 : x->usec > y->usec ? -1 : 0;
}

/* When its last attempt ended; 0: never, or not yet. */
static uint64_t finished(json_object *step) {
        json_object *attempts = json_get(step, "attempts"), *last;
        size_t n = attempts ? json_object_array_length(attempts) : 0;

        if (n == 0)
                return 0;
        last = json_object_array_get_idx(attempts, n - 1);
        return (uint64_t) json_get_int(last, "finished_usec", 0);
}

static json_object *later(json_object *a, json_object *b) {
        if (!b || finished(b) == 0)
                return a;
        return !a || finished(b) > finished(a) ? b : a;
}

/* Of what the step waited for, the one that ended last; NULL where it waited for nothing. */
static json_object *last_before(json_object *steps, json_object *step) {
        _cleanup_strv_free_ char **names = NULL;
        json_object *last = NULL;

        if (step_waits_for(step, &names) < 0)
                return NULL;
        STRV_FOREACH (name, names)
                last = later(last, steps_find(steps, *name));
        return last;
}

/* The chain of steps that ended with the last one. */
static void print_chain(json_object *steps, json_object *last) {
        char took[FORMAT_DURATION_MAX];
        uint64_t chain = 0;

        printf("\nLongest chain:");
        for (json_object *s = last; s; s = last_before(steps, s)) {
                printf(" %s%s", s == last ? "" : "← ", json_get_string(s, "name"));
                chain += step_duration(s);
        }
        printf("\n%12s  in the chain's steps\n", format_duration_finely(took, chain));
}

static void print_total(json_object *status) {
        uint64_t started = (uint64_t) json_get_int(status, "started_usec", 0),
                 settled = (uint64_t) json_get_int(status, "settled_usec", 0);
        char took[FORMAT_DURATION_MAX];

        if (settled > started)
                printf("%12s  from firstbootd's start to its verdict\n",
                                format_duration_finely(took, settled - started));
}

/* The chain's names, last step first, and its time. 0 or -ENOMEM. */
static int chain_to_json(json_object *steps, json_object *last, json_object *o) {
        json_object *names = json_object_new_array();
        uint64_t chain = 0;
        int r = 0;

        for (json_object *s = last; s && r >= 0; s = last_before(steps, s)) {
                r = json_append(names, json_object_new_string(json_get_string(s, "name")));
                chain += step_duration(s);
        }
        if (r < 0) {
                json_object_put(names);
                return r;
        }
        return json_set_fields(o, JSON_TAKE("chain", names),
                        JSON_DOUBLE("chain_seconds", (double) chain / USEC_PER_SEC));
}

static int print_json(json_object *status, const Row *rows, size_t n, json_object *last) {
        _cleanup_json_ json_object *o = json_object_new_object();
        uint64_t started = (uint64_t) json_get_int(status, "started_usec", 0),
                 settled = (uint64_t) json_get_int(status, "settled_usec", 0);
        json_object *list = json_object_new_array();
        int r;

        r = json_set_fields(o, JSON_TAKE("steps", list));
        for (size_t i = 0; i < n && r >= 0; i++) {
                json_object *row;

                r = json_append_object(list, &row);
                if (r < 0)
                        return r;
                r = json_set_fields(row, JSON_STRING("name", json_get_string(rows[i].step, "name")),
                                JSON_DOUBLE("seconds", (double) rows[i].usec / USEC_PER_SEC));
        }
        if (r < 0)
                return r;
        if (last && finished(last) > 0) {
                r = chain_to_json(json_get(status, "steps"), last, o);
                if (r < 0)
                        return r;
        }
        if (settled > started) {
                r = json_set_fields(o, JSON_DOUBLE("seconds", (double) (settled - started) /
                                                                              USEC_PER_SEC));
                if (r < 0)
                        return r;
        }
        json_print(o, 0);
        return 0;
}

int verb_blame(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;
        _cleanup_free_ Row *rows = NULL;
        json_object *steps, *last = NULL;
        char took[FORMAT_DURATION_MAX];
        size_t n;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (ctl_status(c, &status) < 0)
                return ctl_log_no_status(c, "");
        steps = status_steps(status, &n);
        rows = calloc(n + 1, sizeof(Row));
        if (!rows)
                return EXIT_FAILURE;

        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                rows[i] = (Row) { step, step_duration(step) };
                last = later(last, step);
        }
        qsort(rows, n, sizeof(Row), compare_rows);
        if (c->json) {
                ctl_warn_old_status(c);
                return print_json(status, rows, n, last) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        }

        for (size_t i = 0; i < n; i++)
                printf("%12s  %s\n", format_duration_finely(took, rows[i].usec),
                                json_get_string(rows[i].step, "name"));
        if (last && finished(last) > 0)
                print_chain(steps, last);
        print_total(status);
        ctl_warn_old_status(c);
        return EXIT_SUCCESS;
}
