/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "example.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void example_fail(const Example *e, const char *format, ...) {
        char text[1024];
        va_list list;

        va_start(list, format);
        vsnprintf(text, sizeof(text), format, list);
        va_end(list);
        fprintf(stderr, "%s: %s\n", e->name, text);
        if (e->give_up)
                e->give_up();
        exit(EXIT_FAILURE);
}

void example_cuda(const Example *e, cudaError_t error, const char *what) {
        if (error != cudaSuccess)
                example_fail(e, "CUDA: %s: %s", what, cudaGetErrorString(error));
}

void example_nccl(const Example *e, ncclResult_t result, const char *what) {
        if (result != ncclSuccess)
                example_fail(e, "NCCL: %s: %s. %s", what, ncclGetErrorString(result),
                                ncclGetLastError(NULL));
}

static void show_help(const Example *e) {
        printf("%s [OPTION…]\n\n%s\n\n"
               "  -g GPUS      GPUs of each process (all)\n"
               "  -n ELEMENTS  numbers to add up (4194304)\n"
               "  -t SECONDS   end with an error after so long; 0: never (300)\n"
               "  -h, --help   this text\n\n"
               "The sum is compared with the right one on the host. Exit code 0: it is right;\n"
               "1: it is not, or something failed; 2: the command line is wrong.\n",
                        e->name, e->text);
}

static unsigned long number(const Example *e, const char *text, unsigned long max) {
        char *end;
        unsigned long v;

        errno = 0;
        v = strtoul(text, &end, 10);
        if (errno != 0 || end == text || *end || *text == '-' || v > max) {
                fprintf(stderr, "%s: \"%s\" is no number from 0 to %lu\n", e->name, text, max);
                exit(2);
        }
        return v;
}

/* Collectives wait for one another without end: a process that died elsewhere is noticed by nobody
 * else. */
static void too_late(int signal_number) {
        static const char text[] =
                        "no end in the time of -t: a process is dead or hangs, or the network between the hosts is shut\n";

        (void) signal_number;
        (void) !write(STDERR_FILENO, text, sizeof(text) - 1);
        _exit(EXIT_FAILURE);
}

void example_options(Example *e, int argc, char *argv[]) {
        static const struct option long_options[] = { { "help", no_argument, NULL, 'h' }, {} };

        e->elements = 4194304;
        e->seconds = 300;
        for (int o; (o = getopt_long(argc, argv, "g:n:t:h", long_options, NULL)) >= 0;)
                switch (o) {
                case 'g':
                        e->gpus = (int) number(e, optarg, 1024);
                        break;
                case 'n':
                        e->elements = number(e, optarg, 1ul << 36);
                        break;
                case 't':
                        e->seconds = (unsigned) number(e, optarg, 1000000);
                        break;
                case 'h':
                        show_help(e);
                        exit(EXIT_SUCCESS);
                default:
                        exit(2);
                }
        if (optind < argc || e->elements == 0) {
                fprintf(stderr, "%s: %s. --help says what there is\n", e->name,
                                optind < argc ? "it takes options alone" : "nothing to add up");
                exit(2);
        }
        signal(SIGALRM, too_late);
        alarm(e->seconds);
}

int example_count(const Example *e) {
        int n = 0;
        cudaError_t error = cudaGetDeviceCount(&n);

        if (error != cudaSuccess || n < 1)
                example_fail(e, "there is no GPU here: %s",
                                error != cudaSuccess ? cudaGetErrorString(error) : "none is shown");
        if (e->gpus > n)
                example_fail(e, "-g %d, and there are %d GPUs here", e->gpus, n);
        return n;
}

/* Rank r sends (r + 1) × (1, 2, … 1000, 1, 2, …): another rank's numbers, or another place's, give
 * another sum. */
static int64_t element(size_t i) {
        return (int64_t) (i % 1000) + 1;
}

static void fill(const Example *e, const Gpu *g) {
        size_t size = e->elements * sizeof(int64_t);
        int64_t *data = malloc(size);

        if (!data)
                example_fail(e, "no memory for %zu bytes", size);
        for (size_t i = 0; i < e->elements; i++)
                data[i] = (g->rank + 1) * element(i);
        CUDA(e, cudaMemcpy(g->send, data, size, cudaMemcpyHostToDevice));
        /* What no sum is: a result that nobody wrote does not pass. */
        memset(data, 0xff, size);
        CUDA(e, cudaMemcpy(g->receive, data, size, cudaMemcpyHostToDevice));
        free(data);
}

/* devices are first_device and those after it, in a circle of `count`. */
Gpu *gpus_new(const Example *e, int first_device, int count) {
        Gpu *gpus = calloc((size_t) e->gpus, sizeof(*gpus));
        size_t size = e->elements * sizeof(int64_t);

        if (!gpus)
                example_fail(e, "no memory");
        for (int i = 0; i < e->gpus; i++) {
                gpus[i].device = (first_device + i) % count;
                CUDA(e, cudaSetDevice(gpus[i].device));
                CUDA(e, cudaMalloc((void **) &gpus[i].send, size));
                CUDA(e, cudaMalloc((void **) &gpus[i].receive, size));
                CUDA(e, cudaStreamCreate(&gpus[i].stream));
        }
        return gpus;
}

void gpus_sum(const Example *e, Gpu *gpus) {
        for (int i = 0; i < e->gpus; i++) {
                CUDA(e, cudaSetDevice(gpus[i].device));
                fill(e, gpus + i);
        }

        /* Between start and end nothing waits: one thread's calls for several GPUs would wait for
         * each other. */
        NCCL(e, ncclGroupStart());
        for (int i = 0; i < e->gpus; i++)
                NCCL(e, ncclAllReduce(gpus[i].send, gpus[i].receive, e->elements, ncclInt64,
                                        ncclSum, gpus[i].comm, gpus[i].stream));
        NCCL(e, ncclGroupEnd());

        for (int i = 0; i < e->gpus; i++) {
                CUDA(e, cudaSetDevice(gpus[i].device));
                CUDA(e, cudaStreamSynchronize(gpus[i].stream));
        }
}

static uint64_t count_wrong(const Example *e, const Gpu *g, const int64_t *data) {
        int64_t sum = (int64_t) e->ranks * (e->ranks + 1) / 2;
        uint64_t wrong = 0;

        for (size_t i = 0; i < e->elements; i++) {
                if (data[i] == sum * element(i))
                        continue;
                if (wrong++ == 0)
                        fprintf(stderr,
                                        "%s: rank %d, GPU %d: element %zu is %" PRId64
                                        ", not %" PRId64 "\n",
                                        e->name, g->rank, g->device, i, data[i], sum * element(i));
        }
        return wrong;
}

uint64_t gpus_wrong(const Example *e, const Gpu *gpus) {
        size_t size = e->elements * sizeof(int64_t);
        int64_t *data = malloc(size);
        uint64_t wrong = 0;

        if (!data)
                example_fail(e, "no memory for %zu bytes", size);
        for (int i = 0; i < e->gpus; i++) {
                CUDA(e, cudaSetDevice(gpus[i].device));
                CUDA(e, cudaMemcpy(data, gpus[i].receive, size, cudaMemcpyDeviceToHost));
                wrong += count_wrong(e, gpus + i, data);
        }
        free(data);
        return wrong;
}

void gpus_free(const Example *e, Gpu *gpus) {
        for (int i = 0; i < e->gpus; i++) {
                CUDA(e, cudaSetDevice(gpus[i].device));
                CUDA(e, cudaFree(gpus[i].send));
                CUDA(e, cudaFree(gpus[i].receive));
                CUDA(e, cudaStreamDestroy(gpus[i].stream));
                NCCL(e, ncclCommDestroy(gpus[i].comm));
        }
        free(gpus);
}
