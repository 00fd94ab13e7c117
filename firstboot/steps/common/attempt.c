/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The attempt under way, looked up in /run/firstboot/status.json: firstbootd writes it before it
 * starts a step. */

#include "steps/common/attempt.h"
#include "contract/node-seed.h"
#include "contract/retry.h"
#include "steps/common/status-document.h"

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
        _cleanup_json_ json_object *status = NULL;
        json_object *entry;
        JsonError e = {};

        (void) status_file_load(&e, &status, NULL);
        entry = status_document_step(status, c->name);
        c->slow = json_get_bool(entry, "slow", false);
        c->seed = retry_seed(node_seed() + attempts_before(entry), c->name);
}

uint64_t attempt_give_up(const StepContext *c, json_object *section, uint64_t fallback_usec) {
        uint64_t usec = config_duration(section, "give_up", fallback_usec);

        return c->slow ? MIN(usec, RETRY_SLOW_TRY_USEC) : usec;
}
