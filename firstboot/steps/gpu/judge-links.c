/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One GPU's NVLinks, and its place in the fabric of NVSwitches. */

#include "steps/gpu/judge-internal.h"
#include "shared/time-util.h"
#include "steps/gpu/nvml.h"

unsigned gpu_links_active(const Gpu *g) {
        unsigned n = 0;

        for (size_t k = 0; k < GPU_LINKS_MAX; k++)
                n += g->links[k].active.state == GPU_READ && g->links[k].active.value == 1;
        return n;
}

/* A link that carries data has CRC errors, which it mends by sending again: "CRC errors only matter
 * at rates of 100+ per second" (NVIDIA's DCGM, which fails from there on). Of a counter that has
 * grown since boot that is the least that the rate can have been. */
int64_t judge_crc_limit(const Judge *j, uint64_t usec) {
        return j->wish->nvlink_crc_max * (int64_t) MAX(usec / USEC_PER_SEC, UINT64_C(1));
}

static void judge_link(Judge *j, int i, size_t k) {
        const GpuLink *l = &j->facts->gpus[i].links[k];
        bool counted = false;
        GpuFinding *f;

        if (l->active.state != GPU_READ || l->active.value != 1)
                return;
        for (size_t c = 0; c < GPU_LINK_COUNTERS_N; c++) {
                const GpuFact *n = &l->counters[c];
                bool crc = c == GPU_LINK_CRC_FLIT || c == GPU_LINK_CRC_DATA;
                int64_t limit = crc ? judge_crc_limit(j, j->facts->uptime_usec)
                                    : j->wish->nvlink_errors_max;

                if (n->state == GPU_READ)
                        counted = true;
                else if (n->state == GPU_ERROR && n->error != NVML_ERROR_NOT_SUPPORTED &&
                                n->error != NVML_ERROR_INVALID_ARGUMENT)
                        judge_not_read(j, i, n, gpu_link_counter_names[c],
                                        "nvmlDeviceGetNvLinkErrorCounter");
                if (n->state != GPU_READ || n->value <= limit)
                        continue;
                f = judge_add(j, GPU_CODE_NVLINK_ERRORS, GPU_ACTION_RESET, i,
                                "NVLink %zu counts %lld %s errors", k, (long long) n->value,
                                gpu_link_counter_names[c]);
                finding_limit(f, n->value, limit);
        }
        if (!counted) {
                GpuFact none = l->counters[GPU_LINK_REPLAY];
                char name[64];

                snprintf(name, sizeof(name), "any error counter of NVLink %zu", k);
                judge_not_read(j, i, &none, name, "nvmlDeviceGetNvLinkErrorCounter");
        }
}

void judge_links(Judge *j, int i, int expected) {
        const Gpu *g = &j->facts->gpus[i];
        unsigned active = gpu_links_active(g);
        char down[120] = "";
        GpuFinding *f;

        for (size_t k = 0; k < GPU_LINKS_MAX; k++) {
                judge_link(j, i, k);
                const GpuFact *a = &g->links[k].active;
                size_t n = strlen(down);

                if (a->state == GPU_READ && a->value != 1 && n + 4 < sizeof(down))
                        snprintf(down + n, sizeof(down) - n, "%s%zu", n ? "," : " (down: ", k);
                else if (a->state == GPU_ERROR && a->error != NVML_ERROR_NOT_SUPPORTED &&
                                a->error != NVML_ERROR_INVALID_ARGUMENT)
                        judge_not_read(j, i, a, "an NVLink's state", "nvmlDeviceGetNvLinkState");
        }
        if (expected < 0 || active >= (unsigned) expected)
                return;
        if (g->links[0].active.state == GPU_NO_SYMBOL) {
                judge_not_read(j, i, &g->links[0].active, "NVLink", "nvmlDeviceGetNvLinkState");
                return;
        }
        f = judge_add(j, GPU_CODE_NVLINK_DOWN, GPU_ACTION_RESET, i,
                        "%u NVLinks are active, %d expected%s%s", active, expected, down,
                        down[0] ? ")" : "");
        finding_limit(f, active, expected);
}

/* Whether the link is up and a switch is at its other end. */
static bool leads_to_switch(const GpuLink *l) {
        return l->active.state == GPU_READ && l->active.value == 1 &&
               l->remote_type.state == GPU_READ &&
               l->remote_type.value == NVML_NVLINK_DEVICE_TYPE_SWITCH;
}

bool gpu_has_fabric(const GpuFacts *f, const GpuWish *w) {
        if (w->fabric != GPU_FABRIC_AUTO)
                return w->fabric == GPU_FABRIC_ON;
        if (f->n_switches > 0)
                return true;
        for (unsigned i = 0; i < f->n; i++)
                for (size_t k = 0; k < GPU_LINKS_MAX; k++)
                        if (leads_to_switch(&f->gpus[i].links[k]))
                                return true;
        return false;
}

static void judge_fabric_health(Judge *j, int i) {
        /* NVML_GPU_FABRIC_HEALTH_MASK_*: two bits each, 1 says that it is so; the configuration
         * has four bits, of which 2 and more are errors. */
        static const struct {
                unsigned shift;
                const char *text;
        } health[] = {
                { 0, "bandwidth is degraded" },
                { 2, "routes are being recovered" },
                { 4, "a route is unhealthy" },
                { 6, "a recovery from access time-outs goes on" },
        };
        int64_t mask;

        if (!gpu_fact_known(&j->facts->gpus[i], GPU_FABRIC_HEALTH))
                return;
        mask = judge_value(j, i, GPU_FABRIC_HEALTH);
        for (size_t k = 0; k < ELEMENTSOF(health); k++)
                if (((mask >> health[k].shift) & 3) == 1)
                        finding_value(judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                                      "NVLink fabric: %s", health[k].text),
                                        mask);
        if (((mask >> 8) & 0xf) >= 2)
                finding_value(judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                              "NVLink fabric: it is not configured rightly"),
                                mask);
}

static const char *fabric_state_text(int64_t state) {
        static const char *const states[] = { "not supported", "not started", "in progress",
                "completed" };

        return state >= 0 && (size_t) state < ELEMENTSOF(states) ? states[state] : "unknown";
}

void judge_fabric(Judge *j, int i) {
        const Gpu *g = &j->facts->gpus[i];
        int64_t state, status, summary;
        GpuFinding *f;

        /* GPUs before Hopper do not register; the fabric manager alone knows of them. */
        if (!judge_need(j, i, GPU_ARCHITECTURE) ||
                        judge_value(j, i, GPU_ARCHITECTURE) < NVML_DEVICE_ARCH_HOPPER)
                return;
        if (!judge_need(j, i, GPU_FABRIC_STATE) || !judge_need(j, i, GPU_FABRIC_STATUS))
                return;
        state = judge_value(j, i, GPU_FABRIC_STATE);
        status = judge_value(j, i, GPU_FABRIC_STATUS);
        summary = gpu_fact_known(g, GPU_FABRIC_SUMMARY) ? judge_value(j, i, GPU_FABRIC_SUMMARY) : 0;

        if (state != NVML_GPU_FABRIC_STATE_COMPLETED) {
                bool waits = state == NVML_GPU_FABRIC_STATE_NOT_STARTED ||
                             state == NVML_GPU_FABRIC_STATE_IN_PROGRESS;

                f = judge_add(j, GPU_CODE_FABRIC, waits ? GPU_ACTION_WAIT : GPU_ACTION_REBOOT, i,
                                "its place in the NVLink fabric is %s", fabric_state_text(state));
                finding_limit(f, state, NVML_GPU_FABRIC_STATE_COMPLETED);
                return;
        }
        if (status != NVML_SUCCESS) {
                f = judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                "joining the NVLink fabric ended in an error: %s",
                                nvml_error_text((int) status));
                finding_limit(f, status, 0);
                return;
        }
        if (summary >= NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY) {
                bool unhealthy = summary == NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY;

                f = judge_add(j, GPU_CODE_FABRIC, GPU_ACTION_REBOOT, i,
                                "its part of the NVLink fabric is %s",
                                unhealthy ? "unhealthy" : "of limited capacity");
                finding_value(f, summary);
                return;
        }
        judge_fabric_health(j, i);
}
