/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Validation of a merged configuration, driven by the table in config-schema.c. Every fault is
 * reported in one go, each with the layer that brought it. */

#include "contract/config-defaults.h"
#include "contract/config-rules.h"
#include "contract/config-schema.h"
#include "contract/config.h"
#include "shared/suggest.h"

#include <stdarg.h>

/* A layer that gave something inside of path; defaults are nobody's fault. */
static const char *source_inside(const Config *c, const char *path) {
        size_t n = strlen(path);

        json_object_object_foreach (c->sources, key, value)
                if (strncmp(key, path, n) == 0 && key[n] == '.' &&
                                !streq(json_object_get_string(value), "default"))
                        return json_object_get_string(value);
        return NULL;
}

/* The layer to blame for what is wrong at path: the one that gave it, or gave something in it or
 * around it. */
static const char *blame(const Config *c, const char *path) {
        _cleanup_free_ char *p = strdup(path);

        while (p && *p) {
                const char *source = json_get_string(c->sources, p);
                char *dot = strrchr(p, '.'), *bracket = strrchr(p, '[');
                char *cut = dot > bracket ? dot : bracket;

                if (!source)
                        source = source_inside(c, p);
                if (source)
                        return source;
                if (!cut)
                        break;
                *cut = '\0';
        }
        return "configuration";
}

static int complain(Config *c, const char *path, const char *format, ...) _printf_(3, 4);

static int complain(Config *c, const char *path, const char *format, ...) {
        char text[800];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        return strv_extendf(&c->errors, "%s: %s: %s", blame(c, path), path, text);
}

/* free_sections: what else may stand there. */
static int complain_of_unknown(Config *c, const char *pattern, const char *key, const char *path,
                char *const *free_sections) {
        _cleanup_strv_free_ char **known = NULL;
        _cleanup_free_ char *suggestion = NULL, *all = NULL;

        for (size_t i = 0; i < config_keys_count; i++) {
                const char *name = config_key_in(&config_keys[i], pattern);

                if (name && strv_extend(&known, name) < 0)
                        return -ENOMEM;
        }
        if (strv_extend_strv(&known, free_sections) < 0)
                return -ENOMEM;
        suggestion = suggest_text(key, known);
        all = strv_join(known, ", ");
        if (!suggestion || !all)
                return -ENOMEM;
        return *suggestion ? complain(c, path, "unknown key%s", suggestion)
                           : complain(c, path, "unknown key; known are %s", all);
}

static const char *const type_names[] = {
        [CONFIG_OBJECT] = "an object { … }",
        [CONFIG_LIST] = "a list [ … ] of objects",
        [CONFIG_STRING] = "a string",
        [CONFIG_STRINGS] = "a list of strings",
        [CONFIG_BOOL] = "true or false",
        [CONFIG_INT] = "a whole number",
        [CONFIG_SIZE] = "a size such as 65536 or \"64K\"",
        [CONFIG_DURATION] = "a time such as 30 (seconds) or \"5min\"",
        [CONFIG_MAP] = "an object of names and plain values",
};

static bool type_fits(const ConfigKey *k, json_object *v) {
        static const json_type types[] = {
                [CONFIG_OBJECT] = json_type_object,
                [CONFIG_LIST] = json_type_array,
                [CONFIG_STRING] = json_type_string,
                [CONFIG_STRINGS] = json_type_array,
                [CONFIG_BOOL] = json_type_boolean,
                [CONFIG_INT] = json_type_int,
                [CONFIG_MAP] = json_type_object,
        };

        if (k->type == CONFIG_SIZE || k->type == CONFIG_DURATION)
                return json_object_is_type(v, json_type_int) ||
                       json_object_is_type(v, json_type_string);
        return json_object_is_type(v, types[k->type]);
}

static bool choice_fits(const char *choices, const char *value) {
        _cleanup_strv_free_ char **l = strv_split(choices, "|");

        return strv_contains(l, value);
}

static int check_number(Config *c, const ConfigKey *k, json_object *v, const char *path) {
        const char *unit = k->type == CONFIG_DURATION ? " ms"
                           : k->type == CONFIG_SIZE   ? " bytes"
                                                      : "";
        uint64_t n = 0;
        int64_t value;
        int r = 0;

        if (k->type == CONFIG_SIZE)
                r = parse_size(v, &n);
        else if (k->type == CONFIG_DURATION)
                r = parse_duration(v, &n);
        if (r < 0)
                return complain(c, path, "must be %s", type_names[k->type]);

        value = k->type == CONFIG_INT        ? json_object_get_int64(v)
                : k->type == CONFIG_DURATION ? (int64_t) (n / USEC_PER_MSEC)
                                             : (int64_t) n;
        if ((k->min || k->max) && (value < k->min || value > k->max))
                return complain(c, path, "must be from %lld to %lld%s", (long long) k->min,
                                (long long) k->max, unit);
        return 0;
}

static int check_string(Config *c, const ConfigKey *k, json_object *v, const char *path) {
        const char *text = json_object_get_string(v), *wrong;

        if (k->choices && !choice_fits(k->choices, text))
                return complain(c, path, "must be one of %s", k->choices);

        wrong = k->check ? k->check(text) : NULL;
        if (strlen(text) != (size_t) json_object_get_string_len(v))
                wrong = "must not hold NUL characters";
        return wrong ? complain(c, path, "%s", wrong) : 0;
}

static int check_strings(Config *c, const ConfigKey *k, json_object *list, const char *path) {
        int r;

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *p = strf("%s[%zu]", path, i);
                const char *wrong = NULL;

                if (!p)
                        return -ENOMEM;
                if (!json_object_is_type(item, json_type_string))
                        wrong = "must be a string";
                else if (k->check)
                        wrong = k->check(json_object_get_string(item));
                if (!wrong)
                        continue;

                r = complain(c, p, "%s", wrong);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_plain_line(const char *key, json_object *value) {
        return value && !json_object_is_type(value, json_type_object) &&
               !json_object_is_type(value, json_type_array) && !strpbrk(key, "\n=") &&
               !strchr(json_object_get_string(value), '\n');
}

static int check_map(Config *c, json_object *map, const char *path) {
        int r;

        json_object_object_foreach (map, key, value) {
                if (is_plain_line(key, value))
                        continue;
                r = complain(c, path, "\"%s\" must have a plain value of one line", key);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_object(Config *c, json_object *o, const char *pattern, const char *path,
                char *const *free_sections);

static int check_list(Config *c, const ConfigKey *k, json_object *list, const char *path,
                char *const *free_sections) {
        _cleanup_free_ char *pattern = strf("%s[]", k->path);
        int r;

        if (!pattern)
                return -ENOMEM;

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *p = strf("%s[%zu]", path, i);

                if (!p)
                        return -ENOMEM;
                r = json_object_is_type(item, json_type_object)
                                    ? check_object(c, item, pattern, p, free_sections)
                                    : complain(c, p, "must be an object { … }");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_value(Config *c, const ConfigKey *k, json_object *v, const char *path,
                char *const *free_sections) {
        if (!type_fits(k, v))
                return complain(c, path, "must be %s, not %s", type_names[k->type],
                                v ? json_type_to_name(json_object_get_type(v)) : "null");

        switch (k->type) {
        case CONFIG_OBJECT:
                return check_object(c, v, k->path, path, free_sections);
        case CONFIG_LIST:
                return check_list(c, k, v, path, free_sections);
        case CONFIG_STRING:
                return check_string(c, k, v, path);
        case CONFIG_STRINGS:
                return check_strings(c, k, v, path);
        case CONFIG_INT:
        case CONFIG_SIZE:
        case CONFIG_DURATION:
                return check_number(c, k, v, path);
        case CONFIG_MAP:
                return check_map(c, v, path);
        case CONFIG_BOOL:
                return 0;
        }
        return 0;
}

static const ConfigKey *row_of(const char *pattern, const char *key) {
        _cleanup_free_ char *exact = config_child_path(pattern, key),
                            *any = config_child_path(pattern, "*");
        const ConfigKey *k = exact && !strpbrk(key, ".[*") ? config_key_find(exact) : NULL;

        return k || !any ? k : config_key_find(any);
}

static int check_known_keys(Config *c, json_object *o, const char *pattern, const char *path,
                char *const *free_sections) {
        int r;

        json_object_object_foreach (o, key, value) {
                const ConfigKey *k = row_of(pattern, key);
                _cleanup_free_ char *p = config_child_path(path, key);

                if (!p)
                        return -ENOMEM;
                if (!k && isempty(pattern) && strv_contains(free_sections, key))
                        continue;

                r = k ? check_value(c, k, value, p, free_sections)
                      : complain_of_unknown(c, pattern, key, p,
                                        isempty(pattern) ? free_sections : NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_required_keys(Config *c, json_object *o, const char *pattern, const char *path) {
        int r;

        for (size_t i = 0; i < config_keys_count; i++) {
                const ConfigKey *k = &config_keys[i];
                const char *key = k->required ? config_key_in(k, pattern) : NULL;

                if (!key || json_object_object_get_ex(o, key, NULL))
                        continue;
                r = complain(c, path, "\"%s\" is missing: %s", key, k->meaning);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The section o, whose rows start with pattern. */
static int check_object(Config *c, json_object *o, const char *pattern, const char *path,
                char *const *free_sections) {
        int r;

        r = check_known_keys(c, o, pattern, path, free_sections);
        if (r < 0)
                return r;
        return check_required_keys(c, o, pattern, path);
}

/* Passwords travel to these servers. */
static int check_encryption(Config *c) {
        json_object *identity = json_get(c->values, "identity"), *uris = json_get(identity, "uri");
        int r;

        if (!json_object_is_type(uris, json_type_array) ||
                        json_get_bool(identity, "starttls", true) ||
                        json_get_bool(identity, "allow_plain", false))
                return 0;

        for (size_t i = 0; i < json_object_array_length(uris); i++) {
                const char *uri = json_object_get_string(json_object_array_get_idx(uris, i));

                if (!uri || !startswith(uri, "ldap://"))
                        continue;
                r = complain(c, "identity.uri",
                                "%s would send passwords in the clear: use ldaps://, set \"starttls\": true, or say \"allow_plain\": true",
                                uri);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_counter_limits(Config *c) {
        json_object *limits = json_get(json_get(c->values, "rdma"), "counter_limits");
        int r;

        if (!json_object_is_type(limits, json_type_object))
                return 0;

        json_object_object_foreach (limits, key, value) {
                if (json_object_is_type(value, json_type_int))
                        continue;
                r = complain(c, "rdma.counter_limits", "\"%s\" must be a whole number", key);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_stripe_size(Config *c) {
        json_object *stripe = json_get(json_get(c->values, "scratch"), "stripe_size");
        uint64_t bytes;

        if (stripe && parse_size(stripe, &bytes) >= 0 && (bytes & (bytes - 1)) != 0)
                return complain(c, "scratch.stripe_size", "must be a power of two");
        return 0;
}

/* A cluster whose CA is not known beforehand could be anybody's. */
static int check_cluster(Config *c) {
        json_object *kubernetes = json_get(c->values, "kubernetes");

        if (!json_get(kubernetes, "endpoint") ||
                        json_array_length(json_get(kubernetes, "ca_hashes")) > 0)
                return 0;
        return complain(c, "kubernetes",
                        "\"ca_hashes\" is missing: kubeadm token create --print-join-command shows it");
}

/* A map of the Kubernetes section, by the rule for its entries. */
static int check_kubernetes_map(Config *c, const char *key,
                const char *(*rule)(const char *name, const char *value)) {
        json_object *map = json_get(json_get(c->values, "kubernetes"), key);
        _cleanup_free_ char *path = strf("kubernetes.%s", key);
        int r;

        if (!path)
                return -ENOMEM;
        if (!json_object_is_type(map, json_type_object))
                return 0;
        json_object_object_foreach (map, name, value) {
                const char *wrong = rule(name, json_object_get_string(value));

                if (!wrong)
                        continue;
                r = complain(c, path, "\"%s\" %s", name, wrong);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* They end up on kubelet's command line. */
static int check_kubelet_maps(Config *c) {
        int r;

        r = check_kubernetes_map(c, "labels", check_node_label);
        if (r < 0)
                return r;
        return check_kubernetes_map(c, "kubelet_args", check_kubelet_arg);
}

int config_finish(Config *c, char *const *free_sections) {
        /* What no single row can say. */
        static int (*const more[])(Config *c) = { check_encryption, check_counter_limits,
                check_stripe_size, check_cluster, check_kubelet_maps };
        int r;

        r = config_fill(c);
        if (r < 0)
                return r;
        r = check_object(c, c->values, "", "", free_sections);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(more); i++) {
                r = more[i](c);
                if (r < 0)
                        return r;
        }
        return 0;
}
