/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node settles on ready, degraded or failed once every step has come to its end, and files and
 * bus tell of it. */

#include "daemon/engine-internal.h"
#include "daemon/fingerprint.h"
#include "daemon/pace.h"
#include "daemon/past.h"
#include "contract/retry.h"
#include "shared/log.h"
#include "shared/time-util.h"

void engine_publish(Engine *e) {
        if (!publish_status(&e->publisher, &e->node))
                return;
        if (e->host.bus && connection_is_announced(e->connection))
                bus_api_changed(&e->api, e->host.bus);
}

static NodeStatus judge(const Engine *e) {
        const Node *n = &e->node;

        if (!n->problem && !n->graph)
                return NODE_STARTING;
        /* With metadata out of reach at first, the node is still on its way for some tries. */
        if (streq_ptr(n->problem, "config.metadata") &&
                        configure_tries(e->configure) < RETRY_METADATA_TRIES)
                return NODE_STARTING;
        /* Whatever the steps say, and while the node is held back. */
        if (n->graph && n->state->watch_code)
                return NODE_FAILED;
        return node_verdict(n);
}

/* From a good verdict on; and where the watch itself had taken it away, before firstbootd was
 * restarted. */
static void begin_watch(Engine *e) {
        const Node *n = &e->node;
        const State *s = n->state;
        int r;

        if (!n->graph || (s->node != NODE_READY && s->node != NODE_DEGRADED && !s->watch_code))
                return;
        r = watch_begin(e->watch, node_config(n), s->settled_usec, s->watch_code, s->watch_text);
        if (r < 0)
                log_error_errno(r,
                                "The node is not watched, so nobody notices what goes wrong from now on; systemctl restart firstbootd begins anew");
}

void engine_settle(Engine *e) {
        State *s = e->node.state;
        NodeStatus node = judge(e);

        if (node == s->node && e->told) {
                begin_watch(e);
                return;
        }
        if (node == NODE_STARTING) {
                s->node = node;
                s->settled_usec = 0;
                e->told = false;
                watch_end(e->watch);
                return;
        }
        /* Without the bus, node-ready.target cannot be started; the verdict waits for it. */
        if (!connection_is_ready(e->connection))
                return;

        s->node = node;
        s->settled_usec = now_usec();
        e->told = true;
        if (e->paced)
                pace_end(e->host.bus);
        e->paced = false;

        json_putp(&e->node.fingerprint);
        e->node.fingerprint = fingerprint_read(&e->node);
        engine_publish(e); /* what reads the files must find them in step with the verdict */
        publish_verdict(&e->node, e->host.bus);
        past_add_verdict(&e->node);
        begin_watch(e);
}

/* The bus may have gone before systemd had heard of the verdict. */
void engine_announce_again(Engine *e) {
        if (!e->told || !e->host.bus || e->node.problem || publish_is_announced(e->node.state))
                return;
        pace_end(e->host.bus);
        publish_verdict(&e->node, e->host.bus);
}
