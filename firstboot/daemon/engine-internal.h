/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of the engine share: engine.c stands above the others, which call nothing of
 * it. */

#include "daemon/engine.h"
#include "daemon/bus-api.h"
#include "daemon/configure.h"
#include "daemon/connection.h"
#include "daemon/membership.h"
#include "daemon/node.h"
#include "daemon/publish.h"
#include "daemon/watch.h"

struct Engine {
        Node node;
        JobHost host;
        Configure *configure;
        Connection *connection;
        BusApi api;
        Publisher publisher;
        Watch *watch;

        sd_event_source *late; /* the watch of the results' folder */
        sd_event_source *room; /* a verdict waits for room in /run */

        bool paced; /* others have less of the CPU until the verdict */
        /* The step is to run again: what it tells the cluster has changed. */
        bool renewal_due[MEMBERSHIPS];
        bool held;           /* work is kept away, for the configuration is wrong */
        json_object *ran_by; /* the configuration that the steps ran by; NULL: none yet */
        bool changes_only;   /* what comes next runs only the steps that it concerns */
        bool told; /* settling was announced (a restart of firstbootd does not repeat it) */
};

/* engine-settle.c: tells of what has changed; ends the boot where every step has come to its end;
 * and tells systemd of a verdict that it may not have heard. */
void engine_publish(Engine *e);
void engine_settle(Engine *e);
void engine_announce_again(Engine *e);

/* The configuration is right again: the steps that keep work away for it let the node in. */
void engine_release(Engine *e);

/* engine-rerun.c: makes a step and all that waits for it wait once more; "all" gathers the
 * configuration afresh and runs every step, RERUN_CHANGES those that what has changed concerns. 1:
 * they may start; 0: the configuration comes first. -ENOENT: no such step; -EBUSY: it, or something
 * that waits for it, is running. */
int engine_begin_rerun(Engine *e, const char *name);
