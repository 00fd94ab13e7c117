/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node as a member of its cluster. The quick look asks nobody but this machine. */

#include "steps/common/unit.h"
#include "steps/kubernetes/api.h"
#include "steps/kubernetes/node-name.h"
#include "steps/kubernetes/verdict.h"
#include "steps/steps.h"

static int check_node(StepContext *c) {
        _cleanup_api_answer_ ApiAnswer a = {};
        _cleanup_free_ char *node = NULL;
        NodeView view;
        int r;

        r = kubernetes_node_name(c->section, &node);
        if (r < 0)
                return r;
        r = api_get_node(node, &a);
        if (r < 0)
                return r;
        if (a.status == 0)
                return step_fail_later(c, "kubernetes.unreachable", "%s", a.text);
        if (a.status != 200)
                return step_fail_later(c, "kubernetes.not-registered",
                                "the API server does not show node %s: %s", node, api_words(&a));
        node_view(a.body, &view);
        if (!view.ready)
                return step_fail_later(c, "kubernetes.not-ready", "node %s is not Ready: %s", node,
                                strempty(view.ready_text));
        return step_done(c, "node %s is Ready", node);
}

int kubernetes_check(StepContext *c) {
        int r;

        if (!json_get_string(c->section, "endpoint"))
                return step_skip(c, "no kubernetes.endpoint in the configuration");
        r = unit_check_runs(c, "kubernetes.kubelet", "kubelet");
        if (r < 0)
                return r;
        return c->check == STEP_CHECK_FULL ? check_node(c) : step_done(c, "kubelet runs");
}
