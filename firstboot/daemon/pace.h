/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* While the node is brought up, cloud-init's last stages, which nothing in the graph waits for,
 * take what CPU the steps leave over. Only where there is not enough of it does anybody notice. */

#include <systemd/sd-bus.h>

/* Lowers the CPU weight of what else the boot has still to do, and gives it back. */
void pace_begin(sd_bus *bus);
void pace_end(sd_bus *bus);
