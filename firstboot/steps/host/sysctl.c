/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of kernel settings, as sysctl has them: dots separate, unless a slash came first; then
 * slashes do. */

#include "steps/host/sysctl.h"
#include "contract/paths.h"

char *host_sysctl_path(const char *name) {
        _cleanup_free_ char *file = strdup(name);

        if (!file)
                return NULL;
        const char *slash = strchr(file, '/'), *dot = strchr(file, '.');
        if (!slash || (dot && dot < slash))
                for (char *p = file; *p; p++)
                        *p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
        return fb_pathf("/proc/sys/%s", file);
}
