/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The record is a file beside the agent's state. It counts only for the instance that it was made
 * on: an image taken of a node knows nothing of the disks of the next. */

#include "steps/scratch/record.h"
#include "contract/paths.h"
#include "shared/json-strv.h"
#include "shared/json-util.h"

#define RECORD_MAX (1024 * 1024)

int scratch_record_load(const char *instance_id, ScratchRecord *ret) {
        _cleanup_free_ char *path = fb_path(PATH_SCRATCH_RECORD);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, RECORD_MAX, &e, &o);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (!streq_ptr(json_get_string(o, "instance_id"), instance_id))
                return 0;
        ret->unfinished = json_get_bool(o, "unfinished", false);
        return json_get_strings(o, "serials", &ret->serials);
}

/* A record that says that the disks are empty must not outlive what was written to them since. */
static void drop_unfinished(const char *instance_id, const char *path) {
        ScratchRecord old = {};

        if (scratch_record_load(instance_id, &old) < 0 || old.unfinished)
                (void) unlink(path); /* which needs no room */
        strv_free(old.serials);
}

int scratch_record_save(const char *instance_id, const Disks *disks, const ScratchPlan *plan,
                bool unfinished) {
        _cleanup_free_ char *path = fb_path(PATH_SCRATCH_RECORD);
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array();
        int r;

        for (size_t i = 0; list && i < plan->n_use; i++) {
                const Disk *d = &disks->items[plan->use[i]];

                (void) json_append(list, json_object_new_string(d->serial));
        }
        r = json_set_fields(o, JSON_TAKE("serials", list), JSON_STRING("instance_id", instance_id),
                        JSON_BOOL("unfinished", unfinished));
        if (r < 0 || !list || !path)
                return -ENOMEM;
        r = json_save(path, o, 0600);
        if (r < 0 && !unfinished)
                drop_unfinished(instance_id, path);
        return r;
}
