/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/helper/config-load.h"
#include "contract/config-schema.h"
#include "shared/file-util.h"
#include "daemon/helper/metadata.h"
#include "contract/paths.h"

#include <dirent.h>

/* Far more than any configuration needs; a file beyond it is a mistake. */
#define FILE_MAX (1024 * 1024)

static int merge_file(Config *c, const char *name, bool optional) {
        _cleanup_free_ char *path = fb_path(name);
        _cleanup_json_ json_object *layer = NULL;
        JsonError e = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, FILE_MAX, &e, &layer);
        if (r == -ENOMEM || (r == -ENOENT && optional))
                return r == -ENOENT ? 0 : r;
        if (r < 0 && e.line > 0)
                return strv_extendf(&c->errors, "%s:%u:%u: %s", name, e.line, e.column, e.message);
        if (r < 0)
                return strv_extendf(&c->errors, "%s: %s", name, e.message);
        return config_merge(c, layer, name);
}

static int merge_dropins(Config *c) {
        _cleanup_free_ char *folder = fb_path(PATH_CONFIG_DROPINS);
        struct dirent **entries = NULL;
        int r = 0;

        if (!folder)
                return -ENOMEM;
        int n = scandir(folder, &entries, NULL, alphasort);
        if (n < 0)
                return errno == ENOENT ? 0
                                       : strv_extendf(&c->errors, "%s: %s", PATH_CONFIG_DROPINS,
                                                         strerror(errno));
        for (int i = 0; i < n; i++) {
                const char *name = entries[i]->d_name;
                _cleanup_free_ char *path = strf("%s/%s", PATH_CONFIG_DROPINS, name);

                if (r >= 0 && endswith(name, ".json") && name[0] != '.')
                        r = path ? merge_file(c, path, false) : -ENOMEM;
                free(entries[i]);
        }
        free(entries);
        return r;
}

/* What cloud-init found out about the instance. Its files are written by itself, so what is odd
 * about them is no fault of the admin's: it only warns. */
static int take_cloud_init(Config *c) {
        static const char *const facts[][2] = {
                { "instance_id", "id" },
                { "cloud_name", "cloud" },
                { "region", "region" },
                { "availability_zone", "zone" },
                { "local_hostname", "hostname" },
        };
        _cleanup_free_ char *data = fb_path(PATH_CLOUD_INIT_DATA),
                            *combined = fb_path(PATH_CLOUD_INIT_COMBINED);
        _cleanup_json_ json_object *o = NULL, *config = NULL;
        JsonError e = {};
        int r;

        if (!data || !combined)
                return -ENOMEM;
        r = json_load(data, 16 * FILE_MAX, &e, &o);
        if (r < 0 && r != -ENOENT)
                r = strv_extendf(&c->warnings, "%s: %s", PATH_CLOUD_INIT_DATA, e.message);
        for (size_t i = 0; o && i < ELEMENTSOF(facts); i++) {
                const char *v = json_get_string(json_get(o, "v1"), facts[i][0]);

                if (!isempty(v) && !json_get(c->instance, facts[i][1]) &&
                                json_set_string(c->instance, facts[i][1], v) < 0)
                        return -ENOMEM;
        }
        /* Azure's metadata service, as cloud-init's Azure data source keeps it. */
        const char *size = json_get_string(
                        json_get(json_get(json_get(json_get(o, "ds"), "meta_data"), "imds"),
                                        "compute"),
                        "vmSize");
        if (!isempty(size) && !json_get(c->instance, "shape") &&
                        json_set_string(c->instance, "shape", size) < 0)
                return -ENOMEM;
        r = json_load(combined, 16 * FILE_MAX, &e, &config);
        if (r < 0 && r != -ENOENT)
                return strv_extendf(&c->warnings, "%s: %s", PATH_CLOUD_INIT_COMBINED, e.message);
        json_object *layer = json_get(config, "firstboot");
        return layer ? config_merge(c, layer, "cloud-config") : 0;
}

static int take_credentials(Config *c) {
        const char *folder = secure_getenv("CREDENTIALS_DIRECTORY");
        struct dirent **entries = NULL;
        int r = 0;

        int n = folder ? scandir(folder, &entries, NULL, alphasort) : 0;
        if (n < 0)
                return strv_extendf(&c->errors, "%s: %s", folder, strerror(errno));
        for (int i = 0; i < n; i++) {
                const char *key = startswith(entries[i]->d_name, "firstboot.");
                _cleanup_free_ char *path = path_join(folder, entries[i]->d_name), *text = NULL,
                                    *source = strf("credential %s", entries[i]->d_name);

                if (key && r >= 0) {
                        const ConfigKey *k = config_key_find(key);
                        json_object *value = NULL;
                        JsonError e = {};

                        r = path && source ? read_line_file(path, &text) : -ENOMEM;
                        if (r < 0)
                                r = strv_extendf(&c->errors, "%s: %s", source, strerror(-r));
                        else if (k && k->type != CONFIG_STRING &&
                                        json_parse(text, strlen(text), &e, &value) < 0)
                                r = strv_extendf(&c->errors, "%s: line %u, column %u: %s", source,
                                                e.line, e.column, e.message);
                        else
                                r = config_set(c, key, value ? value : json_object_new_string(text),
                                                source);
                }
                free(entries[i]);
        }
        free(entries);
        return r;
}

/* The metadata section itself says whom to ask, so the files are read once before. */
static int take_metadata(Config *c, json_object *settings) {
        const char *provider = json_get_string(settings, "provider");
        _cleanup_json_ json_object *layer = NULL;
        _cleanup_free_ char *detail = NULL, *source = NULL;
        int r;

        if (!provider || streq(provider, "auto"))
                provider = metadata_detect();
        if (!provider || streq(provider, "none"))
                return 0;
        r = metadata_fetch(c, provider, config_duration(settings, "timeout", 20 * USEC_PER_SEC),
                        &layer, &detail);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                bool required = json_get_bool(settings, "required", true);

                c->retry = required;
                return strv_extendf(required ? &c->errors : &c->warnings, "metadata of %s: %s",
                                provider, strempty(detail));
        }
        source = strf("metadata of %s", provider);
        return !source ? -ENOMEM : layer ? config_merge(c, layer, source) : 0;
}

int config_load_files(Config *c, char *const *free_sections) {
        int r = merge_file(c, PATH_BAKED_CONFIG, true);

        if (r >= 0)
                r = merge_dropins(c);
        return r < 0 ? r : config_finish(c, free_sections);
}

int config_load(Config *c, char *const *free_sections) {
        _cleanup_config_ Config *first = config_new();
        int r;

        if (!first)
                return -ENOMEM;
        r = merge_file(first, PATH_BAKED_CONFIG, true);
        if (r >= 0)
                r = merge_dropins(first);
        if (r < 0)
                return r;

        r = merge_file(c, PATH_BAKED_CONFIG, true);
        if (r >= 0)
                r = take_metadata(c, json_get(first->values, "metadata"));
        if (r >= 0)
                r = take_cloud_init(c);
        if (r >= 0)
                r = merge_dropins(c);
        if (r >= 0)
                r = take_credentials(c);
        if (r >= 0)
                r = config_finish(c, free_sections);
        return r;
}
