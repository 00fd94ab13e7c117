/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node settles on ready, degraded or failed once every step has come to its end, and files and
 * bus tell of it. */

#include "daemon/engine-internal.h"
#include "daemon/fingerprint.h"
#include "daemon/manager.h"
#include "daemon/pace.h"
#include "daemon/past.h"
#include "daemon/take-document.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "contract/room.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#define ROOM_USEC (10 * USEC_PER_SEC)

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

static bool is_good(NodeStatus node) {
        return node == NODE_READY || node == NODE_DEGRADED;
}

/* From a good verdict on; and where the watch itself had taken it away, before firstbootd was
 * restarted. */
static void begin_watch(Engine *e) {
        const Node *n = &e->node;
        const State *s = n->state;
        int r;

        if (!n->graph || (!is_good(s->node) && !s->watch_code))
                return;
        r = watch_begin(e->watch, node_config(n), s->settled_usec, s->watch_code, s->watch_text);
        if (r < 0)
                log_error_errno(r,
                                "The node is not watched, so nobody notices what goes wrong from now on; systemctl restart firstbootd begins anew");
}

static void ask_of_members(Engine *e, const char *method) {
        for (size_t i = 0; i < MEMBERSHIPS; i++) {
                _cleanup_free_ char *unit = strf("firstboot-hold@%s.service", membership_step(i));
                int r;

                if (!membership_is_let(membership_step(i)))
                        continue;
                e->held = true;
                r = unit ? manager_call(e->host.bus, NULL, method, unit, NULL, NULL) : -ENOMEM;
                if (r < 0)
                        log_error_errno(r, "Cannot ask systemd for %s of %s", method,
                                        strempty(unit));
        }
}

void engine_release(Engine *e) {
        if (!e->held)
                return;
        if (e->host.bus)
                ask_of_members(e, "StopUnit"); /* which may still be at it */
        e->held = false;
        for (size_t i = 0; i < MEMBERSHIPS; i++)
                e->renewal_due[i] = true;
}

static int on_room(sd_event_source *s, uint64_t usec, void *userdata);

static int look_for_room_later(Engine *e) {
        e->room = sd_event_source_disable_unref(e->room);
        return sd_event_add_time_relative(
                        e->host.event, &e->room, CLOCK_MONOTONIC, ROOM_USEC, 0, on_room, e);
}

/* Where the verdict cannot be told, nobody is to believe in it: it waits for room in /run. */
static void lack_room(Engine *e, int error) {
        _cleanup_free_ char *words = room_words(PATH_RUN, error);

        if (!words) {
                log_oom();
                return;
        }
        node_set_problem(&e->node, ROOM_CODE, ARGV(words));
        if (look_for_room_later(e) < 0)
                log_error("No timer for the verdict: firstbootctl rerun config gives it once there is room.");
}

static int on_room(sd_event_source *s, uint64_t usec, void *userdata) {
        Engine *e = userdata;

        (void) s, (void) usec;
        e->room = sd_event_source_disable_unref(e->room);
        if (!e->node.graph || !streq_ptr(e->node.problem, ROOM_CODE))
                return 0; /* the configuration is taken up anew, by itself */
        if (room_prove() < 0)
                return look_for_room_later(e);
        node_set_problem(&e->node, NULL, NULL);
        engine_release(e);
        e->host.changed(e->host.userdata); /* what waited may start */
        return 0;
}

static NodeStatus prove_room(Engine *e, NodeStatus node) {
        int r = is_good(node) ? room_prove() : 0;

        if (r >= 0 || r == -ENOMEM)
                return node;
        lack_room(e, r);
        return NODE_FAILED;
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

        node = prove_room(e, node);
        if (node == s->node && e->told)
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
        if (e->node.problem) /* no step runs, so that none keeps work away */
                ask_of_members(e, "StartUnit");
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
