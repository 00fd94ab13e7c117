/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A site's program gets a folder of its own for its verdict: several checks may run at once, and
 * the results that firstbootd reads are those of attempts. */

#include "steps/check.h"
#include "contract/paths.h"
#include "contract/result.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "steps/site.h"

#define RESULT "result.json"
#define SECTION "section.json"

int step_check_mode(StepCheck *ret) {
        const char *text = getenv("FIRSTBOOT_CHECK");

        if (!text || streq(text, ""))
                *ret = STEP_CHECK_NO;
        else if (streq(text, "quick"))
                *ret = STEP_CHECK_QUICK;
        else if (streq(text, "full"))
                *ret = STEP_CHECK_FULL;
        else
                return -EINVAL;
        return 0;
}

static int make_result(
                const char *status, const char *code, const char *message, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        if (!o)
                return -ENOMEM;
        r = json_set_fields(o, JSON_STRING("status", status), JSON_STRING("code", code),
                        JSON_STRING("message", message));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

static void on_line(const char *line, void *userdata) {
        (void) userdata;
        log_info("  %s", line);
}

/* What the program said, against how it ended: a failure on either side is one. */
static int judge(const char *folder, int status, json_object **ret) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *text = NULL, *wrong = NULL;

        text = strf("its program ended with exit code %d", status);
        if (!text)
                return -ENOMEM;
        if (result_read(folder, RESULT, &o, &wrong))
                return make_result("failed", "step.failed",
                                wrong ? wrong : "its verdict makes no sense", ret);
        if (!o)
                return status == 0 ? make_result("done", NULL, "nothing is wrong", ret)
                                   : make_result("failed", "step.exit-code", text, ret);
        if (status != 0 && !streq(json_get_string(o, "status"), "failed"))
                return make_result("failed", "step.exit-code", text, ret);
        *ret = TAKE_PTR(o);
        return 0;
}

static int run(const Step *s, json_object *document, const char *folder, json_object **ret) {
        _cleanup_free_ char *result = path_join(folder, RESULT),
                            *section = path_join(folder, SECTION);
        SpawnOptions o = { .on_line = on_line, .timeout_usec = s->timeout_usec };
        int r, status = 0;

        r = site_environment(s->name, document, result, section);
        if (r < 0)
                return r;
        r = spawn_run(&o, s->exec, &status);
        if (r == -ETIMEDOUT)
                return make_result("failed", "step.timeout", "it did not end in time", ret);
        if (r < 0) {
                _cleanup_free_ char *why = site_why_not(s, r);

                return make_result("failed", "step.not-runnable", strempty(why), ret);
        }
        return judge(folder, status, ret);
}

int site_check(const Step *s, json_object *document, json_object **ret) {
        _cleanup_free_ char *folder = fb_pathf("%s/XXXXXX", PATH_RUN_CHECK);
        int r;

        if (!s->check)
                return make_result(
                                "skipped", NULL, "its step file does not say \"check\": true", ret);
        if (!folder)
                return -ENOMEM;
        r = mkdir_parents(folder, 0755);
        if (r < 0)
                return r;
        if (!mkdtemp(folder))
                return -errno;
        r = run(s, document, folder, ret);
        (void) rm_rf(folder);
        return r;
}
