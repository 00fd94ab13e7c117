/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The step's facts and findings as JSON. */

#include "steps/gpu/figures.h"
#include "steps/gpu/nvml.h"

static void set_filled(json_object *o, const char *key, const char *text) {
        (void) json_set_string(o, key, text[0] ? text : NULL);
}

static void add_fact(json_object *o, json_object *unread, const char *name, const GpuFact *f) {
        if (f->state == GPU_READ)
                (void) json_set_int(o, name, f->value);
        else
                (void) json_set_string(unread, name,
                                f->state == GPU_ERROR       ? nvml_error_text(f->error)
                                : f->state == GPU_NO_SYMBOL ? "no symbol"
                                                            : "not read");
}

static json_object *links_to_json(const Gpu *g) {
        json_object *list = json_object_new_array();

        for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                const GpuLink *l = &g->links[k];
                json_object *o;

                if (l->active.state != GPU_READ)
                        continue;
                o = json_object_new_object();
                (void) json_set_fields(
                                o, JSON_INT("link", k), JSON_BOOL("active", l->active.value == 1));
                for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++)
                        if (l->counters[c].state == GPU_READ)
                                (void) json_set_int(
                                                o, gpu_link_counter_names[c], l->counters[c].value);
                (void) json_append(list, o);
        }
        return list;
}

static json_object *gpu_to_json(const Gpu *g, unsigned index) {
        json_object *o = json_object_new_object(), *unread = json_object_new_object();

        (void) json_set_int(o, "gpu", index);
        set_filled(o, "name", g->name);
        set_filled(o, "uuid", g->uuid);
        set_filled(o, "serial", g->serial);
        set_filled(o, "vbios", g->vbios);
        set_filled(o, "pci", g->pci);
        if (g->error != NVML_SUCCESS)
                (void) json_set_string(o, "error", nvml_error_text(g->error));
        for (size_t k = 0; k < GPU_FACTS_N; k++)
                add_fact(o, unread, gpu_fact_names[k].name, &g->facts[k]);
        (void) json_set(o, "nvlinks", links_to_json(g));
        (void) json_set(o, "unread", unread);
        return o;
}

static json_object *pci_to_json(const GpuPci *p) {
        json_object *o = json_object_new_object();

        (void) json_set_fields(o, JSON_STRING("pci", p->address), JSON_STRING("driver", p->driver));
        return o;
}

static json_object *xid_to_json(const GpuXid *x) {
        json_object *o = json_object_new_object();

        (void) json_set_fields(o, JSON_STRING("pci", x->pci),
                        JSON_INT(x->is_switch ? "sxid" : "xid", x->xid),
                        JSON_STRING("text", x->text));
        return o;
}

json_object *gpu_facts_to_json(const GpuFacts *f) {
        json_object *o = json_object_new_object(), *pci = json_object_new_array(),
                    *gpus = json_object_new_array(), *xids = json_object_new_array();

        for (unsigned i = 0; i < f->n_pci; i++)
                (void) json_append(pci, pci_to_json(&f->pci[i]));
        for (unsigned i = 0; i < f->n; i++)
                (void) json_append(gpus, gpu_to_json(&f->gpus[i], i));
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++)
                (void) json_append(xids, xid_to_json(&f->xids[i]));

        set_filled(o, "module_version", f->module_version);
        set_filled(o, "driver_version", f->driver_version);
        set_filled(o, "nvml_version", f->nvml_version);
        set_filled(o, "fabric_manager_version", f->fabric_manager.version);
        (void) json_set_fields(o, JSON_INT("nvswitches", f->n_switches), JSON_TAKE("pci", pci),
                        JSON_TAKE("gpus", gpus), JSON_TAKE("xids", xids));
        return o;
}

json_object *gpu_findings_to_json(const GpuFindings *f) {
        json_object *list = json_object_new_array();

        for (size_t i = 0; i < MIN(f->n, (size_t) GPU_FINDINGS_TOLD); i++) {
                const GpuFinding *x = &f->items[i];
                json_object *o = json_object_new_object();

                if (x->gpu >= 0)
                        (void) json_set_int(o, "gpu", x->gpu);
                set_filled(o, "uuid", x->uuid);
                set_filled(o, "serial", x->serial);
                set_filled(o, "pci", x->pci);
                (void) json_set_fields(o, JSON_STRING("code", gpu_code_names[x->code]),
                                JSON_STRING("text", x->text));
                if (x->has_value)
                        (void) json_set_int(o, "value", x->value);
                if (x->has_limit)
                        (void) json_set_int(o, "limit", x->limit);
                (void) json_set_string(o, "action", gpu_action_names[x->action]);
                (void) json_append(list, o);
        }
        return list;
}

static bool is_active(const GpuLink *l) {
        return l->active.state == GPU_READ && l->active.value == 1;
}

static int64_t links_of(const Gpu *g) {
        int64_t n = 0;

        for (size_t k = 0; k < GPU_LINKS_MAX; k++)
                n += is_active(&g->links[k]);
        return n;
}

json_object *gpu_summary_to_json(const GpuFacts *f) {
        static const GpuFactId measured[] = { GPU_TEMPERATURE, GPU_PCIE_GENERATION_LOAD,
                GPU_PCIE_WIDTH, GPU_PCIE_REPLAYS, GPU_ECC_VOLATILE, GPU_H2D, GPU_D2H,
                GPU_ARCHITECTURE, GPU_CLIQUE, GPU_CLOCK_LOAD, GPU_POWER_LIMIT };
        json_object *list = json_object_new_array();

        for (unsigned i = 0; i < f->n; i++) {
                const Gpu *g = &f->gpus[i];
                json_object *o = json_object_new_object();

                (void) json_set_int(o, "gpu", i);
                set_filled(o, "name", g->name);
                set_filled(o, "uuid", g->uuid);
                set_filled(o, "serial", g->serial);
                set_filled(o, "pci", g->pci);
                set_filled(o, "vbios", g->vbios);
                for (size_t k = 0; k < ELEMENTSOF(measured); k++)
                        if (gpu_fact_known(g, measured[k]))
                                (void) json_set_int(o, gpu_fact_names[measured[k]].name,
                                                g->facts[measured[k]].value);
                (void) json_set_int(o, "nvlinks_active", links_of(g));
                set_filled(o, "cluster", g->cluster);
                if (f->load.state == GPU_PHASE_DONE) {
                        (void) json_set(o, "hbm_gbps", json_object_new_double(f->load.hbm_gbps[i]));
                        (void) json_set(o, "gemm_tflops",
                                        json_object_new_double(f->load.gemm_tflops[i]));
                }
                (void) json_append(list, o);
        }
        return list;
}

static bool leads_to_switch(const GpuLink *l) {
        return l->remote_type.state == GPU_READ &&
               l->remote_type.value == NVML_NVLINK_DEVICE_TYPE_SWITCH;
}

/* Whether a link of the one leads to the other, or to a switch. */
static bool reaches(const Gpu *g, const Gpu *other) {
        for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                const GpuLink *l = &g->links[k];

                if (is_active(l) && (streq(l->remote, other->pci) || leads_to_switch(l)))
                        return true;
        }
        return false;
}

json_object *gpu_nvlink_to_json(const GpuFacts *f) {
        json_object *o = json_object_new_object();
        bool complete = f->n > 1;
        int64_t least = f->n > 0 ? links_of(&f->gpus[0]) : 0;
        int generation = f->n > 0 ? (int) f->gpus[0].facts[GPU_ARCHITECTURE].value : 0;

        for (unsigned i = 0; i < f->n; i++) {
                least = MIN(least, links_of(&f->gpus[i]));
                for (unsigned k = 0; k < f->n; k++)
                        complete = complete && (i == k || reaches(&f->gpus[i], &f->gpus[k]));
        }
        (void) json_set_fields(o, JSON_INT("links", least), JSON_BOOL("complete", complete));
        /* As the table of shapes has it: 25 GB/s from Volta to Hopper, 50 for Blackwell. */
        (void) json_set(o, "gbps",
                        json_object_new_double(generation >= NVML_DEVICE_ARCH_BLACKWELL ? 50 : 25));
        return o;
}
