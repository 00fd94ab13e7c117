/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instance and boot, as cloud, firmware and kernel name them, and the state that belongs to
 * them. */

#include "daemon/instance.h"
#include "daemon/journal.h"
#include "daemon/publish.h"
#include "contract/history.h"
#include "contract/paths.h"
#include "contract/status-file.h"
#include "shared/log.h"

#include <systemd/sd-id128.h>

#define RECORD_MAX (1024 * 1024)

/* The helper leaves only an id that the cloud itself gave. */
static int read_identity(json_object *document, Identity *ret) {
        return identity_read(json_get_string(json_get(document, "instance"), "id"), ret);
}

/* What was done for another instance does not count; neither do its disks. */
static void forget_other(const char *difference) {
        static const char *const files[] = { PATH_SCRATCH_RECORD, PATH_HISTORY };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *path = fb_path(files[i]);

                if (path && unlink(path) < 0 && errno != ENOENT)
                        log_error_errno(errno, "Cannot remove %s, which is of another instance",
                                        path);
        }
        journal_event("event.fresh-start", NULL, 0, 0,
                        "This is another instance, by %s: starting afresh.", difference);
}

/* The record of the disks counts only under the instance's name, which may have become another
 * one: the cloud did not answer before. */
static void rename_record(const char *name) {
        _cleanup_free_ char *path = fb_path(PATH_SCRATCH_RECORD);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        if (!path || json_load(path, RECORD_MAX, &e, &o) < 0 ||
                        !json_object_is_type(o, json_type_object) ||
                        streq_ptr(json_get_string(o, "instance_id"), name))
                return;
        r = json_set_string(o, "instance_id", name);
        r = r < 0 ? r : json_save(path, o, 0600);
        if (r < 0)
                log_warning_errno(r, "Cannot write %s", path);
}

int instance_load_state(json_object *document, State **ret, bool *ret_told) {
        _cleanup_(identity_done) Identity now = {};
        _cleanup_free_ char *path = fb_path(PATH_STATE);
        char boot[SD_ID128_STRING_MAX];
        StateOrigin origin = STATE_NEW;
        const char *difference;
        State *state = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = boot_id_read(boot);
        if (r < 0)
                return r;
        r = read_identity(document, &now);
        if (r < 0)
                return r;
        r = state_load(path, &now, boot, &state, &origin, &difference);
        if (r < 0)
                return r;

        if (origin == STATE_OTHER_INSTANCE)
                forget_other(difference);
        else if (origin != STATE_NEW)
                rename_record(state->instance_id);
        /* The node may be worse than the record says. Every step shows anew what it is worth. */
        if (origin == STATE_RESUMED && !publish_is_saved())
                state_start_over(state);
        *ret_told = origin == STATE_RESUMED && publish_is_announced(state);
        *ret = state;
        return 0;
}

json_object *instance_recall_status(void) {
        _cleanup_json_ json_object *o = NULL;
        char boot[SD_ID128_STRING_MAX];
        JsonError e = {};

        if (boot_id_read(boot) < 0 || status_file_load(&e, &o, NULL) < 0)
                return NULL;
        return streq_ptr(json_get_string(o, "boot_id"), boot) ? TAKE_PTR(o) : NULL;
}

int instance_fits(json_object *document, State *s) {
        _cleanup_(identity_done) Identity now = {};
        int r;

        r = read_identity(document, &now);
        if (r < 0)
                return r;
        if (identity_difference(&s->identity, &now))
                return 0;

        r = state_learn(s, &now);
        if (r < 0)
                return r;
        rename_record(s->instance_id);
        return 1;
}

int instance_name(json_object *document, const State *s) {
        json_object *instance = json_get(document, "instance");
        int r;

        if (!json_object_is_type(instance, json_type_object)) {
                r = json_add_object(document, "instance", &instance);
                if (r < 0)
                        return r;
        }
        return json_set_string(instance, "id", s->instance_id);
}
