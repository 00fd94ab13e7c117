/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What kubeadm is told. json-c writes it, so nothing that stands in a value can become a key. */

#include "steps/kubernetes/join-config.h"
#include "shared/strv.h"

#define DISCOVERY_TIMEOUT "1m0s"
#define DEFAULT_PORT ":6443"

/* 20 of "v1.20.15"; 0 where it is no version. */
static unsigned minor_of(const char *version) {
        unsigned major = 0, minor = 0;

        return sscanf(version, "v%u.%u", &major, &minor) == 2 && major == 1 ? minor : 0;
}

static char *labels_text(json_object *labels) {
        _cleanup_free_ char *text = strdup("");

        if (!text || !labels)
                return TAKE_PTR(text);
        json_object_object_foreach (labels, key, value) {
                char *more = strf("%s%s%s=%s", text, *text ? "," : "", key,
                                json_object_get_string(value));

                if (!more)
                        return NULL;
                free(text);
                text = more;
        }
        return TAKE_PTR(text);
}

/* One option of kubelet's: a list of names and values since v1beta4, a map before. */
static int add_arg(json_object *args, const char *name, const char *value) {
        json_object *item;
        int r;

        if (json_object_is_type(args, json_type_object))
                return json_set_string(args, name, value);
        r = json_append_object(args, &item);
        if (r < 0)
                return r;
        return json_set_fields(item, JSON_STRING("name", name), JSON_STRING("value", value));
}

static int add_args(json_object *section, json_object *args) {
        _cleanup_free_ char *labels = labels_text(json_get(section, "labels"));
        json_object *more = json_get(section, "kubelet_args");
        int r;

        if (!labels)
                return -ENOMEM;
        if (*labels) {
                r = add_arg(args, "node-labels", labels);
                if (r < 0)
                        return r;
        }
        if (!more)
                return 0;
        json_object_object_foreach (more, key, value) {
                r = add_arg(args, key, json_object_get_string(value));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_discovery(json_object *section, json_object *o, const char *token, bool timeouts) {
        const char *endpoint = strempty(json_get_string(section, "endpoint"));
        _cleanup_free_ char *whole =
                        strf("%s%s", endpoint, strchr(endpoint, ':') ? "" : DEFAULT_PORT);
        json_object *discovery, *bootstrap, *limits;
        int r;

        if (!whole)
                return -ENOMEM;
        r = json_add_object(o, "discovery", &discovery);
        if (r < 0)
                return r;
        r = json_add_object(discovery, "bootstrapToken", &bootstrap);
        if (r < 0)
                return r;
        r = json_set_fields(bootstrap, JSON_STRING("apiServerEndpoint", whole),
                        JSON_STRING("token", token),
                        JSON_TAKE("caCertHashes", json_object_get(json_get(section, "ca_hashes"))));
        if (r < 0)
                return r;
        if (!timeouts)
                return json_set_string(discovery, "timeout", DISCOVERY_TIMEOUT);
        r = json_add_object(o, "timeouts", &limits);
        return r < 0 ? r : json_set_string(limits, "discovery", DISCOVERY_TIMEOUT);
}

static int add_registration(json_object *section, json_object *o, const char *node, bool list) {
        json_object *registration, *args;
        int r;

        r = json_add_object(o, "nodeRegistration", &registration);
        if (r < 0)
                return r;
        r = json_set_fields(registration, JSON_STRING("name", node),
                        JSON_STRING("criSocket", json_get_string(section, "cri_socket")));
        if (r < 0)
                return r;
        r = list ? json_add_array(registration, "kubeletExtraArgs", &args)
                 : json_add_object(registration, "kubeletExtraArgs", &args);
        return r < 0 ? r : add_args(section, args);
}

char *join_configuration(
                json_object *section, const char *node, const char *token, const char *version) {
        _cleanup_json_ json_object *o = json_object_new_object();
        unsigned minor = minor_of(version);
        const char *api = minor >= 31   ? "kubeadm.k8s.io/v1beta4"
                          : minor >= 22 ? "kubeadm.k8s.io/v1beta3"
                                        : "kubeadm.k8s.io/v1beta2",
                   *text;

        if (!o || json_set_fields(o, JSON_STRING("apiVersion", api),
                                  JSON_STRING("kind", "JoinConfiguration")) < 0)
                return NULL;
        if (add_discovery(section, o, token, minor >= 31) < 0 ||
                        add_registration(section, o, node, minor >= 31) < 0)
                return NULL;
        text = json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        return text ? strdup(text) : NULL;
}
