/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of kernel settings, as sysctl has them: dots separate, unless a slash came first; then
 * slashes do. */

#include "steps/host/sysctl.h"
#include "contract/paths.h"

#include <fcntl.h>

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

int host_put_setting(const char *path, const char *value) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);

        return fd < 0 || dprintf(fd, "%s\n", value) < 0 ? -errno : 0;
}
