/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the node, decides (verdict.h), writes what differs. Each write of the spec names the
 * version that was read: where somebody else was faster the server refuses it (409), and the node
 * is read again. */

#include "steps/kubernetes/membership.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/time-util.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/kubernetes/api.h"
#include "steps/kubernetes/verdict.h"

#include <time.h>

#define UNIT_USEC (120 * USEC_PER_SEC)
#define CONFLICTS_MAX 10 /* one after the other: somebody writes without end */

int kubelet_start(sd_bus *bus, const char *permit, char **ret_result) {
        int r;

        r = own_permit_put(PATH_KUBELET_PERMIT, permit);
        if (r < 0)
                return r;
        return unit_job(bus, "StartUnit", "kubelet.service", UNIT_USEC, ret_result);
}

void kubelet_stop(sd_bus *bus) {
        _cleanup_free_ char *permit = fb_path(PATH_KUBELET_PERMIT);

        if (permit)
                (void) unlink(permit);
        (void) unit_job(bus, "StopUnit", "kubelet.service", UNIT_USEC, NULL);
}

/* --- One look --------------------------------------------------------------------------------- */

/* One look at the node, and what was written of it. */
typedef struct Look {
        ApiAnswer shown, written;
        const ApiAnswer *last; /* of the two, the one that an error comes from */
        NodeView view;         /* borrows from shown */
        bool healthy;          /* what holds the node back may be lifted */
        bool over;             /* whatever comes of it, another look is no use */
} Look;

static void look_done(Look *l) {
        api_answer_done(&l->shown);
        api_answer_done(&l->written);
}

/* What comes of a look besides negative errno. */
enum {
        LOOK_WAIT, /* not yet */
        LOOK_DONE,
        LOOK_ANEW, /* at once */
};

/* Looks until it is done, over, or the time is up; the last look's result. */
static int look_until(Kubernetes *k, Look *l, int (*look)(Kubernetes *k, Look *l)) {
        unsigned conflicts = 0;
        int r;

        for (;;) {
                r = look(k, l);
                if (r == LOOK_DONE || r == -ENOMEM || l->over)
                        return r;
                if (r == LOOK_ANEW || (r == -ECONNRESET && ++conflicts < CONFLICTS_MAX))
                        continue;
                if (!kubernetes_again(k))
                        return r;
        }
}

/* 0 with the node; -ENOENT: the cluster has none of the name; -EACCES: it refuses us; -EAGAIN: no
 * answer of use. l->last has the words for it in any case. */
static int show_node(Kubernetes *k, Look *l) {
        ApiAnswer *a = &l->shown;
        int r;

        l->last = a;
        l->view = (NodeView) {};
        api_answer_done(a);
        r = api_get_node(k->node, a);
        if (r < 0)
                return r;
        if (!streq(a->kind, "ok"))
                return -EAGAIN;
        if (a->status != 200 || !json_get(a->body, "metadata"))
                return a->status == 404                       ? -ENOENT
                       : a->status == 401 || a->status == 403 ? -EACCES
                                                              : -EAGAIN;
        node_view(a->body, &l->view);
        return 0;
}

/* Whether a token may set the taint, as kubelet's certificate may not where NodeRestriction is
 * on. */
static bool has_verdict_token(const Kubernetes *k) {
        return json_get_string(k->context->section, "verdict_token") ||
               json_get_string(k->context->section, "verdict_token_file");
}

/* One write of the spec. 1: written; 0: nothing to be written; -ECONNRESET: conflict; -EACCES;
 * -EAGAIN. */
static int write_spec_as(
                Kubernetes *k, json_object *node, bool as_verdict, bool taint, ApiAnswer *ret) {
        _cleanup_json_ json_object *patch = NULL;
        int r;

        r = verdict_patch(node, k->reason, taint, &patch);
        if (r < 0 || !patch)
                return r == -EBADMSG ? -EAGAIN : r;
        api_answer_done(ret);
        r = api_patch_node(k->node, as_verdict, patch, ret);
        if (r < 0)
                return r;
        if (streq(ret->kind, "verdict-token"))
                return -EACCES;
        if (!streq(ret->kind, "ok"))
                return -EAGAIN;
        if (ret->status == 200)
                return 1;
        return ret->status == 409                         ? -ECONNRESET
               : ret->status == 401 || ret->status == 403 ? -EACCES
                                                          : -EAGAIN;
}

/* With the taint, by who may set it; where that is refused, cordon and annotations alone. */
static int write_spec(Kubernetes *k, json_object *node, ApiAnswer *ret) {
        int r;

        if (!k->taint_refused) {
                r = write_spec_as(k, node, has_verdict_token(k), true, ret);
                if (r != -EACCES)
                        return r;
                k->taint_refused = true;
                log_info("The taint is not ours to change: %s", api_words(ret));
        }
        return write_spec_as(k, node, false, false, ret);
}

static int write_condition(Kubernetes *k, json_object *node, ApiAnswer *ret) {
        _cleanup_json_ json_object *patch = NULL;
        time_t t = time(NULL);
        char now[32];
        struct tm tm;
        int r;

        if (!gmtime_r(&t, &tm) || strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                return -EINVAL;
        r = verdict_condition(node, k->fault.code, k->fault.text, now, &patch);
        if (r < 0 || !patch)
                return r;
        api_answer_done(ret);
        r = api_patch_status(k->node, patch, ret);
        if (r < 0)
                return r;
        if (!streq(ret->kind, "ok") || ret->status != 200)
                return ret->status == 401 || ret->status == 403 ? -EACCES : -EAGAIN;
        return 0;
}

/* The verdict as a whole. 0 where the node says all of it, or as show_node() and
 * write_spec_as(). */
static int write_verdict(Kubernetes *k, Look *l) {
        int r;

        l->last = &l->written;
        r = write_spec(k, l->shown.body, &l->written);
        if (r < 0)
                return r;
        if (r > 0) {
                log_info("node %s: %s", k->node, k->reason ? k->reason : "our hold is lifted");
                k->lifted = k->lifted || !k->reason;
        }
        return write_condition(k, l->shown.body, &l->written);
}

/* The figures that help whoever reads the verdict. */
static void note(Kubernetes *k, const NodeView *view) {
        if (view->version)
                step_figure(k->context, "kubelet_version", json_object_new_string(view->version));
        if (view->tainted || k->taint_refused)
                step_figure(k->context, "taint",
                                json_object_new_string(k->taint_refused   ? "refused"
                                                       : view->taint_ours ? "ours"
                                                                          : "foreign"));
}

/* --- Held back -------------------------------------------------------------------------------- */

static int not_held(Kubernetes *k, int error, const ApiAnswer *a) {
        const char *what = k->running || k->started ? "" : "; kubelet is not started";

        if (error == -EACCES)
                return step_fail_later(k->context, "kubernetes.refused",
                                "the API server refuses what holds node %s back: %s%s", k->node,
                                api_words(a), what);
        return step_fail_later(k->context, "kubernetes.hold-failed",
                        "node %s could not be held back: %s%s", k->node,
                        error == -ENOENT ? "the cluster does not know it" : api_words(a), what);
}

static int held(Kubernetes *k, const NodeView *before) {
        note(k, before);
        if (!k->started)
                return 0;
        if (before->cordoned && !before->cordon_ours)
                return step_degrade(k->context, "kubernetes.cordoned",
                                "node %s was cordoned by someone else and left so; its own fault: %s",
                                k->node, k->reason);
        return step_degrade(k->context, "kubernetes.held-by-firstboot", "node %s is cordoned: %s",
                        k->node, k->reason);
}

static int look_held(Kubernetes *k, Look *l) {
        int r;

        r = show_node(k, l);
        if (r < 0) {
                l->over = r == -ENOENT && !k->started && !k->running;
                return r;
        }
        r = write_verdict(k, l);
        return r < 0 ? r : LOOK_DONE;
}

int kubernetes_ensure_held(Kubernetes *k) {
        _cleanup_(look_done) Look l = {};
        int r;

        r = look_until(k, &l, look_held);
        if (r == -ENOMEM)
                return r;
        if (r < 0 && l.over)
                return 0; /* there is nothing yet that a pod could go to */
        return r < 0 ? not_held(k, r, l.last) : held(k, &l.view);
}

/* --- In service ------------------------------------------------------------------------------- */

/* Whether kubelet has told of itself since this boot, and not the one before it. */
static bool is_registered(const NodeView *view) {
        _cleanup_free_ char *path = fb_path("/proc/sys/kernel/random/boot_id"), *boot = NULL;

        if (!path || read_line_file(path, &boot) < 0)
                return true;
        return streq_ptr(view->boot_id, boot);
}

/* systemd takes a kubelet for started that ends a moment later, and starts it again and again. */
static int kubelet_stays_up(Kubernetes *k) {
        _cleanup_free_ char *state = NULL;
        int r;

        r = unit_active_state(k->bus, "kubelet.service", &state);
        if (r >= 0 && streq(state, "active"))
                return 0;
        return step_fail_later(k->context, "kubernetes.kubelet",
                        "kubelet was started, but does not stay up: kubelet.service is %s",
                        r < 0 ? "not there" : state);
}

/* Once the time is up. */
static int not_in_service(Kubernetes *k, int error, const Look *l) {
        const ApiAnswer *a = error < 0 ? l->last : &l->shown;
        _cleanup_free_ char *text = NULL;
        const NodeView *view = &l->view;
        StepContext *c = k->context;
        int r;

        if (error == -EACCES)
                return step_fail_later(c, "kubernetes.refused",
                                "the API server refuses node %s: %s", k->node, api_words(a));
        if (error == -ENOENT || (error >= 0 && !is_registered(view))) {
                r = kubelet_stays_up(k);
                if (r < 0)
                        return r;
        }
        if (error == -ENOENT)
                return step_fail_later(c, "kubernetes.not-registered",
                                "kubelet runs, but the cluster knows no node %s; one that was deleted is registered when kubelet starts again: systemctl restart kubelet",
                                k->node);
        if (error == -ECONNRESET)
                return step_fail_later(c, "kubernetes.hold-failed",
                                "somebody else changes node %s without end", k->node);
        if (error < 0 && a->status > 0)
                return step_fail_later(c, "kubernetes.protocol", "the API server answers %d: %s",
                                a->status, api_words(a));
        if (error < 0)
                return step_fail_later(c, "kubernetes.unreachable", "%s", api_words(a));
        if (kubernetes_clock_differs(k, a->date, &text))
                return step_fail_later(c, "kubernetes.clock-skew", "%s", strempty(text));
        if (!is_registered(view))
                return step_fail_later(c, "kubernetes.not-registered",
                                "node %s is known from an earlier boot; kubelet has not told of this one",
                                k->node);
        return step_degrade_for_now(c, "kubernetes.not-ready",
                        "node %s is registered, but not Ready: %s", k->node,
                        isempty(view->ready_text) ? "kubelet does not say why" : view->ready_text);
}

static int in_service(Kubernetes *k, const NodeView *view) {
        StepContext *c = k->context;

        if (view->taint_ours && k->taint_refused)
                return step_degrade_for_now(c, "kubernetes.taint-refused",
                                "node %s is well, but its taint " VERDICT_TAINT
                                " is not ours to lift",
                                k->node);
        if (view->cordoned && !view->cordon_ours)
                return step_degrade(c, "kubernetes.cordoned",
                                "node %s was cordoned by someone else and left so", k->node);
        if (k->lifted)
                return step_done(c, "node %s is back in service", k->node);
        return step_done(c, "node %s is registered and Ready", k->node);
}

/* What has to be lifted is lifted only from a node that is well at this moment. */
static int prove_health(Kubernetes *k) {
        _cleanup_free_ char *what = strf("what holds node %s back", k->node);

        if (!what)
                return -ENOMEM;
        return health_before_lift(k->context, KUBERNETES_HEALTH, what);
}

static int look_in_service(Kubernetes *k, Look *l) {
        int r;

        r = show_node(k, l);
        if (r < 0)
                return r;
        if (!is_registered(&l->view) || kubernetes_clock_differs(k, l->shown.date, NULL))
                return LOOK_WAIT;
        if (!l->healthy && (l->view.cordon_ours || l->view.taint_ours)) {
                /* It takes its time, so the node is read again before anything is written. */
                r = prove_health(k);
                l->over = r < 0;
                l->healthy = true;
                return r < 0 ? r : LOOK_ANEW;
        }
        r = write_verdict(k, l);
        if (r < 0)
                return r;
        return l->view.ready ? LOOK_DONE : LOOK_WAIT;
}

int kubernetes_ensure_in_service(Kubernetes *k) {
        _cleanup_(look_done) Look l = {};
        int r;

        r = look_until(k, &l, look_in_service);
        if (r == -ENOMEM || l.over)
                return r;
        if (r != LOOK_DONE)
                return not_in_service(k, r, &l);
        note(k, &l.view);
        return in_service(k, &l.view);
}
