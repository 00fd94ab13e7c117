/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What kind of GPU it is: a whole one of a data centre, a part of one, or a consumer's. Each has a
 * verdict of its own, for the others do not tell what a verdict needs. And NVLinks that leave the
 * node (GB200), which need a service. */

#include "steps/gpu/judge-internal.h"
#include "steps/gpu/nvml.h"

static void judge_mig(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        GpuMigWish wish = j->wish->mig;

        if (wish == GPU_MIG_ANY)
                return;
        /* A GPU that cannot be divided is whole. */
        if (!(wish == GPU_MIG_ON ? judge_need(j, i, GPU_MIG) : judge_may(j, i, GPU_MIG)))
                return;
        bool on = judge_value(j, i, GPU_MIG) == 1,
             later = gpu_fact_known(g, GPU_MIG_PENDING) && judge_value(j, i, GPU_MIG_PENDING) == 1;

        if (on != (wish == GPU_MIG_ON))
                finding_limit(judge_add(j, GPU_CODE_MIG, GPU_ACTION_RESET, i,
                                              on ? "it is divided by MIG, and gpu.mig does not ask for that"
                                                 : "it is not divided by MIG, as gpu.mig asks"),
                                on, !on);
        else if (later != on)
                (void) judge_add(j, GPU_CODE_MIG, GPU_ACTION_RESET, i,
                                "MIG is %s, and will be %s after the next reset", on ? "on" : "off",
                                on ? "off" : "on");
        else if (on && judge_need(j, i, GPU_MIG_DEVICES) && judge_value(j, i, GPU_MIG_DEVICES) == 0)
                (void) judge_add(j, GPU_CODE_MIG, GPU_ACTION_CONFIG, i,
                                "MIG is on, but there is no instance to compute on");
}

bool judge_kind(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];

        (void) judge_may(j, i, GPU_VIRTUALIZATION);
        (void) judge_may(j, i, GPU_BRAND);
        if (gpu_is_vgpu(g) && !j->wish->vgpu) {
                bool host = judge_value(j, i, GPU_VIRTUALIZATION) >
                            NVML_GPU_VIRTUALIZATION_MODE_VGPU;

                finding_value(judge_add(j, GPU_CODE_VGPU, GPU_ACTION_CONFIG, i,
                                              host ? "it is set up to be shared among virtual machines"
                                                   : "it is a vGPU: a part of a GPU, whose health the host alone knows"),
                                judge_value(j, i, GPU_VIRTUALIZATION));
                return false;
        }
        if (gpu_is_consumer(g) && !j->wish->consumer) {
                finding_value(judge_add(j, GPU_CODE_CONSUMER, GPU_ACTION_CONFIG, i,
                                              "%s is a consumer's GPU, which does not tell of its health",
                                              g->name),
                                judge_value(j, i, GPU_BRAND));
                return false;
        }
        judge_mig(j, i);
        return true;
}

/* GPUs whose NVLinks leave the node are in one cluster and one clique, and applications reach the
 * others through the IMEX service (NVIDIA's IMEX Service Guide). */
void judge_cluster(Judge *j) {
        const GpuFacts *f = j->facts;
        const Gpu *first = NULL;

        for (unsigned i = 0; i < f->n; i++) {
                const Gpu *g = &f->gpus[i];

                if (g->error != NVML_SUCCESS || !g->read)
                        continue;
                if (!first)
                        first = g;
                if (!streq(g->cluster, first->cluster))
                        (void) judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, (int) i,
                                        "it is in NVLink cluster %s, others of this node in %s",
                                        g->cluster[0] ? g->cluster : "none",
                                        first->cluster[0] ? first->cluster : "none");
                else if (g->cluster[0] &&
                                g->facts[GPU_CLIQUE].value != first->facts[GPU_CLIQUE].value)
                        finding_limit(judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, (int) i,
                                                      "it is in clique %lld of its NVLink cluster, others of this node in %lld",
                                                      (long long) g->facts[GPU_CLIQUE].value,
                                                      (long long) first->facts[GPU_CLIQUE].value),
                                        g->facts[GPU_CLIQUE].value, first->facts[GPU_CLIQUE].value);
        }
        if (!first || !first->cluster[0] || !j->wish->imex)
                return;
        if (f->imex.state != GPU_SERVICE_RUNNING)
                (void) judge_add(j, GPU_CODE_IMEX, GPU_ACTION_CONFIG, -1, "nvidia-imex %s%s%s",
                                f->imex.state == GPU_SERVICE_ABSENT ? "is not installed"
                                                                    : "does not run",
                                f->imex.text[0] ? ": " : "", f->imex.text);
        else if (!f->imex_channel)
                (void) judge_add(j, GPU_CODE_IMEX, GPU_ACTION_CONFIG, -1,
                                "there is no IMEX channel in /dev/nvidia-caps-imex-channels");
}
