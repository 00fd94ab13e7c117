/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What cloud-init leaves in /run: who the instance is, the user data's configuration of the node,
 * and whether it could do its work. */

#include "daemon/helper/cloud-init.h"
#include "contract/config-layer.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Bytes: cloud-init writes all of the metadata and of the user data into one. */
#define CLOUD_INIT_MAX (16 * 1024 * 1024)
#define TROUBLES_MAX 5u /* of each kind that are told */
#define WORDS_MAX 150u  /* bytes of each */

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

/* Whether a warning of cloud-init's is of user data that it did not understand; others (of data
 * sources, of old keys) are no matter of the node's configuration. */
static bool is_of_user_data(const char *warning) {
        static const char *const words[] = { "yaml", "userdata", "user-data", "user data",
                "cloud config", "cloud-config" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcasestr(warning, words[i]))
                        return true;
        return false;
}

/* The beginning of what cloud-init says, on one line. Of a warning only what is before the first
 * quote: behind it is the user data's own text, which may be a password, and a status is shown to
 * everybody and sent. */
static char *first_words(const char *text, bool all) {
        size_t n = strcspn(text, all ? "" : "'\"\n");
        char *words;

        if (n > WORDS_MAX)
                for (n = WORDS_MAX; n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80; n--)
                        ; /* no half character */
        while (n > 0 && strchr(" :(", text[n - 1]))
                n--;
        words = strndup(text, n);
        if (words)
                (void) text_flatten(words);
        return words;
}

/* The stages of one boot repeat one another's words. */
static bool was_told(const Config *c, const char *words) {
        STRV_FOREACH (warning, c->warnings)
                if (strstr(*warning, words))
                        return true;
        return false;
}

static int note_troubles(Config *c, const char *stage, json_object *list, bool all) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0,
               told = 0;

        for (size_t i = 0; i < n && told < TROUBLES_MAX; i++) {
                const char *text = json_object_get_string(json_object_array_get_idx(list, i));
                _cleanup_free_ char *words = NULL;
                int r;

                if (!text || (!all && !is_of_user_data(text)))
                        continue;
                words = first_words(text, all);
                if (!words)
                        return -ENOMEM;
                if (was_told(c, words))
                        continue;
                r = strv_extendf(&c->warnings,
                                "cloud-init, stage %s: %s; what the user data has for this node may be missing: 'cloud-init status --long'",
                                stage, words);
                if (r < 0)
                        return r;
                told++;
        }
        return 0;
}

static int note_stage(Config *c, const char *name, json_object *stage) {
        json_object *recovered = json_get(stage, "recoverable_errors");
        int r;

        r = note_troubles(c, name, json_get(stage, "errors"), true);
        if (r < 0)
                return r;
        r = note_troubles(c, name, json_get(recovered, "ERROR"), true);
        if (r < 0)
                return r;
        return note_troubles(c, name, json_get(recovered, "WARNING"), false);
}

/* What cloud-init could not do may have been to write this node's configuration. Where it was to
 * run and does not even know the instance, user data was not read at all: a node without it is not
 * the one that was asked for. Of what else went wrong it is told. */
static int take_state(Config *c) {
        static const char *const stages[] = { "init-local", "init", "modules-config" };
        _cleanup_free_ char *enabled = fb_path(PATH_CLOUD_INIT_ENABLED),
                            *data = fb_path(PATH_CLOUD_INIT_DATA);
        _cleanup_json_ json_object *o = NULL;
        int r;

        if (!enabled || !data)
                return -ENOMEM;
        if (access(enabled, F_OK) == 0 && access(data, F_OK) < 0 && errno == ENOENT)
                return strv_extendf(&c->errors,
                                "cloud-init failed before it had read the user data, and what that has for this node is missing: "
                                "'cloud-init status --long' and 'journalctl -b -u \"cloud-init*\"' say why. "
                                "Where it has nothing to do, /etc/cloud/cloud-init.disabled switches it off");
        r = read_cloud_init(c, PATH_CLOUD_INIT_STATUS, &o);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(stages); i++) {
                r = note_stage(c, stages[i], json_get(json_get(o, "v1"), stages[i]));
                if (r < 0)
                        return r;
        }
        return 0;
}

int config_take_cloud_init(Config *c) {
        int r;

        r = take_instance_data(c);
        if (r < 0)
                return r;
        r = take_cloud_config(c);
        if (r < 0)
                return r;
        return take_state(c);
}
