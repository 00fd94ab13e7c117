/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/options.h"
#include "shared/strv.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>

#define DEFAULT_BYTES ((size_t) 32 << 20)
#define DEFAULT_PAIRS_BYTES \
        ((size_t) 256 << 20) /* large enough for a network to reach its speed \ */
#define DEFAULT_TIMEOUT 600
#define DEFAULT_PAIRS_TIMEOUT 60

enum {
        ARG_JSON = 0x100,
        ARG_EXPECT,
        ARG_DEVICES,
        ARG_INIT_TIMEOUT,
        ARG_RANK,
        ARG_WORLD_SIZE,
        ARG_LOCAL_RANK,
        ARG_MASTER,
        ARG_SECRET_FILE,
        ARG_CUDA_LIBRARY,
        ARG_NCCL_LIBRARY,
        ARG_CORRUPT,
        ARG_ROUNDS,
        ARG_BELOW_MEDIAN,
        ARG_VERSION,
};

/* One table for getopt, the help text and the test that the manual page knows every option. */
static const struct {
        const char *name;
        int value; /* a letter is the short form */
        const char *argument;
        const char *text;
} option_table[] = {
        { "minbytes", 'b', "SIZE", "smallest size (32M; pairs 256M); K, M, G: powers of 1024" },
        { "maxbytes", 'e', "SIZE", "largest size (32M; pairs 256M)" },
        { "stepbytes", 'i', "SIZE", "fixed step between sizes (1M)" },
        { "stepfactor", 'f', "N", "factor between sizes, instead of -i" },
        { "iters", 'n', "N", "timed operations a size (20)" },
        { "warmup-iters", 'w', "N", "operations before the timing (1)" },
        { "ngpus", 'g', "N", "GPUs of this process (all; 1 where there are several processes)" },
        { "check", 'c', "N", "checks of all elements a size (1); 0: none" },
        { "op", 'o', "OP", "sum, prod, min, max, avg or all (sum)" },
        { "datatype", 'd', "TYPE",
                        "int8 … uint64, half, float, double, bfloat16, f8e4m3, f8e5m2 or all (float)" },
        { "root", 'r', "RANK", "of broadcast and reduce (0)" },
        { "timeout", 'T', "SECONDS", "limit of the whole run (600; pairs: of one pair, 60)" },
        { "init-timeout", ARG_INIT_TIMEOUT, "SECONDS",
                        "limit of getting all ranks connected (60)" },
        { "expect", ARG_EXPECT, "SIZE:GBPS",
                        "fail unless the row of SIZE has this busbw; may be repeated" },
        { "devices", ARG_DEVICES, "I,J…", "CUDA devices of this process, in rank order" },
        { "json", ARG_JSON, NULL, "the report as JSON on standard output, instead of the table" },
        { "output-file", 'J', "FILE", "the report as JSON in FILE, beside the table" },
        { "rank", ARG_RANK, "N", "this process's number, 0 …" },
        { "world-size", ARG_WORLD_SIZE, "N", "number of processes" },
        { "local-rank", ARG_LOCAL_RANK, "N", "this process's number on its host (rank)" },
        { "master", ARG_MASTER, "HOST:PORT", "where process 0 listens" },
        { "secret-file", ARG_SECRET_FILE, "FILE",
                        "the processes' shared secret (or $NCCLBENCH_SECRET)" },
        { "cuda-library", ARG_CUDA_LIBRARY, "FILE", "instead of libcuda.so.1" },
        { "nccl-library", ARG_NCCL_LIBRARY, "FILE", "instead of libnccl.so.2" },
        { "corrupt", ARG_CORRUPT, "RANK:I",
                        "spoil element I of a rank before each check: it must be found" },
        { "rounds", ARG_ROUNDS, "N", "pairs: how many partners each node gets (1)" },
        { "below-median", ARG_BELOW_MEDIAN, "PERCENT",
                        "pairs: suspect below the median by this (15)" },
        { "help", 'h', NULL, "this text" },
        { "version", ARG_VERSION, NULL, "the version" },
};

static bool is_short(int value) {
        return value < 0x100;
}

void options_help(FILE *f) {
        fprintf(f, "ncclbench [OPERATION] [OPTIONS]\n"
                   "ncclbench pairs [OPTIONS]        under srun, one task a node: which node is bad?\n\n"
                   "Measures and checks NCCL operations over the GPUs of this host or of many.\n"
                   "OPERATION: all_reduce (default)");
        for (size_t i = 1; i < collective_count; i++)
                fprintf(f, ", %s", collective_table[i].name);
        fprintf(f, " or all\n\n");
        for (size_t i = 0; i < ELEMENTSOF(option_table); i++) {
                char left[40];

                snprintf(left, sizeof(left), "%c%c%c --%s%s%s",
                                is_short(option_table[i].value) ? '-' : ' ',
                                is_short(option_table[i].value) ? option_table[i].value : ' ',
                                is_short(option_table[i].value) ? ',' : ' ', option_table[i].name,
                                option_table[i].argument ? "=" : "",
                                strempty(option_table[i].argument));
                fprintf(f, "  %-30s %s\n", left, option_table[i].text);
        }
        fprintf(f, "\n"
                   "Exit status: 0 all is well, 1 something is wrong (the last line has the reason), 2 usage.\n");
}

int parse_bytes(const char *text, size_t *ret) {
        static const char units[] = "KMGT";
        char *end;
        double v;
        int shift = 0;

        if (text[0] < '0' || text[0] > '9' || strpbrk(text, "xX"))
                return -EINVAL;
        errno = 0;
        v = strtod(text, &end);
        if (*end) {
                const char *u = strchr(units, *end & ~0x20);

                if (!u || !*u)
                        return -EINVAL;
                shift = 10 * (int) (u - units + 1);
                end++;
                /* "1GiB" and "1GB" are read as nccl-tests' users mean them. */
                if (*end == 'i')
                        end++;
                if (*end == 'B')
                        end++;
        }
        if (*end)
                return -EINVAL;
        v = ldexp(v, shift);
        if (!(v < 0x1p62))
                return -ERANGE;
        if (v != floor(v))
                return -EINVAL;
        *ret = (size_t) v;
        return 0;
}

static int parse_number(
                const char *text, unsigned long min, unsigned long max, unsigned long *ret) {
        char *end;

        if (text[0] < '0' || text[0] > '9')
                return -EINVAL;
        errno = 0;
        unsigned long v = strtoul(text, &end, 10);
        if (errno || *end || v < min || v > max)
                return -EINVAL;
        *ret = v;
        return 0;
}

static int parse_real(const char *text, double min, double max, double *ret) {
        char *end;
        double v;

        if (text[0] < '0' || text[0] > '9')
                return -EINVAL;
        v = strtod(text, &end);
        if (*end || !(v >= min && v <= max))
                return -EINVAL;
        *ret = v;
        return 0;
}

static int parse_expect(Options *o, const char *text) {
        const char *colon = strchr(text, ':');
        Expectation e;
        char size[32];

        if (!colon || (size_t) (colon - text) >= sizeof(size) ||
                        o->n_expect == ELEMENTSOF(o->expect))
                return -EINVAL;
        memcpy(size, text, (size_t) (colon - text));
        size[colon - text] = '\0';
        if (parse_bytes(size, &e.bytes) < 0 || parse_real(colon + 1, 1e-6, 1e6, &e.busbw) < 0)
                return -EINVAL;
        o->expect[o->n_expect++] = e;
        return 0;
}

static int parse_devices(Options *o, const char *text) {
        _cleanup_strv_free_ char **parts = strv_split(text, ",");
        unsigned long v;

        o->n_devices = 0;
        if (!parts)
                return -EINVAL;
        STRV_FOREACH (p, parts) {
                if (o->n_devices == OPTION_GPUS_MAX || parse_number(*p, 0, 4095, &v) < 0)
                        return -EINVAL;
                for (unsigned i = 0; i < o->n_devices; i++)
                        if (o->devices[i] == (int) v)
                                return -EINVAL;
                o->devices[o->n_devices++] = (int) v;
        }
        return o->n_devices > 0 ? 0 : -EINVAL;
}

static int parse_corrupt(Options *o, const char *text) {
        unsigned long rank, element;
        const char *colon = strchr(text, ':');
        char first[16];

        if (!colon || (size_t) (colon - text) >= sizeof(first))
                return -EINVAL;
        memcpy(first, text, (size_t) (colon - text));
        first[colon - text] = '\0';
        if (parse_number(first, 0, 1000000, &rank) < 0 ||
                        parse_number(colon + 1, 0, LONG_MAX, &element) < 0)
                return -EINVAL;
        o->corrupt_rank = (int) rank;
        o->corrupt_element = element;
        return 0;
}

/* Sets a number option where `text` is one; the caller reports -EINVAL with the option's name. */
#define NUMBER(field, min, max)                                   \
        ({                                                        \
                unsigned long _v = 0;                             \
                int _r = parse_number(optarg, (min), (max), &_v); \
                if (_r >= 0)                                      \
                        (field) = (__typeof__(field)) _v;         \
                _r;                                               \
        })

static int apply(Options *o, int value) {
        switch (value) {
        case 'b':
                return parse_bytes(optarg, &o->min_bytes);
        case 'e':
                return parse_bytes(optarg, &o->max_bytes);
        case 'i':
                return parse_bytes(optarg, &o->step_bytes);
        case 'f':
                return NUMBER(o->step_factor, 2, 1u << 30);
        case 'n':
                return NUMBER(o->iterations, 1, 1000000);
        case 'w':
                return NUMBER(o->warmup, 0, 1000000);
        case 'g':
                return NUMBER(o->gpus, 1, OPTION_GPUS_MAX);
        case 'c':
                return NUMBER(o->checks, 0, 1000000);
        case 'o':
                return streq(optarg, "all") ? (o->op = -1, 0) : op_from_name(optarg, &o->op);
        case 'd':
                return streq(optarg, "all") ? (o->type = -1, 0) : type_from_name(optarg, &o->type);
        case 'r':
                return NUMBER(o->root, 0, 1000000);
        case 'T':
                return parse_real(optarg, 0.1, 1e6, &o->timeout);
        case 'J':
                o->json_path = optarg;
                return isempty(optarg) ? -EINVAL : 0;
        case 'h':
                o->help = true;
                return 0;
        case ARG_JSON:
                o->json = true;
                return 0;
        case ARG_EXPECT:
                return parse_expect(o, optarg);
        case ARG_DEVICES:
                return parse_devices(o, optarg);
        case ARG_INIT_TIMEOUT:
                return parse_real(optarg, 0.1, 1e6, &o->init_timeout);
        case ARG_RANK:
                return NUMBER(o->rank, 0, 1000000);
        case ARG_WORLD_SIZE:
                return NUMBER(o->world, 1, 1000000);
        case ARG_LOCAL_RANK:
                return NUMBER(o->local_rank, 0, 1000000);
        case ARG_MASTER:
                o->master = optarg;
                return strrchr(optarg, ':') ? 0 : -EINVAL;
        case ARG_SECRET_FILE:
                o->secret_file = optarg;
                return 0;
        case ARG_CUDA_LIBRARY:
                o->cuda_library = optarg;
                return 0;
        case ARG_NCCL_LIBRARY:
                o->nccl_library = optarg;
                return 0;
        case ARG_CORRUPT:
                return parse_corrupt(o, optarg);
        case ARG_ROUNDS:
                return NUMBER(o->rounds, 1, 1000);
        case ARG_BELOW_MEDIAN:
                return parse_real(optarg, 0, 100, &o->below_median);
        case ARG_VERSION:
                o->version = true;
                return 0;
        default:
                return -EINVAL;
        }
}

/* Whether -b … -e in steps of -i or -f comes by a size. A size that is never measured would make
 * an expectation that cannot fail. */
static bool comes_by(const Options *o, size_t bytes) {
        if (bytes < o->min_bytes || bytes > o->max_bytes)
                return false;
        if (o->step_factor == 0)
                return (bytes - o->min_bytes) % o->step_bytes == 0;
        for (size_t s = o->min_bytes; s <= bytes; s *= o->step_factor) {
                if (s == bytes)
                        return true;
                if (s == 0)
                        return false;
        }
        return false;
}

static int validate(const Options *o, char **ret_error) {
        if (o->min_bytes > o->max_bytes)
                *ret_error = strf("-b is larger than -e");
        else if (o->step_factor == 0 && o->step_bytes == 0)
                *ret_error = strf("-i is 0");
        else if (o->step_factor > 0 && o->min_bytes == 0)
                *ret_error = strf("-f needs -b above 0");
        else if (o->n_devices > 0 && o->gpus > 0 && o->gpus != o->n_devices)
                *ret_error = strf("-g says %u GPUs, --devices has %u", o->gpus, o->n_devices);
        else if (o->pairs && o->min_bytes != o->max_bytes)
                *ret_error = strf("pairs measures one size: -b and -e must be equal");
        else if (o->pairs && (!o->collective || o->type < 0 || o->op < 0))
                *ret_error = strf("pairs measures one type and reduction, not all");
        else if (o->corrupt_rank >= 0 && o->checks == 0)
                *ret_error = strf("--corrupt needs a check (-c 1)");
        else
                for (unsigned i = 0; i < o->n_expect; i++)
                        if (!comes_by(o, o->expect[i].bytes)) {
                                *ret_error = strf(
                                                "--expect: %zu bytes is none of the sizes measured",
                                                o->expect[i].bytes);
                                break;
                        }
        return *ret_error ? -EINVAL : 0;
}

int options_parse(int argc, char *argv[], Options *ret, char **ret_error) {
        struct option longs[ELEMENTSOF(option_table) + 1] = {};
        char shorts[2 * ELEMENTSOF(option_table) + 3] = ":";
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
        };
        int c, index = -1;

        for (size_t i = 0; i < ELEMENTSOF(option_table); i++) {
                longs[i] = (struct option) { option_table[i].name,
                        option_table[i].argument ? required_argument : no_argument, NULL,
                        option_table[i].value };
                if (is_short(option_table[i].value)) {
                        char one[] = { (char) option_table[i].value,
                                option_table[i].argument ? ':' : '\0', '\0' };

                        strcat(shorts, one);
                }
        }
        /* nccl-tests writes --warmup_iters; take its underscores. */
        for (int i = 1; i < argc; i++)
                if (startswith(argv[i], "--"))
                        for (char *p = argv[i] + 2; *p && *p != '='; p++)
                                if (*p == '_')
                                        *p = '-';

        *ret_error = NULL;
        optind = 0;
        opterr = 0;
        while ((c = getopt_long(argc, argv, shorts, longs, &index)) >= 0) {
                if (c == ':' || c == '?') {
                        *ret_error = c == ':' ? strf("%s needs an argument", argv[optind - 1])
                                              : strf("unknown option %s", argv[optind - 1]);
                        return -EINVAL;
                }
                if (apply(&o, c) < 0) {
                        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                                if (option_table[i].value == c)
                                        *ret_error = strf("--%s: '%s' is not %s",
                                                        option_table[i].name, optarg,
                                                        option_table[i].argument);
                        return -EINVAL;
                }
        }
        if (argc - optind > 1) {
                *ret_error = strf("one operation at a time: %s %s", argv[optind], argv[optind + 1]);
                return -EINVAL;
        }
        if (optind < argc) {
                const char *verb = argv[optind];

                o.pairs = streq(verb, "pairs");
                if (!o.pairs) {
                        o.collective = collective_find(verb);
                        if (!o.collective && !streq(verb, "all")) {
                                *ret_error = strf("unknown operation %s", verb);
                                return -EINVAL;
                        }
                }
        }
        if (o.min_bytes == SIZE_MAX)
                o.min_bytes = o.max_bytes != SIZE_MAX ? MIN(o.max_bytes, DEFAULT_BYTES)
                              : o.pairs               ? DEFAULT_PAIRS_BYTES
                                                      : DEFAULT_BYTES;
        if (o.max_bytes == SIZE_MAX)
                o.max_bytes = MAX(o.min_bytes, o.pairs ? DEFAULT_PAIRS_BYTES : DEFAULT_BYTES);
        if (o.timeout == 0)
                o.timeout = o.pairs ? DEFAULT_PAIRS_TIMEOUT : DEFAULT_TIMEOUT;
        if (validate(&o, ret_error) < 0)
                return -EINVAL;
        *ret = o;
        return 0;
}
