/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node configuration: layers laid over each other, where each value came from, all that is
 * wrong with it. Later layers win; objects merge, everything else (lists too) replaces; null takes
 * a key back to its default. The order of the layers is config-load.c's. */

#include "shared/json-util.h"
#include "shared/strv.h"

typedef struct Config {
        json_object *values;   /* the merged configuration */
        json_object *sources;  /* "scratch.label" → the layer that gave it ("default" too) */
        json_object *instance; /* id, cloud, shape, region, zone, hostname: what is known of the
                                  machine */
        char **errors;         /* each "SOURCE: PATH: what is wrong" */
        char **warnings;
        bool retry; /* a source did not answer: loading again later may help */
} Config;

Config *config_new(void); /* NULL on out of memory */
Config *config_free(Config *c);
DEFINE_CLEANUP(Config *, config_free);
#define _cleanup_config_ _cleanup_(config_freep)

/* Lays a layer over what is there. A layer that is not an object becomes an error of the config.
 * Returns -ENOMEM or 0. */
int config_merge(Config *c, json_object *layer, const char *source);

/* Sets one value by its path, such as "slurm.munge_key", making sections as needed. Takes
 * ownership. */
int config_set(Config *c, const char *path, json_object *value, const char *source);

/* Fills in defaults, then checks everything against the table. Top-level sections named in
 * free_sections (the steps that are installed) may have any keys unless the table has rows for
 * them. All faults are added to errors. Returns -ENOMEM or 0. */
int config_finish(Config *c, char *const *free_sections);

/* One document with all of it: config, sources, instance, errors and warnings (without secrets),
 * retry. NULL on out of memory. */
json_object *config_to_json(const Config *c);
