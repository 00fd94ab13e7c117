/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the document of the configuration (configure.c) to what the engine goes by: this instance's
 * state, the secrets that no log may show, the graph and its jobs; or the node's problem. */

#include "daemon/take-document.h"
#include "daemon/instance.h"
#include "daemon/journal.h"
#include "daemon/publish.h"
#include "contract/paths.h"
#include "contract/room.h"
#include "contract/secrets.h"
#include "shared/json-strv.h"
#include "shared/strv.h"
#include "shared/time-util.h"

/* The state fitted to this boot, in place of the one before. */
static int load_state(Node *n, bool *told) {
        State *state = NULL;
        int r;

        r = instance_load_state(n->document, &state, told);
        if (r < 0)
                return r;

        if (state->started_usec == 0)
                state->started_usec = now_usec();
        state_free(n->state);
        n->state = state;
        return 0;
}

/* The state that is in use may be of another instance, now that the cloud has answered. */
static int fit_state(Node *n, bool *told) {
        State *s = n->state;
        int r;

        if (!s || s->settled_usec > 0)
                return load_state(n, told);
        r = instance_fits(n->document, s);
        return r == 0 ? load_state(n, told) : r;
}

static int take_secrets(const Node *n, JobHost *host) {
        json_object *document = n->document;
        char **secrets = NULL;
        int r;

        r = config_secrets(json_get(document, "config"), json_get(document, "sources"), &secrets);
        if (r < 0)
                return r;
        strv_free(host->secrets);
        host->secrets = secrets;
        return 0;
}

void node_set_problem(Node *n, const char *code, char *const *errors) {
        _cleanup_free_ char *text = code ? strv_join(errors, "; ") : NULL;
        bool news = !streq_ptr(n->problem, code) || !streq_ptr(n->problem_text, text);

        n->problem = code;
        free(n->problem_text);
        n->problem_text = TAKE_PTR(text);
        if (code && news)
                journal_event(code, NULL, 0, 0, "%s", strempty(n->problem_text));
}

/* 1 where the document tells of errors; then they are the node's problem. */
static int take_errors(Node *n) {
        json_object *errors = json_get(n->document, "errors");
        _cleanup_strv_free_ char **list = NULL;
        const char *code = "config.invalid";
        int r;

        if (json_object_is_type(errors, json_type_array) && json_object_array_length(errors) == 0)
                return 0;

        r = json_to_strv(errors, &list);
        if (r < 0)
                return r;
        if (json_get(n->document, "code"))
                code = "config.helper";
        else if (json_get_bool(n->document, "retry", false))
                code = "config.metadata";
        node_set_problem(n, code, list);
        return 1;
}

/* The steps of the configuration. 1 where they are no graph; then their faults are the node's
 * problem. */
static int take_graph(Node *n, JobHost *host) {
        _cleanup_graph_ Graph *graph = NULL;
        int r;

        r = graph_load(node_config(n), &graph);
        if (r < 0)
                return r;
        if (graph->errors) {
                node_set_problem(n, "graph.invalid", graph->errors);
                return 1;
        }

        node_set_problem(n, NULL, NULL);
        n->graph = TAKE_PTR(graph);
        return node_make_jobs(n, host);
}

/* The steps cannot read their configuration. */
static int lack_room(Node *n, int r) {
        _cleanup_free_ char *words = room_words(PATH_RUN_CONFIG, r);

        if (!words || r == -ENOMEM)
                return -ENOMEM;
        node_set_problem(n, ROOM_CODE, ARGV(words));
        return r;
}

int node_take_document(Node *n, JobHost *host, json_object *document, bool *told) {
        int r;

        json_putp(&n->document);
        n->document = document;
        node_drop_jobs(n);
        n->graph = graph_free(n->graph);
        r = take_secrets(n, host);
        if (r < 0)
                return r;
        r = fit_state(n, told);
        if (r < 0)
                return r;
        r = instance_name(document, n->state);
        if (r < 0)
                return r;
        r = publish_config(document);
        if (r < 0)
                return lack_room(n, r);

        r = take_errors(n);
        return r == 0 ? take_graph(n, host) : r;
}
