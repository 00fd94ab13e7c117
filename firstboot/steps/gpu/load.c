/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a GPU hides while it is idle shows under load. */

#include "steps/gpu/load.h"
#include "contract/paths.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"
#include "steps/gpu/nvml.h"
#include "steps/gpu/watch.h"
#include "steps/gpu/xid.h"

#define PROGRAM "/usr/bin/ncclbench"
#define EXIT_USAGE 2 /* of ncclbench: here, one without this operation */
#define WATCH_USEC (10 * USEC_PER_SEC)

bool gpu_load_is_possible(const GpuFacts *f) {
        _cleanup_free_ char *program = fb_path(PROGRAM);

        if (!program || access(program, X_OK) < 0 || f->nvml.state != GPU_PHASE_DONE || f->n == 0)
                return false;
        for (unsigned i = 0; i < f->n; i++) {
                const Gpu *g = &f->gpus[i];

                /* CUDA shows the instances of a divided GPU one by one. */
                if (g->error != NVML_SUCCESS ||
                                (gpu_fact_known(g, GPU_MIG) && g->facts[GPU_MIG].value == 1))
                        return false;
        }
        return true;
}

static void failed(GpuLoad *l, GpuPhaseState state, const char *text) {
        l->state = state;
        snprintf(l->text, sizeof(l->text), "%.159s", text);
}

/* The last line that says something. */
static const char *last_line(char *text) {
        size_t n = strlen(text);

        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
                text[--n] = '\0';
        const char *newline = strrchr(text, '\n');
        return newline ? newline + 1 : text;
}

/* The report's reason, or the last words of a program that made none. */
static void take_failure(GpuLoad *l, char *output) {
        _cleanup_json_ json_object *report = NULL;
        const char *text;

        if (gpu_load_document(output, &report) >= 0) {
                text = json_get_string(json_get(report, "verdict"), "text");
                failed(l, GPU_PHASE_FAILED, isempty(text) ? "it gave no reason" : text);
                return;
        }
        failed(l, GPU_PHASE_FAILED, last_line(output));
}

/* Our environment, with the GPUs in the order that NVML has them in. */
static int make_env(char ***ret) {
        _cleanup_strv_free_ char **env = NULL;
        int r;

        STRV_FOREACH (e, environ) {
                if (startswith(*e, "CUDA_VISIBLE_DEVICES=") || startswith(*e, "CUDA_DEVICE_ORDER="))
                        continue;
                r = strv_extend(&env, *e);
                if (r < 0)
                        return r;
        }
        r = strv_extend(&env, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(env);
        return 0;
}

/* Runs the program, and takes its report. */
static int run(GpuFacts *f, uint64_t timeout_usec) {
        _cleanup_free_ char *program = fb_path(PROGRAM), *output = NULL;
        _cleanup_strv_free_ char **env = NULL;
        SpawnOptions o = { .timeout_usec = timeout_usec };
        GpuLoad *l = &f->load;
        int r, status = 0;

        r = program ? make_env(&env) : -ENOMEM;
        if (r < 0)
                return r;
        o.env = env;
        r = spawn_capture(&o, ARGV(program, "load", "--json"), &output, &status);
        if (r == -ENOMEM)
                return r;
        if (r == -ETIMEDOUT)
                failed(l, GPU_PHASE_TIMEOUT, "ncclbench load did not end in time and was killed");
        else if (r < 0)
                failed(l, GPU_PHASE_FAILED, strerror(-r));
        else if (status == EXIT_USAGE)
                log_warning("This ncclbench has no load; the GPUs are judged idle");
        else if (status != 0)
                take_failure(l, output);
        else if (gpu_load_parse(l, f->n, output) < 0)
                failed(l, GPU_PHASE_FAILED, "ncclbench load printed no report");
        else if (l->state == GPU_PHASE_NONE)
                l->state = GPU_PHASE_DONE;
        return 0;
}

/* What there is after the load. */
static void look_again(GpuFacts *f, uint64_t timeout_usec) {
        for (unsigned i = 0; i < f->n; i++)
                f->gpus[i].read = false;
        gpu_ask(f, &f->nvml, gpu_ask_nvml, NULL, timeout_usec);
        f->n_xids = 0;
        f->log_read = f->log_lost = false;
        gpu_read_kernel_log(f);
}

int gpu_load(GpuFacts *f, uint64_t timeout_usec) {
        GpuLoad *l = &f->load;
        uint64_t begin = now_usec();
        GpuChild watch;
        int r;

        for (unsigned i = 0; i < f->n; i++)
                for (size_t c = 0; c < GPU_COUNTERS_N; c++)
                        l->before[i][c] = gpu_counter(&f->gpus[i], c);
        watch = gpu_ask_begin(f, &l->watch, gpu_watch, NULL);
        r = run(f, timeout_usec);
        __atomic_store_n(&l->over, true, __ATOMIC_RELEASE);
        gpu_ask_end(&l->watch, watch, WATCH_USEC);
        if (r < 0 || l->state == GPU_PHASE_NONE)
                return r;
        look_again(f, timeout_usec);
        l->usec = now_usec() - begin;
        return 0;
}
