/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A boot, from configuration to verdict: gathers the configuration, lays out the graph, starts
 * each step as soon as what it waits for is done, and settles on ready, degraded or failed. job.c
 * carries one attempt of one step; connection.c the bus; publish.c tells everybody. */

#include "contract/graph.h"
#include "daemon/state.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

typedef struct Engine Engine;

/* One step of the graph and the attempt that is under way. */
typedef struct Job {
        Engine *engine;
        const Step *step;
        char *unit, *unit_path;         /* firstboot@NAME.service and its object */
        char *start_job, *stop_job;     /* job objects; NULL: not known (yet) */
        char *early_job, *early_result; /* a JobRemoved that came before the reply with the job's
                                           path */
        sd_bus_slot *start_slot, *stop_slot, *query_slot; /* calls without an answer yet */
        sd_event_source *deadline, *backoff;
        bool stopping;          /* the time limit passed */
        StepStatus told_status; /* as last signalled on the bus */
        size_t told_attempts;
} Job;

struct Engine {
        sd_event *event;
        sd_bus *bus;    /* NULL while the bus is away */
        bool bus_ready; /* our name is ours and systemd's signals are on their way */
        bool announced; /* READY=1 was sent */
        bool paced;     /* others have less of the CPU until the verdict (pace.c) */

        json_object *document; /* what firstboot-helper gave: config, sources, instance, errors,
                                  warnings */
        Graph *graph;          /* NULL until the configuration is there */
        State *state;
        Job *jobs; /* one for each step of the graph, in its order */
        size_t n_jobs;

        /* What keeps the whole node from going on, or NULL. */
        const char *problem;
        char *problem_text;

        /* Gathering of the configuration (configure.c). */
        pid_t helper;
        int helper_fd;
        char *helper_output;
        size_t helper_size;
        unsigned configure_tries;
        sd_event_source *helper_io, *helper_child, *helper_timeout, *configure_again;

        /* Connection to the bus (connection.c). */
        sd_event_source *reconnect;
        unsigned reconnect_tries;
        char *published;      /* the status as it was last written */
        NodeStatus told_node; /* as last signalled on the bus */
        bool told; /* settling was announced (a restart of firstbootd does not repeat it) */
};

Engine *engine_free(Engine *e);
DEFINE_CLEANUP(Engine *, engine_free);
int engine_new(sd_event *event, Engine **ret);

uint64_t monotonic_usec(void);

/* A new configuration document has come (taken over): lays out graph and state, and goes. */
int engine_take_document(Engine *e, json_object *document);

/* Starts what may start, blocks what cannot, and settles once every step has come to its end. */
void engine_advance(Engine *e);

/* One step's attempts are over, or it has changed otherwise: save, publish, go on. */
void engine_changed(Engine *e, Job *j);

/* Runs a step and all that waits for it once more; "all" gathers the configuration afresh and runs
 * every step. -ENOENT: no such step; -EBUSY: it, or something that waits for it, is running. */
int engine_rerun(Engine *e, const char *name);

/* The bus is (again) there: finds out what happened to steps that were running. */
void engine_resync(Engine *e);

StepRun *job_run(const Job *j);
Job *engine_find_job(const Engine *e, const char *name);

/* Lowers the CPU weight of what else the boot has still to do, and gives it back (pace.c). */
void pace_begin(Engine *e);
void pace_end(Engine *e);

/* Starts firstboot-helper, unless it runs (configure.c). */
int engine_configure(Engine *e);

/* One attempt of one step (job.c). */
void job_start(Job *j);
void job_resync(Job *j);
int job_arm_backoff(Job *j);
void job_cancel(Job *j); /* forgets calls and timers; the unit goes on */
void job_removed(Job *j, const char *job_path, const char *result);

/* The system bus (connection.c). */
int connection_open(Engine *e);
void connection_close(Engine *e);
