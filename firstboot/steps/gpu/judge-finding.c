/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Findings as they are added, and why a fact that was needed is not there. */

#include "steps/gpu/judge-internal.h"
#include "steps/gpu/nvml.h"
#include "shared/strv.h"

#include <stdarg.h>

GpuFinding *judge_add(Judge *j, GpuCode code, GpuAction action, int gpu, const char *format, ...) {
        GpuFinding *items = reallocarray(j->findings->items, j->findings->n + 1, sizeof(*items));
        GpuFinding *f;
        va_list ap;

        if (!items) {
                j->r = -ENOMEM;
                return &j->spare;
        }
        j->findings->items = items;
        f = &items[j->findings->n++];
        *f = (GpuFinding) { .code = code, .action = action, .gpu = gpu };
        f->transient = action == GPU_ACTION_WAIT;
        va_start(ap, format);
        (void) vsnprintf(f->text, sizeof(f->text), format, ap);
        va_end(ap);
        if (gpu >= 0 && (unsigned) gpu < MIN(j->facts->n, (unsigned) GPUS_MAX)) {
                const Gpu *g = &j->facts->gpus[gpu];

                snprintf(f->uuid, sizeof(f->uuid), "%s", g->uuid);
                snprintf(f->serial, sizeof(f->serial), "%s", g->serial);
                snprintf(f->pci, sizeof(f->pci), "%s", g->pci);
        }
        return f;
}

void finding_value(GpuFinding *f, int64_t value) {
        f->has_value = true;
        f->value = value;
}

void finding_limit(GpuFinding *f, int64_t value, int64_t limit) {
        finding_value(f, value);
        f->has_limit = true;
        f->limit = limit;
}

bool fact_is_unsupported(const GpuFact *f) {
        return f->state == GPU_ERROR && f->error == NVML_ERROR_NOT_SUPPORTED;
}

bool gpu_is_vgpu(const Gpu *g) {
        return gpu_fact_known(g, GPU_VIRTUALIZATION) &&
               g->facts[GPU_VIRTUALIZATION].value >= NVML_GPU_VIRTUALIZATION_MODE_VGPU;
}

bool gpu_is_consumer(const Gpu *g) {
        int64_t brand = g->facts[GPU_BRAND].value;

        return gpu_fact_known(g, GPU_BRAND) &&
               (brand == NVML_BRAND_GEFORCE || brand == NVML_BRAND_TITAN);
}

/* Whether it is of a kind that need not tell everything, and is let pass. */
static bool gpu_is_lenient(const Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];

        return (gpu_is_vgpu(g) && j->wish->vgpu) || (gpu_is_consumer(g) && j->wish->consumer);
}

static bool judge_allows(const Judge *j, int i, GpuFactId id) {
        return gpu_is_lenient(j, i) || j->wish->allow_unsupported & (UINT64_C(1) << id);
}

void judge_not_read(Judge *j, int i, const GpuFact *f, const char *name, const char *symbol) {
        bool lost = f->error == NVML_ERROR_GPU_IS_LOST;
        GpuFinding *x;

        if (f->state == GPU_NO_SYMBOL)
                (void) judge_add(j, GPU_CODE_SYMBOL, GPU_ACTION_CONFIG, i,
                                "the NVML library lacks %s, so %s is not known", symbol, name);
        else if (fact_is_unsupported(f))
                (void) judge_add(j, GPU_CODE_NOT_SUPPORTED, GPU_ACTION_CONFIG, i,
                                "%s is not supported by this GPU, says %s", name, symbol);
        else if (f->state == GPU_ERROR && (lost || f->error == NVML_ERROR_RESET_REQUIRED)) {
                x = judge_add(j, GPU_CODE_LOST, lost ? GPU_ACTION_REBOOT : GPU_ACTION_RESET, i,
                                "%s: %s", symbol, nvml_error_text(f->error));
                finding_value(x, f->error);
        } else if (f->state == GPU_ERROR) {
                x = judge_add(j, GPU_CODE_NVML, GPU_ACTION_RESET, i, "%s, asked for %s: %s (%d)",
                                symbol, name, nvml_error_text(f->error), f->error);
                finding_value(x, f->error);
        } else
                (void) judge_add(j, GPU_CODE_TIMEOUT, GPU_ACTION_RESET, i, "%s was not read", name);
}

bool judge_need(Judge *j, int i, GpuFactId id) {
        const GpuFact *f = &j->facts->gpus[i].facts[id];

        if (f->state == GPU_READ)
                return true;
        if (!fact_is_unsupported(f) || !judge_allows(j, i, id))
                judge_not_read(j, i, f, gpu_fact_names[id].name, gpu_fact_names[id].symbol);
        return false;
}

bool judge_may(Judge *j, int i, GpuFactId id) {
        const GpuFact *f = &j->facts->gpus[i].facts[id];

        if (f->state == GPU_READ)
                return true;
        if (!fact_is_unsupported(f) && f->state != GPU_NO_SYMBOL &&
                        !(f->state == GPU_ERROR && f->error == NVML_ERROR_INVALID_ARGUMENT))
                judge_not_read(j, i, f, gpu_fact_names[id].name, gpu_fact_names[id].symbol);
        return false;
}

int64_t judge_value(const Judge *j, int i, GpuFactId id) {
        return j->facts->gpus[i].facts[id].value;
}

void gpu_findings_done(GpuFindings *f) {
        free(f->items);
        *f = (GpuFindings) {};
}

char *gpu_finding_sentence(const GpuFinding *f) {
        if (f->gpu < 0)
                return f->pci[0] ? strf("GPU at %s: %s", f->pci, f->text) : strf("%s", f->text);
        return strf("GPU %d (%s%s%s, %s): %s", f->gpu, f->uuid, f->serial[0] ? ", serial " : "",
                        f->serial, f->pci, f->text);
}
