/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the command line by option-table.c's table, fills in what was not given, and refuses what
 * contradicts itself. */

#include "ncclbench/option-table.h"
#include "ncclbench/values.h"
#include "shared/strv.h"
#include "shared/suggest.h"

#include <getopt.h>

#define DEFAULT_BYTES ((size_t) 32 << 20)
#define DEFAULT_PAIRS_BYTES ((size_t) 256 << 20) /* large enough for a network to reach its speed */
#define DEFAULT_LOAD_BYTES ((size_t) 1 << 30)    /* many times what the GPU's caches hold */
#define DEFAULT_MATRIX 8192
#define DEFAULT_TIMEOUT 600
#define NO_TIMEOUT 1e6 /* seconds: nccl-tests has none, unless asked for */
#define DEFAULT_PAIRS_TIMEOUT 60

size_t options_next_size(const Options *o, size_t bytes) {
        return o->step_factor > 0 ? bytes * o->step_factor : bytes + o->step_bytes;
}

/* Whether -b … -e in steps of -i or -f comes by a size. A size that is never measured would make
 * an expectation that cannot fail. */
static bool comes_by(const Options *o, size_t bytes) {
        if (bytes < o->min_bytes || bytes > o->max_bytes)
                return false;
        if (o->step_factor == 0)
                return (bytes - o->min_bytes) % o->step_bytes == 0;

        for (size_t s = o->min_bytes; s > 0 && s <= bytes; s = options_next_size(o, s))
                if (s == bytes)
                        return true;
        return false;
}

/* The first contradiction as a text for people; NULL where there is none. */
static char *find_contradiction(const Options *o) {
        if (o->min_bytes > o->max_bytes)
                return strf("-b is larger than -e");
        if (o->step_factor == 0 && o->step_bytes == 0)
                return strf("-i is 0");
        if (o->step_factor > 0 && o->min_bytes == 0)
                return strf("-f needs -b above 0");
        if (o->graphs > 0 && o->blocking == 3)
                return strf("-z 3 and -G exclude each other");
        if (o->graphs > 0 && o->per_iteration)
                return strf("-I and -G exclude each other");
        if (o->graphs > 0 && o->null_stream)
                return strf("-y and -G exclude each other: CUDA cannot capture its default stream");
        if (o->skip_iterations >= o->iterations)
                return strf("-K leaves no iteration: -n is %u", o->iterations);
        if (o->aggregate > 1 && o->collective && o->collective->steps)
                return strf("%s has steps that wait for each other: -m must be 1",
                                o->collective->name);

        if (o->gpus > OPTION_GPUS_MAX)
                return strf("-t times -g is %u GPUs; %d are the most of one process", o->gpus,
                                OPTION_GPUS_MAX);
        if (o->n_devices > 0 && o->gpus > 0 && o->gpus != o->n_devices)
                return strf("-g says %u GPUs, --devices has %u", o->gpus, o->n_devices);

        if (o->pairs && o->min_bytes != o->max_bytes)
                return strf("pairs measures one size: -b and -e must be equal");
        if (o->pairs && (!o->collective || o->type < 0 || o->op < 0))
                return strf("pairs measures one type and reduction, not all");

        if (o->matrix % 128 != 0)
                return strf("--matrix must be a multiple of 128");
        if (o->corrupt_rank >= 0 && o->checks == 0)
                return strf("--corrupt needs a check (-c 1)");

        for (unsigned i = 0; i < o->n_expect; i++)
                if (!comes_by(o, o->expect[i].bytes))
                        return strf("--expect: %zu bytes is none of the sizes measured",
                                        o->expect[i].bytes);
        return NULL;
}

/* nccl-tests writes --warmup_iters; take its underscores. */
static void underscores_to_dashes(int argc, char *argv[]) {
        for (int i = 1; i < argc; i++)
                for (char *p = argv[i]; startswith(argv[i], "--") && *p && *p != '='; p++)
                        if (*p == '_')
                                *p = '-';
}

static int read_options(int argc, char *argv[], Options *o, char **ret_error) {
        struct option longs[OPTION_COUNT_MAX + 1] = {};
        char shorts[2 * OPTION_COUNT_MAX + 2] = ":", *end = shorts + 1;
        int c;

        for (size_t i = 0; i < option_count; i++) {
                const OptionSpec *s = &option_table[i].spec;

                longs[i] = (struct option) {
                        .name = s->name,
                        .has_arg = s->argument ? required_argument : no_argument,
                        .val = option_id(&option_table[i]),
                };
                if (!s->id)
                        continue;
                *end++ = (char) s->id;
                if (s->argument)
                        *end++ = ':';
        }

        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
                const OptionInfo *info = option_find(c);

                if (!info) {
                        *ret_error = c == ':' ? strf("%s needs an argument", argv[optind - 1])
                                              : strf("unknown option %s", argv[optind - 1]);
                        return -EINVAL;
                }
                if (info->read(o, info, optarg) < 0) {
                        if (o->not_here) {
                                *ret_error = strdup(o->not_here);
                                return -EINVAL;
                        }
                        *ret_error = strf("--%s: '%s' is not %s", info->spec.name, optarg,
                                        info->spec.argument);
                        return -EINVAL;
                }
        }
        return 0;
}

/* Called as all_reduce_perf or one of its sisters, perhaps with more behind (all_reduce_perf_mpi):
 * then that is the operation, with nccl-tests' defaults. */
static void read_name(const char *path, Options *o) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
                   *perf = strstr(name, "_perf");
        char operation[32];

        if (!perf || (perf[5] && perf[5] != '_') || (size_t) (perf - name) >= sizeof(operation))
                return;
        memcpy(operation, name, (size_t) (perf - name));
        operation[perf - name] = '\0';
        o->collective = collective_find(operation);
        if (!o->collective) {
                o->collective = collective_find("all_reduce");
                return;
        }
        o->perf = name;
}

/* nccl-tests' variables. */
static int read_perf_environment(Options *o, char **ret_error) {
        const char *split = getenv("NCCL_TESTS_SPLIT"), *mask = getenv("NCCL_TESTS_SPLIT_MASK"),
                   *matrix = getenv("NCCL_TESTS_ALLTOALLV_MATRIX_FILE"),
                   *spread = getenv("NCCL_TESTS_ALLTOALLV_SPREAD"),
                   *device = getenv("NCCL_TESTS_DEVICE"), *least = getenv("NCCL_TESTS_MIN_BW");
        unsigned long first;

        if (split || mask || matrix || spread) {
                *ret_error = strf("$%s is not known to ncclbench",
                                split    ? "NCCL_TESTS_SPLIT"
                                : mask   ? "NCCL_TESTS_SPLIT_MASK"
                                : matrix ? "NCCL_TESTS_ALLTOALLV_MATRIX_FILE"
                                         : "NCCL_TESTS_ALLTOALLV_SPREAD");
                return -EINVAL;
        }
        if (least && parse_real(least, 0, 1e6, &o->min_average) < 0) {
                *ret_error = strf("$NCCL_TESTS_MIN_BW is '%s', not a number", least);
                return -EINVAL;
        }
        if (!device || o->n_devices > 0)
                return 0;
        if (parse_in_range(device, 0, 4095, &first) < 0) {
                *ret_error = strf("$NCCL_TESTS_DEVICE is '%s', not a number", device);
                return -EINVAL;
        }
        for (unsigned i = 0; i < o->gpus; i++)
                o->devices[o->n_devices++] = (int) (first + i);
        return 0;
}

/* What an operation that is none may have meant. */
static char *unknown_operation(const char *word) {
        static const char *const others[] = { "all", "pairs", "load", "runtime" };
        _cleanup_strv_free_ char **known = NULL;
        _cleanup_free_ char *hint = NULL;

        for (size_t i = 0; i < collective_count + ELEMENTSOF(others); i++)
                if (strv_extend(&known, i < collective_count ? collective_table[i].name
                                                             : others[i - collective_count]) < 0)
                        return NULL;
        hint = suggest_text(word, known);
        return strf("unknown operation %s%s", word, strempty(hint));
}

/* What stands beside the options: an operation, or "pairs". */
static int read_operation(int argc, char *argv[], Options *o, char **ret_error) {
        if (o->perf && argc > 0) {
                *ret_error = strf("%s takes options alone: %s", o->perf, argv[0]);
                return -EINVAL;
        }
        if (argc > 1) {
                *ret_error = strf("one operation at a time: %s %s", argv[0], argv[1]);
                return -EINVAL;
        }
        if (argc == 0)
                return 0;

        o->pairs = streq(argv[0], "pairs");
        o->load = streq(argv[0], "load");
        o->runtime = streq(argv[0], "runtime");
        if (o->pairs || o->load || o->runtime)
                return 0;
        o->collective = collective_find(argv[0]);
        if (!o->collective && !streq(argv[0], "all")) {
                *ret_error = unknown_operation(argv[0]);
                return -EINVAL;
        }
        return 0;
}

/* The defaults that depend on what else was given. */
static void fill_in(Options *o) {
        size_t usual = o->pairs  ? DEFAULT_PAIRS_BYTES
                       : o->load ? DEFAULT_LOAD_BYTES
                                 : DEFAULT_BYTES;

        o->sized = o->min_bytes != SIZE_MAX || o->max_bytes != SIZE_MAX;
        if (o->min_bytes == SIZE_MAX && o->max_bytes == SIZE_MAX)
                o->min_bytes = usual;
        else if (o->min_bytes == SIZE_MAX)
                o->min_bytes = MIN(o->max_bytes, DEFAULT_BYTES);
        if (o->max_bytes == SIZE_MAX)
                o->max_bytes = MAX(o->min_bytes, usual);
        if (o->perf) {
                o->threads = MAX(o->threads, 1u);
                o->gpus_each = MAX(o->gpus_each, 1u);
        }
        if (o->threads > 0 || o->gpus_each > 0)
                o->gpus = MAX(o->threads, 1u) * MAX(o->gpus_each, 1u);
        if (o->perf) {
                o->row_timeout = o->timeout;
                o->timeout = NO_TIMEOUT;
        }
        if (o->timeout == 0)
                o->timeout = o->pairs ? DEFAULT_PAIRS_TIMEOUT : DEFAULT_TIMEOUT;
}

int options_parse(int argc, char *argv[], Options *ret, char **ret_error) {
        Options o = {
                .collective = collective_find("all_reduce"),
                .min_bytes = SIZE_MAX,
                .max_bytes = SIZE_MAX,
                .step_bytes = 1 << 20,
                .iterations = 20,
                .warmup = 1,
                .checks = 1,
                .type = TYPE_FLOAT,
                .op = OP_SUM,
                .init_timeout = 60,
                .rank = -1,
                .world = -1,
                .local_rank = -1,
                .cuda_library = "libcuda.so.1",
                .nccl_library = "libnccl.so.2",
                .corrupt_rank = -1,
                .rounds = 1,
                .below_median = 15,
                .seconds = 1,
                .aggregate = 1,
                .average = 1,
                .cycles = 1,
                .matrix = DEFAULT_MATRIX,
        };
        int r;

        *ret_error = NULL;
        if (argc > 0)
                read_name(argv[0], &o);
        underscores_to_dashes(argc, argv);
        r = read_options(argc, argv, &o, ret_error);
        if (r < 0)
                return r;
        r = read_operation(argc - optind, argv + optind, &o, ret_error);
        if (r < 0)
                return r;

        fill_in(&o);
        r = o.perf ? read_perf_environment(&o, ret_error) : 0;
        if (r < 0)
                return r;
        *ret_error = find_contradiction(&o);
        if (*ret_error)
                return -EINVAL;
        *ret = o;
        return 0;
}
