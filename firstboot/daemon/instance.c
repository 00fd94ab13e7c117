/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instance and boot, as cloud, firmware and kernel name them, and the state that belongs to them. */

#include "daemon/instance.h"
#include "daemon/journal.h"
#include "contract/history.h"
#include "contract/paths.h"

#include <systemd/sd-id128.h>

static int boot_id(char ret[SD_ID128_STRING_MAX]) {
        const char *given = secure_getenv("FIRSTBOOT_BOOT_ID");
        sd_id128_t id;
        int r;

        r = given ? sd_id128_from_string(given, &id) : sd_id128_get_boot(&id);
        if (r < 0)
                return r;

        sd_id128_to_string(id, ret);
        return 0;
}

/* The machine's own id, where no cloud says better. */
static void machine_id(char ret[SD_ID128_STRING_MAX]) {
        sd_id128_t id;

        if (sd_id128_get_machine(&id) >= 0)
                sd_id128_to_string(id, ret);
        else
                snprintf(ret, SD_ID128_STRING_MAX, "unknown");
}

/* What was done for another instance does not count; neither do its disks. */
static void forget_other(void) {
        _cleanup_free_ char *record = fb_path(PATH_SCRATCH_RECORD),
                            *history = fb_path(PATH_HISTORY);

        if (record)
                (void) unlink(record);
        if (history)
                (void) unlink(history);
        journal_event("event.fresh-start", NULL, 0, 0,
                        "This is another instance: starting afresh.");
}

int instance_load_state(json_object *document, State **ret, bool *ret_told) {
        const char *instance = json_get_string(json_get(document, "instance"), "id");
        char boot[SD_ID128_STRING_MAX], machine[SD_ID128_STRING_MAX];
        _cleanup_free_ char *path = fb_path(PATH_STATE);
        StateOrigin origin = STATE_NEW;
        State *state = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        machine_id(machine);
        r = boot_id(boot);
        if (r < 0)
                return r;
        r = state_load(path, instance ? instance : machine, boot, &state, &origin);
        if (r < 0)
                return r;

        if (origin == STATE_OTHER_INSTANCE)
                forget_other();
        *ret_told = origin == STATE_RESUMED && state->settled_usec > 0;
        *ret = state;
        return 0;
}
