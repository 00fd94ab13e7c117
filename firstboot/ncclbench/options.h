/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The command line. Names and meanings are nccl-tests' where it has the option. */

#include "ncclbench/collective.h"

#define OPTION_GPUS_MAX 64

/* "The row of this many bytes reaches this bus bandwidth": a verdict is on a named size. */
typedef struct Expectation {
        size_t bytes;
        double busbw; /* GB/s, 10⁹ bytes */
} Expectation;

typedef struct Options {
        const char *perf; /* called by an nccl-tests name, this one: its defaults and its lines */
        bool pairs, load, runtime; /* instead of measuring an operation */
        bool help, version;
        const char *not_here;   /* why an option of nccl-tests is refused; while options are read */
        const char *completion; /* the shell whose script is asked for; NULL: none */

        const Collective *collective; /* NULL: all of them */
        size_t min_bytes, max_bytes, step_bytes;
        bool sized;           /* -b or -e was given */
        unsigned step_factor; /* 0: fixed steps */
        unsigned iterations, warmup, checks;
        int type, op;                 /* -1: all */
        int root;                     /* -1: each rank, one after the other */
        unsigned gpus;                /* of this process; 0: not given */
        unsigned threads, gpus_each;  /* -t and -g; 0: not given */
        int devices[OPTION_GPUS_MAX]; /* --devices; n_devices 0: not given */
        unsigned n_devices;
        Expectation expect[16];
        unsigned n_expect;

        unsigned aggregate; /* -m: operations that start as a group */
        unsigned average; /* -a: which process's time is shown: 0 the first, 1 mean, 2 min, 3 max */
        unsigned blocking;     /* -z */
        unsigned graphs;       /* -G: how often the captured iterations are replayed; 0: no graph */
        unsigned registration; /* -R: 1 the buffers, 2 as symmetric windows */
        unsigned per_iteration;   /* -I */
        unsigned skip_iterations; /* -K */
        unsigned cycles;          /* -N; 0: for ever */
        unsigned parallel_init;   /* -p: taken for granted */
        unsigned null_stream;     /* -y: operations run on CUDA's own stream */
        unsigned cpu_time;        /* -C: shown is how long the processor was busy starting them */
        unsigned timestamps;      /* -S: each line ends with the time of day */
        unsigned unalign;         /* -u: the buffers' first element */
        unsigned cta_count;       /* -V: of -D's kernels, and so of none */
        double min_average;       /* $NCCL_TESTS_MIN_BW, GB/s; 0: none */

        bool json;             /* instead of the table */
        const char *json_path; /* beside it; NULL: none */

        double row_timeout;           /* seconds, of each size (as nccl-tests' -T); 0: none */
        double timeout, init_timeout; /* seconds; the first 0 as long as it is not given */
        int rank, world, local_rank;  /* -1: not given */
        const char *master;           /* HOST:PORT */
        const char *secret_file;
        const char *cuda_library, *nccl_library;

        int corrupt_rank; /* --corrupt, the check's self-test; -1: none */
        uint64_t corrupt_element;

        double seconds;  /* load: of each part */
        unsigned matrix; /* load: rows of the matrices */

        bool required;    /* runtime: there must be one */
        const char *tree; /* runtime: the one that is looked through; NULL: this system */

        unsigned rounds;     /* pairs */
        double below_median; /* pairs: per cent */
        const char *limits;  /* pairs: the file with the shape's limit; NULL: not given */
} Options;

/* Returns 0 or -EINVAL with *ret_error a text for people (the caller frees it). Strings are
 * borrowed from argv, in whose long options underscores become dashes. */
int options_parse(int argc, char *argv[], Options *ret, char **ret_error);

/* The size that is measured after `bytes`. */
size_t options_next_size(const Options *o, size_t bytes);

/* usage.c: what --help and --completion print. The latter: 0 or -errno. */
void options_help(FILE *f);
int options_completion(FILE *f, const char *shell);
