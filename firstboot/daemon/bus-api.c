/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/bus-api.h"
#include "contract/config.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "daemon/publish.h"

#include <sys/types.h>

#define STEP_PREFIX DBUS_PATH "/step"
#define ACTION "org.imgbuild.FirstBoot1.rerun"

static int get_node(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Engine *e = userdata;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s",
                        node_status_to_string(e->state ? e->state->node : NODE_STARTING));
}

/* The first reason that keeps the node from being ready, or from being without defects. */
static const char *node_code(const Engine *e) {
        if (e->problem)
                return e->problem;
        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < e->n_jobs; i++) {
                        const StepRun *run = job_run(&e->jobs[i]);

                        if (run->status == (pass == 0 ? STEP_FAILED : STEP_DEGRADED))
                                return strempty(json_get_string(run->result, "code"));
                }
        return "";
}

static int get_code(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", node_code(userdata));
}

static int get_instance(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Engine *e = userdata;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", e->state ? e->state->instance_id : "");
}

static int get_time(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const State *s = ((const Engine *) userdata)->state;

        (void) bus, (void) path, (void) interface, (void) error;
        return sd_bus_message_append(reply, "t",
                        !s                                    ? UINT64_C(0)
                        : streq(property, "StartedMonotonic") ? s->started_usec
                                                              : s->settled_usec);
}

static int get_steps(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Engine *e = userdata;
        int r;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < e->n_jobs; i++)
                r = sd_bus_message_append(reply, "s", e->jobs[i].step->name);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int reply_json(sd_bus_message *m, json_object *taken) {
        _cleanup_json_ json_object *o = taken;
        const char *text =
                        o ? json_object_to_json_string_ext(o,
                                            JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                          : NULL;

        return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}

static int method_get_status(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        (void) error;
        return reply_json(m, status_document(userdata));
}

static int method_get_config(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Engine *e = userdata;
        _cleanup_json_ json_object *o = json_object_new_object();
        static const char *const plain[] = { "sources", "instance", "errors", "warnings" };
        json_object *masked;

        if (!e->document)
                return sd_bus_error_set(error, DBUS_NAME ".NotYet",
                                "The configuration is still being gathered.");
        masked = config_masked(json_get(e->document, "config"));
        if (!o || !masked || json_set(o, "config", masked) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(plain); i++) {
                json_object *v = json_get(e->document, plain[i]);

                if (v && json_set(o, plain[i], json_object_get(v)) < 0)
                        return -ENOMEM;
        }
        return reply_json(m, TAKE_PTR(o));
}

static int do_rerun(Engine *e, sd_bus_message *m, const char *step) {
        int r = engine_rerun(e, step);

        if (r == -ENOENT)
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".NoSuchStep",
                                "There is no step \"%s\" in this boot.", step);
        if (r == -EBUSY)
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".Busy",
                                "\"%s\", or a step that waits for it, is running.", step);
        return r < 0 ? sd_bus_reply_method_errno(m, r, NULL) : sd_bus_reply_method_return(m, NULL);
}

/* A call that waits for polkit's word. */
typedef struct Pending {
        Engine *engine;
        sd_bus_message *message;
        char *step;
} Pending;

static void pending_free(void *p) {
        Pending *q = p;

        sd_bus_message_unref(q->message);
        free(q->step);
        free(q);
}

static int on_polkit(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Pending *p = userdata;
        int authorized = 0, challenge = 0;

        (void) ret_error;
        if (sd_bus_message_is_method_error(m, NULL) ||
                        sd_bus_message_enter_container(m, 'r', "bba{ss}") < 0 ||
                        sd_bus_message_read(m, "bb", &authorized, &challenge) < 0 || !authorized)
                return sd_bus_reply_method_errorf(p->message, SD_BUS_ERROR_ACCESS_DENIED,
                                "Only root, and whom polkit lets (%s), may do this.", ACTION);
        return do_rerun(p->engine, p->message, p->step);
}

static int ask_polkit(Engine *e, sd_bus_message *m, const char *step) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        sd_bus *bus = sd_bus_message_get_bus(m);
        sd_bus_slot *slot;
        Pending *p;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, "org.freedesktop.PolicyKit1",
                        "/org/freedesktop/PolicyKit1/Authority",
                        "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name",
                                "s", sd_bus_message_get_sender(m), ACTION, 0, 1u, "");
        if (r < 0)
                return r;
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        *p = (Pending) { e, sd_bus_message_ref(m), strdup(step) };
        if (!p->step) {
                pending_free(p);
                return -ENOMEM;
        }
        r = sd_bus_call_async(bus, &slot, call, on_polkit, p, 120 * USEC_PER_SEC);
        if (r < 0) {
                pending_free(p);
                return r;
        }
        /* The slot belongs to the bus from here on, and the request to the slot. */
        (void) sd_bus_slot_set_destroy_callback(slot, pending_free);
        (void) sd_bus_slot_set_floating(slot, true);
        sd_bus_slot_unref(slot);
        return 1;
}

static int method_rerun(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        Engine *e = userdata;
        const char *step;
        uid_t uid;
        int r;

        (void) error;
        r = sd_bus_message_read(m, "s", &step);
        if (r < 0)
                return r;
        r = sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds);
        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, &uid);
        if (r < 0)
                return r;
        return uid == 0 || uid == geteuid() ? do_rerun(e, m, step) : ask_polkit(e, m, step);
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("State", "s", get_node, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Code", "s", get_code, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("InstanceId", "s", get_instance, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Steps", "as", get_steps, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("StartedMonotonic", "t", get_time, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("SettledMonotonic", "t", get_time, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_NAMES("GetStatus", NULL, , "s", SD_BUS_PARAM(status), method_get_status,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_NAMES("GetConfig", NULL, , "s", SD_BUS_PARAM(config), method_get_config,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_NAMES("Rerun", "s", SD_BUS_PARAM(step), NULL, , method_rerun,
                        SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_NAMES("StepChanged", "sss",
                        SD_BUS_PARAM(step) SD_BUS_PARAM(state) SD_BUS_PARAM(code), 0),
        SD_BUS_SIGNAL_WITH_NAMES("NodeChanged", "ss", SD_BUS_PARAM(state) SD_BUS_PARAM(code), 0),
        SD_BUS_VTABLE_END,
};

static int get_step_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Job *j = userdata;
        const StepRun *run = job_run(j);
        const char *text;

        (void) bus, (void) path, (void) interface, (void) error;
        if (streq(property, "Name"))
                text = j->step->name;
        else if (streq(property, "Description"))
                text = j->step->description;
        else if (streq(property, "State"))
                text = step_status_to_string(run->status);
        else
                text = json_get_string(run->result, streq(property, "Code")      ? "code"
                                                    : streq(property, "Message") ? "message"
                                                                                 : "remedy");
        return sd_bus_message_append(reply, "s", strempty(text));
}

static int get_step_requires(sd_bus *bus, const char *path, const char *interface,
                const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append_strv(reply, ((const Job *) userdata)->step->requires);
}

static int get_step_attempts(sd_bus *bus, const char *path, const char *interface,
                const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "u", (uint32_t) job_run(userdata)->n_attempts);
}

static const sd_bus_vtable step_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Name", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Description", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Requires", "as", get_step_requires, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Code", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Message", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Remedy", "s", get_step_text, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Attempts", "u", get_step_attempts, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_VTABLE_END,
};

static int find_step(sd_bus *bus, const char *path, const char *interface, void *userdata,
                void **ret_found, sd_bus_error *error) {
        _cleanup_free_ char *name = NULL;
        Job *j;
        int r;

        (void) bus, (void) interface, (void) error;
        r = sd_bus_path_decode(path, STEP_PREFIX, &name);
        if (r <= 0)
                return r;
        j = engine_find_job(userdata, name);
        if (!j)
                return 0;
        *ret_found = j;
        return 1;
}

static int list_steps(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                sd_bus_error *error) {
        _cleanup_strv_free_ char **l = NULL;
        const Engine *e = userdata;

        (void) bus, (void) prefix, (void) error;
        for (size_t i = 0; i < e->n_jobs; i++) {
                char *path;
                int r = sd_bus_path_encode(STEP_PREFIX, e->jobs[i].step->name, &path);

                if (r >= 0)
                        r = strv_push(&l, path);
                if (r < 0)
                        return r;
        }
        *ret_nodes = TAKE_PTR(l);
        return 0;
}

int bus_api_install(Engine *e, sd_bus *bus) {
        int r;

        r = sd_bus_add_object_vtable(bus, NULL, DBUS_PATH, DBUS_MANAGER, manager_vtable, e);
        if (r >= 0)
                r = sd_bus_add_fallback_vtable(
                                bus, NULL, STEP_PREFIX, DBUS_STEP, step_vtable, find_step, e);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(bus, NULL, STEP_PREFIX, list_steps, e);
        return r;
}

void bus_api_changed(Engine *e) {
        if (!e->bus || !e->announced)
                return;
        for (size_t i = 0; i < e->n_jobs; i++) {
                Job *j = &e->jobs[i];
                const StepRun *run = job_run(j);
                _cleanup_free_ char *path = NULL;

                if (j->told_status == run->status && j->told_attempts == run->n_attempts)
                        continue;
                j->told_status = run->status;
                j->told_attempts = run->n_attempts;
                (void) sd_bus_emit_signal(e->bus, DBUS_PATH, DBUS_MANAGER, "StepChanged", "sss",
                                run->name, step_status_to_string(run->status),
                                strempty(json_get_string(run->result, "code")));
                if (sd_bus_path_encode(STEP_PREFIX, run->name, &path) >= 0)
                        (void) sd_bus_emit_properties_changed(e->bus, path, DBUS_STEP, "State",
                                        "Code", "Message", "Remedy", "Attempts", NULL);
        }
        NodeStatus node = e->state ? e->state->node : NODE_STARTING;
        if (e->told_node != node) {
                e->told_node = node;
                (void) sd_bus_emit_signal(e->bus, DBUS_PATH, DBUS_MANAGER, "NodeChanged", "ss",
                                node_status_to_string(node), node_code(e));
                (void) sd_bus_emit_properties_changed(e->bus, DBUS_PATH, DBUS_MANAGER, "State",
                                "Code", "SettledMonotonic", NULL);
        }
}
