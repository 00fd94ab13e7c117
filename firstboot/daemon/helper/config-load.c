/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The layers of the configuration, each read and laid over those before it. */

#include "daemon/helper/config-load.h"
#include "daemon/helper/metadata.h"
#include "contract/config-layer.h"
#include "contract/config-schema.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

/* Bytes: cloud-init writes all of the metadata and of the user data into one. */
#define CLOUD_INIT_MAX (16 * 1024 * 1024)

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

/* All names of a folder, sorted. */
static int list_folder(const char *folder, char ***ret) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(folder, &d);
        return r < 0 ? r : folder_names(d, ret);
}

static int merge_dropins(Config *c) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *folder = fb_path(PATH_CONFIG_DROPINS);
        int r;

        if (!folder)
                return -ENOMEM;
        r = list_folder(folder, &names);
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

/* Notes what is known of the machine, unless somebody better informed said so before. */
static int note_fact(Config *c, const char *key, const char *value) {
        if (isempty(value) || json_get(c->instance, key))
                return 0;
        return json_set_string(c->instance, key, value);
}

/* A file that cloud-init wrote by itself: what is odd about it is no fault of the admin's, and only
 * warns. *ret is NULL where there is none. */
static int read_cloud_init(Config *c, const char *name, json_object **ret) {
        _cleanup_free_ char *path = fb_path(name);
        JsonError e = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, CLOUD_INIT_MAX, &e, ret);
        if (r >= 0 || r == -ENOENT)
                return 0;
        return strv_extendf(&c->warnings, "%s: %s", name, e.message);
}

/* Whether cloud-init has the instance's id from the cloud itself. Where it has not, the id stands
 * in a file that many images share ("nocloud"), changes with the user data (NoCloud on Proxmox), or
 * is a constant ("iid-datasource-none"): to take that for another instance would forget all that is
 * known of this one. */
static bool id_is_the_clouds(json_object *v1) {
        static const char *const keys[] = { "cloud_name", "platform" };
        char *const *clouds = ARGV("aws", "ec2", "azure", "gce", "oracle", "openstack", "aliyun",
                        "digitalocean", "hetzner", "vultr", "akamai", "scaleway", "exoscale",
                        "ibmcloud", "upcloud", "cloudstack", "smartos");
        const char *id = json_get_string(v1, "instance_id");

        if (!id || startswith(id, "iid-"))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                const char *name = json_get_string(v1, keys[i]);

                if (name && strv_contains(clouds, name))
                        return true;
        }
        return false;
}

/* What cloud-init found out about the instance. */
static int take_instance_data(Config *c) {
        static const char *const facts[][2] = {
                { "cloud_name", "cloud" },
                { "region", "region" },
                { "availability_zone", "zone" },
                { "local_hostname", "hostname" },
        };
        _cleanup_json_ json_object *o = NULL;
        json_object *metadata;
        int r;

        r = read_cloud_init(c, PATH_CLOUD_INIT_DATA, &o);
        if (r < 0)
                return r;
        if (id_is_the_clouds(json_get(o, "v1"))) {
                r = note_fact(c, "id", json_get_string(json_get(o, "v1"), "instance_id"));
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(facts); i++) {
                const char *value = json_get_string(json_get(o, "v1"), facts[i][0]);

                r = note_fact(c, facts[i][1], value);
                if (r < 0)
                        return r;
        }

        /* Azure's metadata service, as cloud-init's Azure data source keeps it. */
        metadata = json_get(json_get(json_get(o, "ds"), "meta_data"), "imds");
        return note_fact(c, "shape", json_get_string(json_get(metadata, "compute"), "vmSize"));
}

static int take_cloud_config(Config *c) {
        _cleanup_json_ json_object *o = NULL;
        json_object *layer;
        int r;

        r = read_cloud_init(c, PATH_CLOUD_INIT_COMBINED, &o);
        if (r < 0)
                return r;
        layer = json_get(o, "firstboot");
        return layer ? config_merge(c, layer, "cloud-config") : 0;
}

/* Credential "firstboot.KEY": text for a string, JSON for any other key of the table. */
static int take_credential(Config *c, const char *folder, const char *name, const char *key) {
        _cleanup_free_ char *path = path_join(folder, name), *text = NULL,
                            *source = strf("credential %s", name);
        const ConfigKey *k = config_key_find(key);
        json_object *value = NULL;
        JsonError e = {};
        int r;

        if (!path || !source)
                return -ENOMEM;
        r = read_line_file(path, &text);
        if (r < 0)
                return strv_extendf(&c->errors, "%s: %s", source, strerror(-r));

        if (!k || k->type == CONFIG_STRING)
                return config_set(c, key, json_object_new_string(text), source);
        if (json_parse(text, strlen(text), &e, &value) < 0)
                return strv_extendf(&c->errors, "%s: line %u, column %u: %s", source, e.line,
                                e.column, e.message);
        return config_set(c, key, value ? value : json_object_new_string(text), source);
}

static int take_credentials(Config *c) {
        const char *folder = secure_getenv("CREDENTIALS_DIRECTORY");
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!folder)
                return 0;
        r = list_folder(folder, &names);
        if (r < 0)
                return strv_extendf(&c->errors, "%s: %s", folder, strerror(-r));

        STRV_FOREACH (name, names) {
                const char *key = startswith(*name, "firstboot.");

                if (!key)
                        continue;
                r = take_credential(c, folder, *name, key);
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
        r = take_instance_data(c);
        if (r < 0)
                return r;
        r = take_cloud_config(c);
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
