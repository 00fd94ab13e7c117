/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the load has shown: counters that went up, clocks that stayed low, and GPUs or pairs that
 * are slower than the others of the node. */

#include "steps/gpu/judge-internal.h"
#include "steps/gpu/nvml.h"

#define CLOCK_PERCENT_HELD 40 /* of the highest clock, where power holds it down all the time */

static void judge_growth(Judge *j, int i) {
        static const struct {
                GpuCode code;
                GpuAction action;
                const char *text;
        } kinds[GPU_COUNTERS_N] = {
                [GPU_COUNT_ECC] = { GPU_CODE_ECC_ERRORS, GPU_ACTION_RESET,
                                "uncorrectable ECC errors" },
                [GPU_COUNT_SRAM] = { GPU_CODE_SRAM, GPU_ACTION_RMA,
                                "uncorrectable errors of its SRAM" },
                [GPU_COUNT_PCIE_REPLAYS] = { GPU_CODE_PCIE_ERRORS, GPU_ACTION_REBOOT,
                                "PCIe replays" },
                [GPU_COUNT_LINK_ERRORS] = { GPU_CODE_NVLINK_ERRORS, GPU_ACTION_RESET,
                                "NVLink replays and recoveries" },
                [GPU_COUNT_LINK_CRC] = { GPU_CODE_NVLINK_ERRORS, GPU_ACTION_RESET,
                                "NVLink CRC errors" },
        };

        for (size_t c = 0; c < GPU_COUNTERS_N; c++) {
                const GpuFact *before = &j->facts->load.before[i][c];
                GpuFact now = gpu_counter(&j->facts->gpus[i], c);
                int64_t limit = c == GPU_COUNT_PCIE_REPLAYS ? j->wish->pcie_replays_max
                                : c == GPU_COUNT_LINK_CRC ? judge_crc_limit(j, j->facts->load.usec)
                                                          : 0;

                /* What cannot be read is told of elsewhere. A counter that starts anew was
                 * reset. */
                if (before->state != GPU_READ || now.state != GPU_READ ||
                                now.value - before->value <= limit)
                        continue;
                finding_limit(judge_add(j, kinds[c].code, kinds[c].action, i, "%lld %s under load",
                                              (long long) (now.value - before->value),
                                              kinds[c].text),
                                now.value - before->value, limit);
        }
}

/* Clocks locked low show in no reason, but in what they reach where no reason is given. */
static void judge_clocks_load(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        bool free = gpu_fact_known(g, GPU_CLOCK_LOAD_FREE);
        GpuFactId id = free ? GPU_CLOCK_LOAD_FREE : GPU_CLOCK_LOAD;
        int64_t percent = free ? j->wish->clock_percent : CLOCK_PERCENT_HELD, max, now;

        if (!judge_may(j, i, GPU_CLOCK_MAX) || !judge_need(j, i, id))
                return;
        max = judge_value(j, i, GPU_CLOCK_MAX);
        now = judge_value(j, i, id);
        if (now * 100 >= max * percent)
                return;
        finding_limit(judge_add(j, GPU_CODE_CLOCKS_LOCKED, GPU_ACTION_CONFIG, i,
                                      "its clock reached %lld MHz of %lld under load%s",
                                      (long long) now, (long long) max,
                                      free ? ", with nothing that holds it down" : ""),
                        now, max * percent / 100);
}

void judge_load_device(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];

        if (j->facts->load.state != GPU_PHASE_DONE)
                return;
        judge_growth(j, i);
        judge_clocks_load(j, i);
        if (gpu_fact_known(g, GPU_CLOCK_REASONS_LOAD))
                judge_clock_reasons(j, i, GPU_CLOCK_REASONS_LOAD, " under load");
}

static int by_value(const void *a, const void *b) {
        const double *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

/* Of n numbers; copies them. 0 where there is none. */
static double median(const double *values, size_t n) {
        double *sorted = n > 0 ? malloc(n * sizeof(double)) : NULL;

        if (!sorted)
                return 0;
        memcpy(sorted, values, n * sizeof(double));
        qsort(sorted, n, sizeof(double), by_value);
        double middle = sorted[n / 2];
        free(sorted);
        return middle;
}

/* Each GPU against the middle one. */
static void judge_spread(Judge *j, const double *values, const char *what, const char *unit) {
        unsigned n = j->facts->n;
        double middle = median(values, n), limit = middle * (double) j->wish->spread_percent / 100;

        for (unsigned i = 0; i < n; i++) {
                if (j->facts->gpus[i].error != NVML_SUCCESS)
                        continue;
                if (!(values[i] > 0))
                        (void) judge_add(j, GPU_CODE_LOAD, GPU_ACTION_RESET, (int) i,
                                        "the load did not measure its %s", what);
                else if (values[i] < limit)
                        finding_limit(judge_add(j, GPU_CODE_SLOW, GPU_ACTION_REBOOT, (int) i,
                                                      "its %s is %.1f %s, the node's middle one has %.1f",
                                                      what, values[i], unit, middle),
                                        (int64_t) values[i], (int64_t) limit);
        }
}

/* Pairs of GPUs in one fabric are alike; where there is none they hang on different switches and
 * processors, and differ. */
static void judge_pairs(Judge *j) {
        const GpuLoad *l = &j->facts->load;
        unsigned n = j->facts->n;

        if (n < 2 || !gpu_has_fabric(j->facts, j->wish))
                return;
        double *values = calloc((size_t) l->n_pairs + 1, sizeof(double));
        if (!values) {
                j->r = -ENOMEM;
                return;
        }
        for (unsigned i = 0; i < l->n_pairs; i++)
                values[i] = l->pairs[i].gbps;
        double middle = median(values, l->n_pairs),
               limit = middle * (double) j->wish->spread_percent / 100;
        free(values);

        if (l->n_pairs < n * (n - 1))
                finding_limit(judge_add(j, GPU_CODE_LOAD, GPU_ACTION_RESET, -1,
                                              "the load measured %u pairs of GPUs of %u",
                                              l->n_pairs, n * (n - 1)),
                                l->n_pairs, n * (n - 1));
        for (unsigned i = 0; i < l->n_pairs; i++) {
                const GpuPair *p = &l->pairs[i];

                if (p->gbps < limit || !(p->gbps > 0))
                        finding_limit(judge_add(j, GPU_CODE_SLOW, GPU_ACTION_RESET, p->from,
                                                      "it copies to GPU %u at %.1f GB/s, the middle pair at %.1f",
                                                      p->to, p->gbps, middle),
                                        (int64_t) p->gbps, (int64_t) limit);
        }
}

void judge_load(Judge *j) {
        const GpuLoad *l = &j->facts->load;

        if (!j->wish->load || l->state == GPU_PHASE_NONE)
                return;
        if (l->state != GPU_PHASE_DONE) {
                (void) judge_add(j, GPU_CODE_LOAD, GPU_ACTION_RESET, -1, "the load failed: %s",
                                l->text);
                return;
        }
        if (l->watch.state != GPU_PHASE_DONE)
                (void) judge_add(j, GPU_CODE_TIMEOUT, GPU_ACTION_REBOOT, l->watch.gpu,
                                "looking at the clocks under load: %s: %s", l->watch.call,
                                l->watch.text);
        judge_spread(j, l->hbm_gbps, "memory bandwidth", "GB/s");
        judge_spread(j, l->gemm_tflops, "matrix product", "TFLOP/s");
        judge_pairs(j);
}
