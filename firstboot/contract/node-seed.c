/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What tells a node from its neighbours, as one number. */

#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/strv.h"

static uint64_t add_file(uint64_t seed, const char *name) {
        _cleanup_free_ char *path = fb_path(name), *text = NULL;

        return path && read_line_file(path, &text) >= 0 ? retry_seed(seed, text) : seed;
}

/* Of network cards, not of bridges and the like, whose addresses are made up anew. */
static uint64_t add_addresses(uint64_t seed) {
        _cleanup_strv_free_ char **names = NULL;

        if (fb_list("/sys/class/net", &names) < 0)
                return seed;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *device = fb_pathf("/sys/class/net/%s/device", *name),
                                    *address = strf("/sys/class/net/%s/address", *name);

                if (device && address && access(device, F_OK) >= 0)
                        seed = add_file(seed, address);
        }
        return seed;
}

uint64_t node_seed(void) {
        const char *given = secure_getenv("FIRSTBOOT_NODE_SEED");
        uint64_t seed = 0;

        if (given)
                return retry_seed(0, given);
        seed = add_file(seed, "/etc/machine-id");
        seed = add_file(seed, "/sys/class/dmi/id/product_uuid");
        seed = add_file(seed, "/sys/class/dmi/id/product_serial");
        return add_addresses(seed);
}
