/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What `ncclbench load` printed, taken into the facts. */

#include "shared/json-util.h"
#include "steps/gpu/load.h"

#include <string.h>

/* A number above 0, or 0 where there is none. */
static double positive(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        if (!json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_int))
                return 0;
        double d = json_object_get_double(v);
        return d > 0 && d < 1e9 ? d : 0;
}

/* The index of a GPU; -1 where there is none of this number. */
static int index_of(json_object *o, const char *key, unsigned n_gpus) {
        int64_t i = json_get_int(o, key, -1);

        return i >= 0 && i < (int64_t) n_gpus ? (int) i : -1;
}

/* A result that is wrong is worse than a slow one. */
static void note_wrong(GpuLoad *l, json_object *o, int gpu) {
        int64_t wrong = json_get_int(o, "wrong", 0);

        if (wrong == 0 || l->state == GPU_PHASE_FAILED)
                return;
        l->state = GPU_PHASE_FAILED;
        snprintf(l->text, sizeof(l->text), "GPU %d: %lld results are wrong", gpu,
                        (long long) wrong);
}

static int take_report(GpuLoad *l, unsigned n_gpus, json_object *report) {
        json_object *devices = json_get(report, "devices"), *pairs = json_get(report, "p2p");

        if (!json_object_is_type(devices, json_type_array))
                return -EINVAL;
        for (size_t i = 0; i < json_object_array_length(devices); i++) {
                json_object *o = json_object_array_get_idx(devices, i);
                int gpu = index_of(o, "index", n_gpus);

                if (gpu < 0)
                        return -EINVAL;
                l->hbm_gbps[gpu] = positive(o, "hbm_gbs");
                l->gemm_tflops[gpu] = positive(o, "gemm_tflops");
                note_wrong(l, o, gpu);
        }
        if (pairs && !json_object_is_type(pairs, json_type_array))
                return -EINVAL;
        for (size_t i = 0; pairs && i < json_object_array_length(pairs); i++) {
                json_object *o = json_object_array_get_idx(pairs, i);
                int from = index_of(o, "from", n_gpus), to = index_of(o, "to", n_gpus);

                if (from < 0 || to < 0 || from == to || l->n_pairs == GPU_PAIRS_MAX)
                        return -EINVAL;
                l->pairs[l->n_pairs++] =
                                (GpuPair) { (uint8_t) from, (uint8_t) to, positive(o, "gbs") };
                note_wrong(l, o, from);
        }
        return 0;
}

int gpu_load_document(const char *output, json_object **ret) {
        const char *start = output[0] == '{' ? output : strstr(output, "\n{"),
                   *end = strrchr(output, '}');
        JsonError e = {};

        if (!start || !end || end < start)
                return -EINVAL;
        start += *start == '\n';
        return json_parse(start, (size_t) (end - start) + 1, &e, ret);
}

int gpu_load_parse(GpuLoad *l, unsigned n_gpus, const char *output) {
        _cleanup_json_ json_object *report = NULL;

        if (gpu_load_document(output, &report) < 0)
                return -EINVAL;
        return take_report(l, n_gpus, report);
}
