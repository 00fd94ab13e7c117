/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which LDAP server a node asks first. */

#include "steps/identity/server-order.h"
#include "contract/retry.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NODES 600

/* The servers' numbers in the order of a node, "201". */
static void order(const char *more, uint64_t node, char ret[4]) {
        _cleanup_free_ char *text = strf("{\"uri\":[\"0\",\"1\",\"2\"]%s}", more);
        _cleanup_json_ json_object *o = json_tokener_parse(text);

        servers_order(o, retry_seed(node, "ldap servers"));
        assert_int_equal(json_object_array_length(json_get(o, "uri")), 3);
        for (size_t i = 0; i < 3; i++)
                ret[i] = json_object_get_string(
                                json_object_array_get_idx(json_get(o, "uri"), i))[0];
        ret[3] = '\0';
}

static void every_server_is_first_for_its_share_of_nodes_and_second_too(void **state) {
        unsigned seen[3][3] = {};
        char o[4];

        (void) state;
        for (uint64_t node = 0; node < NODES; node++) {
                order("", node, o);
                for (size_t i = 0; i < 3; i++)
                        seen[i][o[i] - '0']++;
        }
        for (size_t i = 0; i < 9; i++)
                assert_in_range(seen[i / 3][i % 3], NODES / 3 - 50, NODES / 3 + 50);
}

static void a_node_keeps_its_order(void **state) {
        char a[4], b[4];

        (void) state;
        order("", 11, a);
        order("", 11, b);
        assert_string_equal(a, b);
}

static void the_order_of_the_list_can_be_kept(void **state) {
        char o[4];

        (void) state;
        for (uint64_t node = 0; node < 20; node++) {
                order(",\"server_order\":\"as-given\"", node, o);
                assert_string_equal(o, "012");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_server_is_first_for_its_share_of_nodes_and_second_too),
                cmocka_unit_test(a_node_keeps_its_order),
                cmocka_unit_test(the_order_of_the_list_can_be_kept),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
