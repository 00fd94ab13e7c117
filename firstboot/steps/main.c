/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-step NAME: runs one step and leaves its verdict for firstbootd (contract/result.h). A
 * name that is not built in is a site's own: the program of its step file takes our place.
 *
 * With FIRSTBOOT_CHECK=quick or full in the environment it looks at what the step made, changes
 * nothing, and prints the verdict instead of leaving it (check.c).
 *
 * firstboot-step --facts gpu prints what the gpu step sees, and changes nothing.
 *
 * firstboot-step --hold NAME keeps work away where no step runs, for the configuration is wrong. */

#include "steps/steps.h"
#include "steps/check.h"
#include "shared/file-util.h"
#include "contract/graph.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "contract/result.h"
#include "steps/common/attempt.h"
#include "steps/site.h"

#define CONFIG_MAX (16 * 1024 * 1024)

typedef struct StepFunction {
        const char *name;
        int (*run)(StepContext *c);
        int (*check)(StepContext *c);
        int (*hold)(StepContext *c, const Fault *f);
} StepFunction;

static const StepFunction functions[] = {
        { "host", host_run, host_check },
        { "scratch", scratch_run, scratch_check },
        { "mounts", mounts_run, mounts_check },
        { "identity", identity_run, identity_check },
        { "gpu", gpu_run, gpu_run },
        { "rdma", rdma_run, rdma_run },
        { "nccl", nccl_run, nccl_run },
        { "python", python_run, python_run },
        { "slurm", slurm_run, slurm_check, slurm_hold },
        { "kubernetes", kubernetes_run, kubernetes_check, kubernetes_hold },
};

static int load_config(json_object **ret) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        JsonError e = {};
        int r;

        if (!path)
                return log_oom();
        r = json_load(path, CONFIG_MAX, &e, ret);
        if (r < 0)
                return log_error_errno(r, "%s, line %u: %s; is firstbootd running?", path, e.line,
                                e.message);
        return 0;
}

/* As text that firstbootd can read back: a device's or a server's words may be no UTF-8, a figure
 * no number. NULL on out of memory. */
static char *result_text(json_object *result) {
        const int format = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
        _cleanup_json_ json_object *back = NULL;
        _cleanup_free_ char *whole = NULL;
        const char *text = json_object_to_json_string_ext(result, format);
        JsonError e = {};

        whole = text ? strdup(text) : NULL;
        if (!whole)
                return NULL;
        json_clean_utf8(whole);
        if (json_parse(whole, strlen(whole), &e, &back) >= 0)
                return TAKE_PTR(whole);

        log_warning("The figures cannot be kept: column %u: %s", e.column, e.message);
        json_object_object_del(result, "figures");
        free(whole);
        text = json_object_to_json_string_ext(result, format);
        whole = text ? strdup(text) : NULL;
        if (whole)
                json_clean_utf8(whole);
        return TAKE_PTR(whole);
}

static int write_result(const char *path, json_object *result) {
        _cleanup_free_ char *text = result_text(result);
        int r;

        if (!text)
                return -ENOMEM;
        r = mkdir_parents(path, 0755);
        return r < 0 ? r : write_file_atomic(path, text, strlen(text), 0600);
}

/* The function's verdict, in words where it gave none. */
static void judge(StepContext *c, int r) {
        if (r < 0 && !step_has_failed(c))
                (void) step_fail_later(c, "step.failed", "%s ended without a verdict: %s", c->name,
                                strerror(-r));
        if (!json_get(c->result, "status"))
                (void) step_done(c, c->check ? "nothing is wrong" : "nothing to change");
}

static int exit_code(json_object *result) {
        if (!streq_ptr(json_get_string(result, "status"), "failed"))
                return EXIT_SUCCESS;
        return json_get_bool(result, "transient", false) ? EXIT_TRANSIENT : EXIT_FAILURE;
}

static int print_result(json_object *result) {
        const char *text = json_object_to_json_string_ext(
                        result, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

        if (!text || puts(text) < 0 || fflush(stdout) != 0)
                return -EIO;
        return exit_code(result);
}

static int check_builtin(const StepFunction *f, json_object *document, StepCheck check) {
        _cleanup_json_ json_object *result = json_object_new_object();
        json_object *config = json_get(document, "config");
        StepContext c = { f->name, config, json_get(config, f->name),
                json_get(document, "instance"), result, 0, false, check,
                json_get(document, "sources") };

        if (!result)
                return log_oom();
        judge(&c, f->check(&c));
        return print_result(result);
}

static int run_builtin(const StepFunction *f, json_object *document) {
        _cleanup_json_ json_object *result = json_object_new_object();
        _cleanup_free_ char *path = result_path(f->name);
        json_object *config = json_get(document, "config");
        StepContext c = { f->name, config, json_get(config, f->name),
                json_get(document, "instance"), result, 0, false, STEP_CHECK_NO,
                json_get(document, "sources") };
        int r;

        if (!result || !path)
                return log_oom();
        attempt_look_up(&c);
        judge(&c, f->run(&c));
        r = write_result(path, result);
        if (r < 0)
                return log_error_errno(r, "Cannot write %s; is /run full?", path);
        return exit_code(result);
}

static int hold_for(const StepFunction *f, json_object *document, const Fault *fault) {
        _cleanup_json_ json_object *result = json_object_new_object();
        json_object *config = json_get(document, "config");
        StepContext c = { f->name, config, json_get(config, f->name),
                json_get(document, "instance"), result, 0, false, STEP_CHECK_NO,
                json_get(document, "sources") };
        int r;

        if (!result)
                return log_oom();
        attempt_look_up(&c);
        r = f->hold(&c, fault);
        if (r < 0)
                return log_error_errno(r, "Work is not kept away: %s",
                                strempty(json_get_string(result, "message")));
        log_info("Work is kept away, for %s: %s", fault->code, fault->text);
        return 0;
}

static int hold(const char *name) {
        _cleanup_json_ json_object *document = NULL;
        _cleanup_fault_ Fault fault = {};
        JsonError e = {};
        int r;

        r = fault_find(name, &e, &fault);
        if (r < 0)
                return log_error_errno(r, "%s: %s", PATH_RUN_STATUS, e.message);
        if (!fault.code)
                return 0; /* it is over */
        r = load_config(&document);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(functions); i++)
                if (functions[i].hold && streq(functions[i].name, name))
                        return hold_for(&functions[i], document, &fault);
        log_error("Step \"%s\" brings no work.", name);
        return -EINVAL;
}

static int log_no_step(const char *name) {
        log_error("There is no step \"%s\": neither built in nor in %s.", name, PATH_SITE_STEPS);
        return EXIT_FAILURE;
}

/* A site's own program looks only where its step file says that it knows how to. */
static int check_site(const char *name, json_object *document) {
        _cleanup_graph_ Graph *graph = NULL;
        _cleanup_json_ json_object *result = NULL;
        const Step *s;
        int r;

        r = graph_load(json_get(document, "config"), &graph);
        if (r < 0)
                return log_error_errno(r, "Cannot read the step files");
        s = graph_find(graph, name);
        if (!s || strv_length(s->exec) == 0)
                return log_no_step(name);
        r = site_check(s, document, &result);
        return r < 0 ? log_error_errno(r, "Cannot look at step %s", name) : print_result(result);
}

/* Its program never began, so the verdict is ours. */
static int not_runnable(const Step *s, int error, const char *path) {
        _cleanup_json_ json_object *result = json_object_new_object();
        _cleanup_free_ char *why = site_why_not(s, error);

        log_error("%s", strempty(why));
        if (json_set_fields(result, JSON_STRING("status", "failed"),
                            JSON_STRING("code", "step.not-runnable"),
                            JSON_STRING("message", why)) < 0)
                return log_oom();
        (void) write_result(path, result);
        return exit_code(result);
}

static int run_site(const char *name, json_object *document) {
        _cleanup_graph_ Graph *graph = NULL;
        _cleanup_free_ char *result = result_path(name),
                            *section = fb_pathf("%s/%s.json", PATH_RUN_SECTIONS, name);
        int r;

        r = graph_load(json_get(document, "config"), &graph);
        if (r < 0)
                return log_error_errno(r, "Cannot read the step files");
        const Step *s = graph_find(graph, name);
        if (!s || strv_length(s->exec) == 0)
                return log_no_step(name);
        r = site_environment(name, document, result, section);
        if (r < 0)
                return log_error_errno(r, "Cannot give step %s its configuration", name);
        execv(s->exec[0], s->exec);
        return not_runnable(s, -errno, result);
}

int main(int argc, char *argv[]) {
        _cleanup_json_ json_object *document = NULL;
        StepCheck check = STEP_CHECK_NO;
        int r;

        log_set_program(NULL);
        if (argc == 3 && streq(argv[1], "--facts") && streq(argv[2], "gpu")) {
                r = gpu_facts();
                return r < 0        ? log_error_errno(r, "Cannot print the facts"),
                       EXIT_FAILURE : EXIT_SUCCESS;
        }
        if (argc == 3 && streq(argv[1], "--hold"))
                return hold(argv[2]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc != 2 || !step_name_is_valid(argv[1])) {
                fprintf(stderr, "Usage: firstboot-step NAME | --facts gpu | --hold NAME\n");
                return 2;
        }
        r = step_check_mode(&check);
        if (r < 0) {
                log_error("FIRSTBOOT_CHECK is neither \"quick\" nor \"full\"");
                return 2;
        }
        if (load_config(&document) < 0)
                return EXIT_FAILURE;
        for (size_t i = 0; i < ELEMENTSOF(functions); i++)
                if (streq(functions[i].name, argv[1])) {
                        r = check ? check_builtin(&functions[i], document, check)
                                  : run_builtin(&functions[i], document);
                        return r < 0 ? EXIT_FAILURE : r;
                }
        r = check ? check_site(argv[1], document) : run_site(argv[1], document);
        return r < 0 ? EXIT_FAILURE : r;
}
