/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* While the node is brought up, cloud-init's last stages, which nothing in the graph waits for,
 * take what CPU the steps leave over. Only where there is not enough of it does anybody notice. */

#include "daemon/engine.h"
#include "shared/log.h"
#include "contract/paths.h"

#define WEIGHT_LOW 1
#define WEIGHT_UNSET UINT64_MAX /* systemd.resource-control(5): no CPUWeight= */

/* All stages are one process since cloud-init 24.3; before, each was its unit's own. */
static const char *const units[] = { "cloud-init-main.service", "cloud-final.service" };

static void set_weight(const Engine *e, uint64_t weight) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                int r = sd_bus_call_method_async(e->bus, NULL, SYSTEMD, SYSTEMD_PATH,
                                SYSTEMD_MANAGER, "SetUnitProperties", NULL, NULL, "sba(sv)",
                                units[i], true, 1, "CPUWeight", "t", weight);

                if (r < 0)
                        log_warning_errno(r, "Cannot set the CPU weight of %s", units[i]);
        }
}

void pace_begin(Engine *e) {
        if (e->paced || !e->bus)
                return;
        e->paced = true;
        set_weight(e, WEIGHT_LOW);
}

void pace_end(Engine *e) {
        if (!e->paced || !e->bus)
                return;
        e->paced = false;
        set_weight(e, WEIGHT_UNSET);
}
