/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The layers of the configuration, each read and laid over those before it. */

#include "daemon/helper/config-load.h"
#include "daemon/helper/credentials.h"
#include "daemon/helper/cloud-init.h"
#include "daemon/helper/metadata.h"
#include "contract/config-layer.h"
#include "contract/config-schema.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

static int merge_file(Config *c, const char *name, bool optional) {
        _cleanup_json_ json_object *layer = NULL;
        JsonError e = {};
        int r;

        r = config_layer_load(name, &e, &layer);
        if (r == -ENOENT && optional)
                return 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0 && e.line > 0)
                return strv_extendf(&c->errors, "%s:%u:%u: %s", name, e.line, e.column, e.message);
        if (r < 0)
                return strv_extendf(&c->errors, "%s: %s", name, e.message);
        return config_merge(c, layer, name);
}

static int merge_dropins(Config *c) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *folder = fb_path(PATH_CONFIG_DROPINS);
        int r;

        if (!folder)
                return -ENOMEM;
        r = folder_list(folder, &names);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return strv_extendf(&c->errors, "%s: %s", PATH_CONFIG_DROPINS, strerror(-r));

        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = strf("%s/%s", PATH_CONFIG_DROPINS, *name);

                if (!path)
                        return -ENOMEM;
                if (!endswith(*name, ".json") || (*name)[0] == '.')
                        continue;
                r = merge_file(c, path, false);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Credential "firstboot.KEY": text for a string, JSON for any other key of the table. */
static int take_credential(Config *c, const char *name, const char *text) {
        const char *key = name + strlen("firstboot.");
        _cleanup_free_ char *source = strf("credential %s", name);
        const ConfigKey *k = config_key_find(key);
        json_object *value = NULL;
        JsonError e = {};

        if (!source)
                return -ENOMEM;
        if (!k || k->type == CONFIG_STRING)
                return config_set(c, key, json_object_new_string(text), source);
        if (json_parse(text, strlen(text), &e, &value) < 0)
                return strv_extendf(&c->errors, "%s: line %u, column %u: %s", source, e.line,
                                e.column, e.message);
        return config_set(c, key, value ? value : json_object_new_string(text), source);
}

static int take_credentials(Config *c) {
        _cleanup_json_ json_object *values = NULL;
        int r;

        r = credentials_read(&values, &c->errors);
        if (r < 0)
                return r;
        json_object_object_foreach (values, name, value) {
                r = take_credential(c, name, json_object_get_string(value));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A service that does not answer is an error, or where it need not answer a warning. */
static int note_silence(Config *c, const char *provider, bool required, const char *detail) {
        c->retry = required;
        return strv_extendf(required ? &c->errors : &c->warnings, "metadata of %s: %s", provider,
                        strempty(detail));
}

/* The nodes of a fleet that boot together do not ask together: the first try has its turn somewhere
 * within retry.spread. The others follow after firstbootd's pauses. Returns the try's seed. */
static uint64_t await_turn(json_object *files) {
        const char *text = secure_getenv("FIRSTBOOT_TRIES");
        uint64_t tries = text ? strtoull(text, NULL, 10) : 0,
                 seed = retry_seed(node_seed() + tries, "metadata");
        RetryPlan plan = RETRY_PLAN_METADATA(
                        config_duration(json_get(files, "retry"), "spread", RETRY_SPREAD_USEC), 0);

        if (tries == 0)
                usleep((useconds_t) retry_first(&plan, seed));
        return seed;
}

/* The metadata section itself says whom to ask: settings are those of the files. */
static int take_metadata(Config *c, json_object *files) {
        json_object *settings = json_get(files, "metadata");
        const char *provider = json_get_string(settings, "provider");
        _cleanup_json_ json_object *layer = NULL;
        _cleanup_free_ char *detail = NULL, *source = NULL;
        int r;

        if (!provider || streq(provider, "auto"))
                provider = metadata_detect();
        if (!provider || streq(provider, "none"))
                return 0;

        r = metadata_fetch(c, provider, config_duration(settings, "timeout", 20 * USEC_PER_SEC),
                        await_turn(files), &layer, &detail);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return note_silence(c, provider, json_get_bool(settings, "required", true), detail);
        if (!layer)
                return 0;

        source = strf("metadata of %s", provider);
        return source ? config_merge(c, layer, source) : -ENOMEM;
}

static int merge_files(Config *c) {
        int r;

        r = merge_file(c, PATH_BAKED_CONFIG, true);
        if (r < 0)
                return r;
        return merge_dropins(c);
}

int config_load_files(Config *c, char *const *free_sections) {
        int r;

        r = merge_files(c);
        if (r < 0)
                return r;
        return config_finish(c, free_sections);
}

int config_load(Config *c, char *const *free_sections) {
        _cleanup_config_ Config *first = config_new();
        int r;

        /* The files are read once before, for the metadata section. */
        if (!first)
                return -ENOMEM;
        r = merge_files(first);
        if (r < 0)
                return r;

        r = merge_file(c, PATH_BAKED_CONFIG, true);
        if (r < 0)
                return r;
        r = take_metadata(c, first->values);
        if (r < 0)
                return r;
        r = config_take_cloud_init(c);
        if (r < 0)
                return r;
        r = merge_dropins(c);
        if (r < 0)
                return r;
        r = take_credentials(c);
        if (r < 0)
                return r;
        return config_finish(c, free_sections);
}
