/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A step is one JSON file: the shipped ones in /usr/lib/firstboot/steps.d, a site's own in
 * /etc/firstboot/steps.d (same name: the site's wins; an empty file takes the step out). */

#include "contract/retry.h"
#include "shared/json-util.h"
#include "shared/strv.h"

typedef struct Step {
        char *name;
        char *description;
        char *file;         /* where it is described */
        char **exec;        /* site steps: program and arguments; NULL: built into firstboot-step */
        char **requires;    /* must be done before it starts; names of steps in the graph */
        char **after;       /* must have ended, well or not; names of steps in the graph */
        char **reads;       /* sections of the configuration that it reads beside its own */
        bool reads_all;     /* a site's step that does not say which */
        json_object *codes; /* its own reason codes, NULL: none (step-codes.h) */
        char **only_if;     /* conditions of which one must hold (condition.h), NULL: none */
        bool requires_all;  /* "*": requires every step that does not wait for it */
        bool first_boot_only;
        bool required;                       /* its failure fails the node, else degrades it */
        bool check;                          /* its program knows FIRSTBOOT_CHECK */
        bool run_on_failure;                 /* runs even where a step it requires has failed */
        uint64_t timeout_usec;               /* of one attempt */
        unsigned retries;                    /* further attempts after a transient failure */
        uint64_t delay_usec, delay_max_usec; /* first pause, doubled each time up to the maximum */
        uint64_t spread_usec;                /* the first attempt comes anywhere within it */
        uint64_t slow_usec; /* then tried about so far apart for ever; 0: no more */
} Step;

void step_clear(Step *s); /* frees what it has */

/* When it is attempted, and again. */
RetryPlan step_retry_plan(const Step *s);

/* Letters, digits and '-', starting with a letter, at most 32. */
bool step_name_is_valid(const char *name);

/* The names of the steps that are installed, sorted, without reading them. 0 or -errno. */
int step_list(char ***ret_names);

/* Reads a step's file and applies config's "steps" section. Faults are added to *errors, each
 * "FILE: what is wrong". 1: loaded into *s; 0: no step (masked or faulty); -ENOMEM. */
int step_load(const char *name, json_object *config, Step *s, char ***errors);

/* The same for the file at `path` of a site's step that is on no node yet, called `shown` in
 * *errors and in ret->file. *ret is empty before, and for step_clear() in any case. */
int step_file_check(
                const char *path, const char *name, const char *shown, Step *ret, char ***errors);
