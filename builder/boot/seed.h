/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The NoCloud disk that cloud-init of a booted image finds. */

#include "stage/stage.h"

typedef struct SeedOptions {
        /* Files; NULL: an empty one, one of ours, none. */
        const char *user_data, *meta_data, *network_config;
        const char *network; /* network_config as text, where there is no file; may be NULL */
        char *const *keys;   /* public ssh keys, one line each */
        const char *instance_id, *hostname;
        const char *hosts; /* lines for /etc/hosts; may be NULL */
} SeedOptions;

/* Writes FOLDER/seed.img by cloud-localds. Errors are logged. */
int seed_write(Tools *tools, const char *folder, const SeedOptions *o);

/* Reads public keys, one a line, and appends them. A private key is refused. Errors are logged. */
int seed_read_keys(const char *path, char ***keys);

/* The texts, for tests: JSON, which is YAML. */
int seed_meta_data(const SeedOptions *o, char **ret);
int seed_vendor_data(const SeedOptions *o, char **ret);
