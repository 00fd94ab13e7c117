/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "shared/file-util.h"
#include "contract/secrets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char config[] =
                "{\"slurm\":{\"controllers\":[\"head\"],\"munge_key\":\"s3cret-munge\"},"
                "\"host\":{\"hostname\":\"node7\"},"
                "\"ready\":{\"url\":\"https://bob:s3cret-pass@hooks.example.org/T0/s3cret-in-the-path\","
                "\"command\":[\"/bin/tell\",\"--token=s3cret-arg\",\"--password\",\"s3cret-next\",\"--verbose\"]},"
                "\"licence\":{\"server\":\"lic.example.org\",\"serial\":\"s3cret-serial\",\"list\":[{\"password\":\"s3cret-item\"}],"
                "\"all\":[\"s3cret-one\",7],\"deep\":{\"er\":\"s3cret-deep\"}}}";
static const char sources[] =
                "{\"licence.serial\":\"credential firstboot.licence\",\"licence.all\":\"credential firstboot.licence\","
                "\"licence.deep.er\":\"credential firstboot.licence\",\"host.hostname\":\"credential firstboot.host.hostname\","
                "\"licence.server\":\"/etc/firstboot/node.json\"}";

static void secrets_are_masked_by_source_by_table_by_name_and_inside_of_strings(void **state) {
        _cleanup_json_ json_object *values = json_tokener_parse(config),
                                   *from = json_tokener_parse(sources),
                                   *masked = config_masked(values, from);
        const char *text = json_object_to_json_string_ext(masked, JSON_C_TO_STRING_NOSLASHESCAPE);

        (void) state;
        if (strstr(text, "s3cret") || strstr(text, "node7") || strstr(text, "bob"))
                fail_msg("%s", text);
        assert_non_null(strstr(text, "https://***@hooks.example.org/***"));
        assert_non_null(strstr(text, "lic.example.org"));
        assert_non_null(strstr(text, "\"head\""));
        assert_non_null(strstr(text, "--verbose"));
        assert_non_null(strstr(json_object_to_json_string(values), "s3cret-munge"));
}

static void texts_are_masked_by_their_form(void **state) {
        static const char *const cases[][2] = {
                { "plain words", "plain words" },
                { "", "" },
                { "ldaps://ldap.example.org", "ldaps://ldap.example.org" },
                { "http://h:80/", "http://h:80/" },
                { "see https://a:b@c@h/x?t=1#f, then", "see https://***@h/*** then" },
                { "https://h?token=1", "https://h/***" },
                { "Authorization: Bearer abc def", "Authorization: ***" },
                { "x --api-key abc", "x --api-key ***" },
                { "the token", "the token" },
                { "PASSWORD=\"a b\"", "PASSWORD=\"***" },
                { "a://u@", "a://***@" },
                { "://x@y", "://x@y" },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *got = mask_text(cases[i][0]);

                assert_string_equal(got, cases[i][1]);
        }
}

static void secrets_are_taken_out_of_what_quotes_them(void **state) {
        _cleanup_json_ json_object *
                        values = json_tokener_parse(config),
                       *from = json_tokener_parse(sources),
                       *o = json_tokener_parse(
                                       "{\"message\":\"node7: s3cret-munge is wrong, s3cret-deep too\","
                                       "\"figures\":{\"l\":[\"bob:s3cret-pass\",\"s3cret-item\",[\"s3cret-one\"]],\"n\":7}}");
        _cleanup_strv_free_ char **secrets = NULL;

        (void) state;
        assert_return_code(config_secrets(values, from, &secrets), 0);
        assert_return_code(redact_json(o, secrets), 0);
        assert_string_equal(json_get_string(o, "message"), "node7: *** is wrong, *** too");
        assert_string_equal(json_object_to_json_string_ext(json_get(o, "figures"), 0),
                        "{\"l\":[\"***\",\"***\",[\"***\"]],\"n\":7}");
}

static void the_longer_of_two_secrets_goes_first(void **state) {
        _cleanup_free_ char *got = redact_text("abcdefgh abcd ab", ARGV("abcd", "abcdefgh", "ab"));

        (void) state;
        assert_string_equal(got, "*** *** ab");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(
                                secrets_are_masked_by_source_by_table_by_name_and_inside_of_strings),
                cmocka_unit_test(texts_are_masked_by_their_form),
                cmocka_unit_test(secrets_are_taken_out_of_what_quotes_them),
                cmocka_unit_test(the_longer_of_two_secrets_goes_first),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
