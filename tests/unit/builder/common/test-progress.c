/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/progress.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct Redirect {
        int saved, target;
        char path[64];
} Redirect;

static void redirect(Redirect *r, int fd) {
        strcpy(r->path, "/tmp/test-progress-XXXXXX");
        int file = mkstemp(r->path);

        assert_true(file >= 0);
        fflush(NULL);
        r->target = fd;
        r->saved = dup(fd);
        dup2(file, fd);
        close(file);
}

static char *restore(Redirect *r) {
        char *text = NULL;

        fflush(NULL);
        dup2(r->saved, r->target);
        close(r->saved);
        assert_int_equal(read_file(r->path, 1 << 20, &text, NULL), 0);
        unlink(r->path);
        return text;
}

/* A stage that runs, one that is cached and one that fails, with a message between. */
static char *session(ProgressMode mode, int fd) {
        Redirect r;
        Progress *p = NULL;

        redirect(&r, fd);
        assert_int_equal(progress_new(mode, &p), 0);
        progress_add(p, "base");
        progress_add(p, "kernel");
        progress_set(p, "base", PROGRESS_CACHED);
        progress_set(p, "kernel", PROGRESS_RUNNING);
        progress_bytes(p, "kernel", 1 << 20, 4 << 20);
        log_info("a message");
        progress_set(p, "kernel", PROGRESS_FAILED);
        progress_free(p);
        return restore(&r);
}

static void plain_lines_name_stage_and_state(void **state) {
        _cleanup_free_ char *text = session(PROGRESS_PLAIN, STDERR_FILENO);

        (void) state;
        assert_non_null(strstr(text, "base"));
        assert_non_null(strstr(text, "cached"));
        assert_non_null(strstr(text, "> kernel\n"));
        assert_non_null(strstr(text, "FAILED"));
        assert_non_null(strstr(text, "a message\n"));
        assert_null(strchr(text, '\033'));
}

static void json_lines_parse_one_by_one(void **state) {
        _cleanup_free_ char *text = session(PROGRESS_JSON, STDOUT_FILENO);
        _cleanup_strv_free_ char **lines = strv_split(text, "\n");
        bool failed = false, message = false;

        (void) state;
        assert_true(strv_length(lines) >= 4);
        STRV_FOREACH (line, lines) {
                _cleanup_json_ json_object *o = NULL;
                JsonError error;

                assert_int_equal(json_parse(*line, strlen(*line), &error, &o), 0);
                assert_non_null(json_get_string(o, "event"));
                failed = failed || streq_ptr(json_get_string(o, "state"), "failed");
                message = message || streq_ptr(json_get_string(o, "message"), "a message");
        }
        assert_true(failed);
        assert_true(message);
}

static void live_display_wipes_what_it_drew(void **state) {
        _cleanup_free_ char *text = session(PROGRESS_LIVE, STDERR_FILENO);

        (void) state;
        assert_non_null(strstr(text, "\033[1A\033[2K"));
        assert_non_null(strstr(text, "[###.........]"));
        assert_non_null(strstr(text, "1.0/4.0 MiB"));
}

static void none_says_nothing_but_messages(void **state) {
        _cleanup_free_ char *text = session(PROGRESS_NONE, STDERR_FILENO);

        (void) state;
        assert_string_equal(text, "a message\n");
}

static void escape_sequences_of_commands_are_not_repeated(void **state) {
        Redirect r;
        Progress *p = NULL;

        (void) state;
        redirect(&r, STDERR_FILENO);
        assert_int_equal(progress_new(PROGRESS_LIVE, &p), 0);
        progress_set(p, "x", PROGRESS_RUNNING);
        progress_detail(p, "x", "red \033[31m text");
        progress_set(p, "x", PROGRESS_DONE);
        progress_free(p);
        _cleanup_free_ char *text = restore(&r);
        assert_null(strstr(text, "\033[31m"));
}

/* What a session leaves on a terminal of that TERM (NULL: none is set). */
static char *on_terminal(const char *term) {
        int terminal, screen, saved = dup(STDERR_FILENO);
        char text[4096];
        Progress *p = NULL;

        fflush(NULL);
        assert_int_equal(openpty(&screen, &terminal, NULL, NULL, NULL), 0);
        dup2(terminal, STDERR_FILENO);
        if (term)
                setenv("TERM", term, true);
        else
                unsetenv("TERM");
        int r = progress_new(PROGRESS_AUTO, &p);
        progress_add(p, "base");
        progress_set(p, "base", PROGRESS_RUNNING);
        progress_set(p, "base", PROGRESS_FAILED);
        progress_free(p);
        fflush(NULL);

        /* With its last writer gone, the terminal gives all that was written, and then EIO. */
        dup2(saved, STDERR_FILENO);
        close(saved);
        close(terminal);
        size_t n = 0;
        for (ssize_t k; n < sizeof(text) - 1 &&
                        (k = read(screen, text + n, sizeof(text) - 1 - n)) > 0;)
                n += (size_t) k;
        close(screen);
        assert_int_equal(r, 0);
        assert_true(n > 0);
        text[n] = '\0';
        assert_non_null(strstr(text, "base"));
        return strdup(text);
}

static void a_terminal_is_drawn_on_without_colours(void **state) {
        _cleanup_free_ char *text = on_terminal("xterm");

        (void) state;
        assert_non_null(strstr(text, "\033[1A\033[2K"));
        for (const char *p = strstr(text, "\033["); p; p = strstr(p + 1, "\033["))
                assert_int_not_equal(p[2 + strspn(p + 2, "0123456789;")], 'm');
}

static void a_dumb_terminal_gets_plain_lines(void **state) {
        _cleanup_free_ char *dumb = on_terminal("dumb"), *unset = on_terminal(NULL);

        (void) state;
        assert_null(strchr(dumb, '\033'));
        assert_null(strchr(unset, '\033'));
}

static void unknown_mode_is_refused(void **state) {
        ProgressMode mode = PROGRESS_NONE;

        (void) state;
        assert_int_equal(progress_mode_from_string("fancy", &mode), -EINVAL);
        assert_int_equal(mode, PROGRESS_NONE);
        assert_int_equal(progress_mode_from_string("json", &mode), 0);
        assert_int_equal(mode, PROGRESS_JSON);
}

static void states_are_read_as_they_are_told(void **state) {
        ProgressState s = PROGRESS_WAITING;

        (void) state;
        assert_int_equal(progress_state_from_string("failed", &s), 0);
        assert_int_equal(s, PROGRESS_FAILED);
        assert_int_equal(progress_state_from_string("baked", &s), -EINVAL);
        assert_int_equal(s, PROGRESS_FAILED);
}

static void the_schema_of_lines_parses(void **state) {
        _cleanup_json_ json_object *o = NULL;

        (void) state;
        assert_int_equal(progress_json_schema(&o), 0);
        assert_non_null(json_get(o, "oneOf"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_lines_name_stage_and_state),
                cmocka_unit_test(json_lines_parse_one_by_one),
                cmocka_unit_test(live_display_wipes_what_it_drew),
                cmocka_unit_test(none_says_nothing_but_messages),
                cmocka_unit_test(escape_sequences_of_commands_are_not_repeated),
                cmocka_unit_test(a_terminal_is_drawn_on_without_colours),
                cmocka_unit_test(a_dumb_terminal_gets_plain_lines),
                cmocka_unit_test(unknown_mode_is_refused),
                cmocka_unit_test(states_are_read_as_they_are_told),
                cmocka_unit_test(the_schema_of_lines_parses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
