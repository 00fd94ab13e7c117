/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node as a member of its cluster. The quick look asks nobody but this machine: a Prolog of a
 * thousand nodes at once must not ask the controller anything (slurm.conf(5), Prolog). */

#include "shared/duration.h"
#include "shared/spawn.h"
#include "steps/common/unit.h"
#include "steps/slurm/control.h"
#include "steps/slurm/node-name.h"
#include "steps/slurm/node.h"
#include "steps/steps.h"

#define MUNGE_USEC (10 * USEC_PER_SEC)

/* A credential made by munged, which is asked for one by everything that Slurm sends. */
static int check_munge(StepContext *c) {
        SpawnOptions o = { .timeout_usec = MUNGE_USEC };
        _cleanup_free_ char *output = NULL;
        char limit[FORMAT_DURATION_MAX];
        int r, status = 0;

        r = spawn_capture(
                        &o, ARGV("munge", "--no-input", "--output", "/dev/null"), &output, &status);
        if (r == -ENOENT)
                return step_fail(c, "slurm.not-installed", "munge is not installed");
        if (r == -ETIMEDOUT)
                return step_fail_later(c, "slurm.munge-slow", "munged gave no credential within %s",
                                format_duration(limit, MUNGE_USEC));
        if (r < 0)
                return step_fail_later(c, "slurm.munge", "munge cannot be run: %s", strerror(-r));
        if (status == 0)
                return 0;
        output[strcspn(output, "\n")] = '\0';
        return step_fail_later(c, "slurm.munge", "%s",
                        output[0] ? output : "munge makes no credential, and does not say why");
}

static int check_node(StepContext *c) {
        _cleanup_free_ char *output = NULL, *node = NULL;
        NodeInfo info = {};
        int r = slurm_node_name(c->section, &node);

        if (r == -EINVAL)
                return step_fail(c, "slurm.node-name", "the host name is no name for a node");
        if (r < 0)
                return r;
        r = scontrol(ARGV("show", "node", node), &output);
        if (r != 0 || node_parse(output, &info) < 0)
                return step_fail_later(c, "slurm.controller-unreachable",
                                "scontrol does not show node %s", node);
        if (!node_state_answers(info.state) || node_state_has(info.state, "DOWN"))
                return step_fail_later(c, "slurm.not-registered", "node %s is %s%s%s", node,
                                info.state, info.reason[0] ? ": " : "", info.reason);
        return step_done(c, "node %s is %s", node, info.state);
}

int slurm_check(StepContext *c) {
        int r;

        if (!c->section)
                return step_skip(c, "no slurm section in the configuration");
        r = check_munge(c);
        if (r < 0)
                return r;
        r = unit_check_runs(c, "slurm.slurmd", "slurmd");
        if (r < 0)
                return r;
        return c->check == STEP_CHECK_FULL ? check_node(c)
                                           : step_done(c, "munge and slurmd are well");
}
