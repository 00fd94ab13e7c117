/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/config.h"
#include "contract/config-schema.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static json_object *parse(const char *text) {
        json_object *o = json_tokener_parse(text);

        assert_non_null(o);
        return o;
}

static void merge(Config *c, const char *text, const char *source) {
        _cleanup_json_ json_object *o = parse(text);

        assert_return_code(config_merge(c, o, source), 0);
}

static Config *finished(const char *text) {
        Config *c = config_new();

        merge(c, text, "node.json");
        assert_return_code(config_finish(c, NULL), 0);
        return c;
}

/* Whether one of the errors has all of the text. */
static bool complains(const Config *c, const char *text) {
        STRV_FOREACH (e, c->errors)
                if (strstr(*e, text))
                        return true;
        STRV_FOREACH (e, c->errors)
                print_message("error: %s\n", *e);
        return false;
}

static const char *at(const Config *c, const char *section, const char *key) {
        return json_get_string(json_get(c->values, section), key);
}

static void later_layers_win(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"scratch\":{\"label\":\"a\",\"vg\":\"one\"}}", "first");
        merge(c, "{\"scratch\":{\"label\":\"b\"}}", "second");
        assert_string_equal(at(c, "scratch", "label"), "b");
        assert_string_equal(at(c, "scratch", "vg"), "one");
}

static void every_value_has_its_source(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"scratch\":{\"label\":\"a\",\"vg\":\"one\"}}", "first");
        merge(c, "{\"scratch\":{\"label\":\"b\"}}", "second");
        assert_return_code(config_finish(c, NULL), 0);
        assert_string_equal(json_get_string(c->sources, "scratch.label"), "second");
        assert_string_equal(json_get_string(c->sources, "scratch.vg"), "first");
        assert_string_equal(json_get_string(c->sources, "scratch.lv"), "default");
}

static void null_takes_a_key_back_to_its_default(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"scratch\":{\"label\":\"a\"}}", "first");
        merge(c, "{\"scratch\":{\"label\":null}}", "second");
        assert_return_code(config_finish(c, NULL), 0);
        assert_string_equal(at(c, "scratch", "label"), "localscratch");
        assert_string_equal(json_get_string(c->sources, "scratch.label"), "default");
}

static void lists_replace(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"mounts\":[{\"what\":\"a:/a\",\"where\":\"/a\"},{\"what\":\"a:/b\",\"where\":\"/b\"}]}",
                        "first");
        merge(c, "{\"mounts\":[{\"what\":\"b:/b\",\"where\":\"/b\"}]}", "second");
        assert_int_equal(json_object_array_length(json_get(c->values, "mounts")), 1);
}

static void one_mount_more_that_loses_the_others_is_a_warning(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"mounts\":[{\"what\":\"a:/a\",\"where\":\"/a\"},{\"what\":\"a:/b\",\"where\":\"/b\"},{\"what\":\"a:/c\",\"where\":\"/c\"}]}",
                        "image");
        merge(c, "{\"mounts\":[{\"what\":\"b:/c\",\"where\":\"/c\"}]}", "user data");
        assert_int_equal(strv_length(c->warnings), 1);
        assert_non_null(strstr(c->warnings[0],
                        "user data: mounts: takes the place of the list of image, without /a and 1 more:"));
}

static void entries_without_a_place_are_counted(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"host\":{\"limits\":[{\"item\":\"nofile\",\"value\":\"1\"},{\"item\":\"core\",\"value\":\"0\"}]}}",
                        "image");
        merge(c, "{\"host\":{\"limits\":[{\"item\":\"core\",\"value\":\"0\"}]}}", "site");
        assert_int_equal(strv_length(c->warnings), 1);
        assert_non_null(strstr(c->warnings[0],
                        "site: host.limits: takes the place of the list of image, without 1 of its 2 entries:"));
}

static void a_list_that_means_it_is_no_warning(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "{\"mounts\":[{\"what\":\"a:/a\",\"where\":\"/a\"}],\"identity\":{\"uri\":[\"ldaps://a\"]}}",
                        "image");
        merge(c, "{\"mounts\":[{\"what\":\"b:/a\",\"where\":\"/a\"},{\"what\":\"b:/b\",\"where\":\"/b\"}],\"identity\":{\"uri\":[\"ldaps://b\"]}}",
                        "other source, one more");
        merge(c, "{\"mounts\":[]}", "none");
        assert_null(c->warnings);
}

static json_object *mounts(int from, int to) {
        json_object *o = json_object_new_object(), *list = json_object_new_array();

        for (int i = from; i < to; i++) {
                _cleanup_free_ char *where = strf("/m%d", i);
                json_object *entry = json_object_new_object();

                json_object_object_add(entry, "where", json_object_new_string(where));
                json_object_array_add(list, entry);
        }
        json_object_object_add(o, "mounts", list);
        return o;
}

/* Each entry of one list is looked for in the other: not in what nobody writes by hand. */
static void lists_without_end_are_not_compared(void **state) {
        _cleanup_json_ json_object *old = mounts(0, 60000), *layer = mounts(60000, 120000);
        _cleanup_config_ Config *c = config_new();

        (void) state;
        assert_return_code(config_merge(c, old, "image"), 0);
        assert_return_code(config_merge(c, layer, "user data"), 0);
        assert_null(c->warnings);
}

static void a_layer_that_is_no_object_is_an_error(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        merge(c, "[1]", "first");
        assert_true(complains(c, "first: must be an object"));
}

static void set_makes_the_sections_it_needs(void **state) {
        _cleanup_config_ Config *c = config_new();

        (void) state;
        assert_return_code(
                        config_set(c, "slurm.munge_key", json_object_new_string("x"), "credential"),
                        0);
        assert_string_equal(at(c, "slurm", "munge_key"), "x");
        assert_string_equal(json_get_string(c->sources, "slurm.munge_key"), "credential");
}

static void sections_that_are_absent_stay_absent(void **state) {
        _cleanup_config_ Config *c = finished("{}");

        (void) state;
        assert_null(json_get(c->values, "slurm"));
        assert_null(json_get(c->values, "identity"));
        assert_null(c->errors);
}

static void items_of_lists_get_defaults(void **state) {
        _cleanup_config_ Config *c =
                        finished("{\"mounts\":[{\"what\":\"h:/x\",\"where\":\"/x\"}]}");
        json_object *item = json_object_array_get_idx(json_get(c->values, "mounts"), 0);

        (void) state;
        assert_string_equal(json_get_string(item, "type"), "nfs");
        assert_null(c->errors);
}

static void all_faults_come_at_once(void **state) {
        _cleanup_config_ Config *c = finished(
                        "{\"scratch\":{\"label\":\"much too long a label\",\"disks\":-1,\"lable\":1},"
                        "\"mounts\":[{\"what\":\"nocolon\"}],\"host\":{\"grow_root\":\"yes\"}}");

        (void) state;
        assert_int_equal(strv_length(c->errors), 6);
        assert_true(complains(c, "node.json: scratch.label: must be 1 to 12"));
        assert_true(complains(c, "scratch.disks: must be from 0"));
        assert_true(complains(c, "scratch.lable: unknown key; did you mean \"label\"?"));
        assert_true(complains(c, "mounts[0].what: must be \"SERVER:/EXPORT\""));
        assert_true(complains(c, "mounts[0]: \"where\" is missing"));
        assert_true(complains(c, "host.grow_root: must be true or false, not string"));
}

typedef struct Bad {
        const char *text, *error;
} Bad;

static void values_are_checked(void **state) {
        static const Bad table[] = {
                { "{\"host\":{\"hostname\":\"a b\"}}", "host.hostname: may hold letters" },
                { "{\"slurm\":{\"controllers\":[\"h\"],\"node_name\":\"All\"}}",
                                "slurm.node_name: must be one node" },
                { "{\"host\":{\"timezone\":\"../x\"}}", "host.timezone" },
                { "{\"mounts\":[{\"what\":\"h:/a\",\"where\":\"/etc/\"}]}",
                                "mounts[0].where: must not be a folder that the system itself needs" },
                { "{\"scratch\":{\"mount_point\":\"/var\"}}", "scratch.mount_point: must not be" },
                { "{\"host\":{\"firewall\":\"maybe\"}}", "must be one of on|off|keep" },
                { "{\"host\":{\"sysctl\":{\"a\":[1]}}}", "must have a plain value" },
                { "{\"scratch\":{\"mount_point\":\"relative\"}}", "must be an absolute path" },
                { "{\"scratch\":{\"mount_point\":\"/\"}}", "must not be the root folder" },
                { "{\"scratch\":{\"mount_point\":\"/a/../b\"}}", "plain path" },
                { "{\"scratch\":{\"stripe_size\":\"96K\"}}", "power of two" },
                { "{\"scratch\":{\"stripe_size\":\"1X\"}}", "must be a size" },
                { "{\"scratch\":{\"stripe_size\":\"99999999999999999999\"}}", "must be a size" },
                { "{\"scratch\":{\"vg\":\"-x\"}}", "LVM name" },
                { "{\"mounts\":{}}", "must be a list" },
                { "{\"mounts\":[1]}", "mounts[0]: must be an object" },
                { "{\"mounts\":[{\"what\":\"h:/x\",\"where\":\"/x\",\"timeout\":\"1 week\"}]}",
                                "must be a time" },
                { "{\"mounts\":[{\"what\":\"h:/x\",\"where\":\"/x\",\"options\":\"a b\"}]}",
                                "without white space" },
                { "{\"identity\":{\"uri\":[\"http://x\"],\"base\":\"x\",\"probe_user\":\"u\"}}",
                                "must start with ldaps://" },
                { "{\"identity\":{\"uri\":[\"ldap://x\"],\"base\":\"x\",\"probe_user\":\"u\",\"starttls\":false}}",
                                "in the clear" },
                { "{\"identity\":{\"uri\":[\"ldaps://x\"],\"base\":\"x\"}}",
                                "\"probe_user\" is missing" },
                { "{\"slurm\":{\"controllers\":[\"h:99999\"]}}", "port from 1 to 65535" },
                { "{\"slurm\":{\"controllers\":[]},\"steps\":{\"gpu\":{\"timeout\":0}}}",
                                "steps.gpu.timeout" },
                { "{\"ready\":{\"url\":\"ftp://x\"}}", "must start with https://" },
                { "{\"slrum\":{}}", "did you mean \"slurm\"?" },
                { "{\"scratch.label\":1}", "unknown key" },
                { "{\"mounts[]\":1}", "unknown key" },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_config_ Config *c = finished(table[i].text);

                if (!complains(c, table[i].error))
                        fail_msg("%s: no error with \"%s\"", table[i].text, table[i].error);
        }
}

static void plain_ldap_passes_only_where_allowed(void **state) {
        _cleanup_config_ Config *c = finished(
                        "{\"identity\":{\"uri\":[\"ldap://x\"],\"base\":\"x\",\"probe_user\":\"u\","
                        "\"starttls\":false,\"allow_plain\":true}}");

        (void) state;
        assert_null(c->errors);
}

static void sections_of_site_steps_are_free(void **state) {
        _cleanup_config_ Config *c = config_new();
        char *steps[] = { (char *) "licence", NULL };

        (void) state;
        merge(c, "{\"licence\":{\"server\":\"x\"}}", "node.json");
        assert_return_code(config_finish(c, steps), 0);
        assert_null(c->errors);
}

static void defaults_pass_their_own_checks(void **state) {
        (void) state;
        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                _cleanup_json_ json_object *v =
                                k->fallback ? json_tokener_parse(k->fallback) : NULL;

                assert_non_null(k->meaning);
                if (k->fallback)
                        assert_non_null(v);
                if (v && k->type == CONFIG_STRING && k->check &&
                                k->check(json_object_get_string(v)))
                        fail_msg("%s: default %s: %s", k->path, k->fallback,
                                        k->check(json_object_get_string(v)));
        }
}

#define PIN "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_cluster_is_named_with_its_ca(void **state) {
        _cleanup_config_ Config *
                        c = finished("{\"kubernetes\":{\"endpoint\":\"api\"}}"),
                       *good = finished(
                                       "{\"kubernetes\":{\"endpoint\":\"api:6443\",\"ca_hashes\":[\"" PIN
                                       "\"]}}"),
                       *part = finished("{\"kubernetes\":{\"labels\":{\"a\":\"b\"}}}");

        (void) state;
        assert_true(complains(c, "kubernetes: \"ca_hashes\" is missing"));
        assert_null(good->errors);
        assert_null(part->errors); /* an image's part of it; the site says where */
}

static void labels_and_options_are_what_kubelet_takes(void **state) {
        static const struct {
                const char *text;
                bool good;
        } cases[] = {
                { "{\"labels\":{\"example.org/rack\":\"r-1\",\"gpu\":8,\"empty\":\"\"}}", true },
                { "{\"labels\":{\"topology.kubernetes.io/zone\":\"a\",\"node.kubernetes.io/x\":\"a\"}}",
                                true },
                { "{\"labels\":{\"node-role.kubernetes.io/gpu\":\"\"}}", false },
                { "{\"labels\":{\"k8s.io/x\":\"\"}}", false },
                { "{\"labels\":{\"a\":\"b,c=d\"}}", false },
                { "{\"labels\":{\"a=b\":\"c\"}}", false },
                { "{\"labels\":{\"/a\":\"c\"}}", false },
                { "{\"labels\":{\"\":\"c\"}}", false },
                { "{\"kubelet_args\":{\"node-ip\":\"10.0.0.5\",\"v\":4}}", true },
                { "{\"kubelet_args\":{\"--node-ip\":\"10.0.0.5\"}}", false },
                { "{\"kubelet_args\":{\"node-labels\":\"a=b\"}}", false },
                { "{\"kubelet_args\":{\"node-ip\":\"10.0.0.5 --anonymous-auth\"}}", false },
                { "{\"token\":\"short\"}", false },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = strf("{\"kubernetes\":%s}", cases[i].text);
                _cleanup_config_ Config *c = finished(text);

                if (cases[i].good != !c->errors)
                        fail_msg("%s", cases[i].text);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(later_layers_win),
                cmocka_unit_test(every_value_has_its_source),
                cmocka_unit_test(null_takes_a_key_back_to_its_default),
                cmocka_unit_test(lists_replace),
                cmocka_unit_test(one_mount_more_that_loses_the_others_is_a_warning),
                cmocka_unit_test(entries_without_a_place_are_counted),
                cmocka_unit_test(a_list_that_means_it_is_no_warning),
                cmocka_unit_test(lists_without_end_are_not_compared),
                cmocka_unit_test(a_layer_that_is_no_object_is_an_error),
                cmocka_unit_test(set_makes_the_sections_it_needs),
                cmocka_unit_test(sections_that_are_absent_stay_absent),
                cmocka_unit_test(items_of_lists_get_defaults),
                cmocka_unit_test(all_faults_come_at_once),
                cmocka_unit_test(values_are_checked),
                cmocka_unit_test(plain_ldap_passes_only_where_allowed),
                cmocka_unit_test(sections_of_site_steps_are_free),
                cmocka_unit_test(defaults_pass_their_own_checks),
                cmocka_unit_test(a_cluster_is_named_with_its_ca),
                cmocka_unit_test(labels_and_options_are_what_kubelet_takes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
