/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The header of a report: which versions are measured, and where each rank runs. */

#include "shared/file-util.h"
#include "ncclbench/worker.h"

/* What the header says about a rank. */
typedef struct RankLine {
        int32_t device;
        uint32_t pid;
        char host[64], pci[16], model[64];
} RankLine;

static void send_rank(const Worker *w, int rank, const RankLine *line) {
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_INT("rank", rank), JSON_STRING("host", line->host),
                        JSON_INT("pid", line->pid), JSON_INT("device", line->device),
                        JSON_STRING("pci", line->pci), JSON_STRING("model", line->model));
        event_send(&w->events, "rank", o);
}

/* Ranks are counted with the same number of GPUs everywhere. */
static int agree_on_gpus(Worker *w) {
        uint32_t n = w->n_gpus;
        int r;

        r = rendezvous_broadcast(w->rendezvous, &n, sizeof(n), w->deadline, &w->failure);
        if (r < 0)
                return r;
        if (n != w->n_gpus)
                return failure_set(&w->failure, REASON_CUDA_NO_DEVICE,
                                "process %d (%s) has %u GPUs, process 0 has %u: give all the same -g",
                                w->launch->rank, w->launch->name, w->n_gpus, n);
        return 0;
}

int about_ranks(Worker *w) {
        _cleanup_free_ RankLine *mine = calloc(w->n_gpus, sizeof(*mine)),
                                *all = calloc((size_t) w->ranks, sizeof(*all));
        int r;

        if (!mine || !all)
                return failure_set(&w->failure, REASON_INTERNAL, "out of memory");

        for (unsigned i = 0; i < w->n_gpus; i++) {
                mine[i].device = w->gpus[i].device;
                mine[i].pid = (uint32_t) getpid();
                snprintf(mine[i].host, sizeof(mine[i].host), "%s", w->launch->name);
                snprintf(mine[i].pci, sizeof(mine[i].pci), "%s", w->gpus[i].pci);
                snprintf(mine[i].model, sizeof(mine[i].model), "%.63s", w->gpus[i].name);
        }

        r = agree_on_gpus(w);
        if (r < 0)
                return r;
        r = rendezvous_gather(w->rendezvous, mine, w->n_gpus * sizeof(*mine), all, w->deadline,
                        &w->failure);
        if (r < 0)
                return r;

        for (int i = 0; w->launch->rank == 0 && i < w->ranks; i++)
                send_rank(w, i, &all[i]);
        return 0;
}

void about_versions(const Worker *w) {
        _cleanup_free_ char *driver = NULL;
        json_object *o = json_object_new_object();
        char nccl[32], cuda[32];

        if (!o)
                return;
        if (read_line_file("/sys/module/nvidia/version", &driver) < 0)
                driver = NULL;
        snprintf(nccl, sizeof(nccl), "%d.%d.%d", w->nccl.version / 10000,
                        w->nccl.version / 100 % 100, w->nccl.version % 100);
        snprintf(cuda, sizeof(cuda), "%d.%d", w->cuda.version / 1000, w->cuda.version % 1000 / 10);

        json_set_fields(o, JSON_STRING("nccl_version", nccl),
                        JSON_STRING("nccl_library", w->nccl.path),
                        JSON_STRING("cuda_version", cuda),
                        JSON_STRING("driver_version", driver ? driver : "unknown"),
                        JSON_INT("ranks", w->ranks), JSON_INT("processes", w->launch->world),
                        JSON_STRING("started_by", w->launch->by));
        event_send(&w->events, "about", o);
}
