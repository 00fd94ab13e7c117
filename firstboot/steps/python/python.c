/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Python environments proved by use: the main packages of each can be imported, and torch sees as
 * many GPUs as NVML does. */

#include "shared/strv.h"
#include "shared/time-util.h"
#include "steps/python/import.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#define TIMEOUT_USEC (2 * 60 * USEC_PER_SEC)

typedef struct Python {
        StepContext *context;
        uint64_t timeout_usec;
        bool gpus; /* torch is to see them */
        json_object *modules;
        unsigned n;
} Python;

static int add_figure(Python *p, const char *environment, const char *module, const Import *i) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        if (!o)
                return -ENOMEM;
        r = json_set_fields(o, JSON_STRING("environment", environment),
                        JSON_STRING("module", module), JSON_STRING("version", i->version));
        if (r < 0)
                return r;
        r = json_set(o, "seconds", json_object_new_double(i->seconds));
        if (r < 0)
                return r;
        r = json_append(p->modules, json_object_get(o));
        if (r < 0)
                return r;
        if (i->torch_devices >= 0)
                step_figure(p->context, "torch_devices", json_object_new_int(i->torch_devices));
        if (i->nvml_devices >= 0)
                step_figure(p->context, "nvml_devices", json_object_new_int(i->nvml_devices));
        return 0;
}

static int judge_gpus(Python *p, const char *environment, const Import *i) {
        if (i->gpu_text)
                return step_fail_later(p->context, "python.gpus", "%s: GPUs are not counted: %s",
                                environment, i->gpu_text);
        if (i->torch_devices == i->nvml_devices)
                return 0;
        return step_fail(p->context, "python.gpus", "%s: torch %s sees %d GPUs, NVML %d",
                        environment, strempty(i->version), i->torch_devices, i->nvml_devices);
}

static int judge(Python *p, const char *environment, const char *module, const Import *i) {
        StepContext *c = p->context;

        switch (i->end) {
        case IMPORT_OK:
                return 0;
        case IMPORT_NO_PYTHON:
                return step_fail(c, "python.no-environment", "%s", i->text);
        case IMPORT_FAILED:
                return step_fail(c, "python.import", "%s: import %s: %s", environment, module,
                                i->text);
        case IMPORT_DIED:
                return step_fail_later(c, "python.import", "%s: import %s: %s", environment, module,
                                i->text);
        case IMPORT_TIMEOUT:
                return step_fail_later(c, "python.timeout", "%s: import %s: %s", environment,
                                module, i->text);
        }
        return -EINVAL;
}

static int prove_module(Python *p, const char *environment, const char *module) {
        _cleanup_(import_done) Import i = {};
        bool count = p->gpus && streq(module, "torch");
        int r;

        r = python_import(environment, module, count, p->timeout_usec, &i);
        if (r < 0)
                return r;
        r = judge(p, environment, module, &i);
        if (r < 0)
                return r;
        p->n++;
        r = add_figure(p, environment, module, &i);
        if (r < 0)
                return r;
        return count ? judge_gpus(p, environment, &i) : 0;
}

/* All of them, also behind one that failed: whoever repairs the image wants the whole list. */
static int prove_environment(Python *p, const char *environment, const char *modules) {
        _cleanup_strv_free_ char **list = strv_split(modules, " ");
        int r, first = 0;

        if (!list)
                return -ENOMEM;
        STRV_FOREACH (module, list) {
                r = prove_module(p, environment, *module);
                if (r < 0 && first == 0)
                        first = r;
                if (r == -ENOMEM || r == -ECANCELED)
                        return r;
        }
        return first;
}

/* With MIG, CUDA sees instances, one of them at a time. */
static bool gpus_are_whole(const StepContext *c) {
        const char *mig = json_get_string(json_get(c->config, "gpu"), "mig");

        return gpus_on_pci() > 0 && (!mig || streq(mig, "off"));
}

int python_run(StepContext *c) {
        json_object *environments = json_get(c->section, "environments");
        Python p = {
                .context = c,
                .timeout_usec = config_duration(c->section, "timeout", TIMEOUT_USEC),
        };
        int r, first = 0;

        if (!json_get_bool(c->section, "enabled", false))
                return step_skip(c, "python.enabled is not set");
        if (c->check == STEP_CHECK_QUICK)
                return step_skip(c, "packages are not imported beside jobs; --full does");
        if (!environments || json_object_object_length(environments) == 0)
                return step_skip(c, "python.environments names none");
        p.gpus = gpus_are_whole(c);
        p.modules = json_object_new_array();
        if (!p.modules)
                return -ENOMEM;
        step_figure(c, "modules", p.modules);
        json_object_object_foreach (environments, environment, modules) {
                r = prove_environment(&p, environment, strempty(json_object_get_string(modules)));
                if (r < 0 && first == 0)
                        first = r;
        }
        if (first < 0)
                return first;
        return step_done(c, "%u modules of %d environments can be imported", p.n,
                        json_object_object_length(environments));
}
