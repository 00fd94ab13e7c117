/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The verbs: one file each, cmd-NAME.c. argv[0] is the verb; each parses its options with
 * getopt_long(), knows
 * --help, and returns an exit code of context.h. */

#include "common/context.h"
#include "common/exit-code.h"

int cmd_build(int argc, char *argv[]);
int cmd_plan(int argc, char *argv[]);
int cmd_lock(int argc, char *argv[]);
int cmd_check(int argc, char *argv[]);
int cmd_boot(int argc, char *argv[]);
int cmd_inspect(int argc, char *argv[]);
int cmd_diff(int argc, char *argv[]);
int cmd_export(int argc, char *argv[]);
int cmd_shell(int argc, char *argv[]);
int cmd_cache(int argc, char *argv[]);
int cmd_doctor(int argc, char *argv[]);

/* Options that every verb with a store shares: --cache, --overlays, --mirror, --offline,
 * --progress, --jobs,
 * --verbose. Values start at OPT_COMMON; a verb's own long-only options start at OPT_VERB. */
enum { OPT_COMMON = 0x100, OPT_VERB = 0x200 };
#define COMMON_LONG_OPTIONS                                                      \
        { "cache", required_argument, NULL, OPT_COMMON + 0 },                    \
                        { "overlays", required_argument, NULL, OPT_COMMON + 1 }, \
                        { "mirror", required_argument, NULL, OPT_COMMON + 2 },   \
                        { "offline", no_argument, NULL, OPT_COMMON + 3 },        \
                        { "progress", required_argument, NULL, OPT_COMMON + 4 }, \
                        { "jobs", required_argument, NULL, 'j' },                \
                        { "verbose", no_argument, NULL, 'v' }, { "help", no_argument, NULL, 'h' }

typedef struct CommonOptions {
        const char *cache;
        char **overlays;
        const char *mirror;
        bool offline;
        int progress; /* ProgressMode */
        unsigned jobs;
} CommonOptions;
#define _cleanup_common_options_ _cleanup_(common_options_done)
void common_options_done(CommonOptions *o);

/* Handles one getopt value: 1 taken, 0 not a common option, -EINVAL bad value (logged). */
int common_option(CommonOptions *o, int c, const char *value);
extern const char common_options_help[];

/* Enters the user namespace where needed, opens store and progress. Errors are logged;
 * context_done() closes. */
int context_open(const CommonOptions *o, Context *ret);
void context_done(Context *ctx);
#define _cleanup_context_ _cleanup_(context_done)
