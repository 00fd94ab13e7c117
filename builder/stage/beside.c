/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stages that need not wait for their turn. A compile stage is made on base, kernel and some of the
 * packages: once these are there it is made in a process of its own, while the stages between are
 * made here, for dpkg keeps one processor busy at most. What it has to say is told when its turn
 * comes. */

#include "stage/internal.h"

#include "common/apart.h"
#include "shared/strv.h"

#define BESIDE_MAX 2 /* at once: each is as many jobs as make was told */
#define MADE_BY_ANOTHER 1

struct Beside {
        Apart **runs; /* one a stage of the plan; NULL: none */
        const Plan *plan;
        size_t n, running;
};

Beside *beside_new(const Plan *plan) {
        Beside *b = calloc(1, sizeof(*b));

        if (!b)
                return NULL;
        b->plan = plan;
        b->n = plan->n_stages;
        b->runs = calloc(b->n + 1, sizeof(*b->runs));
        if (b->runs)
                return b;
        free(b);
        return NULL;
}

Beside *beside_free(Beside *b) {
        if (!b)
                return NULL;
        for (size_t i = 0; i < b->n; i++)
                apart_free(b->runs[i]);
        free(b->runs);
        free(b);
        return NULL;
}

/* Whether all is there that stage i is made on, and something else is to be made before its
 * turn. */
static bool may_begin(const Plan *plan, const bool *missing, size_t i) {
        bool others = false;

        if (!missing[i] || plan->stages[i].kind != STAGE_COMPILE)
                return false;
        for (size_t j = 0; j < i; j++) {
                if (missing[j] && plan_stage_sees(plan, i, j))
                        return false;
                others = others || missing[j];
        }
        return others;
}

typedef struct Turn {
        const BesideWork *work;
        size_t i;
} Turn;

static int make(Context *ctx, void *userdata) {
        const Turn *t = userdata;
        int r = t->work->build(ctx, t->work->plan, t->work->maker, t->i);

        return r > 0 ? MADE_BY_ANOTHER : r;
}

/* Where there is no process to be had, the stage waits for its turn. */
static void begin(Beside *b, Context *ctx, const BesideWork *work, size_t i) {
        if (apart_begin(ctx, make, &(Turn) { work, i }, b->runs + i) < 0)
                return;
        b->running++;
        progress_set(ctx->progress, b->plan->stages[i].id, PROGRESS_RUNNING);
}

void beside_begin(
                Beside *b, Context *ctx, const BesideWork *work, const bool *missing, size_t last) {
        if (ctx->jobs < 2 || ctx->error_shell)
                return;
        for (size_t i = 0; i <= last && b->running < BESIDE_MAX; i++)
                if (!beside_has(b, i) && may_begin(b->plan, missing, i))
                        begin(b, ctx, work, i);
}

bool beside_has(const Beside *b, size_t i) {
        return b->runs[i];
}

int beside_finish(Beside *b, size_t i) {
        _cleanup_free_ char *what = strf("Stage %s", b->plan->stages[i].id);
        int r = what ? apart_finish(b->runs[i], what) : log_oom();

        b->runs[i] = apart_free(b->runs[i]);
        b->running--;
        return r;
}
