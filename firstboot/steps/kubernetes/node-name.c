/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name, from the configuration or the kernel. */

#include "steps/kubernetes/node-name.h"
#include "contract/config-rules.h"

#include <ctype.h>

int kubernetes_node_name(json_object *section, char **ret) {
        const char *given = json_get_string(section, "node_name");
        char host[256] = "";

        if (!given && gethostname(host, sizeof(host) - 1) < 0)
                return -errno;
        for (char *p = host; *p; p++)
                *p = (char) tolower((unsigned char) *p);
        /* It becomes part of a URL, and DHCP may have given it. */
        if (check_node_name(given ? given : host))
                return -EINVAL;
        *ret = strdup(given ? given : host);
        return *ret ? 0 : -ENOMEM;
}
