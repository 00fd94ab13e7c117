/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of rules, and the run of those that look at the tree alone. A rule that cannot run is
 * an error, never a pass. */

#include "check/internal.h"

#include "shared/log.h"

typedef enum RuleWhen {
        WHEN_ALWAYS,
        WHEN_DISK,    /* images that boot */
        WHEN_DRIVER,  /* an NVIDIA driver is in the tree, or the recipe says there should be one */
        WHEN_LATER,   /* looks at the versions that the others met: support.c */
        WHEN_COMMAND, /* runs a program of the tree, in a sandbox: commands.c */
} RuleWhen;

typedef struct Rule {
        const char *name;
        RuleWhen when;
        rule_run_t run;
} Rule;

/* In the order they run. Each is a heading of docs/checks.md. */
static const Rule rules[] = {
        { "kernel.present", WHEN_DISK, check_kernel_present },
        { "kernel.initramfs", WHEN_DISK, check_kernel_initramfs },
        { "kernel.options", WHEN_DISK, check_kernel_options },
        { "nvidia.modules", WHEN_DRIVER, check_nvidia_modules },
        { "nvidia.vermagic", WHEN_DRIVER, check_nvidia_vermagic },
        { "nvidia.depmod", WHEN_DRIVER, check_nvidia_depmod },
        { "nvidia.version", WHEN_DRIVER, check_nvidia_version },
        { "nvidia.firmware", WHEN_DRIVER, check_nvidia_firmware },
        { "nvidia.nouveau", WHEN_DRIVER, check_nvidia_nouveau },
        { "nvidia.held", WHEN_DRIVER, check_nvidia_held },
        { "nvidia.build-tools", WHEN_DRIVER, check_nvidia_build_tools },
        { "cuda.runtime", WHEN_DRIVER, check_cuda_runtime },
        { "nccl.version", WHEN_DRIVER, check_nccl_version },
        { "identity.machine-id", WHEN_DISK, check_identity_machine_id },
        { "identity.ssh-host-keys", WHEN_ALWAYS, check_identity_ssh_host_keys },
        { "identity.seed", WHEN_ALWAYS, check_identity_seed },
        { "identity.host-ids", WHEN_ALWAYS, check_identity_host_ids },
        { "secrets.password", WHEN_ALWAYS, check_secrets_password },
        { "secrets.private-key", WHEN_ALWAYS, check_secrets_private_key },
        { "leftovers.apt-lists", WHEN_ALWAYS, check_leftovers_apt_lists },
        { "leftovers.caches", WHEN_ALWAYS, check_leftovers_caches },
        { "leftovers.logs", WHEN_ALWAYS, check_leftovers_logs },
        { "leftovers.resolv-conf", WHEN_ALWAYS, check_leftovers_resolv_conf },
        { "leftovers.history", WHEN_ALWAYS, check_leftovers_history },
        { "leftovers.temporary", WHEN_ALWAYS, check_leftovers_temporary },
        { "services.enabled", WHEN_DISK, check_services_enabled },
        { "services.verify", WHEN_COMMAND, NULL },
        { "overlay.check", WHEN_COMMAND, NULL },
        { "node.sysctl", WHEN_DISK, check_node_sysctl },
        { "support.floors", WHEN_LATER, NULL },
};

const char *check_rule_name(size_t i) {
        return i < ELEMENTSOF(rules) ? rules[i].name : NULL;
}

const char *rule_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                if (streq(rules[i].name, name))
                        return rules[i].name;
        return NULL;
}

static bool applies(const Rule *rule, const Tree *t) {
        switch (rule->when) {
        case WHEN_ALWAYS:
                return true;
        case WHEN_DISK:
                return !t->recipe || t->recipe->kind == RECIPE_DISK;
        case WHEN_DRIVER:
                return t->driver;
        case WHEN_LATER:
        case WHEN_COMMAND:
                return false;
        }
        return true;
}

int rules_run(const char *root, const Recipe *recipe, const char *rpms, Findings *f,
                char ***ret_units) {
        _cleanup_(tree_done) Tree t = { .fd = -EBADF };
        int r;

        r = tree_open(root, recipe, &t);
        if (r < 0)
                return log_error_errno(r, "Cannot read the finished tree");
        t.rpms = rpms;
        r = tree_survey(&t);
        if (r < 0)
                return log_error_errno(r, "Cannot read the finished tree");

        for (size_t i = 0; i < ELEMENTSOF(rules); i++) {
                if (!applies(rules + i, &t))
                        continue;
                r = rules[i].run(&t, rules[i].name, f);
                if (r < 0)
                        return log_error_errno(r,
                                        "Check %s could not run, which counts as a failure",
                                        rules[i].name);
        }

        r = check_facts(&t, f);
        if (r < 0)
                return r;
        r = check_privileged(&t, f);
        if (r < 0)
                return r;
        return ret_units ? enabled_units(&t, ret_units) : 0;
}
