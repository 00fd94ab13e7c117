/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tournament's plan and its conclusions. */

#include "ncclbench/pairs-plan.h"

const char *node_state_name(NodeState s) {
        static const char *const names[] = {
                [NODE_UNTESTED] = "untested",
                [NODE_PASSED] = "pass",
                [NODE_SUSPECT] = "suspect",
                [NODE_CLEARED] = "pass",
                [NODE_BAD] = "BAD",
                [NODE_UNPROVEN] = "unproven",
                [NODE_GONE] = "GONE",
        };
        return names[s];
}

void plan_round(int n, unsigned round, int *ret_partner) {
        int m = n + n % 2, k; /* an odd number gets a partner who is not there: number n */

        for (int i = 0; i < n; i++)
                ret_partner[i] = -1;
        if (n < 2)
                return;
        /* The circle method: the last stands still, the others move on by one place a round. */
        k = (int) (round % (unsigned) (m - 1));
        for (int i = 0; i < m / 2; i++) {
                int a = (k + i) % (m - 1), b = i == 0 ? m - 1 : (k + m - 1 - i) % (m - 1);

                if (a < n && b < n) {
                        ret_partner[a] = b;
                        ret_partner[b] = a;
                }
        }
}

static int compare_doubles(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

double plan_reference(const PairResult *results, int n) {
        _cleanup_free_ double *values = calloc((size_t) n + 1, sizeof(*values));
        int m = 0;

        if (!values)
                return 0;
        for (int i = 0; i < n; i++)
                if (results[i].present && results[i].partner > i && results[i].well &&
                                results[i].busbw > 0)
                        values[m++] = results[i].busbw;
        qsort(values, (size_t) m, sizeof(*values), compare_doubles);
        return m > 0 ? values[m / 2] : 0;
}

static bool pair_well(const PairResult *results, int i, double least) {
        const PairResult *a = &results[i], *b = &results[a->partner];
        double busbw = MAX(a->busbw, b->busbw); /* only one of the two reports the figure */

        return a->present && b->present && a->well && b->well && b->partner == i && busbw >= least;
}

void plan_apply(NodeState *states, const PairResult *results, int n, const double *least,
                bool retest) {
        for (int i = 0; i < n; i++) {
                int p = results[i].partner;

                if (states[i] == NODE_GONE)
                        continue;
                if (!results[i].present) {
                        states[i] = NODE_GONE;
                        continue;
                }
                if (p < 0)
                        continue;
                if (retest) {
                        /* The reference keeps its state, whatever the suspect did to the pair. */
                        if (states[i] == NODE_SUSPECT || states[i] == NODE_UNTESTED)
                                states[i] = pair_well(results, i, least[i]) ? NODE_CLEARED
                                            : results[p].present            ? NODE_BAD
                                                                            : NODE_SUSPECT;
                } else if (!pair_well(results, i, least[i]))
                        states[i] = NODE_SUSPECT;
                else if (states[i] == NODE_UNTESTED)
                        states[i] = NODE_PASSED;
        }
}

int plan_retest(NodeState *states, int n, int *ret_partner) {
        int pairs = 0, reference = 0;

        for (int i = 0; i < n; i++)
                ret_partner[i] = -1;
        for (int i = 0; i < n; i++) {
                if (states[i] != NODE_SUSPECT && states[i] != NODE_UNTESTED)
                        continue;
                while (reference < n && states[reference] != NODE_PASSED &&
                                states[reference] != NODE_CLEARED)
                        reference++;
                if (reference == n)
                        break;
                ret_partner[i] = reference;
                ret_partner[reference++] = i;
                pairs++;
        }
        for (int i = 0; pairs == 0 && i < n; i++)
                if (states[i] == NODE_SUSPECT || states[i] == NODE_UNTESTED)
                        states[i] = NODE_UNPROVEN;
        return pairs;
}
