/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The node becomes a member, by kubeadm. */

#include "steps/kubernetes/state.h"

#include <systemd/sd-bus.h>

/* The reason code for what kubeadm said; NULL where it tells nothing that is known. */
const char *join_judge(const char *line);

/* Finds the token, asks the API server whether it is the right one and knows it, and has kubeadm
 * join. kubelet runs then. 0, or the step's failure, and no kubelet. */
int kubernetes_join(Kubernetes *k, sd_bus *bus);
