/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Properties, methods and signals of the two interfaces. */

#include "daemon/bus-api.h"
#include "daemon/document.h"
#include "contract/paths.h"
#include "contract/secrets.h"
#include "shared/older-systemd.h"

#define STEP_PREFIX DBUS_PATH "/step"
#define ACTION_RERUN "org.imgbuild.FirstBoot1.rerun"
#define ACTION_READ_CONFIG "org.imgbuild.FirstBoot1.read-config"

static int get_node(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const BusApi *a = userdata;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", node_status_to_string(node_status(a->node)));
}

static int get_code(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const BusApi *a = userdata;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", node_code(a->node));
}

static int get_instance(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Node *n = ((const BusApi *) userdata)->node;
        const char *id = n->state ? n->state->instance_id
                                  : json_get_string(node_before(n), "instance_id");

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", strempty(id));
}

static int get_time(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Node *n = ((const BusApi *) userdata)->node;
        bool started = streq(property, "StartedMonotonic");
        uint64_t usec;

        (void) bus, (void) path, (void) interface, (void) error;
        if (n->state)
                usec = started ? n->state->started_usec : n->state->settled_usec;
        else
                usec = (uint64_t) json_get_int(
                                node_before(n), started ? "started_usec" : "settled_usec", 0);
        return sd_bus_message_append(reply, "t", usec);
}

static int get_steps(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Node *n = ((const BusApi *) userdata)->node;
        int r;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        r = sd_bus_message_open_container(reply, 'a', "s");
        if (r < 0)
                return r;
        for (size_t i = 0; i < n->n_jobs; i++) {
                r = sd_bus_message_append(reply, "s", n->jobs[i].step->name);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

static int reply_json(sd_bus_message *m, json_object *taken) {
        _cleanup_json_ json_object *o = taken;
        const char *text;

        if (!o)
                return -ENOMEM;
        text = json_line(o);
        return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}

static int method_get_status(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const BusApi *a = userdata;

        (void) error;
        return reply_json(m, status_document(a->node));
}

/* Masked for root too: what is printed ends up in tickets. The values are in a file of root's. */
static int reply_config(sd_bus_message *m, void *userdata) {
        json_object *document = ((const BusApi *) userdata)->node->document;
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *masked;
        int r;

        if (!document)
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".NotYet",
                                "The configuration is still being gathered.");
        masked = config_masked(json_get(document, "config"), json_get(document, "sources"));
        if (!masked)
                return -ENOMEM;

        r = json_set_fields(o, JSON_TAKE("config", masked),
                        JSON_TAKE("sources", json_object_get(json_get(document, "sources"))),
                        JSON_TAKE("instance", json_object_get(json_get(document, "instance"))),
                        JSON_TAKE("errors", json_object_get(json_get(document, "errors"))),
                        JSON_TAKE("warnings", json_object_get(json_get(document, "warnings"))));
        return r < 0 ? r : reply_json(m, TAKE_PTR(o));
}

static int method_get_config(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        BusApi *a = userdata;

        (void) error;
        return authorize(&a->authorizer, m, ACTION_READ_CONFIG, reply_config, a);
}

static int do_rerun(const BusApi *a, sd_bus_message *m, const char *step) {
        int r = a->rerun(step, a->userdata);

        if (r == -ENOENT)
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".NoSuchStep",
                                "There is no step \"%s\" in this boot; firstbootctl status lists them.",
                                step);
        if (r == -EBUSY && (streq(step, RERUN_ALL) || streq(step, RERUN_CHANGES)))
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".Busy",
                                "A step is running, or the configuration is being read.");
        if (r == -EBUSY)
                return sd_bus_reply_method_errorf(m, DBUS_NAME ".Busy",
                                "\"%s\", or a step that waits for it, is running.", step);
        return r < 0 ? sd_bus_reply_method_errno(m, r, NULL) : sd_bus_reply_method_return(m, NULL);
}

static int rerun_authorized(sd_bus_message *m, void *userdata) {
        const char *step;
        int r;

        r = sd_bus_message_rewind(m, true);
        if (r < 0)
                return r;
        r = sd_bus_message_read(m, "s", &step);
        return r < 0 ? r : do_rerun(userdata, m, step);
}

static int method_rerun(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        BusApi *a = userdata;

        (void) error;
        return authorize(&a->authorizer, m, ACTION_RERUN, rerun_authorized, a);
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

static const char *step_text(const Job *j, const char *property) {
        const StepRun *run = job_run(j);

        if (streq(property, "Name"))
                return j->step->name;
        if (streq(property, "Description"))
                return j->step->description;
        if (streq(property, "State"))
                return step_status_to_string(step_run_standing(run));
        if (streq(property, "Code"))
                return step_run_code(run);
        return json_get_string(run->result, streq(property, "Message") ? "message" : "remedy");
}

static int get_step_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) error;
        return sd_bus_message_append(reply, "s", strempty(step_text(userdata, property)));
}

static int get_step_requires(sd_bus *bus, const char *path, const char *interface,
                const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append_strv(reply, ((const Job *) userdata)->step->requires);
}

static int get_step_attempts(sd_bus *bus, const char *path, const char *interface,
                const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "u", step_run_tries(job_run(userdata)));
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
        const BusApi *a = userdata;
        _cleanup_free_ char *name = NULL;
        Job *j;
        int r;

        (void) bus, (void) interface, (void) error;
        r = sd_bus_path_decode(path, STEP_PREFIX, &name);
        if (r <= 0)
                return r;
        j = node_find_job(a->node, name);
        if (!j)
                return 0;

        *ret_found = j;
        return 1;
}

static int list_steps(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                sd_bus_error *error) {
        const Node *n = ((const BusApi *) userdata)->node;
        _cleanup_strv_free_ char **l = NULL;
        int r;

        (void) bus, (void) prefix, (void) error;
        for (size_t i = 0; i < n->n_jobs; i++) {
                char *path;

                r = sd_bus_path_encode(STEP_PREFIX, n->jobs[i].step->name, &path);
                if (r < 0)
                        return r;
                r = strv_push(&l, path);
                if (r < 0)
                        return r;
        }

        *ret_nodes = TAKE_PTR(l);
        return 0;
}

int bus_api_install(BusApi *a, sd_bus *bus) {
        int r;

        r = sd_bus_add_object_vtable(bus, NULL, DBUS_PATH, DBUS_MANAGER, manager_vtable, a);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(
                        bus, NULL, STEP_PREFIX, DBUS_STEP, step_vtable, find_step, a);
        if (r < 0)
                return r;
        return sd_bus_add_node_enumerator(bus, NULL, STEP_PREFIX, list_steps, a);
}

static void announce_step(Job *j, sd_bus *bus) {
        const StepRun *run = job_run(j);
        StepStatus status = step_run_standing(run);
        _cleanup_free_ char *path = NULL;

        if (j->told_status == status && j->told_attempts == step_run_tries(run))
                return;
        j->told_status = status;
        j->told_attempts = step_run_tries(run);

        (void) sd_bus_emit_signal(bus, DBUS_PATH, DBUS_MANAGER, "StepChanged", "sss", run->name,
                        step_status_to_string(status), strempty(step_run_code(run)));
        if (sd_bus_path_encode(STEP_PREFIX, run->name, &path) >= 0)
                (void) sd_bus_emit_properties_changed(bus, path, DBUS_STEP, "State", "Code",
                                "Message", "Remedy", "Attempts", NULL);
}

void bus_api_changed(BusApi *a, sd_bus *bus) {
        NodeStatus status = node_status(a->node);

        for (size_t i = 0; i < a->node->n_jobs; i++)
                announce_step(&a->node->jobs[i], bus);

        if (a->told_node == status)
                return;
        a->told_node = status;
        (void) sd_bus_emit_signal(bus, DBUS_PATH, DBUS_MANAGER, "NodeChanged", "ss",
                        node_status_to_string(status), node_code(a->node));
        (void) sd_bus_emit_properties_changed(
                        bus, DBUS_PATH, DBUS_MANAGER, "State", "Code", "SettledMonotonic", NULL);
}
