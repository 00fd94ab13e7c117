/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a ruleset, as nft prints it, does with packets that come in. */

#include "steps/host/firewall.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TABLE "'family':'inet','table':'t'"
#define INPUT(policy)                                                                              \
        "{'chain':{" TABLE ",'name':'i','type':'filter','hook':'input','prio':0,'policy':'" policy \
        "'}}"
#define RULE(chain, expr) ",{'rule':{" TABLE ",'chain':'" chain "','expr':[" expr "]}}"
#define DROP "{'drop':null}"
#define PORT "{'match':{'op':'==','left':{},'right':22}}"

static Filtering filtering(const char *items) {
        _cleanup_free_ char *text = strf("{'nftables':[%s]}", items);
        _cleanup_json_ json_object *o = json_tokener_parse(text);

        assert_non_null(o);
        return filtering_of(o);
}

static void without_rules_everything_comes_in(void **state) {
        (void) state;
        assert_int_equal(filtering(""), FILTERING_NONE);
        assert_int_equal(filtering(INPUT("accept")), FILTERING_NONE);
        assert_int_equal(filtering(INPUT("accept") RULE("i", PORT ",{'accept':null}")),
                        FILTERING_NONE);
}

static void a_policy_or_a_last_rule_keeps_all_out(void **state) {
        (void) state;
        assert_int_equal(filtering(INPUT("drop")), FILTERING_ALL);
        assert_int_equal(filtering(INPUT("accept") RULE("i", PORT ",{'accept':null}")
                                                         RULE("i", "{'counter':{}},{'reject':{}}")),
                        FILTERING_ALL);
        assert_int_equal(filtering(INPUT("accept") RULE("i", "{'xt':{'name':'REJECT'}}")),
                        FILTERING_ALL);
}

static void a_condition_keeps_some_out(void **state) {
        (void) state;
        assert_int_equal(filtering(INPUT("accept") RULE("i", PORT "," DROP)), FILTERING_SOME);
}

static void jumps_are_followed(void **state) {
        (void) state;
        assert_int_equal(filtering(INPUT("accept") ",{'chain':{" TABLE ",'name':'j'}}" RULE(
                                         "i", "{'jump':{'target':'j'}}") RULE("j", DROP)),
                        FILTERING_ALL);
        assert_int_equal(filtering(INPUT("accept") ",{'chain':{" TABLE ",'name':'j'}}" RULE(
                                         "j", "{'jump':{'target':'j'}}")
                                                         RULE("i", "{'goto':{'target':'j'}}")),
                        FILTERING_NONE);
}

static void what_is_forwarded_or_bridged_is_another_matter(void **state) {
        (void) state;
        assert_int_equal(filtering("{'chain':{" TABLE
                                   ",'name':'f','hook':'forward','policy':'drop'}}"),
                        FILTERING_NONE);
        assert_int_equal(filtering("{'chain':{'family':'bridge','table':'t','name':'i',"
                                   "'hook':'input','policy':'drop'}}"),
                        FILTERING_NONE);
        assert_int_equal(filtering(INPUT("accept") ",{'chain':{" TABLE
                                                   ",'name':'docker'}}" RULE("docker", DROP)),
                        FILTERING_NONE);
}

static void what_is_no_ruleset_says_nothing(void **state) {
        _cleanup_json_ json_object *o = json_tokener_parse("{'nftables':7}");

        (void) state;
        assert_int_equal(filtering_of(o), FILTERING_UNKNOWN);
        assert_int_equal(filtering_of(NULL), FILTERING_UNKNOWN);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_rules_everything_comes_in),
                cmocka_unit_test(a_policy_or_a_last_rule_keeps_all_out),
                cmocka_unit_test(a_condition_keeps_some_out),
                cmocka_unit_test(jumps_are_followed),
                cmocka_unit_test(what_is_forwarded_or_bridged_is_another_matter),
                cmocka_unit_test(what_is_no_ruleset_says_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
