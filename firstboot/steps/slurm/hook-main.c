/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What Slurm itself calls on the node, under the names slurm-prolog, slurm-epilog and
 * slurm-health-check (slurm.conf names a program, and gives it no arguments). Each asks
 * `firstbootctl check --quick`, and drains the node with the code of what it finds, unless somebody
 * else has drained it.
 *
 * Exit codes: 0; 1 keeps a job from starting (Prolog: Slurm drains the node in any case, and
 * requeues the job), and says that the node could not be drained (Epilog: Slurm drains it then). A
 * check that could not look is no pass. */

#include "contract/drained.h"
#include "contract/paths.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "steps/slurm/membership.h"
#include "steps/slurm/node-name.h"
#include "steps/slurm/node.h"

#include <libgen.h>

#define CONFIG_MAX (16 * 1024 * 1024)

/* slurmd tells it, else it is as the slurm step has it. */
static int node_name(char **ret) {
        const char *given = getenv("SLURMD_NODENAME");
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        if (!isempty(given))
                return (*ret = strdup(given)) ? 0 : -ENOMEM;
        if (path)
                (void) json_load(path, CONFIG_MAX, &e, &o);
        return slurm_node_name(json_get(json_get(o, "config"), "slurm"), ret);
}

/* The watch may have seen nothing of it: a fault for a moment, or a check that could not look. */
static void tell_agent(const char *code, const char *text) {
        int r = drained_tell(code, text);

        if (r < 0)
                log_warning_errno(r,
                                "firstbootd cannot be told of the drain, 'firstbootctl rerun slurm' lifts it");
}

/* 0 where the node will get no job. */
static int drain(const char *code, const char *text) {
        _cleanup_free_ char *node = NULL, *reason = own_reason(code, text);
        int r = node_name(&node);

        if (r < 0)
                return log_error_errno(r, "The node's name is not known: %s", text);
        if (!reason)
                return log_oom();
        r = slurm_drain_now(node, reason);
        if (r == 0)
                tell_agent(code, text);
        if (r == 1)
                log_warning("%s is drained by someone else, and left so: %s", node, reason);
        if (r == -EBUSY)
                log_warning("%s is DOWN for someone else's reason, and left so: %s", node, reason);
        if (r < 0 && r != -EBUSY)
                return log_error_errno(r, "%s could not be drained: %s", node, reason);
        return 0;
}

int main(int argc, char *argv[]) {
        _cleanup_free_ char *code = NULL, *text = NULL;
        const char *name = argc > 0 ? basename(argv[0]) : "";
        bool prolog = streq(name, "slurm-prolog"), epilog = streq(name, "slurm-epilog");
        int health, r;

        log_set_program(name);
        if (!prolog && !epilog && !streq(name, "slurm-health-check")) {
                fprintf(stderr, "Called by Slurm as slurm-prolog, slurm-epilog or slurm-health-check.\n");
                return 2;
        }

        /* slurmd gives its Prolog none. */
        (void) setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 0);
        health = health_check(SLURM_HEALTH, &code, &text);
        if (health == HEALTH_GOOD)
                return EXIT_SUCCESS;
        if (health < 0) {
                (void) log_oom();
                return EXIT_FAILURE;
        }

        log_warning("%s: %s", code, text);
        r = drain(code, text);
        return prolog || r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
