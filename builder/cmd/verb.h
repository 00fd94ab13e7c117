/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A verb is data: NAME.c defines `verb_NAME`, main.c lists them, verb.c parses the command line,
 * prints --help and opens the store, all from the table. Completion scripts come from it too. */

#include "common/context.h"
#include "common/exit-code.h"
#include "shared/completion.h"

/* What every verb takes. */
typedef struct CommonOptions {
        const char *cache;
        char **overlays;
        const char *mirror;
        const char *remote, *remote_key; /* NULL: the environment's */
        bool offline;
        int progress; /* ProgressMode */
        unsigned jobs;
} CommonOptions;

/* Numbers of options without a letter: a verb's own start at OPT_VERB. */
enum { OPT_COMMON = 0x100, OPT_VERB = 0x200 };

typedef struct Verb Verb;

/* One call of a verb, as its functions see it. */
typedef struct VerbCall {
        const Verb *verb, *const *verbs; /* this one, and all there are */
        CommonOptions common;
        void *options; /* the verb's own, filled by take() */
        size_t n_arguments;
        char **arguments; /* ends with NULL */
        char **command;   /* what came after "--", where the verb keeps it apart; NULL: nothing */
        Context *ctx;     /* open where the verb needs the store */
} VerbCall;

struct Verb {
        VerbSpec spec; /* name, what 'imgbuild --help' says, options, what completes arguments */
        const char *usage;        /* behind the name: "RECIPE [OPTION…]" */
        const char *about;        /* --help, between usage and options */
        void (*more_about)(void); /* prints more of it; may be NULL */

        bool needs_root;      /* works on layers, so an ordinary user gets a user namespace first */
        const char *unproved; /* the option with which a verb that needs libguestfs needs none */
        const char *reads_only; /* an option, "--node", with which it needs neither; may be NULL */
        bool needs_store;       /* is called with an open context */
        bool quiet;             /* shows no progress unless it is asked to */
        bool hidden;            /* in the manual, not in 'imgbuild --help' */
        bool command;           /* what comes after "--" is no argument */

        /* How many arguments there may be (max_arguments 0: check() counts them), and what is said
         * otherwise: 'imgbuild NAME' WANTED; see … */
        size_t min_arguments, max_arguments;
        const char *wanted;

        size_t options_size;
        const void *defaults; /* of so many bytes; NULL: zeros */

        /* One option: 0, 1 where that was the whole work, -errno for a wrong value (logged). */
        int (*take)(void *options, int id, const char *value);

        /* What can be known to be wrong before anything is opened: 0, an exit code (logged), or
         * -EINVAL to have `wanted` said. May be NULL. */
        int (*check)(VerbCall *call);

        /* The work: an exit code, or -errno (logged). */
        int (*run)(VerbCall *call);

        void (*done)(void *options); /* may be NULL */
};

/* Calls a verb: an exit code. argv[0] is its name. */
int verb_main(const Verb *verb, const Verb *const *verbs, int argc, char *argv[]);

/* --- common options (options.c) --------------------------------------------------------------- */

extern const OptionSpec common_options[];

/* 1 taken, 0 not a common option, -EINVAL bad value (logged). */
int common_option(CommonOptions *o, int id, const char *value);
void common_options_done(CommonOptions *o);
#define _cleanup_common_options_ _cleanup_(common_options_done)

/* A whole number of that range: 0, or -EINVAL (logged) and *ret as it was. */
int option_number(const char *option, const char *value, unsigned min, unsigned max, unsigned *ret);

/* --on-error: "shell" (of a terminal only) or "end". -EINVAL (logged). */
int option_on_error(const char *value, bool *ret_shell);

/* Opens store and progress. Errors are logged; context_done() closes. */
int context_open(const CommonOptions *o, Context *ret);

/* Then the remote store, where there is to be one: -EINVAL for its URL or key (logged). */
int context_open_remote(const CommonOptions *o, Context *ctx);
void context_done(Context *ctx);
#define _cleanup_context_ _cleanup_(context_done)
