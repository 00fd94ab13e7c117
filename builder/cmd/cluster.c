/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild cluster: boots a head and its nodes, or any other machines that belong together. This
 * file is the command line; boot/ is the rest. */

#include "boot/boot.h"
#include "cmd/verb.h"

enum {
        OPT_OUTPUT = OPT_VERB,
        OPT_TIMEOUT,
        OPT_SSH_KEY,
        OPT_SAVE,
        OPT_STATE,
        OPT_ACCEL,
};

static const OptionSpec options[] = {
        { "output", OPT_OUTPUT, "FOLDER", "where the recipes' images are (default: out)",
                        COMPLETE_FOLDER },
        { "timeout", OPT_TIMEOUT, "SECONDS",
                        "give a machine up then, with exit code 124 (default: 1800)" },
        { "ssh-key", OPT_SSH_KEY, "FILE",
                        "public key that may log in everywhere; may be given several times",
                        COMPLETE_FILE, "*.pub", .repeats = true },
        { "save", OPT_SAVE, "FOLDER", "a folder for each machine's console and journal",
                        COMPLETE_FOLDER },
        { "state", OPT_STATE, "FOLDER", "keep the disks there, and boot from them the next time",
                        COMPLETE_FOLDER },
        { "accel", OPT_ACCEL, "KIND",
                        "auto (default: KVM where a probe shows that it works), kvm, tcg",
                        COMPLETE_CHOICES, "auto kvm tcg" },
        {},
};

static int take_accel(ClusterOptions *o, const char *value) {
        static const char *const names[] = { "auto", "kvm", "tcg" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(value, names[i])) {
                        o->accel = (VmAccel) i;
                        return 0;
                }
        log_error("--accel=%s: auto, kvm, tcg", value);
        return -EINVAL;
}

static int take(void *values, int id, const char *value) {
        ClusterOptions *o = values;

        switch (id) {
        case OPT_OUTPUT:
                o->output = value;
                return 0;
        case OPT_TIMEOUT:
                return option_number("timeout", value, 1, 1000000, &o->timeout);
        case OPT_SSH_KEY:
                return boot_read_keys(value, &o->keys);
        case OPT_SAVE:
                o->save = value;
                return 0;
        case OPT_STATE:
                o->state = value;
                return 0;
        default:
                return take_accel(o, value);
        }
}

static void done(void *values) {
        cluster_options_done(values);
}

static int check(VerbCall *call) {
        ClusterOptions *o = call->options;

        o->file = call->arguments[0];
        o->command = call->command;
        return cluster_check(o);
}

static int run(VerbCall *call) {
        _cleanup_tools_free_ Tools *tools = NULL;
        int r;

        r = tools_open(call->ctx, NULL, &tools);
        if (r < 0)
                return exit_code_from_errno(r);
        return cluster_run(call->ctx, tools, call->options);
}

const Verb verb_cluster = {
        .spec = { "cluster", "boot a head and its nodes, on a network of their own", options,
                        "FILE", COMPLETE_FILE, "*.json" },
        .usage = "FILE [OPTION…] [-- COMMAND…]",
        .about = "Boots the machines of a cluster file side by side, on a private network, and waits until all are\n"
                 "up. Then they run until Ctrl-C, or COMMAND is run on the first one, as root, and all end.",
        .needs_root = true,
        .needs_store = true,
        .command = true,
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes one cluster file, such as images/clusters/demo.json",
        .options_size = sizeof(ClusterOptions),
        .defaults = &(const ClusterOptions) { .output = "out", .timeout = 1800 },
        .take = take,
        .check = check,
        .run = run,
        .done = done,
};
