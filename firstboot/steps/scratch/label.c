/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* restorecon knows the policy's file_contexts; here is only whether it has something to do. */

#include "steps/scratch/label.h"
#include "contract/paths.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "steps/common/step.h"

#include <sys/xattr.h>

#define RESTORECON_USEC (30 * USEC_PER_SEC)

static bool selinux_is_on(void) {
        _cleanup_free_ char *enforce = fb_path("/sys/fs/selinux/enforce");

        return enforce && access(enforce, F_OK) >= 0;
}

/* With SELinux on, the kernel has an answer for what has none on the disk: the policy's own words
 * for it, or before those "unlabeled". */
static bool has_no_label(const char *path) {
        char label[256];
        ssize_t n = getxattr(path, "security.selinux", label, sizeof(label) - 1);

        if (n < 0)
                return errno == ENODATA;
        label[n] = '\0';
        return streq(label, "unlabeled") || strstr(label, ":unlabeled_t:");
}

void scratch_label(const char *mount_point) {
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r;

        if (!selinux_is_on() || !has_no_label(mount_point))
                return;
        r = step_command(ARGV("restorecon", mount_point), RESTORECON_USEC, &last);
        if (r == 0) {
                log_info("%s has SELinux's label for its place now.", mount_point);
                return;
        }
        why = step_command_failure("restorecon", r, last);
        log_warning("%s has no SELinux label, and services that SELinux confines may not read it: %s",
                        mount_point, strempty(why));
}
