/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Through the kernel's own files, as setsebool does without -P: a value is written, then all that
 * wait are put into force. A policy that is loaded anew keeps them; a boot does not. */

#include "steps/host/selinux.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/host/sysctl.h"

#define BOOLEANS "/sys/fs/selinux/booleans"
#define COMMIT "/sys/fs/selinux/commit_pending_bools"
#define NFS_HOMES "use_nfs_home_dirs"

static char *path_of(const char *name) {
        return fb_pathf(BOOLEANS "/%s", name);
}

static bool is_home(const char *where) {
        const char *rest = where ? startswith(where, "/home") : NULL;

        return rest && (*rest == '\0' || *rest == '/');
}

static bool homes_come_by_nfs(json_object *config) {
        json_object *mounts = json_get(config, "mounts");

        for (size_t i = 0; i < json_array_length(mounts); i++) {
                json_object *m = json_object_array_get_idx(mounts, i);
                const char *type = json_get_string(m, "type");

                if (type && startswith(type, "nfs") && is_home(json_get_string(m, "where")))
                        return true;
        }
        return false;
}

/* By name; the caller puts the object. What the configuration says of homes' counts. */
static int take_wanted(StepContext *c, json_object **ret) {
        _cleanup_json_ json_object *all = json_object_new_object();
        _cleanup_free_ char *booleans = fb_path(BOOLEANS), *homes = path_of(NFS_HOMES);
        json_object *own = json_get(c->section, "selinux_booleans");

        if (!all || !booleans || !homes)
                return -ENOMEM;
        if (access(homes, F_OK) >= 0 && homes_come_by_nfs(c->config)) {
                int r = json_set(all, NFS_HOMES, json_object_new_boolean(true));
                if (r < 0)
                        return r;
        }
        if (own && access(booleans, F_OK) >= 0) {
                json_object_object_foreach (own, name, value) {
                        int r = json_set(all, name, json_object_get(value));
                        if (r < 0)
                                return r;
                }
        }
        *ret = TAKE_PTR(all);
        return 0;
}

/* "0 1" is off, and on once it is put into force. */
static int is_on(const char *name) {
        _cleanup_free_ char *path = strchr(name, '/') ? NULL : path_of(name), *now = NULL;
        int r = path ? read_line_file(path, &now) : -ENOENT;

        return r < 0 ? r : now[0] == '1';
}

/* 1: it waits to be put into force. */
static int switch_one(StepContext *c, const char *name, bool on) {
        _cleanup_free_ char *path = NULL;
        int r = is_on(name);

        if (r < 0)
                return step_degrade(c, "host.selinux", "SELinux's policy has no boolean %s", name);
        if (r == on)
                return 0;
        path = path_of(name);
        if (!path)
                return -ENOMEM;
        r = host_put_setting(path, on ? "1" : "0");
        if (r < 0)
                return step_fail(c, "host.selinux", "SELinux's boolean %s was not switched %s: %s",
                                name, on ? "on" : "off", strerror(-r));
        log_info("SELinux's boolean %s is %s.", name, on ? "on" : "off");
        return 1;
}

int selinux_booleans_apply(StepContext *c) {
        _cleanup_json_ json_object *wanted = NULL;
        _cleanup_free_ char *commit = fb_path(COMMIT);
        bool changed = false;
        int r = commit ? take_wanted(c, &wanted) : -ENOMEM;

        if (r < 0)
                return r;
        json_object_object_foreach (wanted, name, value) {
                r = switch_one(c, name, json_object_get_boolean(value));
                if (r < 0)
                        return r;
                changed = changed || r > 0;
        }
        r = changed ? host_put_setting(commit, "1") : 0;
        if (r < 0)
                return step_fail(c, "host.selinux",
                                "SELinux's booleans were not put into force: %s", strerror(-r));
        return 0;
}

int selinux_booleans_check(StepContext *c) {
        _cleanup_json_ json_object *wanted = NULL;
        int r = take_wanted(c, &wanted);

        if (r < 0)
                return r;
        json_object_object_foreach (wanted, name, value) {
                bool on = json_object_get_boolean(value);

                r = is_on(name);
                if (r != on)
                        (void) step_degrade(c, "host.selinux", "SELinux's boolean %s is %s, not %s",
                                        name,
                                        r < 0 ? "not there"
                                        : on  ? "off"
                                              : "on",
                                        on ? "on" : "off");
        }
        return json_object_object_length(wanted);
}
