/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options of a boot: what is wrong with them is said before a tools tree is built or a machine
 * started. */

#include "boot/boot.h"
#include "boot/seed.h"
#include "boot/watch.h"
#include "shared/suggest.h"

int boot_read_keys(const char *path, char ***keys) {
        return seed_read_keys(path, keys);
}

static int check_marker(const char *until) {
        _cleanup_free_ char *problem = NULL, *meant = NULL;
        BootWatch w;
        int r;

        r = boot_watch_init(&w, until, &problem);
        if (r == -EINVAL) {
                log_error("--until=%s: %s", until, strempty(problem));
                return -EINVAL;
        }
        if (w.has_pattern) {
                meant = suggest_text(until, ARGV("ready", "multi-user"));
                if (!isempty(meant))
                        log_warning("--until=%s waits for a line of the console that it fits%s",
                                        until, meant);
        }

        boot_watch_done(&w);
        return 0;
}

/* What the seed cannot say to the guest. */
static int check_network(const BootOptions *o) {
        bool address = false;

        for (size_t i = 0; i < o->vm.n_links; i++)
                address = address || o->vm.links[i].address;
        if (address && (o->no_seed || o->network_config)) {
                log_error("A link's address is told to the guest by the seed's network-config: not with %s",
                                o->no_seed ? "--no-seed" : "--network-config");
                return -EINVAL;
        }
        if (o->hostname && (o->no_seed || o->meta_data)) {
                log_error("--hostname is told to the guest by the seed's meta-data: not with %s",
                                o->no_seed ? "--no-seed" : "--meta-data");
                return -EINVAL;
        }
        return 0;
}

int boot_options_check(const BootOptions *o) {
        const char *const files[] = { o->user_data, o->meta_data, o->network_config };
        int r;

        r = check_marker(o->until);
        if (r < 0)
                return r;

        if (o->no_seed && (o->user_data || o->meta_data || o->network_config)) {
                log_error("--no-seed leaves no place for --user-data, --meta-data and --network-config");
                return -EINVAL;
        }

        if (o->strict && o->no_journal) {
                log_error("--strict asks the guest's journal which units failed: not with --no-journal");
                return -EINVAL;
        }

        r = check_network(o);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (files[i] && access(files[i], R_OK) < 0) {
                        log_error_errno(-errno, "Cannot read %s", files[i]);
                        return -EINVAL;
                }
        return 0;
}

void boot_options_done(BootOptions *o) {
        vm_config_done(&o->vm);
        o->keys = strv_free(o->keys);
        o->allow_failed = strv_free(o->allow_failed);
}
