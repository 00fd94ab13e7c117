/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the node stands, for Prometheus' node_exporter. */

#include "daemon/metrics.h"

static void head(FILE *f, const char *name, const char *help) {
        fprintf(f, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_node(FILE *f, const State *s) {
        head(f, "firstboot_node_state", "Whether the node is in this state (1) or not (0).");
        for (NodeStatus n = 0; n < _NODE_STATUS_MAX; n++)
                fprintf(f, "firstboot_node_state{state=\"%s\"} %d\n", node_status_to_string(n),
                                s->node == n);

        head(f, "firstboot_seconds", "Time from the agent's start to its verdict.");
        if (s->settled_usec > s->started_usec)
                fprintf(f, "firstboot_seconds %.3f\n",
                                (double) (s->settled_usec - s->started_usec) / USEC_PER_SEC);
}

static void put_states(FILE *f, const StepRun *run) {
        for (StepStatus s = 0; s < _STEP_STATUS_MAX; s++)
                fprintf(f, "firstboot_step_state{step=\"%s\",state=\"%s\"} %d\n", run->name,
                                step_status_to_string(s), step_run_standing(run) == s);
}

static double seconds_of(const StepRun *run) {
        uint64_t usec = 0;

        for (size_t i = 0; i < run->n_attempts; i++) {
                const Attempt *a = &run->attempts[i];

                if (a->finished_usec > a->started_usec)
                        usec += a->finished_usec - a->started_usec;
        }
        return (double) usec / USEC_PER_SEC;
}

static void put_steps(FILE *f, const Node *n) {
        head(f, "firstboot_step_state", "Whether the step is in this state (1) or not (0).");
        for (size_t i = 0; i < n->n_jobs; i++)
                put_states(f, job_run(&n->jobs[i]));

        head(f, "firstboot_step_attempts", "Attempts made in this boot.");
        for (size_t i = 0; i < n->n_jobs; i++)
                fprintf(f, "firstboot_step_attempts{step=\"%s\"} %u\n", n->jobs[i].step->name,
                                step_run_tries(job_run(&n->jobs[i])));

        head(f, "firstboot_step_retrying_slowly",
                        "Whether the step has failed and is tried again every few minutes (1).");
        for (size_t i = 0; i < n->n_jobs; i++)
                fprintf(f, "firstboot_step_retrying_slowly{step=\"%s\"} %d\n",
                                n->jobs[i].step->name, job_run(&n->jobs[i])->slow);

        head(f, "firstboot_step_seconds", "Time of the step's attempts together.");
        for (size_t i = 0; i < n->n_jobs; i++)
                fprintf(f, "firstboot_step_seconds{step=\"%s\"} %.3f\n", n->jobs[i].step->name,
                                seconds_of(job_run(&n->jobs[i])));
}

/* A label's value, escaped as Prometheus' exposition format asks for. */
static void put_label(FILE *f, const char *key, const char *value) {
        fprintf(f, "%s=\"", key);
        for (; *value; value++)
                if (*value == '\\' || *value == '"')
                        fprintf(f, "\\%c", *value);
                else
                        fputc((unsigned char) *value < 0x20 ? ' ' : *value, f);
        fputc('"', f);
}

static void put_fingerprint(FILE *f, json_object *o) {
        const char *comma = "";

        if (!o)
                return;
        head(f, "firstboot_node_info", "Versions of what the node is made of; id sums them up.");
        fputs("firstboot_node_info{", f);
        json_object_object_foreach (o, key, value) {
                fputs(comma, f);
                put_label(f, key, strempty(json_object_get_string(value)));
                comma = ",";
        }
        fputs("} 1\n", f);
}

char *metrics_text(const Node *n) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        put_node(f, n->state);
        put_steps(f, n);
        put_fingerprint(f, n->fingerprint);

        /* Closed before it is handed out: fclose() may still move the text. */
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}
