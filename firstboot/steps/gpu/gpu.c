/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The GPUs: nvidia-persistenced and, on NVSwitch systems, nvidia-fabricmanager started; then PCI,
 * NVML, CUDA and the kernel log asked (gather.c) and held against the shape and the
 * configuration (judge.c). A GPU that PCI shows and the driver does not is a failure, not a
 * smaller node; so is a library that is absent, lacks a function, or does not answer in time. */

#include "contract/paths.h"
#include "shared/log.h"
#include "shared/parse-number.h"
#include "shared/spawn.h"
#include "steps/common/process.h"
#include "steps/common/unit.h"
#include "steps/gpu/figures.h"
#include "steps/gpu/gather.h"
#include "steps/gpu/journal.h"
#include "steps/gpu/load.h"
#include "steps/gpu/nvml.h"
#include "steps/gpu/pci.h"
#include "steps/shape/detect.h"
#include "steps/steps.h"

#define PERSISTENCED "nvidia-persistenced.service"
#define FABRIC_MANAGER "nvidia-fabricmanager.service"
#define IMEX "nvidia-imex.service"
#define IMEX_CHANNELS "/dev/nvidia-caps-imex-channels"
#define UNIT_USEC (90 * USEC_PER_SEC)
#define MODPROBE_USEC (120 * USEC_PER_SEC)
#define VERSION_USEC (20 * USEC_PER_SEC)
#define FACTS_USEC (120 * USEC_PER_SEC)

typedef struct GpuStep {
        StepContext *context;
        GpuFacts *facts;
        GpuWish wish;
        unsigned xid_ignore[128];
        uint64_t timeout_usec;
        sd_bus *bus;
        ShapeDetected shape;
        bool shape_unknown; /* and no count in the configuration */
} GpuStep;

static void gpu_step_done(GpuStep *s) {
        sd_bus_flush_close_unref(s->bus);
        gpu_facts_free(s->facts);
        shape_detected_done(&s->shape);
}

/* Xids that mean nothing here; the configuration has checked that they are numbers. */
static void read_xid_ignore(GpuStep *s, json_object *list) {
        GpuWish *w = &s->wish;
        size_t n = json_object_array_length(list);

        w->xid_ignore = s->xid_ignore;
        w->n_xid_ignore = 0;
        for (size_t i = 0; i < n && w->n_xid_ignore < ELEMENTSOF(s->xid_ignore); i++) {
                const char *text = json_object_get_string(json_object_array_get_idx(list, i));
                uint64_t xid = 0;

                (void) parse_number(strempty(text), 10, &xid);
                s->xid_ignore[w->n_xid_ignore++] = (unsigned) xid;
        }
}

/* The bit of the fact that has this name; 0 where there is none. */
static uint64_t fact_bit(const char *name) {
        for (size_t i = 0; i < GPU_FACTS_N; i++)
                if (streq_ptr(name, gpu_fact_names[i].name))
                        return UINT64_C(1) << i;
        return 0;
}

static GpuEccWish ecc_wish(const char *text) {
        return streq_ptr(text, "any")               ? GPU_ECC_ANY
               : streq_ptr(text, "on-if-supported") ? GPU_ECC_IF_SUPPORTED
                                                    : GPU_ECC_ON;
}

static GpuFabricWish fabric_wish(const char *text) {
        return streq_ptr(text, "on")    ? GPU_FABRIC_ON
               : streq_ptr(text, "off") ? GPU_FABRIC_OFF
                                        : GPU_FABRIC_AUTO;
}

static GpuMigWish mig_wish(const char *text) {
        return streq_ptr(text, "on")    ? GPU_MIG_ON
               : streq_ptr(text, "any") ? GPU_MIG_ANY
                                        : GPU_MIG_OFF;
}

static void read_wish(GpuStep *s) {
        json_object *o = s->context->section, *list;
        GpuWish *w = &s->wish;

        *w = gpu_wish_default();
        w->count = (int) json_get_int(o, "count", w->count);
        w->nvlinks = (int) json_get_int(o, "nvlinks", w->nvlinks);
        w->pcie_generation = (int) json_get_int(o, "pcie_generation", w->pcie_generation);
        w->pcie_width = (int) json_get_int(o, "pcie_width", w->pcie_width);
        w->ecc = ecc_wish(json_get_string(o, "ecc"));
        w->fabric = fabric_wish(json_get_string(o, "fabric"));
        w->persistence = json_get_bool(o, "persistence", w->persistence);
        w->bandwidth = json_get_bool(o, "bandwidth", w->bandwidth);
        w->load = json_get_bool(o, "load", w->load);
        w->mig = mig_wish(json_get_string(o, "mig"));
        w->vgpu = streq_ptr(json_get_string(o, "vgpu"), "allow");
        w->consumer = streq_ptr(json_get_string(o, "consumer"), "allow");
        w->imex = json_get_bool(o, "imex", w->imex);
        w->sram_max = json_get_int(o, "sram_max", w->sram_max);
        w->remapped_max = json_get_int(o, "remapped_max", w->remapped_max);
        w->pcie_replays_max = json_get_int(o, "pcie_replays_max", w->pcie_replays_max);
        w->clock_percent = json_get_int(o, "clock_percent", w->clock_percent);
        w->power_percent = json_get_int(o, "power_percent", w->power_percent);
        w->spread_percent = json_get_int(o, "spread_percent", w->spread_percent);
        w->ecc_volatile_max = json_get_int(o, "ecc_volatile_max", w->ecc_volatile_max);
        w->ecc_aggregate_max = json_get_int(o, "ecc_aggregate_max", w->ecc_aggregate_max);
        w->retired_pages_max = json_get_int(o, "retired_pages_max", w->retired_pages_max);
        w->nvlink_errors_max = json_get_int(o, "nvlink_errors_max", w->nvlink_errors_max);
        w->nvlink_crc_max = json_get_int(o, "nvlink_crc_max", w->nvlink_crc_max);
        w->temperature_max = json_get_int(o, "temperature_max", w->temperature_max);
        w->h2d_min = json_get_int(o, "h2d_min", w->h2d_min);
        w->d2h_min = json_get_int(o, "d2h_min", w->d2h_min);
        w->bandwidth_percent = json_get_int(o, "bandwidth_percent", w->bandwidth_percent);
        s->timeout_usec = config_duration(o, "timeout", FACTS_USEC);

        list = json_get(o, "xid_ignore");
        if (list)
                read_xid_ignore(s, list);
        list = json_get(o, "allow_unsupported");
        for (size_t i = 0; list && i < json_object_array_length(list); i++)
                w->allow_unsupported |= fact_bit(
                                json_object_get_string(json_object_array_get_idx(list, i)));
}

static int open_bus(GpuStep *s) {
        return s->bus ? 0 : unit_bus(&s->bus);
}

static int start_unit(GpuStep *s, const char *unit, char **ret_result) {
        int r;

        r = open_bus(s);
        if (r < 0) {
                *ret_result = strf("the system bus does not answer: %s", strerror(-r));
                return r;
        }
        return unit_job(s->bus, "StartUnit", unit, UNIT_USEC, ret_result);
}

/* For a check: the service as it is. systemd has a state for units that are not installed as well;
 * of nvidia-persistenced NVML tells whether it is missed. Without a bus the process has to do. */
static void find_service(GpuStep *s, const char *unit, GpuService *service) {
        bool optional = streq(unit, PERSISTENCED);
        _cleanup_free_ char *state = NULL;

        if (open_bus(s) < 0 || unit_active_state(s->bus, unit, &state) < 0)
                state = strdup(optional || process_exists("nv-fabricmanage") ? "active" : "gone");
        if (!state)
                return;
        service->state = streq(state, "active")                 ? GPU_SERVICE_RUNNING
                         : optional && streq(state, "inactive") ? GPU_SERVICE_ABSENT
                                                                : GPU_SERVICE_FAILED;
        snprintf(service->text, sizeof(service->text), "it is %.140s", state);
}

static void start_service(GpuStep *s, const char *unit, GpuService *service) {
        _cleanup_free_ char *result = NULL;
        int r;

        if (s->context->check) {
                find_service(s, unit, service);
                return;
        }
        r = start_unit(s, unit, &result);

        service->state = r >= 0         ? GPU_SERVICE_RUNNING
                         : r == -ENOENT ? GPU_SERVICE_ABSENT
                                        : GPU_SERVICE_FAILED;
        if (service->state == GPU_SERVICE_FAILED)
                snprintf(service->text, sizeof(service->text), "%.159s", unit_job_words(r, result));
        else if (service->state == GPU_SERVICE_ABSENT)
                service->text[0] = '\0';
}

/* A service may end right after its start: what counts is what it is now. */
static void follow_service(GpuStep *s, const char *unit, GpuService *service) {
        _cleanup_free_ char *state = NULL;
        int r;

        if (service->state != GPU_SERVICE_RUNNING || s->context->check)
                return;
        r = unit_active_state(s->bus, unit, &state);
        if (r < 0 || !streq(state, "active")) {
                service->state = GPU_SERVICE_FAILED;
                snprintf(service->text, sizeof(service->text), "it is %.140s",
                                r < 0 ? strerror(-r) : state);
        }
}

static void ask_fabric_manager_version(GpuService *service) {
        SpawnOptions o = { .timeout_usec = VERSION_USEC };
        _cleanup_free_ char *output = NULL;
        int status = 0;

        service->version[0] = '\0';
        if (spawn_capture(&o, ARGV("nv-fabricmanager", "--version"), &output, &status) < 0)
                return;
        if (status == 0)
                (void) gpu_version_from_fabric_manager(
                                output, service->version, sizeof(service->version));
}

static void start_fabric_manager(GpuStep *s) {
        start_service(s, FABRIC_MANAGER, &s->facts->fabric_manager);
        if (s->facts->fabric_manager.state == GPU_SERVICE_RUNNING)
                ask_fabric_manager_version(&s->facts->fabric_manager);
}

/* Whether a GPU that belongs into a fabric has not joined it. */
static bool fabric_waits(const GpuFacts *f) {
        for (unsigned i = 0; i < f->n; i++) {
                const GpuFact *fact = &f->gpus[i].facts[GPU_FABRIC_STATE];

                if (fact->state != GPU_READ)
                        continue;
                if (fact->value == NVML_GPU_FABRIC_STATE_NOT_STARTED ||
                                fact->value == NVML_GPU_FABRIC_STATE_IN_PROGRESS)
                        return true;
        }
        return false;
}

/* udev loads the driver early in the boot; this waits until that is over, and makes up for a udev
 * that did not. A module on the blacklist stays out. */
static void load_driver(void) {
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r = step_command(ARGV("modprobe", "--use-blacklist", "nvidia"), MODPROBE_USEC, &last);

        if (r == 0)
                return;
        why = step_command_failure("modprobe nvidia", r, last);
        log_warning("%s; journalctl -k shows what the driver said", strempty(why));
}

/* GPUs whose NVLinks leave the node reach the others through a service. */
static void start_imex(GpuStep *s) {
        GpuFacts *f = s->facts;
        _cleanup_strv_free_ char **channels = NULL;
        bool cluster = false;

        for (unsigned i = 0; i < f->n; i++)
                cluster = cluster || f->gpus[i].cluster[0];
        if (!cluster || !s->wish.imex)
                return;
        start_service(s, IMEX, &f->imex);
        follow_service(s, IMEX, &f->imex);
        f->imex_channel = fb_list(IMEX_CHANNELS, &channels) >= 0 && strv_length(channels) > 0;
}

static int gather(GpuStep *s) {
        GpuFacts *f = s->facts;
        int r;

        if (!s->context->check)
                load_driver();
        memset(f, 0, sizeof(*f));
        gpu_read_pci(f);
        /* Asking NVML would change nothing about that. */
        if (f->module_version[0] == '\0')
                return 0;
        if (s->wish.persistence)
                start_service(s, PERSISTENCED, &f->persistenced);
        if (s->wish.fabric != GPU_FABRIC_OFF &&
                        (f->n_switches > 0 || s->wish.fabric == GPU_FABRIC_ON))
                start_fabric_manager(s);
        gpu_gather(f, s->wish.bandwidth, s->timeout_usec);

        /* Newer switches are no PCI devices: their links tell of them. */
        if (f->fabric_manager.state == GPU_SERVICE_NOT_ASKED && gpu_has_fabric(f, &s->wish) &&
                        fabric_waits(f)) {
                start_fabric_manager(s);
                if (f->fabric_manager.state == GPU_SERVICE_RUNNING)
                        gpu_gather(f, s->wish.bandwidth, s->timeout_usec);
        }

        start_imex(s);
        if (s->wish.load && gpu_load_is_possible(f)) {
                r = gpu_load(f, s->timeout_usec);
                if (r < 0)
                        return r;
        }
        follow_service(s, PERSISTENCED, &f->persistenced);
        follow_service(s, FABRIC_MANAGER, &f->fabric_manager);

        /* The ring buffer forgets; the journal has the boot's beginning. */
        if (!f->log_read || f->log_lost)
                gpu_read_journal(f);
        return 0;
}

static bool has_gpu(const GpuFacts *f, const char *pci) {
        for (unsigned i = 0; i < f->n; i++)
                if (streq(f->gpus[i].pci, pci))
                        return true;
        return false;
}

/* Where the NVLinks of all GPUs lead. */
static ShapeLinks where_links_lead(const GpuFacts *f) {
        unsigned active = 0, switched = 0, known = 0, open = 0;

        for (unsigned i = 0; i < f->n; i++)
                for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                        const GpuLink *l = &f->gpus[i].links[k];

                        if (l->active.state != GPU_READ)
                                continue;
                        if (l->active.value != 1) {
                                open++;
                                continue;
                        }
                        active++;
                        if (l->remote_type.state == GPU_READ)
                                switched += l->remote_type.value == NVML_NVLINK_DEVICE_TYPE_SWITCH;
                        known += l->remote[0] != '\0';
                        open += l->remote[0] && !has_gpu(f, l->remote);
                }
        if (active == 0) /* links, but none in use: a virtual machine with one GPU */
                return SHAPE_LINKS_NONE;
        if (switched > 0)
                return SHAPE_LINKS_SWITCHED;
        if (open > 0)
                return SHAPE_LINKS_OPEN;
        return known == active ? SHAPE_LINKS_CLOSED : SHAPE_LINKS_UNKNOWN;
}

/* The shape's numbers where the configuration has none. */
static int add_shape(GpuStep *s) {
        const GpuFacts *f = s->facts;
        const Shape *shape;
        const char *model = f->n > 0 && f->gpus[0].name[0] ? f->gpus[0].name : NULL;
        int r;

        for (unsigned i = 1; i < f->n; i++)
                if (!streq_ptr(model, f->gpus[i].name))
                        model = NULL;
        /* Links are left out: one that is down must not make another shape of the machine. */
        ShapeGpus gpus = { .model = model, .count = f->n_pci, .links = where_links_lead(f) };
        r = shape_detect(s->context, &gpus, &s->shape);
        if (r < 0)
                return r;
        shape = s->shape.shape;
        s->shape_unknown = !shape && s->wish.count < 0;
        if (shape && s->wish.count < 0 && shape->gpus != SHAPE_NOT_SAID)
                s->wish.count = shape->gpus;
        if (shape && s->wish.nvlinks < 0 && shape->nvlinks != SHAPE_NOT_SAID)
                s->wish.nvlinks = shape->nvlinks;
        return 0;
}

static void add_remedy(StepContext *c, const GpuFinding *f) {
        bool one = f->pci[0] != '\0';
        const char *hardware = one ? "the hardware at " : "the faulty hardware";

        switch (f->action) {
        case GPU_ACTION_RESET:
                step_remedy(c, "Stop what uses the GPU and reset it: nvidia-smi --gpu-reset%s%s; or reboot. Then firstbootctl rerun gpu.",
                                one ? " -i " : "", f->pci);
                break;
        case GPU_ACTION_REBOOT:
                step_remedy(c, "Reboot the node; if it comes again, have %s%s replaced (in a cloud: stop and start the instance).",
                                hardware, f->pci);
                break;
        case GPU_ACTION_RMA:
                step_remedy(c,
                                "Have %s%s replaced: nvidia-bug-report.sh gathers what the vendor asks for; "
                                "in a cloud, give the instance back.",
                                hardware, f->pci);
                break;
        default: /* the code's own remedy says what to configure, or to wait for */
                break;
        }
}

static int give_verdict(GpuStep *s, const GpuFindings *findings) {
        StepContext *c = s->context;
        const GpuFacts *f = s->facts;
        bool transient = true;

        for (size_t i = 0; i < findings->n; i++)
                transient = transient && findings->items[i].transient;

        for (size_t i = 0; i < MIN(findings->n, (size_t) GPU_FINDINGS_TOLD); i++) {
                const GpuFinding *x = &findings->items[i];
                _cleanup_free_ char *text = gpu_finding_sentence(x);

                if (i == 0)
                        add_remedy(c, x);
                if (transient)
                        (void) step_fail_later(c, gpu_code_names[x->code], "%s", strempty(text));
                else
                        (void) step_fail(c, gpu_code_names[x->code], "%s", strempty(text));
        }
        /* After the findings: what is wrong with a GPU says more than that nobody knows the
         * machine. */
        if (s->shape_unknown)
                (void) shape_unknown(c, &s->shape);
        if (step_has_failed(c))
                return -EPROTO;
        return step_done(c, "%u GPUs (%s) are well, driver %s", f->n, f->gpus[0].name,
                        f->driver_version);
}

/* What was found, for the verdict's readers. */
static void add_figures(StepContext *c, const GpuFacts *f, const GpuFindings *findings) {
        step_figure(c, "n_findings", json_object_new_int64((int64_t) findings->n));
        step_figure(c, "findings", gpu_findings_to_json(findings));
        step_figure(c, "gpus", gpu_summary_to_json(f));
        step_figure(c, "nvlink", gpu_nvlink_to_json(f));
        if (f->driver_version[0])
                step_figure(c, "driver", json_object_new_string(f->driver_version));
}

int gpu_run(StepContext *c) {
        _cleanup_(gpu_step_done) GpuStep s = { .context = c, .facts = gpu_facts_new() };
        _cleanup_gpu_findings_ GpuFindings findings = {};
        int r;

        if (!s.facts)
                return -ENOMEM;
        read_wish(&s);
        /* A job may be at work on the GPUs, and the next one waits for a check. */
        if (c->check == STEP_CHECK_QUICK)
                s.wish.bandwidth = false;
        if (c->check)
                s.wish.load = false;
        gpu_read_pci(s.facts);
        if (s.facts->n_pci == 0 && !s.facts->pci_error &&
                        (!c->section || !json_get_bool(c->section, "required", true)))
                return step_skip(c, "PCI shows no NVIDIA GPU");
        /* A node that nobody meant for GPUs works without, but its GPUs are told of. */
        if (!c->section && s.facts->module_version[0] == '\0')
                return step_degrade(c, "gpu.no-driver",
                                "PCI shows %u NVIDIA GPUs, but the driver is not loaded and nothing is configured for them",
                                s.facts->n_pci);

        if (s.facts->n_pci > 0) {
                r = gather(&s);
                if (r < 0)
                        return r;
        }
        if (s.facts->n > 0) {
                r = add_shape(&s);
                if (r < 0 && r != -EPROTO)
                        return r;
        }
        r = gpu_judge(s.facts, &s.wish, &findings);
        if (r < 0)
                return r;
        add_figures(c, s.facts, &findings);
        return give_verdict(&s, &findings);
}

int gpu_facts(void) {
        _cleanup_gpu_facts_ GpuFacts *f = gpu_facts_new();
        _cleanup_json_ json_object *o = NULL;

        if (!f)
                return -ENOMEM;
        gpu_gather(f, true, FACTS_USEC);
        o = gpu_facts_to_json(f);
        if (!o)
                return -ENOMEM;
        printf("%s\n", json_object_to_json_string_ext(o,
                                       JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
        return 0;
}
