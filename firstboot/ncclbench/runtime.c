/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* `ncclbench runtime`: every CUDA runtime that programs of this system get is there once, is one
 * that the driver knows, and works on every GPU. An image without any passes, unless --required. */

#include "ncclbench/runtime.h"
#include "ncclbench/deadline.h"
#include "shared/strv.h"

/* Contexts of eight GPUs without persistence mode take 30 s, for each runtime. */
#define PATIENCE 90

static void version_text(int version, char *ret, size_t size) {
        snprintf(ret, size, "%d.%d", version / 1000, version % 1000 / 10);
}

static void send_runtime(const Worker *w, const RuntimeLibrary *l, const RuntimeVersions *v) {
        json_object *o = json_object_new_object();
        char version[32], driver[32];

        if (!o)
                return;
        version_text(v->runtime, version, sizeof(version));
        version_text(v->driver, driver, sizeof(driver));
        json_set_fields(o, JSON_STRING("soname", l->soname), JSON_STRING("path", l->path),
                        JSON_STRING("source", l->source), JSON_STRING("version", version),
                        JSON_STRING("cuda_version", driver), JSON_INT("devices", v->devices));
        event_send(&w->events, "runtime", o);
}

/* What the folders alone tell. */
static int judge_found(Worker *w, const RuntimeFound *found) {
        const RuntimeLibrary *first, *second;

        if (found->n == 0 && found->installed)
                return failure_set(&w->failure, REASON_CUDA_RUNTIME_MISSING,
                                "%s is there, but neither ldconfig nor the module cuda leads to a libcudart",
                                found->installed);
        if (found->n == 0 && w->options->required)
                return failure_set(&w->failure, REASON_CUDA_RUNTIME_MISSING,
                                "no libcudart is installed");
        for (size_t i = 0; i < found->n; i++)
                if (!found->items[i].real)
                        return failure_set(&w->failure, REASON_CUDA_RUNTIME_MISSING,
                                        "%s leads to %s, which is not there",
                                        found->items[i].source, found->items[i].path);
        if (runtime_find_doubled(found, &first, &second))
                return failure_set(&w->failure, REASON_CUDA_RUNTIME_DOUBLED,
                                "%s is there as %s and as %s", first->soname, first->path,
                                second->path);
        return 0;
}

static int prove_all(Worker *w, const RuntimeFound *found) {
        for (size_t i = 0; i < found->n; i++) {
                const RuntimeLibrary *l = &found->items[i];
                RuntimeVersions v = {};
                int r;

                event_phase(&w->events, "calling the CUDA runtime", REASON_CUDA_TIMEOUT,
                                MIN((double) PATIENCE, deadline_left(w->deadline)));
                r = runtime_call(l->path, &v, &w->failure);
                if (v.runtime > 0)
                        send_runtime(w, l, &v);
                if (r < 0)
                        return r;
        }
        return 0;
}

int runtime_all(Worker *w) {
        _cleanup_(runtime_found_done) RuntimeFound found = {};
        int r;

        event_phase(&w->events, "looking for the CUDA runtime", REASON_CUDA_RUNTIME_ERROR, 60);
        r = runtime_find(w->options->tree, &found);
        if (r < 0)
                return failure_set(&w->failure, REASON_INTERNAL, "%s", strerror(-r));
        r = judge_found(w, &found);
        if (r < 0)
                return r;
        return prove_all(w, &found);
}
