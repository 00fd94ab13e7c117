/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The journal keeps what the kernel's ring buffer has overwritten. */

#include "steps/gpu/journal.h"
#include "steps/gpu/xid.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>

static int open_journal(sd_journal **ret) {
        _cleanup_free_ char *folder = NULL;

        if (isempty(secure_getenv("FIRSTBOOT_ROOT")))
                return sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);
        folder = fb_path("/var/log/journal");
        return folder ? sd_journal_open_directory(ret, folder, 0) : -ENOMEM;
}

static char *field(sd_journal *j, const char *name) {
        const void *data;
        size_t size, skip = strlen(name) + 1;

        if (sd_journal_get_data(j, name, &data, &size) < 0 || size < skip)
                return NULL;
        return strndup((const char *) data + skip, size - skip);
}

/* The kernel's messages of this boot, from the first on. */
static int select_kernel(sd_journal *j) {
        char match[64] = "_BOOT_ID=";
        sd_id128_t boot;
        int r;

        r = sd_id128_get_boot(&boot);
        if (r < 0)
                return r;
        sd_id128_to_string(boot, match + strlen("_BOOT_ID="));
        r = sd_journal_add_match(j, match, 0);
        if (r < 0)
                return r;
        r = sd_journal_add_match(j, "_TRANSPORT=kernel", 0);
        if (r < 0)
                return r;
        return sd_journal_seek_head(j);
}

/* 1 where the messages reach back to the boot, 0 where they do not. */
static int read_messages(sd_journal *j, GpuFacts *found) {
        bool from_boot = false, first = true;
        int r;

        while ((r = sd_journal_next(j)) > 0) {
                _cleanup_free_ char *message = field(j, "MESSAGE");

                /* The kernel's very first line names its version. */
                if (first)
                        from_boot = message && startswith(message, "Linux version ");
                first = false;
                if (message)
                        gpu_xid_message(found, message);
        }
        return r < 0 ? r : from_boot;
}

static int read_journal(GpuFacts *found) {
        _cleanup_(sd_journal_closep) sd_journal *j = NULL;
        int r;

        r = open_journal(&j);
        if (r < 0)
                return r;
        r = select_kernel(j);
        return r < 0 ? r : read_messages(j, found);
}

void gpu_read_journal(GpuFacts *f) {
        _cleanup_gpu_facts_ GpuFacts *found = gpu_facts_new();
        int r;

        if (!found)
                return;
        r = read_journal(found);
        if (r < 0)
                log_warning_errno(r, "The journal cannot be read");
        if (r <= 0)
                return;

        f->log_read = true;
        f->log_lost = false;
        f->log_error = 0;
        f->n_xids = found->n_xids;
        memcpy(f->xids, found->xids, sizeof(f->xids));
}
