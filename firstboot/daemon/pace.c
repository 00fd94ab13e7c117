/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lowers the CPU weight of cloud-init's units while the steps run, and restores it. */

#include "daemon/pace.h"
#include "daemon/manager.h"
#include "shared/log.h"

#define WEIGHT_LOW 1
#define WEIGHT_UNSET UINT64_MAX /* systemd.resource-control(5): no CPUWeight= */

/* All stages are one process since cloud-init 24.3; before, each was its unit's own. */
static const char *const units[] = { "cloud-init-main.service", "cloud-final.service" };

static void set_weight(sd_bus *bus, uint64_t weight) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                int r = manager_set_cpu_weight(bus, units[i], weight);

                if (r < 0)
                        log_warning_errno(r, "Cannot set the CPU weight of %s", units[i]);
        }
}

void pace_begin(sd_bus *bus) {
        set_weight(bus, WEIGHT_LOW);
}

void pace_end(sd_bus *bus) {
        set_weight(bus, WEIGHT_UNSET);
}
