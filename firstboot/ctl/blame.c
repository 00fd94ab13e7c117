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

        for (size_t i = 0; i < n; i++)
                printf("%12s  %s\n", format_duration_finely(took, rows[i].usec),
                                json_get_string(rows[i].step, "name"));
        if (last && finished(last) > 0)
                print_chain(steps, last);
        print_total(status);
        ctl_warn_old_status(c);
        return EXIT_SUCCESS;
}
