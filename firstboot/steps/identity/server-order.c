/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of LDAP servers, shuffled by node: the same at every boot, so that sssd's configuration
 * stays as it is. */

#include "steps/identity/server-order.h"
#include "contract/retry.h"
#include "shared/macro.h"

void servers_order(json_object *identity, uint64_t seed) {
        const char *order = json_get_string(identity, "server_order");
        json_object *list = json_get(identity, "uri");

        if ((order && streq(order, "as-given")) || !json_object_is_type(list, json_type_array))
                return;

        for (size_t n = json_object_array_length(list); n > 1; n--) {
                size_t other = (size_t) retry_random(seed, n, n);
                json_object *a = json_object_get(json_object_array_get_idx(list, n - 1)),
                            *b = json_object_get(json_object_array_get_idx(list, other));

                (void) json_object_array_put_idx(list, other, a);
                (void) json_object_array_put_idx(list, n - 1, b);
        }
}
