/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* pip, asked for what it would install: `pip install --dry-run --report`, with the configuration
 * that this host's pip has (index, mirrors, proxies, certificates), for the image's Python. */

#include "lock/python.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"

#define REPORT "report.json"
#define REPORT_SIZE_MAX (64 * 1024 * 1024) /* bytes; the metadata of 100 wheels has 2 MB */
#define NO_PIP 97                          /* exit code of ours */

static int marker_environment(const PythonTarget *t, char **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = o ? json_set_fields(o, JSON_STRING("implementation_name", "cpython"),
                                JSON_STRING("implementation_version", t->version),
                                JSON_STRING("os_name", "posix"),
                                JSON_STRING("platform_machine", t->machine),
                                JSON_STRING("platform_release", ""),
                                JSON_STRING("platform_system", "Linux"),
                                JSON_STRING("platform_version", ""),
                                JSON_STRING("python_full_version", t->version),
                                JSON_STRING("platform_python_implementation", "CPython"),
                                JSON_STRING("python_version", t->minor),
                                JSON_STRING("sys_platform", "linux"))
              : -ENOMEM;
        if (r < 0)
                return r;
        *ret = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
        return *ret ? 0 : -ENOMEM;
}

/* A wheel built for an older C library runs on this one too. */
static int add_platforms(char ***argv, const PythonTarget *t) {
        static const char *const older[] = { "manylinux2014", "manylinux2010", "manylinux1",
                "linux" };
        int r = 0;

        for (unsigned minor = t->libc; minor >= 5 && r >= 0; minor--)
                r = strv_extendf(argv, "--platform=manylinux_2_%u_%s", minor, t->machine);
        for (size_t i = 0; i < ELEMENTSOF(older) && r >= 0; i++)
                r = strv_extendf(argv, "--platform=%s_%s", older[i], t->machine);
        return r;
}

static int add_abi(char ***argv, const PythonTarget *t) {
        const char *dot = strchr(t->minor, '.');

        return strv_extendf(argv, "--abi=cp3%s", dot ? dot + 1 : "");
}

static int add_files(char ***argv, const char *option, char *const *files) {
        STRV_FOREACH (file, files) {
                int r = strv_extendf(argv, "%s=%s", option, *file);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Seconds; the same that a download waits for a server that sends nothing. */
static const char *stall_seconds(void) {
        const char *s = getenv("IMGBUILD_FETCH_STALL_SECONDS");

        return s && atoi(s) > 0 ? s : "30";
}

static int make_argv(const PipCall *c, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *environment = NULL;

        if (marker_environment(c->target, &environment) < 0 ||
                        strv_extend_many(&argv, "python3", "-c", pip_driver, environment,
                                        stall_seconds(), "install", "--dry-run",
                                        "--ignore-installed", "--no-cache-dir", "--no-input",
                                        "--disable-pip-version-check", "--progress-bar=off",
                                        "--no-color", "--retries=2",
                                        "--only-binary=:all:", "--implementation=cp",
                                        "--target=/nonexistent", "--report=" REPORT, NULL) < 0 ||
                        strv_extendf(&argv, "--timeout=%s", stall_seconds()) < 0 ||
                        strv_extendf(&argv, "--python-version=%s", c->target->version) < 0 ||
                        add_abi(&argv, c->target) < 0 || add_platforms(&argv, c->target) < 0 ||
                        (c->alone && strv_extend(&argv, "--no-deps") < 0) ||
                        (c->index && strv_extendf(&argv, "--index-url=%s", c->index) < 0) ||
                        add_files(&argv, "--constraint", c->constraints) < 0 ||
                        add_files(&argv, "--requirement", c->requirements) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(argv);
        return 0;
}

/* The report of a pip that asked its own Python's conditions would be an answer to another
 * question. */
static int check_environment(const PipCall *c, json_object *report) {
        const char *version =
                        json_get_string(json_get(report, "environment"), "python_full_version");

        if (streq_ptr(version, c->target->version))
                return 0;
        return log_error_return(-ENOPKG,
                        "This host's pip cannot be asked for another Python than its own: it answers for %s, the image has %s. Install the distribution's python3-pip",
                        version ? version : "none", c->target->version);
}

static int read_report(const PipCall *c, PipWheels *ret) {
        _cleanup_free_ char *path = path_join(c->folder, REPORT);
        _cleanup_json_ json_object *report = NULL;
        JsonError error = {};
        int r;

        if (!path)
                return log_oom();
        r = json_load(path, REPORT_SIZE_MAX, &error, &report);
        if (r < 0)
                return log_error_errno(
                                r, "pip wrote no report that can be read: %s", error.message);
        r = check_environment(c, report);
        if (r < 0)
                return r;
        r = pip_read_report(report, ret);
        if (r == -EREMOTEIO)
                return r; /* it said which */
        return r < 0 ? log_error_errno(r, "pip's report names something else than wheels") : 0;
}

int pip_ask(const PipCall *c, PipWheels *ret, char **ret_output) {
        const SpawnOptions options = { .cwd = c->folder };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        int r, status;

        if (make_argv(c, &argv) < 0)
                return log_oom();
        r = spawn_capture(&options, argv, &output, &status);
        if (r == -ENOENT || (r == 0 && status == NO_PIP))
                return log_error_return(-ENOPKG,
                                "Wheels are found by pip, and this host has none: install python3-pip");
        if (r < 0)
                return r == -ECANCELED ? r : log_error_errno(r, "pip cannot be run");
        log_debug("pip: %s", output);
        if (status != 0) {
                *ret_output = TAKE_PTR(output);
                return 1;
        }
        return read_report(c, ret);
}

int pip_knows(const PipCall *c, const char *name) {
        const SpawnOptions options = { .cwd = c->folder };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        int r, status;

        if (strv_extend_many(&argv, "python3", "-m", "pip", "index", "versions", name, "--no-input",
                            "--disable-pip-version-check", "--retries=1",
                            "--ignore-requires-python", NULL) < 0 ||
                        strv_extendf(&argv, "--timeout=%s", stall_seconds()) < 0 ||
                        (c->index && strv_extendf(&argv, "--index-url=%s", c->index) < 0))
                return 0;
        r = spawn_capture(&options, argv, &output, &status);
        return r == 0 && status == 0;
}
