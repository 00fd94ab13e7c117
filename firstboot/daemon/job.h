/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One step of the graph and the attempt that is under way: the unit's start, its end, the step's
 * own verdict; the time limit, which fires whatever the bus does; the pause before the next
 * attempt. When the next one may begin is for others to say: they are told by `changed`. */

#include "daemon/state.h"
#include "contract/step-file.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/* What all jobs of a boot are handed. */
typedef struct JobHost {
        sd_event *event;
        sd_bus *bus; /* NULL while the bus is away */

        char **secrets; /* of the configuration; no step's words show them. NULL: none */

        /* A step has come to its end, or the pause before its next attempt has. */
        void (*changed)(void *userdata);
        void *userdata;

        uint64_t seed; /* node_seed()'s */
} JobHost;

typedef struct Job {
        const JobHost *host;
        const Step *step;
        State *state;
        char *unit, *unit_path;         /* firstboot@NAME.service and its object */
        char *start_job, *stop_job;     /* job objects; NULL: not known (yet) */
        char *early_job, *early_result; /* a JobRemoved that came before the path of its job */
        sd_bus_slot *start_slot, *stop_slot, *query_slot; /* calls without an answer yet */
        sd_event_source *deadline, *backoff;
        bool stopping; /* the time limit passed */

        StepStatus told_status; /* as last signalled on the bus (bus-api.c) */
        size_t told_attempts;
} Job;

/* Makes the job of a step in *j, which is all zero. 0 or -ENOMEM; job_done() frees what it has in
 * every case. */
int job_init(Job *j, const JobHost *host, const Step *step, State *state);
void job_done(Job *j);

/* What has happened to the step. */
StepRun *job_run(const Job *j);

/* Begins an attempt, or joins the one that runs. */
void job_start(Job *j);

/* For a step that was running while firstbootd, or the bus, was away. */
void job_resync(Job *j);

/* The pause before the next attempt. */
int job_arm_backoff(Job *j);

/* Whether the step, free to start, has to wait for its turn: the first attempts of a fleet that
 * boots together are spread. `changed` tells when it has come. */
bool job_awaits_turn(Job *j);

/* Forgets calls and timers; the unit goes on. */
void job_cancel(Job *j);

/* Forgets calls, whose answers will not come any more: the bus is closed. */
void job_forget_calls(Job *j);

/* systemd's JobRemoved signal for the step's unit. */
void job_removed(Job *j, const char *job_path, const char *result);

/* A verdict may have come for the step while no attempt was under way: it is told, and a step that
 * was good is so no longer. */
void job_look_for_late_verdict(Job *j);
