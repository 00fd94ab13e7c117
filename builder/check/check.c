/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs every rule. Those that only look do so in a child that sees the merged tree from outside and
 * hands its findings back as JSON; those that run a program of the tree follow (commands.c). */

#include "check/internal.h"

#include "sandbox/sandbox.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/mman.h>

#define RESULT_MAX (16u * 1024 * 1024)

/* What the child is given. */
typedef struct Inside {
        const Recipe *recipe;
        const char *rpms;
        int fd; /* for what it hands back */
} Inside;

static int write_findings(const Findings *f, char *const *units, int fd) {
        _cleanup_json_ json_object *o = NULL;
        json_object *names = NULL;
        const char *text;
        int r;

        r = findings_to_json(f, &o);
        if (r < 0)
                return r;
        r = json_add_array(o, "units", &names);
        if (r < 0)
                return r;
        STRV_FOREACH (unit, units) {
                r = json_append(names, json_object_new_string(*unit));
                if (r < 0)
                        return r;
        }

        text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (!text)
                return -ENOMEM;
        return write_all(fd, text, strlen(text));
}

static int look_inside(const char *root, void *userdata) {
        const Inside *in = userdata;
        _cleanup_strv_free_ char **units = NULL;
        _cleanup_(findings_done) Findings f = {};
        int r;

        r = rules_run(root, in->recipe, in->rpms, &f, &units);
        if (r < 0)
                return r;
        return write_findings(&f, units, in->fd);
}

static int read_findings(int fd, Findings *f, char ***ret_units) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *path = strf("/proc/self/fd/%d", fd);
        json_object *list, *names;
        JsonError error;
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, RESULT_MAX, &error, &o);
        if (r < 0)
                return r;

        list = json_get(o, "findings");
        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *x = json_object_array_get_idx(list, i);
                const char *rule = rule_find(strempty(json_get_string(x, "rule")));

                if (!rule)
                        return -EBADMSG;
                r = finding_add(f, rule, strdup(strempty(json_get_string(x, "found"))),
                                strdup(strempty(json_get_string(x, "remedy"))));
                if (r < 0)
                        return r;
        }

        names = json_get(o, "units");
        for (size_t i = 0; names && i < json_object_array_length(names); i++) {
                r = strv_extend(ret_units,
                                json_object_get_string(json_object_array_get_idx(names, i)));
                if (r < 0)
                        return r;
        }

        f->versions = json_object_get(json_get(o, "versions"));
        f->privileged = json_object_get(json_get(o, "privileged"));
        f->installed = json_object_get(json_get(o, "installed"));
        return 0;
}

/* The rules that look at the tree alone. */
static int look(Context *ctx, const Plan *plan, char *const *layers, Findings *f,
                char ***ret_units) {
        const Sandbox sandbox = {
                .store = ctx->store,
                .layers = layers,
                .read_only = true,
                .epoch = plan->lock ? plan->lock->epoch : 0,
        };
        _cleanup_close_ int fd = memfd_create("findings", MFD_CLOEXEC);
        _cleanup_free_ char *rpms = NULL;
        int r;

        if (fd < 0)
                return log_error_errno(errno, "Cannot run the checks");
        r = check_rpms(ctx, plan, layers, &rpms);
        if (r < 0)
                return r;
        r = sandbox_call(&sandbox, look_inside, &(Inside) { plan->recipe, rpms, fd });
        if (r != 0)
                return log_error_errno(r < 0 ? r : -EIO, "Cannot run the checks");

        r = read_findings(fd, f, ret_units);
        if (r < 0)
                return log_error_errno(r, "The checks of the finished tree ended without a report");
        return 0;
}

int check_tree(Context *ctx, const Plan *plan, char *const *layers, Findings *ret) {
        _cleanup_(findings_done) Findings f = {};
        _cleanup_strv_free_ char **units = NULL;
        int r;

        r = look(ctx, plan, layers, &f, &units);
        if (r < 0)
                return r;
        if (plan->recipe->kind == RECIPE_DISK) {
                r = check_services_verify(ctx, plan, layers, units, &f);
                if (r < 0)
                        return r;
        }
        r = check_overlay_scripts(ctx, plan, layers, &f);
        if (r < 0)
                return r;

        r = check_support(plan->recipe, &f);
        if (r < 0)
                return r;

        *ret = f;
        f = (Findings) {};
        return 0;
}
