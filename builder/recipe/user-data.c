/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Node configuration within user data: found, decoded, and laid in the order in which a node reads
 * it. */

#include "recipe/user-data.h"
#include "recipe/yaml.h"
#include "contract/paths.h"
#include "shared/strv.h"

#include <openssl/evp.h>

bool user_data_is_it(const char *path, const char *text) {
        char *const *heads = ARGV("#", "Content-Type:", "MIME-Version:", "From ");

        STRV_FOREACH (head, heads)
                if (startswith(text, *head))
                        return true;
        return endswith(path, ".yaml") || endswith(path, ".yml");
}

/* Why cloud-init would take it for something else, NULL: it is cloud-config. */
static const char *other_kind(const char *text) {
        static const char *const kinds[][2] = {
                { "## template: jinja",
                                "is a template: fill it in first (cloud-init devel render), and check the result" },
                { "#cloud-config-archive",
                                "is an archive: check its parts, a file each that begins with #cloud-config" },
                { "#!", "is a script: node configuration is in cloud-config, whose first line is #cloud-config" },
                { "#include", "only names other files: check those, each of which begins with #cloud-config" },
                { "Content-Type:",
                                "is a MIME archive: check its parts, a file each that begins with #cloud-config" },
                { "MIME-Version:",
                                "is a MIME archive: check its parts, a file each that begins with #cloud-config" },
                { "From ", "is a MIME archive: check its parts, a file each that begins with #cloud-config" },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (startswith(text, kinds[i][0]))
                        return kinds[i][1];
        if (!startswith(text, "#cloud-config"))
                return "its first line must be #cloud-config, or cloud-init does nothing with it";
        return NULL;
}

/* -EINVAL: it is none. */
static int decode_base64(const char *text, char **ret) {
        _cleanup_free_ char *clean = malloc(strlen(text) + 1);
        char *out, *to = clean;
        int n;

        if (!clean)
                return -ENOMEM;
        for (const char *c = text; *c; c++)
                if (!strchr(" \t\r\n", *c))
                        *to++ = *c;
        *to = '\0';
        out = malloc(strlen(clean) + 1);
        if (!out)
                return -ENOMEM;
        n = EVP_DecodeBlock((unsigned char *) out, (unsigned char *) clean, (int) strlen(clean));
        if (n < 0) {
                free(out);
                return -EINVAL;
        }
        out[n] = '\0'; /* the padding's bytes are NULs already */
        *ret = out;
        return 0;
}

/* What the entry writes, decoded. 1; 0: it cannot be had, told. */
static int take_content(
                json_object *entry, const char *file, const char *place, Problems *p, char **ret) {
        const char *encoding = json_get_string(entry, "encoding"),
                   *content = json_get_string(entry, "content");
        int r;

        if (!content) {
                problems_add(p, file, place,
                                "\"content\" is missing, or no text: write it as a block, \"content: |\"");
                return 0;
        }
        if (!encoding || streq(encoding, "text/plain")) {
                *ret = strdup(content);
                return *ret ? 1 : -ENOMEM;
        }
        if (!streq(encoding, "b64") && !streq(encoding, "base64")) {
                problems_add(p, file, place,
                                "encoding %s is not read here: leave it out, or use b64", encoding);
                return 0;
        }
        r = decode_base64(content, ret);
        if (r == -EINVAL) {
                problems_add(p, file, place, "\"content\" is not base64, as \"encoding\" says");
                return 0;
        }
        return r < 0 ? r : 1;
}

/* One entry of write_files: a layer, where it is of the node's configuration. */
static int merge_entry(Config *c, json_object *entry, const char *file, size_t i, Problems *p) {
        const char *path = json_get_string(entry, "path");
        _cleanup_free_ char *place = strf("write_files[%zu]", i), *content = NULL,
                            *layer_name = NULL;
        _cleanup_json_ json_object *layer = NULL;
        JsonError e = {};
        int r;

        if (!path || !startswith(path, PATH_CONFIG_DROPINS "/") || !endswith(path, ".json"))
                return 0;
        layer_name = strf("%s: write_files[%zu] (%s)", file, i, path);
        if (!place || !layer_name)
                return -ENOMEM;

        r = take_content(entry, file, place, p, &content);
        if (r <= 0)
                return r;
        r = json_parse(content, strlen(content), &e, &layer);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                problems_add(p, file, place, "%s: line %u, column %u: %s", path, e.line, e.column,
                                e.message);
                return 0;
        }
        return config_merge(c, layer, layer_name);
}

typedef struct Entry {
        const char *path;
        size_t i;
} Entry;

static int by_path(const void *a, const void *b) {
        const Entry *x = a, *y = b;
        int r = strcmp(x->path, y->path);

        return r != 0 ? r : (x->i > y->i) - (x->i < y->i);
}

/* As the node reads conf.d: by name. */
static int merge_written(Config *c, const char *file, json_object *list, Problems *p) {
        size_t n = json_array_length(list);
        _cleanup_free_ Entry *entries = calloc(n + 1, sizeof(*entries));
        int r;

        if (!entries)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                entries[i] = (Entry) {
                        strempty(json_get_string(json_object_array_get_idx(list, i), "path")), i
                };
        qsort(entries, n, sizeof(*entries), by_path);

        for (size_t i = 0; i < n; i++) {
                r = merge_entry(c, json_object_array_get_idx(list, entries[i].i), file,
                                entries[i].i, p);
                if (r < 0)
                        return r;
        }
        return 0;
}

int user_data_merge_object(Config *c, const char *path, json_object *o, Problems *problems) {
        json_object *layer = json_get(o, "firstboot");
        int r;

        if (layer) {
                r = config_merge(c, layer, path);
                if (r < 0)
                        return r;
        }
        return merge_written(c, path, json_get(o, "write_files"), problems);
}

static bool has_written(json_object *list) {
        size_t n = json_array_length(list);

        for (size_t i = 0; i < n; i++)
                if (startswith(strempty(json_get_string(
                                               json_object_array_get_idx(list, i), "path")),
                                    PATH_CONFIG_DROPINS "/"))
                        return true;
        return false;
}

int user_data_merge(Config *c, const char *path, const char *text, Problems *problems) {
        _cleanup_json_ json_object *o = NULL;
        const char *other = other_kind(text);
        JsonError e = {};
        int r;

        if (other) {
                problems_add(problems, path, NULL, "%s", other);
                return 0;
        }
        r = yaml_parse(text, strlen(text), &e, &o);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                problems_add_syntax(problems, path, &e);
                return 0;
        }
        if (!json_object_is_type(o, json_type_object)) {
                problems_add(problems, path, NULL, "must be keys and values");
                return 0;
        }
        if (!json_get(o, "firstboot") && !has_written(json_get(o, "write_files"))) {
                problems_add(problems, path, NULL,
                                "has no node configuration: neither the key firstboot nor write_files below " PATH_CONFIG_DROPINS);
                return 0;
        }
        return user_data_merge_object(c, path, o, problems);
}
