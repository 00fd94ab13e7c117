/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Membership in a Kubernetes cluster: joined by kubeadm, kubelet started by this step alone,
 * registered in this boot, Ready. It runs last. The verdict of the node stands on its Node object;
 * once all is well, what we hold it back with (and only that) is lifted. */

#include "contract/paths.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/common/attempt.h"
#include "steps/common/own-reason.h"
#include "steps/common/unit.h"
#include "steps/kubernetes/api.h"
#include "steps/kubernetes/join.h"
#include "steps/kubernetes/membership.h"
#include "steps/kubernetes/node-name.h"
#include "steps/steps.h"

#define GIVE_UP_USEC (300 * USEC_PER_SEC)

static void kubernetes_done(Kubernetes *k) {
        free(k->node);
        free(k->reason);
        fault_done(&k->fault);
}

/* No status, no joining, and none that goes on. */
static int find_fault(Kubernetes *k) {
        int r = fault_find_for(k->context, "kubernetes.kubelet", PATH_KUBELET_PERMIT, &k->fault);

        if (r < 0)
                return r;
        if (k->fault.code && !(k->reason = own_reason(k->fault.code, k->fault.text)))
                return -ENOMEM;
        return 0;
}

static int check_installed(StepContext *c) {
        static const char *const programs[] = { "kubelet", "kubeadm" };

        for (size_t i = 0; i < ELEMENTSOF(programs); i++)
                if (!program_find(programs[i], NULL))
                        return step_fail(c, "kubernetes.not-installed", "%s is not installed",
                                        programs[i]);
        return 0;
}

/* Whether the node has joined: 1, 0, or the step's failure where it is somebody else's. */
static int find_identity(Kubernetes *k) {
        static const struct {
                const char *kind, *code;
        } lasting[] = {
                { "other-cluster", "kubernetes.other-cluster" },
                { "other-node", "kubernetes.other-node" },
                { "expired", "kubernetes.certificate-expired" },
        };
        _cleanup_api_answer_ ApiAnswer a = {};
        int r;

        r = api_identity(k->node, &a);
        if (r < 0)
                return r;
        if (a.server)
                step_figure(k->context, "api_server", json_object_new_string(a.server));
        if (streq(a.kind, "ok"))
                return 1;
        if (streq(a.kind, "absent"))
                return 0;
        if (streq(a.kind, "broken")) {
                log_info("%s is no good, so the node has to join: %s", PATH_KUBELET_CONF, a.text);
                return 0;
        }
        if (streq(a.kind, "clock"))
                return step_fail_later(k->context, "kubernetes.clock-skew", "%s", a.text);
        for (size_t i = 0; i < ELEMENTSOF(lasting); i++)
                if (streq(a.kind, lasting[i].kind))
                        return step_fail(k->context, lasting[i].code, "%s: %s", PATH_KUBELET_CONF,
                                        a.text);
        return step_fail_later(k->context, "kubernetes.protocol", "%s", a.text);
}

static int start(Kubernetes *k, sd_bus *bus) {
        _cleanup_free_ char *result = NULL;
        int r;

        r = kubelet_start(bus, k->reason ? "held\n" : "ready\n", &result);
        if (r >= 0)
                return 0;
        kubelet_stop(bus);
        return step_fail_later(k->context, "kubernetes.kubelet",
                        "kubelet.service did not start: %s", unit_job_words(r, result));
}

/* 1 where it has joined in this run, 0 where it had before. With a certificate of another cluster,
 * or none that can be told, kubelet is not let run. */
static int become_member(Kubernetes *k, sd_bus *bus) {
        int r;

        r = find_identity(k);
        if (r < 0 && !k->running)
                kubelet_stop(bus);
        if (r < 0)
                return r;
        if (r == 0) {
                r = kubernetes_join(k, bus);
                if (r < 0)
                        return r;
                k->running = true;
                return 1;
        }
        /* Held before kubelet registers: no pod gets in between. */
        return k->reason ? kubernetes_ensure_held(k) : 0;
}

int kubernetes_run(StepContext *c) {
        _cleanup_(kubernetes_done) Kubernetes k = { .context = c,
                .loop = RETRY_LOOP_KUBERNETES(c->seed,
                                now_usec() + attempt_give_up(c, c->section, GIVE_UP_USEC)) };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        if (!json_get_string(c->section, "endpoint"))
                return step_skip(c, "no kubernetes.endpoint in the configuration");
        r = check_installed(c);
        if (r < 0)
                return r;
        r = find_fault(&k);
        if (r < 0)
                return r;
        r = kubernetes_node_name(c->section, &k.node);
        if (r == -EINVAL)
                return step_fail(c, "kubernetes.node-name", "the host name is no name for a node");
        if (r < 0)
                return r;
        r = unit_bus(&bus);
        if (r < 0)
                return unit_fail_no_bus(c, "kubernetes.kubelet", r);

        k.bus = bus;
        k.running = unit_is_active(bus, "kubelet.service");
        /* One that was stopped since is what the watch has found: whoever did it is left alone. */
        bool left_alone = k.fault.watch && !k.running;
        r = become_member(&k, bus);
        if (r < 0)
                return r;
        if (c->slow && r > 0) /* the cluster has answered: what follows has its time */
                k.loop.deadline_usec =
                                now_usec() + config_duration(c->section, "give_up", GIVE_UP_USEC);
        r = left_alone ? 0 : start(&k, bus);
        if (r < 0)
                return r;
        k.started = true;
        if (!k.reason)
                return kubernetes_ensure_in_service(&k);
        r = kubernetes_ensure_held(&k);
        return r >= 0 && k.fault.unknown ? fault_unknown(c, &k.fault) : r;
}

int kubernetes_hold(StepContext *c, const Fault *f) {
        _cleanup_(kubernetes_done) Kubernetes k = { .context = c,
                .running = true,
                .loop = RETRY_LOOP_KUBERNETES(c->seed, now_usec() + GIVE_UP_USEC) };
        int r;

        k.fault.code = strdup(f->code);
        k.fault.text = strdup(f->text);
        k.reason = own_reason(f->code, f->text);
        if (!k.fault.code || !k.fault.text || !k.reason)
                return -ENOMEM;
        r = kubernetes_node_name(c->section, &k.node);
        if (r == -EINVAL)
                return step_fail(c, "kubernetes.node-name", "the host name is no name for a node");
        return r < 0 ? r : kubernetes_ensure_held(&k);
}
