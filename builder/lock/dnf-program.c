/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* dnf-ask.py, run in the tools of family el: questions and answers are JSON files. What
 * repositories serve is a stranger's, and so is what comes out of programs that read it. */

#include "lock/dnf.h"
#include "common/data-folder.h"
#include "sandbox/open-inside.h"
#include "sandbox/sandbox.h"
#include "shared/file-util.h"
#include "shared/log.h"

#define PROGRAM "dnf-ask.py"
#define INSIDE_PROGRAM "/run/imgbuild/" PROGRAM
#define INSIDE_OUT "/run/imgbuild/out"
#define ANSWER_MAX (64 * 1024 * 1024)
#define LINES_SHOWN 30

/* In a checkout beside this file, else where `make install` put it. */
static int find_program(char **ret) {
        _cleanup_free_ char *data = data_folder();
        const char *const places[] = { "builder/lock", "" };

        for (size_t i = 0; data && i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *folder = path_join(data, places[i]),
                                    *path = folder ? path_join(folder, PROGRAM) : NULL;

                if (!path)
                        return log_oom();
                if (access(path, R_OK) < 0)
                        continue;
                *ret = TAKE_PTR(path);
                return 0;
        }
        return data ? log_error_return(-ENOPKG,
                                      PROGRAM " is not installed: 'make install' puts it there")
                    : log_oom();
}

static int write_question(const Dnf *d, json_object *question) {
        const char *text = json_object_to_json_string_ext(question, JSON_C_TO_STRING_PLAIN);
        _cleanup_free_ char *path = path_join(d->root, "in/question.json");

        if (!path || !text)
                return -ENOMEM;
        return write_file_atomic(path, text, strlen(text), 0644);
}

/* The lines that matter most are the first. */
static int log_unanswered(const char *about, const char *text) {
        _cleanup_strv_free_ char **lines = strv_split(text, "\n"), **shown = NULL;
        _cleanup_free_ char *joined = NULL;

        for (size_t i = 0; lines && lines[i] && i < LINES_SHOWN; i++)
                if (strv_extendf(&shown, "  %s", lines[i] + strspn(lines[i], " ")) < 0)
                        return log_oom();
        joined = strv_join(shown, "\n");
        if (!joined)
                return log_oom();
        log_error("%s: dnf says\n%s", about, joined);
        return -EINVAL;
}

static int read_answer(const Dnf *d, const char *about, json_object **ret) {
        _cleanup_free_ char *folder = path_join(d->root, "out"), *text = NULL;
        _cleanup_json_ json_object *answer = NULL;
        JsonError error = {};
        const char *why;
        size_t size;
        int r;

        if (!folder)
                return log_oom();
        r = inside_read_output(folder, "answer.json", ANSWER_MAX, &text, &size);
        if (r < 0)
                return log_error_errno(r, "%s: what dnf answered cannot be read", about);
        r = json_parse(text, size, &error, &answer);
        if (r < 0)
                return log_error_errno(
                                r, "%s: what dnf answered is no JSON: %s", about, error.message);
        why = json_get_string(answer, "error");
        if (why)
                return log_unanswered(about, why);
        *ret = TAKE_PTR(answer);
        return 0;
}

int dnf_ask(const Dnf *d, const char *about, const char *verb, json_object *question,
                json_object **ret) {
        _cleanup_json_ json_object *taken = question;
        _cleanup_free_ char *program = NULL, *in = path_join(d->root, "in"),
                            *out = path_join(d->root, "out");
        int r;

        if (!in || !out || !taken)
                return log_oom();
        if (!d->ctx->run_el_tool)
                return log_error_return(-EOPNOTSUPP, "%s: dnf cannot be asked here", about);
        r = find_program(&program);
        if (r < 0)
                return r;
        r = write_question(d, taken);
        if (r < 0)
                return log_error_errno(r, "%s: cannot ask dnf", about);

        const SandboxBind binds[] = {
                { in, DNF_INSIDE, false },
                { out, INSIDE_OUT, true },
                { program, INSIDE_PROGRAM, false },
        };
        r = d->ctx->run_el_tool(d->ctx, d->recipe->path, &d->recipe->limits, binds,
                        ELEMENTSOF(binds),
                        ARGV("python3", INSIDE_PROGRAM, verb, DNF_INSIDE "/question.json",
                                        INSIDE_OUT "/answer.json"));
        return r < 0 ? r : read_answer(d, about, ret);
}
