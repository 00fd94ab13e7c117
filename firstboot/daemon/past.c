/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every verdict becomes a line of the node's history (contract/history.h). */

#include "daemon/past.h"
#include "daemon/journal.h"
#include "contract/history.h"
#include "shared/log.h"

#include <time.h>

static void mark_slow(const Node *n, HistoryEntry *e) {
        int64_t percent = json_get_int(json_get(node_config(n), "watch"), "slow_percent", 15);
        _cleanup_free_ HistoryEntry *past = NULL;
        const HistoryFigureInfo *info;
        HistoryFigure figure;
        double median;
        size_t count;

        if (percent == 0 || history_load(&past, &count, NULL) < 0 ||
                        !history_is_slow(past, count, e, (double) percent, &figure, &median))
                return;
        e->slow = true;
        info = &history_figure_info[figure];
        journal_event("watch.slow", NULL, 0, 0, "%s is %.5g %s, usually it is %.5g", info->name,
                        e->figures[figure], info->unit, median);
}

void past_add_verdict(const Node *n) {
        HistoryEntry e = { .kind = "verdict", .time = time(NULL) };
        int r;

        snprintf(e.verdict, sizeof(e.verdict), "%s", node_status_to_string(n->state->node));
        snprintf(e.code, sizeof(e.code), "%s", node_code(n));
        if (n->state->watch_code)
                snprintf(e.text, sizeof(e.text), "%s", n->state->watch_text);
        /* Of steps whose figures are from the boot; a verdict of the watch has none of its own. */
        for (size_t i = 0; i < n->n_jobs && !n->state->watch_code; i++)
                history_take(&e, n->jobs[i].step->name,
                                json_get(job_run(&n->jobs[i])->result, "figures"));
        mark_slow(n, &e);
        r = history_append(&e);
        if (r < 0)
                log_warning_errno(r, "This verdict is missing in the history");
}
