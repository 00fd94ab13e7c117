/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A folder of its own for each test, as the current one, with images/ and overlays/ in it; and
 * whatever is logged, caught for looking at. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "shared/file-util.h"
#include "shared/log.h"
#include "recipe/recipe.h"

typedef struct Fixture {
        char folder[64];
        char **lines; /* logged */
        Recipe *recipe;
} Fixture;

static inline void fixture_log(int level _unused_, const char *line, void *userdata) {
        Fixture *f = userdata;
        assert_int_equal(strv_extend(&f->lines, line), 0);
}

static inline int fixture_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        strcpy(f->folder, "/tmp/imgbuild-test.XXXXXX");
        assert_non_null(mkdtemp(f->folder));
        assert_int_equal(chdir(f->folder), 0);
        assert_int_equal(mkdir("images", 0755), 0);
        assert_int_equal(mkdir("overlays", 0755), 0);
        log_set_writer(fixture_log, f);
        *state = f;
        return 0;
}

static inline int fixture_teardown(void **state) {
        Fixture *f = *state;

        log_set_writer(NULL, NULL);
        recipe_free(f->recipe);
        strv_free(f->lines);
        assert_int_equal(chdir("/"), 0);
        rm_rf(f->folder);
        free(f);
        return 0;
}

static inline void put_file(const char *path, const char *text) {
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static inline void put_script(const char *path) {
        put_file(path, "#!/bin/sh\nexit 0\n");
        assert_int_equal(chmod(path, 0755), 0);
}

/* overlays/NAME/overlay.json with a description and `keys`, which begins with a comma where it is
 * not empty. */
static inline void put_overlay(const char *name, const char *keys) {
        _cleanup_free_ char *path = strf("overlays/%s/overlay.json", name);
        _cleanup_free_ char *text = strf("{\"description\": \"the %s overlay\"%s}", name, keys);

        put_file(path, text);
}

/* images/NAME.json, complete but for `keys`. */
static inline void put_recipe(const char *name, const char *keys) {
        _cleanup_free_ char *path = strf("images/%s.json", name);
        _cleanup_free_ char *text = strf(
                        "{\"name\": \"%s\", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\"},"
                        "\"kernel\": {\"package\": \"linux-image-amd64\"}%s}",
                        name, keys);

        put_file(path, text);
}

static inline int load(Fixture *f, const char *path) {
        f->recipe = recipe_free(f->recipe);
        f->lines = strv_free(f->lines);
        return recipe_load(path, NULL, &f->recipe);
}

static inline Recipe *load_good(Fixture *f, const char *path) {
        int r = load(f, path);

        STRV_FOREACH (line, f->lines)
                print_error("%s\n", *line);
        assert_int_equal(r, 0);
        assert_null(f->lines);
        return f->recipe;
}

/* "x.json:12: $.a: …" without its line, which test-problems.c asks for. */
static inline char *without_line(const char *logged) {
        const char *file = strstr(logged, ".json:"), *rest = file ? file + strlen(".json:") : "";
        size_t digits = strspn(rest, "0123456789");

        return digits > 0 && startswith(rest + digits, ": $")
                               ? strf("%.*s%s", (int) (rest - 1 - logged), logged, rest + digits)
                               : strdup(logged);
}

static inline bool was_logged(Fixture *f, const char *message) {
        STRV_FOREACH (line, f->lines) {
                _cleanup_free_ char *text = without_line(*line);

                assert_non_null(text);
                if (strstr(text, message))
                        return true;
        }
        return false;
}

/* The recipe must be refused with exactly one message, this one. */
static inline void assert_refused(Fixture *f, const char *path, const char *message) {
        _cleanup_free_ char *line = strf("error: %s", message);
        int r = load(f, path);

        _cleanup_free_ char *got = NULL;

        STRV_FOREACH (l, f->lines)
                if (!was_logged(f, message))
                        print_error("got:    %s\nwanted: %s\n", *l, line);
        assert_int_equal(r, -EINVAL);
        assert_int_equal(strv_length(f->lines), 1);
        got = without_line(f->lines[0]);
        assert_string_equal(got, line);
        assert_null(f->recipe);
}

/* The overlay "one" with these keys, in a recipe. */
static inline Overlay *load_overlay(Fixture *f, const char *keys) {
        put_overlay("one", keys);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        return load_good(f, "images/x.json")->overlays[0];
}

static inline void assert_overlay_refused(Fixture *f, const char *keys, const char *message) {
        _cleanup_free_ char *whole = strf("overlays/one/overlay.json: %s", message);

        put_overlay("one", keys);
        put_recipe("x", ", \"overlays\": [\"one\"]");
        assert_refused(f, "images/x.json", whole);
}
