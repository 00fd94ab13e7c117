/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A node's name for Slurm, from the configuration or the host. */

#include "steps/slurm/node-name.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void the_configuration_s_name_comes_first(void **state) {
        _cleanup_json_ json_object *o = json_tokener_parse("{\"node_name\":\"n7\"}");
        _cleanup_free_ char *name = NULL;

        (void) state;
        assert_return_code(slurm_node_name(o, &name), 0);
        assert_string_equal(name, "n7");
}

static void the_host_s_name_ends_at_its_dot_and_is_one_node_s(void **state) {
        static const struct {
                const char *host, *name; /* NULL: none */
        } table[] = {
                { "gpu-7.example.org", "gpu-7" },
                { "all", NULL },
                { "ALL", NULL },
                { "All.example.org", NULL },
                { "n[1-9]", NULL },
                { "n1,n2", NULL },
                { "n1 Reason=x", NULL },
                { ".n1", NULL },
        };

        (void) state;
        if (unshare(CLONE_NEWUTS) < 0)
                skip();
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *name = NULL;

                assert_return_code(sethostname(table[i].host, strlen(table[i].host)), errno);
                assert_int_equal(slurm_node_name(NULL, &name), table[i].name ? 0 : -EINVAL);
                if (table[i].name)
                        assert_string_equal(name, table[i].name);
                else
                        assert_null(name);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_configuration_s_name_comes_first),
                cmocka_unit_test(the_host_s_name_ends_at_its_dot_and_is_one_node_s),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
