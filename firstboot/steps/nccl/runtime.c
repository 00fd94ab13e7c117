/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Has the CUDA runtime proved, and keeps what was found as figures. */

#include "steps/nccl/runtime.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"
#include "steps/nccl/internal.h"

#define REPORT "cuda-runtime.json"
#define REPORT_MAX (1024 * 1024)
#define LIMIT_SECONDS 120 /* contexts on eight GPUs, for each runtime */

static void on_line(const char *line, void *userdata _unused_) {
        log_info("  %s", line);
}

static int run(StepContext *c, const char *program, const char *path, bool required,
                json_object **ret_report) {
        const SpawnOptions o = {
                .on_line = on_line,
                .timeout_usec = (LIMIT_SECONDS + 20) * USEC_PER_SEC,
        };
        const char *tree = json_get_string(c->section, "cuda_runtime_root");
        _cleanup_free_ char *output = strf("--output-file=%s", path),
                            *limit = strf("--timeout=%d", LIMIT_SECONDS),
                            *root = tree ? strf("--tree=%s", tree) : NULL;
        const char *argv[7] = { program, "runtime", output, limit };
        int status = 0, n = 4, r;
        JsonError e = {};

        if (!output || !limit || (tree && !root))
                return -ENOMEM;
        if (required)
                argv[n++] = "--required";
        if (root)
                argv[n++] = root;
        if (unlink(path) < 0 && errno != ENOENT)
                return -errno;
        r = spawn_run(&o, (char *const *) argv, &status);
        if (r < 0)
                return step_fail_later(c, "nccl.no-end", "ncclbench runtime: %s", strerror(-r));
        r = json_load(path, REPORT_MAX, &e, ret_report);
        if (r < 0 || status != (json_get_bool(json_get(*ret_report, "verdict"), "pass", false) ? 0
                                                                                               : 1))
                return step_fail_later(c, "nccl.no-verdict",
                                "ncclbench runtime ended with exit code %d and no report that fits",
                                status);
        return 0;
}

int runtime_prove(StepContext *c, const char *program, json_object **ret_report) {
        const char *how = json_get_string(c->section, "cuda_runtime");
        _cleanup_free_ char *path = nccl_report_path(c, REPORT);
        _cleanup_json_ json_object *report = NULL;
        json_object *runtimes;
        int r;

        *ret_report = NULL;
        if (!path)
                return -ENOMEM;
        if (streq_ptr(how, "off"))
                return 0;
        r = run(c, program, path, streq_ptr(how, "required"), &report);
        if (r < 0)
                return r;
        runtimes = json_get(report, "runtimes");
        if (runtimes)
                step_figure(c, "cuda_runtimes", json_object_get(runtimes));
        *ret_report = TAKE_PTR(report);
        return 0;
}
