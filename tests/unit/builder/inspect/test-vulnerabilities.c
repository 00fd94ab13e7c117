/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/vulnerabilities.h"
#include "recipe-fixture.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

static const char debian[] =
                "{\"os\": {\"distro\": \"debian\", \"major\": 13, \"minor\": 0, \"codename\": \"trixie\", \"package_format\": \"deb\"}, \"packages\": ["
                "{\"name\": \"libssl3t64\", \"version\": \"3.5.7-1\", \"source\": \"openssl\"},"
                "{\"name\": \"openssl\", \"version\": \"3.5.7-1\"},"
                "{\"name\": \"linux-image-6.12.9\", \"version\": \"6.12.9-1\", \"source\": \"linux-signed-amd64\", \"source_version\": \"6.12.9+1\"},"
                "{\"name\": \"bash\", \"version\": \"5.2-1+b3\", \"source\": \"bash\", \"source_version\": \"5.2-1\"}]}";

#define EL(distro)                                                                                \
        "{\"os\": {\"distro\": \"" distro                                                         \
        "\", \"major\": 9, \"minor\": 4, \"package_format\": \"rpm\"}, \"packages\": ["           \
        "{\"name\": \"openssl-libs\", \"version\": \"1:3.0.7-25.el9\", \"source\": \"openssl\", " \
        "\"source_version\": \"3.0.7-25.el9\"},"                                                  \
        "{\"name\": \"openssl\", \"version\": \"1:3.0.7-25.el9\"},"                               \
        "{\"name\": \"perl-Errno\", \"version\": \"1.30-480.el9\", \"source\": \"perl\", "        \
        "\"source_version\": \"5.32.1-480.el9\"},"                                                \
        "{\"name\": \"openssh\", \"version\": \"8.7p1-38.el9\"},"                                 \
        "{\"name\": \"nodejs\", \"version\": \"1:18.20.2-1.module_el9.4.0+100\", "                \
        "\"module\": \"nodejs:18\"}]}"

/* What is found, a line each: "ID PACKAGE VERSION FIXED URGENCY"; *ret: what the call returned. */
static char *find(const char *image, const char *text, int *ret) {
        _cleanup_json_ json_object *inspection = json_tokener_parse(image);
        _cleanup_strv_free_ char **lines = NULL;
        json_object *found;

        put_file("known.json", text);
        *ret = inspect_vulnerabilities(inspection, "known.json", NULL);
        found = json_get(inspection, "vulnerabilities");
        for (size_t i = 0; i < json_array_length(found); i++) {
                json_object *v = json_object_array_get_idx(found, i);
                const char *fixed = json_get_string(v, "fixed"),
                           *urgency = json_get_string(v, "urgency");

                assert_int_equal(strv_extendf(&lines, "%s %s %s %s %s", json_get_string(v, "id"),
                                                 json_get_string(v, "package"),
                                                 json_get_string(v, "version"), fixed ? fixed : "-",
                                                 urgency ? urgency : "-"),
                                0);
        }
        return strv_join(lines, "\n");
}

static void assert_found_in(const char *image, const char *text, int fixable, const char *wanted) {
        int r;
        _cleanup_free_ char *got = find(image, text, &r);

        assert_int_equal(r, fixable);
        assert_string_equal(strempty(got), wanted);
}

static void assert_found(const char *text, int fixable, const char *wanted) {
        assert_found_in(debian, text, fixable, wanted);
}

#define ISSUE(status, more) \
        "{\"description\": \"d\", \"releases\": {\"trixie\": {\"status\": \"" status "\"" more "}}}"
#define FIXED(version) ", \"fixed_version\": \"" version "\", \"urgency\": \"high\""

static void the_tracker_says_what_is_open_and_what_is_mended_later(void **state _unused_) {
        assert_found("{\"openssl\": {\"CVE-2026-10\": " ISSUE("resolved",
                                     FIXED("3.5.9-1")) ", \"CVE-2026-9\": " ISSUE("open",
                                     "") ", \"CVE-2026-3\": " ISSUE("resolved",
                                     FIXED("3.5.7-1")) ", \"CVE-2026-4\": " ISSUE("resolved",
                                     FIXED("0")) ", \"CVE-2026-5\": " ISSUE("undetermined",
                                     "") "},"
                                         "\"zlib\": {\"CVE-2026-6\": " ISSUE("open", "") "}}",
                        1,
                        "CVE-2026-9 openssl 3.5.7-1 - -\nCVE-2026-10 openssl 3.5.7-1 3.5.9-1 high");
}

/* A rebuild's "+b3" is not the source's; and a signed kernel's source is linux. */
static void versions_are_the_source_s(void **state _unused_) {
        assert_found("{\"bash\": {\"CVE-1\": " ISSUE(
                                     "resolved", FIXED("5.2-1")) ", \"CVE-2\": " ISSUE("resolved",
                                     FIXED("5.2-1+b1")) "},"
                                                        "\"linux\": {\"CVE-3\": " ISSUE("resolved",
                                                                        FIXED("6.12.10-1")) ", \"CVE-4\": " ISSUE("resolved",
                                                                        FIXED("6.12.9-1")) "}}",
                        2, "CVE-2 bash 5.2-1 5.2-1+b1 high\nCVE-3 linux 6.12.9-1 6.12.10-1 high");
}

static void a_file_about_another_release_is_not_an_all_clear(void **state) {
        assert_found("{\"openssl\": {\"CVE-1\": {\"releases\": {\"bookworm\": {\"status\": \"open\"}}}}}",
                        -EINVAL, "");
        assert_true(was_logged(*state, "says nothing of Debian:13 (trixie)"));
        assert_found("[{\"id\": \"X\", \"affected\": [{\"package\": {\"ecosystem\": \"Debian:12\", \"name\": \"openssl\"}}]}]",
                        -EINVAL, "");
        assert_found("{}", -EINVAL, "");
        assert_found("[]", -EINVAL, "");
}

#define OSV_OF(ecosystem, id, summary, name, events)                                            \
        "{\"id\": \"" id "\", \"summary\": \"" summary                                          \
        "\", \"affected\": [{\"package\": {\"ecosystem\": \"" ecosystem "\", \"name\": \"" name \
        "\"}, "                                                                                 \
        "\"ranges\": [{\"type\": \"ECOSYSTEM\", \"events\": [" events "]}]}]}"
#define OSV(id, name, events) OSV_OF("Debian:13", id, "", name, events)
#define AT(what, version) "{\"" what "\": \"" version "\"}"

static void osv_has_ranges(void **state _unused_) {
        assert_found(OSV("A", "openssl", AT("introduced", "0") ", " AT("fixed", "3.5.9-1")), 1,
                        "A openssl 3.5.7-1 3.5.9-1 -");
        assert_found(OSV("A", "openssl", AT("fixed", "3.5.9-1") ", " AT("introduced", "0")), 1,
                        "A openssl 3.5.7-1 3.5.9-1 -");
        assert_found(OSV("A", "openssl", AT("introduced", "0") ", " AT("fixed", "3.5.7-1")), 0, "");
        assert_found(OSV("A", "openssl", AT("introduced", "3.5.8-1")), 0, "");
        assert_found(OSV("A", "openssl", AT("introduced", "0")), 0, "A openssl 3.5.7-1 - -");
        assert_found(OSV("A", "openssl", AT("introduced", "0") ", " AT("last_affected", "3.5.7-1")),
                        0, "A openssl 3.5.7-1 - -");
        assert_found(OSV("A", "openssl", AT("introduced", "0") ", " AT("last_affected", "3.5.6-1")),
                        0, "");
        assert_found(OSV("A", "openssl",
                                     AT("introduced", "0") ", " AT("fixed", "3.0-1") ", " AT(
                                                     "introduced", "3.5-1") ", " AT("fixed",
                                                     "3.6-1")),
                        1, "A openssl 3.5.7-1 3.6-1 -");
}

static void osv_may_be_lines_a_list_or_an_answer(void **state _unused_) {
        static const char one[] = OSV("A", "openssl", AT("introduced", "0")),
                          other[] = OSV("B", "bash", AT("introduced", "0") ", " AT("fixed", "6"));
        const char *const forms[] = { "%s\n%s\n", "[%s, %s]", "{\"vulns\": [%s, %s]}" };

        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                _cleanup_free_ char *text = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                text = strf(forms[i], one, other);
#pragma GCC diagnostic pop
                assert_found(text, 1, "B bash 5.2-1 6 -\nA openssl 3.5.7-1 - -");
        }
}

static void what_was_withdrawn_or_is_exactly_another_version_is_nothing(void **state _unused_) {
        assert_found("[{\"id\": \"A\", \"withdrawn\": \"2026\", \"affected\": [{\"package\": {\"ecosystem\": \"Debian:13\", \"name\": \"openssl\"}, \"versions\": [\"3.5.7-1\"]}]},"
                     "{\"id\": \"B\", \"affected\": [{\"package\": {\"ecosystem\": \"Debian:13\", \"name\": \"openssl\"}, \"versions\": [\"3.5.7-1\"]}]},"
                     "{\"id\": \"C\", \"affected\": [{\"package\": {\"ecosystem\": \"Debian:13\", \"name\": \"openssl\"}, \"versions\": [\"3.5.6-1\"]}]},"
                     "{\"id\": \"D\", \"affected\": [{\"package\": {\"ecosystem\": \"Debian:130\", \"name\": \"openssl\"}, \"versions\": [\"3.5.7-1\"]}]}]",
                        0, "B openssl 3.5.7-1 - -");
}

static void what_is_neither_or_cut_is_refused(void **state) {
        const char *const bad[] = { "", "text", "[1, 2]", "[{\"affected\": []}]",
                "{\"openssl\": [1]}", "{\"openssl\": {\"CVE-1\": " ISSUE("open", "") "}",
                "{\"openssl\": {\"CVE-1\": tru }, \"x\": \"\\\"trixie\\\"\"}" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_found(bad[i], -EINVAL, "");
        assert_true(was_logged(*state, "is neither the file of Debian's security tracker"));
}

#define FIXED_IN(version) AT("introduced", "0") ", " AT("fixed", version)

static void rocky_s_records_name_sources(void **state _unused_) {
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "openssl", FIXED_IN("1:3.0.7-27.el9")), 1,
                        "A openssl 3.0.7-25.el9 1:3.0.7-27.el9 -");
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "openssl-libs",
                                        FIXED_IN("1:3.0.7-27.el9")),
                        0, "");
}

static void almalinux_s_and_red_hat_s_name_what_is_installed(void **state _unused_) {
        assert_found_in(EL("almalinux"),
                        OSV_OF("AlmaLinux:9", "A", "", "openssl-libs", FIXED_IN("1:3.0.7-27.el9")),
                        1, "A openssl-libs 1:3.0.7-25.el9 1:3.0.7-27.el9 -");
        assert_found_in(EL("rhel"),
                        OSV_OF("Red Hat:enterprise_linux:9::baseos", "A", "", "openssl-libs",
                                        FIXED_IN("1:3.0.7-27.el9")),
                        1, "A openssl-libs 1:3.0.7-25.el9 1:3.0.7-27.el9 -");
        assert_found_in(EL("rhel"),
                        OSV_OF("Red Hat:enterprise_linux:9::baseos", "A", "", "perl",
                                        FIXED_IN("1:3.0.7-27.el9")),
                        0, "");
}

/* perl's own packages have the source's epoch, 4, and those of its modules others; what was made
 * from a version is as old as that. */
static void epochs_of_sources_are_not_their_packages(void **state _unused_) {
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "perl", FIXED_IN("4:5.32.1-480.el9")), 0,
                        "");
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "perl", FIXED_IN("4:5.32.1-481.el9")), 1,
                        "A perl 5.32.1-480.el9 4:5.32.1-481.el9 -");
        assert_found_in(EL("almalinux"),
                        OSV_OF("AlmaLinux:9", "A", "", "openssl-libs", FIXED_IN("3.0.9-1.el9")), 0,
                        "");
}

/* An epoch of 0 is none; "_4.1" is behind nothing. */
static void versions_of_rpms_are_in_rpm_s_order(void **state _unused_) {
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "openssh", FIXED_IN("0:8.7p1-38.el9_4.1")),
                        1, "A openssh 8.7p1-38.el9 0:8.7p1-38.el9_4.1 -");
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "", "openssh", FIXED_IN("0:8.7p1-38.el9")), 0,
                        "");
}

/* 18.20.2 is no older 20.15.1: it is of another stream, and what has none is of none. */
static void a_module_s_record_is_for_its_stream(void **state _unused_) {
#define NODEJS(summary, version) OSV_OF("Rocky Linux:9", "A", summary, "nodejs", FIXED_IN(version))
        assert_found_in(EL("rocky"),
                        NODEJS("Important: nodejs:20 security update",
                                        "1:20.15.1-1.module_el9.4.0+123"),
                        0, "");
        assert_found_in(EL("rocky"),
                        NODEJS("Important: nodejs:18 security update",
                                        "1:18.20.4-1.module_el9.4.0+123"),
                        1,
                        "A nodejs 18.20.2-1.module_el9.4.0+100 1:18.20.4-1.module_el9.4.0+123 -");
        assert_found_in(EL("rocky"),
                        NODEJS("nodejs security update", "1:18.20.4-1.module_el9.4.0+123"), 1,
                        "A nodejs 18.20.2-1.module_el9.4.0+100 1:18.20.4-1.module_el9.4.0+123 -");
        assert_found_in(EL("rocky"), NODEJS("nodejs security update", "1:20.15.1-1.el9"), 0, "");
        /* One whose label is not there is of a module all the same. */
        assert_found_in("{\"os\": {\"distro\": \"rocky\", \"major\": 9, \"package_format\": \"rpm\"}, \"packages\": ["
                        "{\"name\": \"nodejs\", \"version\": \"1:18.20.2-1.module+el9\"}]}",
                        NODEJS("Important: nodejs:18 security update",
                                        "1:18.20.4-1.module_el9.4.0+123"),
                        1, "A nodejs 18.20.2-1.module+el9 1:18.20.4-1.module_el9.4.0+123 -");
        assert_found_in(EL("rocky"),
                        OSV_OF("Rocky Linux:9", "A", "ssh:2 security update", "openssh",
                                        FIXED_IN("0:9.0-1.module+el9")),
                        0, "");
}

static void records_of_another_distribution_are_no_all_clear(void **state) {
        assert_found_in(EL("rocky"), OSV("A", "openssl", FIXED_IN("9")), -EINVAL, "");
        assert_true(was_logged(*state, "says nothing of Rocky Linux:9"));
        /* Debian's own file has texts of all kinds, empty ones among them. */
        assert_found_in(EL("rocky"),
                        "{\"openssl\": {\"CVE-1\": {\"description\": \"\", \"releases\": {}}}}",
                        -EINVAL, "");
        assert_found_in(EL("oraclelinux"), OSV("A", "openssl", FIXED_IN("9")), -EINVAL, "");
        assert_true(was_logged(*state, "of which there are records, and this one is none"));
}

/* known.json as an archive of two records, of which so many bytes are left out. */
static int put_zip(const char *one, const char *other, size_t cut) {
        const char *const records[] = { one, other };
        struct archive *a = archive_write_new();
        struct archive_entry *e = archive_entry_new();
        struct stat st;

        assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
        assert_int_equal(archive_write_open_filename(a, "known.zip"), ARCHIVE_OK);
        for (size_t i = 0; i < ELEMENTSOF(records); i++) {
                _cleanup_free_ char *name = strf("RLSA-%zu.json", i);

                archive_entry_clear(e);
                archive_entry_set_pathname(e, name);
                archive_entry_set_mode(e, S_IFREG | 0644);
                archive_entry_set_size(e, (int64_t) strlen(records[i]));
                assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
                assert_int_equal(archive_write_data(a, records[i], strlen(records[i])),
                                strlen(records[i]));
        }
        archive_entry_free(e);
        assert_int_equal(archive_write_free(a), ARCHIVE_OK);
        assert_int_equal(stat("known.zip", &st), 0);
        return truncate("known.zip", st.st_size - (off_t) cut);
}

static int look_in_zip(size_t *ret_found) {
        _cleanup_json_ json_object *inspection = json_tokener_parse(EL("rocky"));
        int r = inspect_vulnerabilities(inspection, "known.zip", NULL);

        *ret_found = json_array_length(json_get(inspection, "vulnerabilities"));
        return r;
}

static void osv_may_be_its_archive(void **state) {
        static const char one[] = OSV_OF("Rocky Linux:9", "A", "", "openssl", FIXED_IN("1:4-1")),
                          other[] = OSV_OF("Rocky Linux:9", "B", "", "openssh", FIXED_IN("9-1"));
        size_t n;

        assert_int_equal(put_zip(one, other, 0), 0);
        assert_int_equal(look_in_zip(&n), 2);
        assert_int_equal(n, 2);
        assert_int_equal(put_zip(one, other, 30), 0);
        assert_int_equal(look_in_zip(&n), -EINVAL);
        assert_int_equal(put_zip(one, "no record", 0), 0);
        assert_int_equal(look_in_zip(&n), -EINVAL);
        assert_true(was_logged(*state, "is neither the file of Debian's security tracker"));
}

/* libguestfs could not read them, or an attacker took dpkg's list away. */
static void an_image_without_packages_is_no_all_clear(void **state) {
        assert_found_in("{\"os\": {\"distro\": \"debian\", \"major\": 13, \"codename\": \"trixie\", \"package_format\": \"deb\"}, \"packages\": []}",
                        OSV("A", "openssl", FIXED_IN("9")), -EINVAL, "");
        assert_true(was_logged(*state, "No packages could be read"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(the_tracker_says_what_is_open_and_what_is_mended_later),
                TEST(versions_are_the_source_s),
                TEST(a_file_about_another_release_is_not_an_all_clear),
                TEST(osv_has_ranges),
                TEST(osv_may_be_lines_a_list_or_an_answer),
                TEST(what_was_withdrawn_or_is_exactly_another_version_is_nothing),
                TEST(what_is_neither_or_cut_is_refused),
                TEST(rocky_s_records_name_sources),
                TEST(almalinux_s_and_red_hat_s_name_what_is_installed),
                TEST(epochs_of_sources_are_not_their_packages),
                TEST(versions_of_rpms_are_in_rpm_s_order),
                TEST(a_module_s_record_is_for_its_stream),
                TEST(records_of_another_distribution_are_no_all_clear),
                TEST(osv_may_be_its_archive),
                TEST(an_image_without_packages_is_no_all_clear),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
