/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/apt-host.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sys/stat.h>

static char script[] = "/tmp/imgbuild-proxy-XXXXXX";

static int setup(void **state) {
        static const char text[] =
                        "#!/bin/sh\n[ \"$1\" = http://direct.example ] && echo DIRECT && exit\n"
                        "[ \"$1\" = http://fails.example ] && exit 1\necho http://found.example:3128/\n";
        int fd = mkstemp(script);

        (void) state;
        if (fd < 0 || write_all(fd, text, strlen(text)) < 0 || fchmod(fd, 0700) < 0)
                return -1;
        return close(fd);
}

static int teardown(void **state) {
        (void) state;
        return unlink(script);
}

/* The proxy for url where apt has these settings; NULL: the environment decides. */
static void proxy_is(const AptSetting *settings, size_t n, const char *url, const char *expected) {
        AptSettings s = { (AptSetting *) settings, n };
        _cleanup_free_ char *proxy = NULL;

        assert_int_equal(apt_settings_proxy(&s, url, &proxy), 0);
        if (expected) {
                assert_non_null(proxy);
                assert_string_equal(proxy, expected);
        } else
                assert_null(proxy);
}
#define PROXY_IS(settings, url, expected) proxy_is(settings, ELEMENTSOF(settings), url, expected)

static const AptSetting fixed[] = {
        { (char *) "Acquire::http::Proxy", (char *) "http://all.example:8080" },
        { (char *) "Acquire::HTTP::proxy::inside.example", (char *) "DIRECT" },
        { (char *) "Acquire::http::Proxy::other.example", (char *) "http://other-proxy.example" },
};

static void test_nothing_set(void **state) {
        (void) state;
        proxy_is(NULL, 0, "http://mirror.example/debian", NULL);
}

static void test_for_all_hosts(void **state) {
        (void) state;
        PROXY_IS(fixed, "http://mirror.example/debian", "http://all.example:8080");
}

static void test_host_beats_all_whatever_the_case_of_keys(void **state) {
        (void) state;
        PROXY_IS(fixed, "http://other.example:8000/x", "http://other-proxy.example");
        PROXY_IS(fixed, "http://inside.example", "");
}

static void test_login_in_url_is_no_host(void **state) {
        (void) state;
        PROXY_IS(fixed, "http://me:secret@inside.example/x", "");
        PROXY_IS(fixed, "http://mirror.example/a@inside.example", "http://all.example:8080");
}

static void test_https_falls_back_to_http(void **state) {
        (void) state;
        PROXY_IS(fixed, "https://mirror.example/", "http://all.example:8080");
        PROXY_IS(fixed, "https://inside.example/", "");
}

static void test_files_have_none(void **state) {
        (void) state;
        PROXY_IS(fixed, "file:/srv/debian", NULL);
}

static void test_program_decides(void **state) {
        const AptSetting settings[] = {
                { (char *) "Acquire::http::Proxy-Auto-Detect", script },
                { (char *) "Acquire::http::Proxy::fixed.example", (char *) "http://f.example" },
        };

        (void) state;
        PROXY_IS(settings, "http://mirror.example", "http://found.example:3128/");
        PROXY_IS(settings, "http://direct.example", "");
        PROXY_IS(settings, "http://fails.example", NULL);
        PROXY_IS(settings, "http://fixed.example", "http://f.example");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing_set),
                cmocka_unit_test(test_for_all_hosts),
                cmocka_unit_test(test_host_beats_all_whatever_the_case_of_keys),
                cmocka_unit_test(test_login_in_url_is_no_host),
                cmocka_unit_test(test_https_falls_back_to_http),
                cmocka_unit_test(test_files_have_none),
                cmocka_unit_test(test_program_decides),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
