/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A clock is said to be free where the GPU is at work and nothing holds it down: one that is locked
 * low is low even then. */

#include "steps/gpu/watch.h"
#include "steps/gpu/nvml.h"

#define SAMPLE_USEC 50000
/* As in nvml-ask.c: a slowdown may be reported for a moment, so it has to stand for some looks. */
#define STANDING 4
#define BUSY_PERCENT 50

#define HELD_DOWN                                                    \
        (NVML_CLOCKS_HW_SLOWDOWN | NVML_CLOCKS_SW_THERMAL_SLOWDOWN | \
                        NVML_CLOCKS_HW_THERMAL_SLOWDOWN | NVML_CLOCKS_HW_POWER_BRAKE_SLOWDOWN)

typedef struct Watch {
        const NvmlApi *api;
        GpuPhase *phase;
        nvmlDevice_t devices[GPUS_MAX];
        unsigned long long seen[GPUS_MAX][STANDING]; /* the newest reasons */
        unsigned n_seen;
} Watch;

static void raise_to(GpuFact *f, int64_t value) {
        if (f->state != GPU_READ || f->value < value)
                *f = (GpuFact) { .state = GPU_READ, .value = value };
}

/* Whether the GPU is at work; false where that cannot be told. */
static bool is_busy(Watch *w, unsigned i) {
        nvmlUtilization_t u = {};

        if (!w->api->DeviceGetUtilizationRates)
                return false;
        gpu_phase_enter(w->phase, "nvmlDeviceGetUtilizationRates", (int) i);
        return w->api->DeviceGetUtilizationRates(w->devices[i], &u) == NVML_SUCCESS &&
               u.gpu >= BUSY_PERCENT;
}

static void look_at_reasons(Watch *w, unsigned i, Gpu *g, unsigned long long reasons) {
        GpuFact *fact = &g->facts[GPU_CLOCK_REASONS_LOAD];
        unsigned long long standing = HELD_DOWN;

        w->seen[i][w->n_seen % STANDING] = reasons;
        for (unsigned k = 0; k < STANDING; k++)
                standing &= w->seen[i][k];
        if (w->n_seen + 1 < STANDING)
                standing = 0;
        *fact = (GpuFact) { .state = GPU_READ,
                .value = (fact->state == GPU_READ ? fact->value : 0) | (int64_t) standing };
}

static void look(Watch *w, unsigned i, Gpu *g) {
        nvmlReturn_t (*ask)(nvmlDevice_t, unsigned long long *) = nvml_clock_reasons(w->api);
        unsigned long long reasons = 0;
        unsigned mhz = 0;

        if (!ask || !w->api->DeviceGetClockInfo) {
                g->facts[GPU_CLOCK_LOAD].state = GPU_NO_SYMBOL;
                return;
        }
        gpu_phase_enter(w->phase, "nvmlDeviceGetCurrentClocksEventReasons", (int) i);
        if (ask(w->devices[i], &reasons) != NVML_SUCCESS)
                return;
        look_at_reasons(w, i, g, reasons);
        gpu_phase_enter(w->phase, "nvmlDeviceGetClockInfo", (int) i);
        nvmlReturn_t r = w->api->DeviceGetClockInfo(w->devices[i], NVML_CLOCK_SM, &mhz);
        if (r != NVML_SUCCESS) {
                if (g->facts[GPU_CLOCK_LOAD].state != GPU_READ)
                        g->facts[GPU_CLOCK_LOAD] = (GpuFact) { .state = GPU_ERROR, .error = r };
                return;
        }
        raise_to(&g->facts[GPU_CLOCK_LOAD], mhz);
        if (!(reasons & (HELD_DOWN | NVML_CLOCKS_SW_POWER_CAP | NVML_CLOCKS_IDLE)) && is_busy(w, i))
                raise_to(&g->facts[GPU_CLOCK_LOAD_FREE], mhz);
}

static nvmlReturn_t open_devices(Watch *w, GpuFacts *f) {
        nvmlReturn_t r;

        gpu_phase_enter(w->phase, "nvmlInit_v2", -1);
        r = w->api->Init();
        for (unsigned i = 0; r == NVML_SUCCESS && i < f->n; i++) {
                if (f->gpus[i].error != NVML_SUCCESS)
                        continue;
                gpu_phase_enter(w->phase, "nvmlDeviceGetHandleByIndex", (int) i);
                r = w->api->DeviceGetHandleByIndex(i, &w->devices[i]);
        }
        return r;
}

void gpu_watch(GpuFacts *f, GpuPhase *phase, void *userdata) {
        const char *library = userdata ? userdata : NVML_LIBRARY;
        char error[sizeof(phase->text)];
        NvmlApi api;
        Watch w = { .api = &api, .phase = phase };

        gpu_phase_enter(phase, "dlopen", -1);
        if (nvml_api_load(library, &api, error, sizeof(error)) < 0) {
                gpu_phase_end(phase, GPU_PHASE_NO_LIBRARY, 0, "%s", error);
                return;
        }
        nvmlReturn_t r = open_devices(&w, f);
        if (r != NVML_SUCCESS) {
                gpu_phase_end(phase, GPU_PHASE_FAILED, r, "%s: %s", phase->call,
                                nvml_error_text(r));
                return;
        }
        do {
                for (unsigned i = 0; i < f->n; i++)
                        if (f->gpus[i].error == NVML_SUCCESS)
                                look(&w, i, &f->gpus[i]);
                w.n_seen++;
                usleep(SAMPLE_USEC);
        } while (!__atomic_load_n(&f->load.over, __ATOMIC_ACQUIRE));
        (void) api.Shutdown();
        gpu_phase_end(phase, GPU_PHASE_DONE, 0, "%u looks", w.n_seen);
}
