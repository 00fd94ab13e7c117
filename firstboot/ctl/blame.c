/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl blame: steps by the time they took, and the chain that decided how long the boot
 * took. */

#include "ctl/ctl.h"
#include "shared/log.h"

typedef struct Row {
        json_object *step;
        uint64_t usec;
} Row;

static int compare_rows(const void *a, const void *b) {
        const Row *x = a, *y = b;

        return x->usec < y->usec ? 1 : x->usec > y->usec ? -1 : 0;
}

static uint64_t finished(json_object *step) {
        json_object *attempts = json_get(step, "attempts");
        size_t n = attempts ? json_object_array_length(attempts) : 0;

        return n > 0 ? (uint64_t) json_get_int(json_object_array_get_idx(attempts, n - 1),
                                       "finished_usec", 0)
                     : 0;
}

/* Of what the step waited for, the one that ended last; NULL where it waited for nothing. */
static json_object *last_before(json_object *steps, json_object *step) {
        static const char *const keys[] = { "requires", "after" };
        json_object *last = NULL;

        for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                json_object *names = json_get(step, keys[k]);

                for (size_t i = 0; names && i < json_object_array_length(names); i++)
                        for (size_t j = 0; j < json_object_array_length(steps); j++) {
                                json_object *other = json_object_array_get_idx(steps, j);

                                if (streq_ptr(json_get_string(other, "name"),
                                                    json_object_get_string(
                                                                    json_object_array_get_idx(
                                                                                    names, i))) &&
                                                finished(other) > 0 &&
                                                (!last || finished(other) > finished(last)))
                                        last = other;
                        }
        }
        return last;
}

int verb_blame(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;
        _cleanup_free_ Row *rows = NULL;
        json_object *steps, *last = NULL;
        uint64_t chain = 0;
        size_t n;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (ctl_status(c, &status) < 0) {
                log_error("firstbootd does not run and left no status");
                return EXIT_UNKNOWN;
        }
        steps = json_get(status, "steps");
        n = json_object_array_length(steps);
        rows = calloc(n + 1, sizeof(Row));
        if (!rows)
                return EXIT_FAILURE;
        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                rows[i] = (Row) { step, step_duration(step) };
                if (finished(step) > 0 && (!last || finished(step) > finished(last)))
                        last = step;
        }
        qsort(rows, n, sizeof(Row), compare_rows);
        for (size_t i = 0; i < n; i++)
                printf("%9.3f s  %s\n", (double) rows[i].usec / USEC_PER_SEC,
                                json_get_string(rows[i].step, "name"));
        printf("\nLongest chain:");
        for (json_object *s = last; s; s = last_before(steps, s)) {
                printf(" %s%s", s == last ? "" : "← ", json_get_string(s, "name"));
                chain += step_duration(s);
        }
        printf("\n%9.3f s  in the chain's steps\n", (double) chain / USEC_PER_SEC);
        uint64_t started = (uint64_t) json_get_int(status, "started_usec", 0),
                 settled = (uint64_t) json_get_int(status, "settled_usec", 0);
        if (settled > started)
                printf("%9.3f s  from firstbootd's start to its verdict\n",
                                (double) (settled - started) / USEC_PER_SEC);
        return EXIT_SUCCESS;
}
