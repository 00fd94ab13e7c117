/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The attempt under way, looked up in /run/firstboot/status.json: firstbootd writes it before it
 * starts a step. */

#include "steps/common/attempt.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"

#define STATUS_MAX (4 * 1024 * 1024)

/* The step's own entry; NULL where there is none. It lasts as long as the status. */
static json_object *find_entry(json_object *status, const char *name) {
        json_object *steps = json_get(status, "steps");

        if (!json_object_is_type(steps, json_type_array))
                return NULL;
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                if (streq_ptr(json_get_string(step, "name"), name))
                        return step;
        }
        return NULL;
}

/* Those that are over: this one may be on the list already, or not yet. */
static uint64_t attempts_before(json_object *entry) {
        json_object *list = json_get(entry, "attempts");
        uint64_t n = (uint64_t) json_get_int(entry, "slow_tries", 0);

        if (!json_object_is_type(list, json_type_array))
                return n;
        for (size_t i = 0; i < json_object_array_length(list); i++)
                if (json_get_int(json_object_array_get_idx(list, i), "finished_usec", 0) > 0)
                        n++;
        return n;
}

void attempt_look_up(StepContext *c) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_STATUS);
        _cleanup_json_ json_object *status = NULL;
        json_object *entry;
        JsonError e = {};

        if (path)
                (void) json_load(path, STATUS_MAX, &e, &status);
        entry = find_entry(status, c->name);
        c->slow = json_get_bool(entry, "slow", false);
        c->seed = retry_seed(node_seed() + attempts_before(entry), c->name);
}

uint64_t attempt_give_up(const StepContext *c, json_object *section, uint64_t fallback_usec) {
        uint64_t usec = config_duration(section, "give_up", fallback_usec);

        return c->slow ? MIN(usec, RETRY_SLOW_TRY_USEC) : usec;
}
