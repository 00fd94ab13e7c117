/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A program's command line as data, and completion scripts for bash and zsh made from it.
 *
 *     static const OptionSpec options[] = {
 *             { "format", 'f', "FORMAT", "what to make", COMPLETE_CHOICES, "qcow2 raw vhd" },
 *             { "output", 'o', "FILE", "where", COMPLETE_FILE },
 *             { "force", OPT_FORCE, NULL, "replace FILE" },
 *             {},
 *     };
 *     static const VerbSpec verbs[] = {
 *             { "export", "convert an image", options, "IMAGE", COMPLETE_FILE },
 *             {},
 *     };
 *     const ProgramSpec program = { .name = "imgbuild", .verbs = verbs };
 *
 *     r = completion_write(stdout, "bash", &program);
 *
 * The same table can serve getopt_long() and --help: one place where an option stands. */

#include "shared/macro.h"

/* What can be offered for a value or an argument. `words` of the table belongs to it. */
typedef enum CompletionKind {
        COMPLETE_NONE,    /* nothing: a number, a name that nobody knows beforehand */
        COMPLETE_FILE,    /* files; words: patterns separated by spaces ("*.json"), NULL for all */
        COMPLETE_FOLDER,  /* folders */
        COMPLETE_CHOICES, /* words: the choices, separated by spaces */
        COMPLETE_COMMAND, /* words: a shell command that prints the choices, one a line */
} CompletionKind;

/* Arrays end with an empty element. */
typedef struct OptionSpec {
        const char *name;     /* without dashes: "output" */
        int id;               /* its letter, or any number from 0x100 on where it has none */
        const char *argument; /* "FILE"; NULL for a flag */
        const char *help;     /* scripts show it up to the first newline */
        CompletionKind value;
        const char *words;
        bool repeats; /* may be given several times */
} OptionSpec;

typedef struct VerbSpec {
        const char *name, *help;
        const OptionSpec *options; /* its own; NULL for none */
        const char *argument;      /* what stands beside the options: "RECIPE"; NULL for nothing */
        CompletionKind value;
        const char *words;
} VerbSpec;

typedef struct ProgramSpec {
        const char *name;
        const VerbSpec *verbs;     /* or NULL: then these are the program's own, in `options` … */
        const OptionSpec *options; /* before the verb (--help, --version) */
        const OptionSpec *common;  /* that every verb takes besides its own */
        const char *argument;      /* … and its arguments in these three */
        CompletionKind value;
        const char *words;
} ProgramSpec;

/* Writes the script for "bash" or "zsh". -EINVAL for another shell, -ENOMEM, -EIO where it cannot
 * be written. */
int completion_write(FILE *f, const char *shell, const ProgramSpec *program);
