/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The table of every key that a node configuration may have: type, limits, default, meaning.
 * Validation, defaults, masking of secrets, `firstbootctl config` and a test of
 * docs/node-config.md all read it. */

#include "contract/quantity.h"

typedef enum ConfigType {
        CONFIG_OBJECT, /* a section; its keys are rows of their own */
        CONFIG_LIST,   /* a list of sections: rows below PATH[] */
        CONFIG_STRING,
        CONFIG_STRINGS, /* a list of strings */
        CONFIG_BOOL,
        CONFIG_INT,
        CONFIG_SIZE,     /* bytes: a number, or "64K", "1M", "2G" (powers of 1024) */
        CONFIG_DURATION, /* seconds: a number, or "500ms", "90s", "5min", "2h" */
        CONFIG_MAP,      /* names to strings, numbers or booleans; names are free */
} ConfigType;

typedef struct ConfigKey {
        const char *path; /* "scratch.label", "mounts[].what", "steps.*.timeout" */
        ConfigType type;
        const char *fallback; /* default as JSON text; NULL: none */
        bool required;        /* where its section is there */
        bool secret;
        int64_t min, max;    /* of INT, SIZE (bytes), DURATION (milliseconds); both 0: no limits */
        const char *choices; /* of STRING: "xfs|ext4" */
        const char *(*check)(const char *value); /* of STRING, STRINGS: a rule of config-rules.h */
        const char *meaning;
} ConfigKey;

extern const ConfigKey config_keys[];
extern const size_t config_keys_count;

/* The row whose path matches "scratch.label" or "mounts[].what"; NULL where there is none. */
const ConfigKey *config_key_find(const char *path);

/* "label" where the row is "scratch.label" and the section "scratch" (or "mounts[]"; "": the top);
 * NULL for rows of other sections, of sections inside of it, and for "*". */
const char *config_key_in(const ConfigKey *k, const char *section);

/* "section.key", or just "key" at the top; NULL on out of memory. The caller frees it. */
char *config_child_path(const char *path, const char *key);
