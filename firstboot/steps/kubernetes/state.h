/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kubernetes step while it runs: what its files share. */

#include "contract/retry.h"
#include "steps/common/fault.h"
#include "steps/common/health.h"
#include "steps/common/step.h"

#include <systemd/sd-bus.h>

typedef struct Kubernetes {
        StepContext *context;
        sd_bus *bus;
        char *node;
        Fault fault;
        char *reason; /* own_reason() of the fault; NULL: all is well */
        RetryLoop loop;
        bool running;       /* kubelet was up before this run of the step */
        bool started;       /* and is, since this run */
        bool taint_refused; /* nobody whom we can be may change the taint */
        bool lifted;        /* a cordon or taint of ours, in this run */
} Kubernetes;

#define KUBERNETES_HEALTH \
        (&(const HealthCodes) { "kubernetes.check-failed", "kubernetes.check-unavailable" })

/* Whether the server's clock (seconds; 0: unknown) is further from ours than
 * kubernetes.clock_skew_max. It is a figure of the verdict, and step_fail_later()'s text in
 * *ret_text, where asked for; the caller frees it. */
bool kubernetes_clock_differs(Kubernetes *k, int64_t date, char **ret_text);

/* Sleeps, longer each time; false once the step's time is up. */
bool kubernetes_again(Kubernetes *k);
