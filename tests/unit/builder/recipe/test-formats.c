/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tables and their reference pages say the same: every key of a table has its row in the page,
 * every row of the page a key in the table. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shared/file-util.h"
#include "recipe/formats.h"
#include "recipe/patterns.h"

/* "base.distro", "artifacts[].install.path": one for each key of the table. */
static void list_keys(const Schema *keys, const char *prefix, char ***ret) {
        for (const Schema *s = keys; s && s->key; s++) {
                const Schema *item = s->flags & (SCHEMA_LIST | SCHEMA_MAP) ? s->item : s;
                _cleanup_free_ char *name = strf("%s%s%s", prefix, *prefix ? "." : "", s->key);
                _cleanup_free_ char *below = strf("%s%s", name,
                                s->flags & SCHEMA_LIST  ? "[]"
                                : s->flags & SCHEMA_MAP ? ".NAME"
                                                        : "");

                assert_int_equal(strv_extend(ret, name), 0);
                if (item && item->keys)
                        list_keys(item->keys, below, ret);
                if (item != s && s->keys) /* a list, or an object of lists */
                        list_keys(s->keys, name, ret);
        }
}

/* The first column of a page's tables, as "| `name` | …". */
static void list_rows(const char *page, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(page, "\n");

        STRV_FOREACH (line, lines) {
                const char *name = startswith(*line, "| `"), *end = name ? strchr(name, '`') : NULL;

                if (end)
                        assert_int_equal(strv_push(ret, strndup(name, (size_t) (end - name))), 0);
        }
}

static void assert_page_is_complete(const Schema *table, const char *page) {
        const char *top = getenv("TOP");
        _cleanup_free_ char *path = path_join(top ? top : ".", page), *text = NULL;
        _cleanup_strv_free_ char **keys = NULL, **rows = NULL;
        unsigned wrong = 0;

        assert_int_equal(read_file(path, 1024 * 1024, &text, NULL), 0);
        list_keys(table, "", &keys);
        list_rows(text, &rows);
        assert_true(strv_length(keys) > 10);
        STRV_FOREACH (key, keys)
                if (!strv_contains(rows, *key)) {
                        print_error("%s has no row for `%s`\n", page, *key);
                        wrong++;
                }
        STRV_FOREACH (row, rows)
                if (!strv_contains(keys, *row)) {
                        print_error("%s has a row for `%s`, which is no key\n", page, *row);
                        wrong++;
                }
        assert_int_equal(wrong, 0);
}

static void every_recipe_key_is_documented(void **state _unused_) {
        assert_page_is_complete(recipe_keys, "docs/recipe.md");
}

static void every_overlay_key_is_documented(void **state _unused_) {
        assert_page_is_complete(overlay_keys, "docs/overlay.md");
}

static void every_cluster_key_is_documented(void **state _unused_) {
        assert_page_is_complete(cluster_keys, "docs/cluster.md");
}

/* The manual page names each key in bold. */
static void every_recipe_key_is_in_the_manual_page(void **state _unused_) {
        const char *top = getenv("TOP");
        _cleanup_free_ char *path = path_join(top ? top : ".", "docs/man/imgbuild.recipe.5"),
                            *text = NULL;
        _cleanup_strv_free_ char **keys = NULL;
        unsigned wrong = 0;

        assert_int_equal(read_file(path, 1024 * 1024, &text, NULL), 0);
        list_keys(recipe_keys, "", &keys);
        list_keys(overlay_keys, "", &keys);
        STRV_FOREACH (key, keys) {
                _cleanup_free_ char *tag = strf("\n.B %s\n", *key);
                if (!strstr(text, tag)) {
                        print_error("imgbuild.recipe.5 does not describe %s\n", *key);
                        wrong++;
                }
        }
        assert_int_equal(wrong, 0);
}

/* Every ```json block of a page is one file, as a person would copy it. */
static void assert_examples_are_right(const Schema *table, const char *page) {
        const char *top = getenv("TOP");
        _cleanup_free_ char *path = path_join(top ? top : ".", page), *text = NULL;
        unsigned n = 0;

        assert_int_equal(read_file(path, 1024 * 1024, &text, NULL), 0);
        for (const char *start = text; (start = strstr(start, "\n```json\n")); n++) {
                _cleanup_problems_ Problems p = {};
                _cleanup_json_ json_object *o = NULL;
                JsonError e = {};
                const char *end;

                start += strlen("\n```json\n");
                end = strstr(start, "\n```");
                assert_non_null(end);
                if (json_parse(start, (size_t) (end - start), &e, &o) < 0)
                        fail_msg("%s, example %u:%u:%u: %s", page, n, e.line, e.column, e.message);
                schema_validate(&p, page, table, o, json_get(o, "extends") != NULL);
                STRV_FOREACH (line, p.lines)
                        print_error("example %u: %s\n", n, *line);
                assert_int_equal(p.n, 0);
                start = end;
        }
        assert_true(n >= 2);
}

static void every_example_is_right(void **state _unused_) {
        assert_examples_are_right(recipe_keys, "docs/recipe.md");
        assert_examples_are_right(overlay_keys, "docs/overlay.md");
}

static void every_distro_belongs_to_a_family(void **state _unused_) {
        const Schema *base = NULL, *distro = NULL;
        size_t n = 0;

        for (const Schema *s = recipe_keys; s->key; s++)
                if (streq(s->key, "base"))
                        base = s;
        assert_non_null(base);
        for (const Schema *s = base->keys; s->key; s++)
                if (streq(s->key, "distro"))
                        distro = s;
        assert_non_null(distro);
        for (; distros[n].name; n++)
                assert_true(strv_contains((char *const *) distro->choices, distros[n].name));
        assert_int_equal(n, strv_length((char *const *) distro->choices));
}

static void sizes_are_binary(void **state _unused_) {
        static const struct {
                const char *text;
                uint64_t size; /* 0: refused */
        } cases[] = {
                { "256M", UINT64_C(256) << 20 },
                { "8G", UINT64_C(8) << 30 },
                { "64T", UINT64_C(64) << 40 },
                { "255M", 0 },
                { "65T", 0 },
                { "8", 0 },
                { "G", 0 },
                { "8g", 0 },
                { "8GB", 0 },
                { "-8G", 0 },
                { " 8G", 0 },
                { "8.5G", 0 },
                { "99999999999999999999T", 0 },
                { "999999999T", 0 },
                { "", 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint64_t size = 0;
                assert_int_equal(parse_disk_size(cases[i].text, &size), cases[i].size != 0);
                assert_int_equal(size, cases[i].size);
        }
}

static void modes_are_octal(void **state _unused_) {
        mode_t mode = 1;

        assert_true(parse_mode("0644", &mode));
        assert_int_equal(mode, 0644);
        assert_true(parse_mode("4755", &mode));
        assert_int_equal(mode, 04755);
        assert_true(parse_mode("000", &mode));
        assert_int_equal(mode, 0);
        static const char *const wrong[] = { "", "7", "64", "0844", "rw-", "100644", "77777",
                "0644 ", "-644" };
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                assert_false(parse_mode(wrong[i], &mode));
}

/* The same test for every check, through the tables, so that what is tested is what applies. */
static const Schema *find(const Schema *keys, const char *path) {
        _cleanup_strv_free_ char **parts = strv_split(path, ".");
        const Schema *s = NULL;

        STRV_FOREACH (part, parts) {
                for (s = keys; s->key && !streq(s->key, *part); s++)
                        ;
                assert_non_null(s->key);
                keys = s->flags & SCHEMA_LIST ? s->item->keys : s->keys;
        }
        return s->flags & SCHEMA_LIST ? s->item : s;
}

static void values_are_told_from_nonsense(void **state _unused_) {
        static const struct {
                const Schema *table;
                const char *key, *good[4], *bad[6];
        } cases[] = {
                { recipe_keys, "name", { "x", "debian-13-gpu", "a.b" },
                                { "", "-x", "X", "a/b", "x.lock", "a b" } },
                { recipe_keys, "extends", { "base", "../a/b.json" }, { "", "/a", "a\nb" } },
                { recipe_keys, "base.release", { "trixie", "9", "24.04" },
                                { "", "Trixie", "a b", "../x" } },
                { recipe_keys, "base.components", { "main", "non-free-firmware" },
                                { "", "a b", "../x" } },
                { recipe_keys, "base.mirror", { "http://a/b", "https://a", "file:///srv/x" },
                                { "", "a", "http://", "http://a b", "http://u@a/",
                                                "http://a/\"" } },
                { recipe_keys, "kernel.package", { "linux-image-amd64" },
                                { "linux-${kernel}", "" } },
                { recipe_keys, "kernel.cmdline", { "", "console=ttyS0,115200n8 a.b=\xc3\xa4" },
                                { "a\nb", "a'b", "$x", "a;b", "a\\b", "{" } },
                { recipe_keys, "kernel.options", { "PCI_P2PDMA", "X86_64" },
                                { "", "CONFIG_PCI_P2PDMA", "pci", "A=y", "A B" } },
                { overlay_keys, "description", { "One line" }, { "", "two\nlines" } },
                { overlay_keys, "repositories.debian.name", { "vendor", "a.b" },
                                { "", "a/b", ".x", "-x" } },
                { overlay_keys, "repositories.debian.suite", { "./", "trixie/updates" },
                                { "", "../x", "a b" } },
                { overlay_keys, "repositories.debian.key", { "a/b.asc", "https://x/k" },
                                { "", "../k", "/k", "ftp://x/k", "https://" } },
                { overlay_keys, "packages.el", { "NetworkManager", "gcc-c++" },
                                { "", "x", "a b", "-x", "a;b" } },
                { overlay_keys, "artifacts.version", { "4.0.1-1", "1:2~rc1" },
                                { "", "a/b", "-1", "1 2" } },
                { overlay_keys, "artifacts.install.path", { "/a", "/usr/bin/x" },
                                { "", "a", "/", "/a/", "/a//b", "/a/." } },
                { overlay_keys, "artifacts.install.unpack", { "/", "/opt/x" },
                                { "", "x", "//", "/a/../b" } },
                { overlay_keys, "services.enable", { "a.service", "getty@tty1.service", "a.mount" },
                                { "", "a", ".service", "a.b", "a b.service", "@.service" } },
                { overlay_keys, "checks", { "a.sh", "a/b" },
                                { "", "/a", "a//b", "a/", "..", "a\nb" } },
                { overlay_keys, "compile.source", { "src", "imgbuild:firstboot" },
                                { "", "..", "imgbuild:x", "/src" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const Schema *s = find(cases[i].table, cases[i].key);

                assert_non_null(s->check);
                for (size_t k = 0; k < ELEMENTSOF(cases[i].good) && cases[i].good[k]; k++)
                        if (s->check(cases[i].good[k]))
                                fail_msg("%s: \"%s\" was refused", cases[i].key, cases[i].good[k]);
                for (size_t k = 0; k < ELEMENTSOF(cases[i].bad) && cases[i].bad[k]; k++)
                        if (!s->check(cases[i].bad[k]))
                                fail_msg("%s: \"%s\" was taken", cases[i].key, cases[i].bad[k]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_recipe_key_is_documented),
                cmocka_unit_test(every_overlay_key_is_documented),
                cmocka_unit_test(every_cluster_key_is_documented),
                cmocka_unit_test(every_recipe_key_is_in_the_manual_page),
                cmocka_unit_test(every_example_is_right),
                cmocka_unit_test(every_distro_belongs_to_a_family),
                cmocka_unit_test(sizes_are_binary),
                cmocka_unit_test(modes_are_octal),
                cmocka_unit_test(values_are_told_from_nonsense),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
