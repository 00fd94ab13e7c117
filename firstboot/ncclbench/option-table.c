/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options of the command line: what each is called, and what reads its argument into which
 * field. */

#include "ncclbench/option-table.h"
#include "ncclbench/values.h"
#include "shared/strv.h"

#include <limits.h>
#include <strings.h>

static void *field(Options *o, const OptionInfo *info) {
        return (char *) o + info->field;
}

static int read_flag(Options *o, const OptionInfo *info, const char *text _unused_) {
        *(bool *) field(o, info) = true;
        return 0;
}

static int read_text(Options *o, const OptionInfo *info, const char *text) {
        *(const char **) field(o, info) = text;
        return 0;
}

static int read_size(Options *o, const OptionInfo *info, const char *text) {
        return parse_fractional_size(text, field(o, info));
}

/* What nccl-tests has and makes no sense here, or cannot be had: none of it is ignored. */
static int not_here(Options *o, const char *text, const char *why) {
        if (streq(text, "0"))
                return 0;
        o->not_here = why;
        return -EOPNOTSUPP;
}

static int read_device_kernels(Options *o, const OptionInfo *info _unused_, const char *text) {
        return not_here(o, text,
                        "-D: kernels of NCCL's device API are compiled by nvcc against one NCCL's headers, and ncclbench works with whatever libnccl.so.2 is there; nccl-tests has them");
}

static int read_policy(Options *o, const OptionInfo *info _unused_, const char *text) {
        return not_here(o, streq(text, "0") ? "policy" : text,
                        "-x: the CTA policy is a field of one NCCL's configuration, and ncclbench leaves it to NCCL; nccl-tests sets it");
}

static int read_memory_report(Options *o, const OptionInfo *info _unused_, const char *text) {
        return not_here(o, text,
                        "-M: what memory GPUs have in use is told by nvidia-smi --query-compute-apps=pid,used_memory --format=csv while it runs");
}

/* Into an int or an unsigned. */
static int read_number(Options *o, const OptionInfo *info, const char *text) {
        unsigned long v;
        int r;

        r = parse_in_range(text, (unsigned long) info->min, (unsigned long) info->max, &v);
        if (r < 0)
                return r;
        *(unsigned *) field(o, info) = (unsigned) v;
        return 0;
}

/* -r all is each rank in turn. */
static int read_root(Options *o, const OptionInfo *info, const char *text) {
        if (!streq(text, "all"))
                return read_number(o, info, text);
        o->root = -1;
        return 0;
}

/* nccl-tests takes a factor of 0 or 1 for none. */
static int read_factor(Options *o, const OptionInfo *info, const char *text) {
        int r;

        r = read_number(o, info, text);
        if (r < 0)
                return r;
        if (o->step_factor == 1)
                o->step_factor = 0;
        return 0;
}

static int read_real(Options *o, const OptionInfo *info, const char *text) {
        return parse_real(text, info->min, info->max, field(o, info));
}

static int read_op(Options *o, const OptionInfo *info _unused_, const char *text) {
        if (strcasecmp(text, "mulsum") == 0)
                return not_here(o, text,
                                "-o mulsum: a sum with a factor for each rank, which ncclbench cannot check; nccl-tests has it");
        if (!streq(text, "all"))
                return op_from_name(text, &o->op);
        o->op = -1;
        return 0;
}

static int read_type(Options *o, const OptionInfo *info _unused_, const char *text) {
        if (!streq(text, "all"))
                return type_from_name(text, &o->type);
        o->type = -1;
        return 0;
}

static int read_output_file(Options *o, const OptionInfo *info, const char *text) {
        return isempty(text) ? -EINVAL : read_text(o, info, text);
}

static int read_shell(Options *o, const OptionInfo *info, const char *text) {
        if (!streq(text, "bash") && !streq(text, "zsh"))
                return -EINVAL;
        return read_text(o, info, text);
}

static int read_master(Options *o, const OptionInfo *info, const char *text) {
        return strrchr(text, ':') ? read_text(o, info, text) : -EINVAL;
}

/* Cuts "LEFT:RIGHT" in two; *ret_right points into text, the caller frees *ret_left. */
static int split_pair(const char *text, char **ret_left, const char **ret_right) {
        const char *colon = strchr(text, ':');
        char *left;

        if (!colon)
                return -EINVAL;
        left = strndup(text, (size_t) (colon - text));
        if (!left)
                return -ENOMEM;
        *ret_left = left;
        *ret_right = colon + 1;
        return 0;
}

static int read_expect(Options *o, const OptionInfo *info _unused_, const char *text) {
        _cleanup_free_ char *size = NULL;
        const char *speed;
        Expectation e;
        int r;

        if (o->n_expect == ELEMENTSOF(o->expect))
                return -EINVAL;
        r = split_pair(text, &size, &speed);
        if (r < 0)
                return r;
        r = parse_fractional_size(size, &e.bytes);
        if (r < 0)
                return r;
        r = parse_real(speed, 1e-6, 1e6, &e.busbw);
        if (r < 0)
                return r;

        o->expect[o->n_expect++] = e;
        return 0;
}

static int read_corrupt(Options *o, const OptionInfo *info _unused_, const char *text) {
        _cleanup_free_ char *left = NULL;
        unsigned long rank, element;
        const char *right;
        int r;

        r = split_pair(text, &left, &right);
        if (r < 0)
                return r;
        r = parse_in_range(left, 0, 1000000, &rank);
        if (r < 0)
                return r;
        r = parse_in_range(right, 0, LONG_MAX, &element);
        if (r < 0)
                return r;

        o->corrupt_rank = (int) rank;
        o->corrupt_element = element;
        return 0;
}

static int add_device(Options *o, const char *text) {
        unsigned long v;
        int r;

        if (o->n_devices == OPTION_GPUS_MAX)
                return -EINVAL;
        r = parse_in_range(text, 0, 4095, &v);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < o->n_devices; i++)
                if (o->devices[i] == (int) v)
                        return -EINVAL;
        o->devices[o->n_devices++] = (int) v;
        return 0;
}

static int read_devices(Options *o, const OptionInfo *info _unused_, const char *text) {
        _cleanup_strv_free_ char **parts = strv_split(text, ",");
        int r;

        o->n_devices = 0;
        STRV_FOREACH (p, parts) {
                r = add_device(o, *p);
                if (r < 0)
                        return r;
        }
        return o->n_devices > 0 ? 0 : -EINVAL;
}

/* Who reads the argument, into which field, and within which limits. */
#define INTO(f, member) .read = (f), .field = offsetof(Options, member)
#define WITHIN(f, member, least, most) INTO(f, member), .min = (least), .max = (most)

/* clang-format off */
const OptionInfo option_table[] = {
        { { "minbytes", 'b', "SIZE", "smallest size (32M; pairs 256M); K, M, G: powers of 1024" },
          INTO(read_size, min_bytes) },
        { { "maxbytes", 'e', "SIZE", "largest size (32M; pairs 256M)" },
          INTO(read_size, max_bytes) },
        { { "stepbytes", 'i', "SIZE", "fixed step between sizes (1M)" },
          INTO(read_size, step_bytes) },
        { { "stepfactor", 'f', "N", "factor between sizes, instead of -i" },
          WITHIN(read_factor, step_factor, 0, 1 << 30) },
        { { "iters", 'n', "N", "timed operations a size (20)" },
          WITHIN(read_number, iterations, 1, 1000000) },
        { { "warmup-iters", 'w', "N", "operations before the timing (1)" },
          WITHIN(read_number, warmup, 0, 1000000) },
        { { "ngpus", 'g', "N", "GPUs of this process (all; 1 where there are several processes)" },
          WITHIN(read_number, gpus_each, 1, OPTION_GPUS_MAX) },
        { { "nthreads", 't', "N", "times so many: nccl-tests' threads" },
          WITHIN(read_number, threads, 1, OPTION_GPUS_MAX) },
        { { "agg-iters", 'm', "N", "operations that start as one group (1)" },
          WITHIN(read_number, aggregate, 1, 4096) },
        { { "run-cycles", 'N', "N", "measure all sizes so many times (1); 0: for ever" },
          WITHIN(read_number, cycles, 0, 1000000) },
        { { "average", 'a', "0-3", "time shown: 0 of process 0, 1 mean, 2 least, 3 most (1)",
                          COMPLETE_CHOICES, "0 1 2 3" },
          WITHIN(read_number, average, 0, 3) },
        { { "per-iter-timing", 'I', "0-1", "least, most, 99th percentile and deviation (0)",
                          COMPLETE_CHOICES, "0 1" },
          WITHIN(read_number, per_iteration, 0, 1) },
        { { "per-iter-skip", 'K', "N", "leave the first N iterations out of -I (0)" },
          WITHIN(read_number, skip_iterations, 0, 1000000) },
        { { "parallel-init", 'p', "0-1", "taken: all GPUs are set up at once anyway",
                          COMPLETE_CHOICES, "0 1" },
          WITHIN(read_number, parallel_init, 0, 1) },
        { { "blocking", 'z', "0-3", "wait: 1 and meet, 2 after each; 3 and meet after each -m (0)",
                          COMPLETE_CHOICES, "0 1 2 3" },
          WITHIN(read_number, blocking, 0, 3) },
        { { "cudagraph", 'G', "N", "replay the iterations N times as a CUDA graph (0)" },
          WITHIN(read_number, graphs, 0, 1000000) },
        { { "local-register", 'R', "0-2", "register buffers: 1 locally, 2 symmetrically (0)",
                          COMPLETE_CHOICES, "0 1 2" },
          WITHIN(read_number, registration, 0, 2) },
        { { "stream-null", 'y', "0-1", "run on CUDA's default stream (0)", COMPLETE_CHOICES, "0 1" },
          WITHIN(read_number, null_stream, 0, 1) },
        { { "unalign", 'u', "N", "begin at element N of the buffers (0)" },
          WITHIN(read_number, unalign, 0, 4096) },
        { { "report-cputime", 'C', "0-1", "show what starting an operation takes the processor (0)",
                          COMPLETE_CHOICES, "0 1" },
          WITHIN(read_number, cpu_time, 0, 1) },
        { { "report-timestamps", 'S', "0-1", "the time of day behind each line (0)",
                          COMPLETE_CHOICES, "0 1" },
          WITHIN(read_number, timestamps, 0, 1) },
        { { "device-implementation", 'D', "0", "0 alone: kernels of NCCL's device API are not here",
                          COMPLETE_CHOICES, "0" },
          .read = read_device_kernels },
        { { "device-cta-count", 'V', "N", "taken: of -D's kernels, which are not here" },
          WITHIN(read_number, cta_count, 1, 128) },
        { { "cta-policy", 'x', "0-2", "not here: NCCL's choice", COMPLETE_CHOICES, "0 1 2" },
          .read = read_policy },
        { { "memory", 'M', "0", "0 alone: nvidia-smi tells what memory is used", COMPLETE_CHOICES, "0" },
          .read = read_memory_report },
        { { "check", 'c', "N", "checks of all elements a size (1); 0: none" },
          WITHIN(read_number, checks, 0, 1000000) },
        { { "op", 'o', "OP", "sum, prod, min, max, avg or all (sum)",
            COMPLETE_CHOICES, "sum prod min max avg all" },
          .read = read_op },
        { { "datatype", 'd', "TYPE", "int8 … uint64, half, float, double, bfloat16, f8e4m3, f8e5m2 or all (float)",
            COMPLETE_CHOICES, "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 all" },
          .read = read_type },
        { { "root", 'r', "RANK", "of broadcast, reduce, gather and scatter, or all (0)" },
          WITHIN(read_root, root, 0, 1000000) },
        { { "timeout", 'T', "SECONDS", "limit of the whole run (600; pairs: of one pair, 60)" },
          WITHIN(read_real, timeout, 0.1, 1e6) },
        { { "init-timeout", 0, "SECONDS", "limit of getting all ranks connected (60)" },
          WITHIN(read_real, init_timeout, 0.1, 1e6) },
        { { "expect", 0, "SIZE:GBPS", "fail unless the row of SIZE has this busbw; may be repeated",
                          .repeats = true },
          .read = read_expect },
        { { "devices", 0, "I,J…", "CUDA devices of this process, in rank order" },
          .read = read_devices },
        { { "json", 0, NULL, "the report as JSON on standard output, instead of the table" },
          INTO(read_flag, json) },
        { { "output-file", 'J', "FILE", "the report as JSON in FILE, beside the table",
                          COMPLETE_FILE },
          INTO(read_output_file, json_path) },
        { { "rank", 0, "N", "this process's number, 0 …" }, WITHIN(read_number, rank, 0, 1000000) },
        { { "world-size", 0, "N", "number of processes" }, WITHIN(read_number, world, 1, 1000000) },
        { { "local-rank", 0, "N", "this process's number on its host (rank)" },
          WITHIN(read_number, local_rank, 0, 1000000) },
        { { "master", 0, "HOST:PORT", "where process 0 listens" }, INTO(read_master, master) },
        { { "secret-file", 0, "FILE", "the processes' shared secret (or $NCCLBENCH_SECRET)",
                          COMPLETE_FILE },
          INTO(read_text, secret_file) },
        { { "cuda-library", 0, "FILE", "instead of libcuda.so.1", COMPLETE_FILE },
          INTO(read_text, cuda_library) },
        { { "nccl-library", 0, "FILE", "instead of libnccl.so.2", COMPLETE_FILE },
          INTO(read_text, nccl_library) },
        { { "corrupt", 0, "RANK:I",
                          "spoil element I of a rank before each check: it must be found" },
          .read = read_corrupt },
        { { "seconds", 0, "SECONDS", "load: how long memory and tensor cores are busy, each (1)" },
          WITHIN(read_real, seconds, 0.01, 1e5) },
        { { "matrix", 0, "N", "load: rows of the matrices, a multiple of 128 (8192)" },
          WITHIN(read_number, matrix, 128, 32768) },
        { { "required", 0, NULL, "runtime: fail where no CUDA runtime is installed" },
          INTO(read_flag, required) },
        { { "tree", 0, "FOLDER", "runtime: look through this tree", COMPLETE_FILE },
          INTO(read_text, tree) },
        { { "rounds", 0, "N", "pairs: how many partners each node gets (1)" },
          WITHIN(read_number, rounds, 1, 1000) },
        { { "below-median", 0, "PERCENT", "pairs: suspect below the median by this (15)" },
          WITHIN(read_real, below_median, 0, 100) },
        { { "limits", 0, "FILE", "pairs: the limit of two nodes (/run/firstboot/pairs.json)",
                          COMPLETE_FILE },
          INTO(read_text, limits) },
        { { "completion", 0, "SHELL", "print the completion script for bash or zsh",
                          COMPLETE_CHOICES, "bash zsh" },
          INTO(read_shell, completion) },
        { { "help", 'h', NULL, "this text" }, INTO(read_flag, help) },
        { { "version", 0, NULL, "the version" }, INTO(read_flag, version) },
};
/* clang-format on */

const size_t option_count = ELEMENTSOF(option_table);

int option_id(const OptionInfo *info) {
        return info->spec.id != 0 ? info->spec.id : 0x100 + (int) (info - option_table);
}

const OptionInfo *option_find(int id) {
        for (size_t i = 0; i < option_count; i++)
                if (option_id(&option_table[i]) == id)
                        return &option_table[i];
        return NULL;
}
