/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One GPU's memory, PCIe, clocks, temperature, CUDA and recovery action. */

#include "steps/gpu/judge-internal.h"
#include "steps/gpu/nvml.h"

#define ARCH_AMPERE 7           /* NVML_DEVICE_ARCH_AMPERE: rows are remapped, no pages retired */
#define GENERATION_LAST 6       /* of gpu_pcie_rate() */
#define TEMPERATURE_FALLBACK 85 /* °C, where the GPU tells no threshold of its own */

int64_t gpu_pcie_rate(int generation, int width) {
        /* MB/s of one lane. */
        static const double lane[] = {
                0, 2500 / 10.0,          /* 2.5 GT/s, 8b/10b */
                5000 / 10.0,             /* 5 GT/s, 8b/10b */
                8000 / 8.0 * 128 / 130,  /* 8 GT/s, 128b/130b */
                16000 / 8.0 * 128 / 130, /* 16 GT/s */
                32000 / 8.0 * 128 / 130, /* 32 GT/s */
                64000 / 8.0 * 242 / 256, /* 64 GT/s, 242 of 256 bytes of a flit */
        };

        if (generation < 1 || (size_t) generation >= ELEMENTSOF(lane))
                return 0;
        return (int64_t) (lane[generation] * width);
}

int64_t gpu_pcie_floor(int generation, int width) {
        /* MB/s of 16 lanes. Azure/azurehpc-health-checks 0e0a1ac, conf/: check_gpu_bw 10 on V100
         * (nc24rs_v3), 21 on A100 (nd96asr_v4), 48 on H100 and H200 (nd96isr_h100_v5, …_h200_v5).
         * The others are the same share of what the link carries as the nearest of these. */
        static const int64_t floors[] = { 0, 0, 0, 10000, 21000, 48000, 0 };

        if (generation < 1 || (size_t) generation >= ELEMENTSOF(floors))
                return 0;
        if (floors[generation] > 0)
                return floors[generation] * width / 16;
        int nearest = generation < 3 ? 3 : 5;
        return gpu_pcie_rate(generation, width) * floors[nearest] / gpu_pcie_rate(nearest, 16);
}

/* What the judges of the memory have to know of each other. */
typedef struct Memory {
        bool ecc;  /* is on */
        bool none; /* the GPU has no ECC, and need not have it */
        bool mig;  /* it is divided, which hides what is remapped */
} Memory;

/* What caches and registers lost was wrong data in somebody's result, and no row is remapped for
 * it. */
static void judge_sram(Judge *j, int i) {
        static const struct {
                GpuFactId id;
                GpuAction action;
                const char *when;
        } counters[] = {
                { GPU_SRAM_AGGREGATE, GPU_ACTION_RMA, "in the GPU's life" },
                { GPU_SRAM_VOLATILE, GPU_ACTION_RESET, "since the driver was loaded" },
        };
        int64_t limit = j->wish->sram_max;

        for (size_t k = 0; k < ELEMENTSOF(counters); k++) {
                if (!judge_may(j, i, counters[k].id) || judge_value(j, i, counters[k].id) <= limit)
                        continue;
                int64_t n = judge_value(j, i, counters[k].id);
                finding_limit(judge_add(j, GPU_CODE_SRAM, counters[k].action, i,
                                              "%lld uncorrectable errors of its SRAM %s",
                                              (long long) n, counters[k].when),
                                n, limit);
                return;
        }
}

static void judge_ecc(Judge *j, int i, const Memory *m) {
        const Gpu *g = &j->facts->gpus[i];
        const GpuWish *w = j->wish;
        GpuFinding *f;

        if (w->ecc != GPU_ECC_ANY && !m->none && judge_need(j, i, GPU_ECC) && !m->ecc) {
                bool later = gpu_fact_known(g, GPU_ECC_PENDING) &&
                             judge_value(j, i, GPU_ECC_PENDING) == 1;

                f = judge_add(j, GPU_CODE_ECC_OFF, GPU_ACTION_RESET, i, "ECC is off%s",
                                later ? ", and on after the next reset" : "");
                finding_limit(f, 0, 1);
        }
        if (!m->ecc)
                return;
        if (judge_need(j, i, GPU_ECC_VOLATILE) &&
                        judge_value(j, i, GPU_ECC_VOLATILE) > w->ecc_volatile_max) {
                f = judge_add(j, GPU_CODE_ECC_ERRORS, GPU_ACTION_RESET, i,
                                "%lld uncorrectable ECC errors since the driver was loaded",
                                (long long) judge_value(j, i, GPU_ECC_VOLATILE));
                finding_limit(f, judge_value(j, i, GPU_ECC_VOLATILE), w->ecc_volatile_max);
        }
        if (judge_need(j, i, GPU_ECC_AGGREGATE) && w->ecc_aggregate_max >= 0 &&
                        judge_value(j, i, GPU_ECC_AGGREGATE) > w->ecc_aggregate_max) {
                f = judge_add(j, GPU_CODE_ECC_ERRORS, GPU_ACTION_RMA, i,
                                "%lld uncorrectable ECC errors in the GPU's life",
                                (long long) judge_value(j, i, GPU_ECC_AGGREGATE));
                finding_limit(f, judge_value(j, i, GPU_ECC_AGGREGATE), w->ecc_aggregate_max);
        }
        judge_sram(j, i);
        if (judge_may(j, i, GPU_SRAM_THRESHOLD) && judge_value(j, i, GPU_SRAM_THRESHOLD))
                (void) judge_add(j, GPU_CODE_SRAM, GPU_ACTION_RMA, i,
                                "uncorrectable errors of its SRAM are beyond NVIDIA's threshold");
}

/* Since Ampere. */
static void judge_remapped_rows(Judge *j, int i, const Memory *m) {
        const Gpu *g = &j->facts->gpus[i];

        if ((m->mig || m->none || !m->ecc) && fact_is_unsupported(&g->facts[GPU_REMAP_PENDING]))
                return;
        if (!judge_need(j, i, GPU_REMAP_PENDING) || !judge_need(j, i, GPU_REMAP_FAILED))
                return;
        if (judge_value(j, i, GPU_REMAP_FAILED))
                (void) judge_add(j, GPU_CODE_REMAP_FAILED, GPU_ACTION_RMA, i,
                                "a row of its memory could not be remapped");
        if (judge_value(j, i, GPU_REMAP_PENDING))
                (void) judge_add(j, GPU_CODE_REMAP_PENDING, GPU_ACTION_RESET, i,
                                "a row of its memory waits to be remapped");
        if (!judge_need(j, i, GPU_REMAPPED_CORRECTABLE) ||
                        !judge_need(j, i, GPU_REMAPPED_UNCORRECTABLE))
                return;
        int64_t rows = judge_value(j, i, GPU_REMAPPED_CORRECTABLE) +
                       judge_value(j, i, GPU_REMAPPED_UNCORRECTABLE);
        if (rows >= j->wish->remapped_max)
                finding_limit(judge_add(j, GPU_CODE_REMAPPED_ROWS, GPU_ACTION_RMA, i,
                                              "%lld rows of its memory are remapped",
                                              (long long) rows),
                                rows, j->wish->remapped_max);
}

/* Before Ampere. */
static void judge_retired_pages(Judge *j, int i, const Memory *m) {
        const Gpu *g = &j->facts->gpus[i];
        GpuFinding *f;

        if ((m->none || !m->ecc) && fact_is_unsupported(&g->facts[GPU_RETIRED_PENDING]))
                return;
        if (!judge_need(j, i, GPU_RETIRED_PENDING) || !judge_need(j, i, GPU_RETIRED_SINGLE_BIT) ||
                        !judge_need(j, i, GPU_RETIRED_DOUBLE_BIT))
                return;
        int64_t pages = judge_value(j, i, GPU_RETIRED_SINGLE_BIT) +
                        judge_value(j, i, GPU_RETIRED_DOUBLE_BIT);
        if (pages > j->wish->retired_pages_max) {
                f = judge_add(j, GPU_CODE_PAGES_RETIRED, GPU_ACTION_RMA, i,
                                "%lld pages of its memory are retired", (long long) pages);
                finding_limit(f, pages, j->wish->retired_pages_max);
        }
        if (judge_value(j, i, GPU_RETIRED_PENDING))
                (void) judge_add(j, GPU_CODE_PAGES_PENDING, GPU_ACTION_RESET, i,
                                "a page of its memory waits to be retired");
}

static void judge_memory(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        Memory m = {
                .ecc = gpu_fact_known(g, GPU_ECC) && judge_value(j, i, GPU_ECC) == 1,
                .none = fact_is_unsupported(&g->facts[GPU_ECC]) && j->wish->ecc != GPU_ECC_ON,
                .mig = gpu_fact_known(g, GPU_MIG) && judge_value(j, i, GPU_MIG) == 1,
        };

        judge_ecc(j, i, &m);
        if (!judge_need(j, i, GPU_ARCHITECTURE))
                return;
        if (judge_value(j, i, GPU_ARCHITECTURE) >= ARCH_AMPERE)
                judge_remapped_rows(j, i, &m);
        else
                judge_retired_pages(j, i, &m);
}

/* One direction against its limit in MB/s; 0: a share of what such a link carries. */
static void judge_bandwidth(Judge *j, int i, GpuFactId id, const char *what, int64_t limit,
                int64_t generation, int64_t width) {
        const GpuFact *fact = &j->facts->gpus[i].facts[id];
        GpuFinding *f;

        if (limit <= 0) {
                /* A generation newer than this table is at least as fast as the last. */
                int g = (int) MIN(generation, (int64_t) GENERATION_LAST);
                int64_t percent = j->wish->bandwidth_percent;

                limit = percent > 0 ? gpu_pcie_rate(g, (int) width) * percent / 100
                                    : gpu_pcie_floor(g, (int) width);
        }
        if (fact->state != GPU_READ || fact->value >= limit)
                return;
        f = judge_add(j, GPU_CODE_BANDWIDTH, GPU_ACTION_REBOOT, i,
                        "%s runs at %lld MB/s, at least %lld expected", what,
                        (long long) fact->value, (long long) limit);
        finding_limit(f, fact->value, limit);
}

/* An idle GPU lowers its link's generation to save power, so what counts is the generation under
 * load, seen while bandwidth is measured; else the most that it could be. */
static int64_t best_generation(const Judge *j, int i) {
        if (!gpu_fact_known(&j->facts->gpus[i], GPU_PCIE_GENERATION_LOAD))
                return judge_value(j, i, GPU_PCIE_GENERATION_MAX);
        return MAX(judge_value(j, i, GPU_PCIE_GENERATION_LOAD),
                        judge_value(j, i, GPU_PCIE_GENERATION));
}

static void judge_pcie(Judge *j, int i) {
        const GpuWish *w = j->wish;
        int64_t width, generation, best;
        GpuFinding *f;

        if (!judge_need(j, i, GPU_PCIE_WIDTH) || !judge_need(j, i, GPU_PCIE_WIDTH_MAX) ||
                        !judge_need(j, i, GPU_PCIE_GENERATION) ||
                        !judge_need(j, i, GPU_PCIE_GENERATION_MAX))
                return;
        width = w->pcie_width > 0 ? w->pcie_width : judge_value(j, i, GPU_PCIE_WIDTH_MAX);
        generation = w->pcie_generation > 0 ? w->pcie_generation
                                            : judge_value(j, i, GPU_PCIE_GENERATION_MAX);
        if (judge_value(j, i, GPU_PCIE_WIDTH) < width) {
                f = judge_add(j, GPU_CODE_PCIE_WIDTH, GPU_ACTION_REBOOT, i,
                                "PCIe has %lld lanes of %lld",
                                (long long) judge_value(j, i, GPU_PCIE_WIDTH), (long long) width);
                finding_limit(f, judge_value(j, i, GPU_PCIE_WIDTH), width);
        }
        best = best_generation(j, i);
        if (best < generation) {
                f = judge_add(j, GPU_CODE_PCIE_GENERATION, GPU_ACTION_REBOOT, i,
                                "PCIe runs at generation %lld of %lld", (long long) best,
                                (long long) generation);
                finding_limit(f, best, generation);
        }

        if (!w->bandwidth)
                return;
        judge_bandwidth(j, i, GPU_H2D, "host to device", w->h2d_min, generation, width);
        judge_bandwidth(j, i, GPU_D2H, "device to host", w->d2h_min, generation, width);
}

static void judge_cuda(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        GpuFinding *f;

        if (!j->wish->bandwidth || (gpu_fact_known(g, GPU_MIG) && judge_value(j, i, GPU_MIG) == 1))
                return;
        if (g->cuda_call[0]) {
                f = judge_add(j, GPU_CODE_CUDA, GPU_ACTION_RESET, i, "%s: error %d of CUDA",
                                g->cuda_call, g->cuda_error);
                finding_value(f, g->cuda_error);
        } else if (j->facts->cuda.state == GPU_PHASE_DONE &&
                        (g->facts[GPU_H2D].state != GPU_READ ||
                                        g->facts[GPU_D2H].state != GPU_READ))
                (void) judge_add(j, GPU_CODE_CUDA, GPU_ACTION_RESET, i,
                                "CUDA does not show this GPU");
}

void judge_clock_reasons(Judge *j, int i, GpuFactId id, const char *when) {
        static const struct {
                int64_t bit;
                const char *text;
        } reasons[] = {
                { NVML_CLOCKS_HW_THERMAL_SLOWDOWN, "hardware thermal slowdown" },
                { NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN, "power brake" },
                { NVML_CLOCKS_SW_THERMAL_SLOWDOWN, "software thermal slowdown" },
                { NVML_CLOCKS_HW_SLOWDOWN, "hardware slowdown" },
        };
        char text[120] = "";

        for (size_t k = 0; k < ELEMENTSOF(reasons); k++) {
                size_t n = strlen(text);

                if (judge_value(j, i, id) & reasons[k].bit)
                        snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
                                        reasons[k].text);
        }
        if (text[0])
                finding_value(judge_add(j, GPU_CODE_CLOCKS, GPU_ACTION_WAIT, i,
                                              "clocks are held down%s: %s", when, text),
                                judge_value(j, i, id));
}

/* Somebody has lowered the limit: the GPU is well, and slow. */
static void judge_power(Judge *j, int i) {
        int64_t limit, least;

        if (!judge_may(j, i, GPU_POWER_LIMIT) || !judge_may(j, i, GPU_POWER_LIMIT_DEFAULT))
                return;
        limit = judge_value(j, i, GPU_POWER_LIMIT);
        least = judge_value(j, i, GPU_POWER_LIMIT_DEFAULT) * j->wish->power_percent / 100;
        if (limit < least)
                finding_limit(judge_add(j, GPU_CODE_POWER_LIMIT, GPU_ACTION_CONFIG, i,
                                              "its power is limited to %lld W of %lld",
                                              (long long) limit / 1000,
                                              (long long) judge_value(
                                                              j, i, GPU_POWER_LIMIT_DEFAULT) /
                                                              1000),
                                limit, least);
}

static void judge_temperature(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        int64_t limit = j->wish->temperature_max, now;

        if (!judge_need(j, i, GPU_TEMPERATURE))
                return;
        now = judge_value(j, i, GPU_TEMPERATURE);
        if (limit <= 0 && gpu_fact_known(g, GPU_TEMPERATURE_MARGIN))
                limit = now + judge_value(j, i, GPU_TEMPERATURE_MARGIN);
        else if (limit <= 0 && gpu_fact_known(g, GPU_TEMPERATURE_SLOWDOWN) &&
                        judge_value(j, i, GPU_TEMPERATURE_SLOWDOWN) > 0)
                limit = judge_value(j, i, GPU_TEMPERATURE_SLOWDOWN);
        else if (limit <= 0)
                limit = TEMPERATURE_FALLBACK;
        if (now >= limit)
                finding_limit(judge_add(j, GPU_CODE_TEMPERATURE, GPU_ACTION_WAIT, i,
                                              "it is at %lld °C, the limit is %lld",
                                              (long long) now, (long long) limit),
                                now, limit);
}

static void judge_recovery(Judge *j, int i) {
        GpuAction action;
        int64_t v;

        if (!judge_may(j, i, GPU_RECOVERY_ACTION) ||
                        (v = judge_value(j, i, GPU_RECOVERY_ACTION)) == GPU_RECOVERY_NONE)
                return;
        const char *text = gpu_recovery_text(v, &action);
        finding_limit(judge_add(j, GPU_CODE_RECOVERY, action, i, "the driver asks for %s", text), v,
                        0);
}

void judge_device(Judge *j, int i) {
        judge_memory(j, i);
        judge_recovery(j, i);
        judge_pcie(j, i);
        if (judge_need(j, i, GPU_CLOCK_REASONS))
                judge_clock_reasons(j, i, GPU_CLOCK_REASONS, "");
        judge_power(j, i);
        judge_temperature(j, i);
        if (j->wish->persistence && judge_need(j, i, GPU_PERSISTENCE) &&
                        judge_value(j, i, GPU_PERSISTENCE) != 1) {
                GpuFinding *f = judge_add(j, GPU_CODE_PERSISTENCE, GPU_ACTION_CONFIG, i,
                                "persistence mode is off");

                f->transient = true; /* nvidia-persistenced takes a moment */
                finding_limit(f, 0, 1);
        }
        judge_cuda(j, i);
}
