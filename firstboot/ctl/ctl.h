/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* firstbootctl: one file a verb, each a function that gets what is left of the command line. */

#include "contract/history.h"
#include "shared/completion.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#include <systemd/sd-bus.h>

typedef struct Ctl {
        bool json, wait, watch, color, utf8;
        bool no_rerun;                                  /* of config set and unset */
        bool quick, full, beside_jobs, probes, history; /* of check and plot */
        unsigned given;                                 /* options, a bit each: main.c */
        const char *step;
        uint64_t timeout_usec; /* of --wait; 0: none */
        sd_bus *bus;           /* opened on demand */
        char silence[128];     /* why firstbootd did not answer ctl_status(); "": it did */
        char unread[200]; /* what is wrong with the status it left; "": nothing, or there is none */
        int64_t left_sec; /* when it was written; with `silence` */
        const ProgramSpec *program; /* verbs and options, for completion */
} Ctl;

enum {
        EXIT_NODE_READY = 0,
        EXIT_NODE_FAILED = 1,
        EXIT_NODE_DEGRADED = 2,
        EXIT_NODE_GOING = 3,
        EXIT_UNKNOWN = 4, /* there is no firstbootd, and it left no status */
        EXIT_USAGE = 64,
};

/* Those of check, which Slurm calls. */
enum {
        EXIT_CHECK_GOOD = 0,
        EXIT_CHECK_BAD = 1,
        EXIT_CHECK_USAGE = 2,
        EXIT_CHECK_BLIND = 3,
        EXIT_CHECK_JOBS = 4
};

int verb_status(Ctl *c, int argc, char *argv[]);
int verb_blame(Ctl *c, int argc, char *argv[]);
int verb_plot(Ctl *c, int argc, char *argv[]);
int verb_history(Ctl *c, int argc, char *argv[]);
int verb_explain(Ctl *c, int argc, char *argv[]);
int verb_rerun(Ctl *c, int argc, char *argv[]);
int verb_config(Ctl *c, int argc, char *argv[]);
int verb_check(Ctl *c, int argc, char *argv[]);
int verb_log(Ctl *c, int argc, char *argv[]);
int verb_completion(Ctl *c, int argc, char *argv[]);

/* Opens the system bus once. 0 or -errno, without a message. */
int ctl_bus(Ctl *c);

/* Logs why a call of firstbootd's failed with r and *error: its own words and then `more` (may be
 * ""), or that it does not answer. */
void ctl_log_failure(int r, const sd_bus_error *error, const char *more);

/* A method of the manager that returns JSON text. Logs; caller puts. */
int ctl_call_json(Ctl *c, const char *method, json_object **ret);

/* The status document from the bus, or where nobody answers there, as it was last written to /run:
 * c->silence, unread and left_sec tell. -ENOENT: neither. Does not log. */
int ctl_status(Ctl *c, json_object **ret);

/* After ctl_status() failed: says so, with what to do and `more` (may be ""), and returns the exit
 * code for it. */
int ctl_log_no_status(const Ctl *c, const char *more);

/* After ctl_status(): what it gave is old, and why, for people; NULL where firstbootd answered, or
 * on out of memory. Caller frees. */
char *ctl_old_status(const Ctl *c);

/* The same as a warning, behind what a verb made of it. */
void ctl_warn_old_status(const Ctl *c);

/* The status document from firstbootd itself, or negative errno. Does not log. */
int ctl_agent_status(Ctl *c, json_object **ret);

/* Exit code for a status document. */
int ctl_exit_code(json_object *status);

/* The steps of a status document; NULL with *ret_n 0 where it has none. */
json_object *status_steps(json_object *status, size_t *ret_n);

/* The step of that name; NULL where there is none. */
json_object *steps_find(json_object *steps, const char *name);

/* Names of what a step waits for: its "requires", then its "after". 0 or -ENOMEM; caller frees. */
int step_waits_for(json_object *step, char ***ret);

/* Time of a step's attempts together, the one under way included, in µs. */
uint64_t step_duration(json_object *step);

/* When the step (or, with the status itself, the gathering of the configuration) is tried again:
 * "in 4 min 12 s", "now". NULL where it is not, or on out of memory; caller frees. */
char *next_try(json_object *o);

/* The time line of a status document as SVG text; NULL on out of memory. Caller frees. */
char *plot_svg(json_object *status, uint64_t now);

/* Text of an XML document, escaped. */
void plot_text(FILE *f, const char *s);

/* The key figures over time: as SVG, or as lines of a terminal. NULL on out of memory; caller
 * frees. */
char *history_svg(const HistoryEntry *entries, size_t n);
char *history_lines(const Ctl *c, const HistoryEntry *entries, size_t n);

/* plot --history. */
int plot_history(Ctl *c);

/* The status table, as printed. NULL on out of memory; caller frees. */
char *status_table(const Ctl *c, json_object *status);

/* What is wrong, why, and what to do, for all steps of a status that are not good. Caller frees. */
char *explain_status(json_object *status);

/* The figures of a step's result, as lines and tables for people. NULL: none. */
void figures_print(FILE *f, json_object *figures);

/* config set, unset: this node's own value in a file of conf.d, checked first. An exit code. */
int config_set_value(Ctl *c, const char *key, const char *text);
int config_unset_value(Ctl *c, const char *key);
