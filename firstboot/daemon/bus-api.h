/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* org.imgbuild.FirstBoot1 on the system bus: the node and its steps as objects, for firstbootctl
 * and others. Reading is for everybody, changes are for root and whom polkit lets. */

#include "daemon/engine.h"

int bus_api_install(Engine *e, sd_bus *bus);

/* Announces what has changed since the last call: StepChanged, NodeChanged, PropertiesChanged. */
void bus_api_changed(Engine *e);
