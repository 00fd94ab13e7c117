/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the verdict is written to the Node object: condition, taint and cordon, as merge patches. */

#include "steps/kubernetes/verdict.h"
#include "steps/common/own-reason.h"
#include "shared/strv.h"

#include <ctype.h>

#define TAINT_VALUE_MAX 63 /* of a label's value, and a taint's */
#define MESSAGE_MAX 1024

static json_object *annotations_of(json_object *node) {
        return json_get(json_get(node, "metadata"), "annotations");
}

/* The code in an annotation of ours, which the caller frees; NULL where it is not ours. */
static char *marked_code(json_object *node, const char *annotation) {
        return own_reason_code(json_get_string(annotations_of(node), annotation));
}

/* A code as the value of a taint: codes of a site's own may be too long for it, or end in a dot.
 * NULL on out of memory; the caller frees it. */
static char *taint_value(const char *code) {
        char *value = strndup(code, TAINT_VALUE_MAX);

        if (!value)
                return NULL;
        for (char *p = value; *p; p++)
                if (!isalnum((unsigned char) *p) && !strchr("-_.", *p))
                        *p = '-';
        for (size_t n = strlen(value); n > 0 && !isalnum((unsigned char) value[n - 1]); n--)
                value[n - 1] = '\0';
        return value;
}

static json_object *taints_of(json_object *node) {
        return json_get(json_get(node, "spec"), "taints");
}

/* The one with our key and effect: there can be only one. */
static bool is_our_kind(json_object *taint) {
        return streq_ptr(json_get_string(taint, "key"), VERDICT_TAINT) &&
               streq_ptr(json_get_string(taint, "effect"), "NoSchedule");
}

static json_object *taint_find(json_object *node) {
        json_object *taints = taints_of(node);
        size_t n = json_array_length(taints);

        for (size_t i = 0; i < n; i++) {
                json_object *taint = json_object_array_get_idx(taints, i);

                if (is_our_kind(taint))
                        return taint;
        }
        return NULL;
}

static json_object *condition_find(json_object *node, const char *type) {
        json_object *conditions = json_get(json_get(node, "status"), "conditions");
        size_t n = json_array_length(conditions);

        for (size_t i = 0; i < n; i++) {
                json_object *c = json_object_array_get_idx(conditions, i);

                if (streq_ptr(json_get_string(c, "type"), type))
                        return c;
        }
        return NULL;
}

void node_view(json_object *node, NodeView *ret) {
        json_object *info = json_get(json_get(node, "status"), "nodeInfo"),
                    *ready = condition_find(node, "Ready"), *taint = taint_find(node);
        _cleanup_free_ char *code = marked_code(node, VERDICT_ANNOTATION),
                            *cordon = marked_code(node, CORDON_ANNOTATION),
                            *value = code ? taint_value(code) : NULL;

        *ret = (NodeView) {
                .cordoned = json_get_bool(json_get(node, "spec"), "unschedulable", false),
                .tainted = taint,
                .taint_ours = taint && value && streq_ptr(json_get_string(taint, "value"), value),
                .marked = code || cordon,
                .ready = streq_ptr(json_get_string(ready, "status"), "True"),
                .ready_text = json_get_string(ready, "message"),
                .boot_id = json_get_string(info, "bootID"),
                .version = json_get_string(info, "kubeletVersion"),
        };
        ret->cordon_ours = ret->cordoned && cordon;
}

/* --- The patch ------------------------------------------------------------------------------- */

/* What the patch is made of; the parts are added as they are needed. */
typedef struct Patch {
        json_object *spec, *annotations; /* borrowed from whole */
        json_object *whole;
        bool used;
} Patch;

static void patch_done(Patch *p) {
        json_putp(&p->whole);
}

static int patch_begin(Patch *p, json_object *node) {
        const char *version = json_get_string(json_get(node, "metadata"), "resourceVersion");
        json_object *metadata;
        int r;

        if (isempty(version))
                return -EBADMSG;
        p->whole = json_object_new_object();
        if (!p->whole)
                return -ENOMEM;
        r = json_add_object(p->whole, "metadata", &metadata);
        if (r < 0)
                return r;
        r = json_set_string(metadata, "resourceVersion", version);
        if (r < 0)
                return r;
        r = json_add_object(metadata, "annotations", &p->annotations);
        if (r < 0)
                return r;
        return json_add_object(p->whole, "spec", &p->spec);
}

/* A member of the patch; a NULL value takes it away from the node. */
static int patch_set(Patch *p, json_object *o, const char *key, json_object *value) {
        p->used = true;
        return json_object_object_add(o, key, value) < 0 ? -ENOMEM : 0;
}

/* An annotation as it is to be, where it is not so; NULL: away. */
static int patch_annotation(Patch *p, json_object *node, const char *key, const char *text) {
        const char *is = json_get_string(annotations_of(node), key);
        json_object *value = NULL;

        if (streq_ptr(is, text))
                return 0;
        if (text && !(value = json_object_new_string(text)))
                return -ENOMEM;
        return patch_set(p, p->annotations, key, value);
}

static json_object *taint_new(const char *value) {
        json_object *o = json_object_new_object();

        if (o && json_set_fields(o, JSON_STRING("key", VERDICT_TAINT), JSON_STRING("value", value),
                                 JSON_STRING("effect", "NoSchedule")) < 0) {
                json_object_put(o);
                return NULL;
        }
        return o;
}

/* All taints but our own, and ours behind them where value is given: a merge patch has lists as a
 * whole. */
static int patch_taints(Patch *p, json_object *node, const char *value) {
        _cleanup_json_ json_object *list = json_object_new_array();
        json_object *taints = taints_of(node);
        size_t n = json_array_length(taints);
        int r;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *taint = json_object_array_get_idx(taints, i);

                if (is_our_kind(taint))
                        continue;
                r = json_append(list, json_object_get(taint));
                if (r < 0)
                        return r;
        }
        if (value) {
                r = json_append(list, taint_new(value));
                if (r < 0)
                        return r;
        }
        return patch_set(p, p->spec, "taints", json_array_length(list) > 0 ? TAKE_PTR(list) : NULL);
}

static int hold(Patch *p, json_object *node, const NodeView *view, const char *reason, bool taint) {
        _cleanup_free_ char *code = own_reason_code(reason), *value = NULL;
        const char *is = json_get_string(taint_find(node), "value");
        int r;

        value = code ? taint_value(code) : NULL;
        if (!value)
                return -ENOMEM;
        if (taint && (!view->tainted || (view->taint_ours && !streq_ptr(is, value)))) {
                r = patch_taints(p, node, value);
                if (r < 0)
                        return r;
        }
        /* The annotation says whose the taint is: where that may not be changed, it has to stay. */
        if (taint || !view->taint_ours || streq_ptr(is, value)) {
                r = patch_annotation(p, node, VERDICT_ANNOTATION, reason);
                if (r < 0)
                        return r;
        }
        if (view->cordoned && !view->cordon_ours)
                return 0;
        if (!view->cordoned) {
                r = patch_set(p, p->spec, "unschedulable", json_object_new_boolean(true));
                if (r < 0)
                        return r;
        }
        return patch_annotation(p, node, CORDON_ANNOTATION, reason);
}

static int lift(Patch *p, json_object *node, const NodeView *view, bool taint) {
        int r;

        if (view->taint_ours && taint) {
                r = patch_taints(p, node, NULL);
                if (r < 0)
                        return r;
        }
        if (!view->taint_ours || taint) {
                r = patch_annotation(p, node, VERDICT_ANNOTATION, NULL);
                if (r < 0)
                        return r;
        }
        if (view->cordon_ours) {
                r = patch_set(p, p->spec, "unschedulable", NULL);
                if (r < 0)
                        return r;
        }
        return patch_annotation(p, node, CORDON_ANNOTATION, NULL);
}

int verdict_patch(json_object *node, const char *reason, bool taint, json_object **ret) {
        _cleanup_(patch_done) Patch p = {};
        NodeView view;
        int r;

        node_view(node, &view);
        r = patch_begin(&p, node);
        if (r < 0)
                return r;
        r = reason ? hold(&p, node, &view, reason, taint) : lift(&p, node, &view, taint);
        if (r < 0)
                return r;
        *ret = p.used ? TAKE_PTR(p.whole) : NULL;
        return 0;
}

/* --- The condition --------------------------------------------------------------------------- */

int verdict_condition(json_object *node, const char *code, const char *text, const char *now,
                json_object **ret) {
        json_object *is = condition_find(node, VERDICT_CONDITION), *status, *item;
        const char *value = code ? "False" : "True", *reason = code ? code : "Ready",
                   *since = json_get_string(is, "lastTransitionTime");
        _cleanup_free_ char *message = strndup(
                        code ? strempty(text) : "firstboot finds the node well", MESSAGE_MAX);
        _cleanup_json_ json_object *whole = json_object_new_object();
        bool same = streq_ptr(json_get_string(is, "status"), value);
        int r;

        if (!whole || !message)
                return -ENOMEM;
        json_clean_utf8(message);
        if (same && streq_ptr(json_get_string(is, "reason"), reason) &&
                        streq_ptr(json_get_string(is, "message"), message)) {
                *ret = NULL;
                return 0;
        }
        r = json_add_object(whole, "status", &status);
        if (r < 0)
                return r;
        r = json_add_array_of_one(status, "conditions", &item);
        if (r < 0)
                return r;
        r = json_set_fields(item, JSON_STRING("type", VERDICT_CONDITION),
                        JSON_STRING("status", value), JSON_STRING("reason", reason),
                        JSON_STRING("message", message), JSON_STRING("lastHeartbeatTime", now),
                        JSON_STRING("lastTransitionTime", same && since ? since : now));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(whole);
        return 0;
}
