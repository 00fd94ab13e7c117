/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds out from firstbootd's status why the node is to get no work: a failed step, or the
 * watch. */

#include "steps/common/fault.h"
#include "contract/paths.h"
#include "contract/room.h"
#include "contract/status-file.h"

void fault_done(Fault *f) {
        free(f->code);
        free(f->text);
        *f = (Fault) {};
}

static int take(Fault *f, const char *code, const char *text) {
        f->code = strdup(code);
        f->text = strdup(strempty(text));
        if (f->code && f->text)
                return 0;
        fault_done(f);
        return -ENOMEM;
}

int fault_find(const char *own, JsonError *error, Fault *ret) {
        _cleanup_json_ json_object *o = NULL;
        json_object *steps, *watch;
        int r;

        r = status_file_load(error, &o, NULL);
        if (r < 0)
                return r;
        steps = json_get(o, "steps");
        if (!json_object_is_type(steps, json_type_array)) {
                *error = (JsonError) { .message = "it has no list of steps" };
                return -EBADMSG;
        }
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                json_object *step = json_object_array_get_idx(steps, i),
                            *result = json_get(step, "result");
                const char *status = json_get_string(step, "status"),
                           *code = json_get_string(result, "code");

                if (streq_ptr(json_get_string(step, "name"), own) || !status ||
                                !streq(status, "failed") || !json_get_bool(step, "required", true))
                        continue;
                return take(ret, code ? code : "step.failed", json_get_string(result, "message"));
        }

        watch = json_get(o, "watch");
        ret->watch = json_get_string(watch, "code");
        if (ret->watch)
                return take(ret, json_get_string(watch, "code"), json_get_string(watch, "message"));
        if (!json_get_string(o, "code"))
                return 0;
        return take(ret, json_get_string(o, "code"), json_get_string(o, "message"));
}

int fault_find_for(StepContext *c, const char *code, const char *permit, Fault *ret) {
        _cleanup_free_ char *path = fb_path(permit), *words = NULL;
        JsonError e = {};
        int r, error = fault_find(c->name, &e, ret);

        if (error >= 0 || error == -ENOMEM)
                return error;
        words = strf("%s does not tell how the other steps went: %s", PATH_RUN_STATUS, e.message);
        if (!path || !words)
                return -ENOMEM;
        if (access(path, F_OK) < 0)
                return step_fail_later(c, code, "%s", words);
        r = take(ret, error == -ENOENT ? ROOM_CODE : code, words);
        ret->watch = ret->unknown = r >= 0;
        return r;
}

int fault_unknown(StepContext *c, const Fault *f) {
        return step_fail_later(c, f->code, "%s", f->text);
}
