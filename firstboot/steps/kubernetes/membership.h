/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node as a member of the cluster: in service, or held back with our reason. */

#include "steps/kubernetes/state.h"

#include <systemd/sd-bus.h>

/* Lets kubelet run: its permit first, without which the unit does not start. As unit_job(). */
int kubelet_start(sd_bus *bus, const char *permit, char **ret_result);

/* Takes the permit away, and stops kubelet. */
void kubelet_stop(sd_bus *bus);

/* Sees to it that a node with a fault gets no pod: condition, taint where that is allowed, and
 * cordon, unless somebody else has cordoned it. Before kubelet is started, and once more after it.
 * Returns 0, after kubelet's start with the step's verdict, or the step's failure. */
int kubernetes_ensure_held(Kubernetes *k);

/* Waits until kubelet has registered the node in this boot, and lifts what is ours. 0 or the step's
 * failure. */
int kubernetes_ensure_in_service(Kubernetes *k);
