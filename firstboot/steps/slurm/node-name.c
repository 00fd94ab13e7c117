/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name, from the configuration or the kernel. */

#include "steps/slurm/node-name.h"
#include "contract/config-rules.h"

int slurm_node_name(json_object *section, char **ret) {
        const char *given = json_get_string(section, "node_name");
        char host[256] = "";

        if (!given && gethostname(host, sizeof(host) - 1) < 0)
                return -errno;
        host[strcspn(host, ".")] = '\0';
        if (check_slurm_node(given ? given : host))
                return -EINVAL;
        *ret = strdup(given ? given : host);
        return *ret ? 0 : -ENOMEM;
}
