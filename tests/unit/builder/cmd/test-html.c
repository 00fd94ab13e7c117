/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void assert_text(const char *text, const char *wanted) {
        _cleanup_free_ char *got = NULL;
        size_t size;
        FILE *f = open_memstream(&got, &size);

        html_text(f, text);
        fclose(f);
        assert_string_equal(got, wanted);
}

static void plain_text_stays(void **state _unused_) {
        assert_text("", "");
        assert_text("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6");
        assert_text("Zürich — 日本 🙂", "Zürich — 日本 🙂");
}

static void markup_is_text(void **state _unused_) {
        assert_text("</title><script>alert('1')</script>",
                        "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;");
        assert_text("\" onload=\"x&quot;", "&quot; onload=&quot;x&amp;quot;");
        assert_text("<!-- --><![CDATA[", "&lt;!-- --&gt;&lt;![CDATA[");
}

static void what_is_no_utf_8_is_replaced(void **state _unused_) {
        assert_text("a\xff"
                    "b",
                        "a" BAD "b");
        assert_text("\xc3", BAD);                         /* cut by the end */
        assert_text("\xc3<", BAD "&lt;");                 /* the next one is not swallowed */
        assert_text("\xc0\xbc", BAD BAD);                 /* an overlong '<' */
        assert_text("\xe0\x80\xbc", BAD BAD BAD);         /* the same, of three */
        assert_text("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
        assert_text("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* beyond U+10FFFF */
        assert_text("\xfe\x80", BAD BAD);
}

/* Or a name could be shown in another order than it is. */
static void controls_and_turns_of_direction_are_replaced(void **state _unused_) {
        assert_text("a\nb\x1b[2J\x7f", "a" BAD "b" BAD "[2J" BAD);
        assert_text("\xc2\x9b"
                    "31m",
                        BAD "31m");
        assert_text("evil\u202egpj.sh", "evil" BAD "gpj.sh");
        assert_text("\u2066\u200f\u061c\ufeff\u2028", BAD BAD BAD BAD BAD);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_text_stays),
                cmocka_unit_test(markup_is_text),
                cmocka_unit_test(what_is_no_utf_8_is_replaced),
                cmocka_unit_test(controls_and_turns_of_direction_are_replaced),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
