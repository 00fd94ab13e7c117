/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* manifest.json and SHA256SUMS beside the image. docs/disk.md describes the keys; output.c reads
 * some of them back to see whether a build is due, so they are an interface. */

#include "disk/manifest.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "disk/out-folder.h"

#define MANIFEST_VERSION 1

/* Adds `value` to array or object and frees it on failure: json-c takes ownership only on
 * success. */
static int append(json_object *array, json_object *value) {
        if (!value)
                return -ENOMEM;
        if (json_object_array_add(array, value) < 0) {
                json_object_put(value);
                return -ENOMEM;
        }
        return 0;
}

static int put_array(json_object *o, const char *key, json_object **ret) {
        json_object *array = json_object_new_array();

        if (!array || json_set(o, key, array) < 0)
                return -ENOMEM;
        *ret = array;
        return 0;
}

static int put_object(json_object *o, const char *key, json_object **ret) {
        json_object *child = json_object_new_object();

        if (!child || json_set(o, key, child) < 0)
                return -ENOMEM;
        *ret = child;
        return 0;
}

/* The path as seen from the recipe's folder, so that equal builds in other places tell the same. */
static char *path_from(const char *recipe, const char *path) {
        _cleanup_free_ char *up = strdup("");
        size_t n = 0;

        for (size_t i = 0; recipe[i] && recipe[i] == path[i]; i++)
                if (recipe[i] == '/')
                        n = i + 1;
        for (const char *c = recipe + n; up && (c = strchr(c, '/')); c++) {
                char *longer = strf("%s../", up);
                free(up);
                up = longer;
        }
        return up ? strf("%s%s", up, path + n) : NULL;
}

static int add_recipe(json_object *m, const Recipe *recipe) {
        json_object *o = NULL, *sources = NULL, *merged = NULL;
        int r;

        r = put_object(m, "recipe", &o);
        if (r >= 0)
                r = json_set_string(o, "name", recipe->name);
        if (r >= 0)
                r = put_array(o, "sources", &sources);
        STRV_FOREACH (path, recipe->sources) {
                _cleanup_free_ char *shown = path_from(recipe->path, *path);
                json_object *source;
                Digest digest;

                if (r < 0)
                        return r;
                if (!shown)
                        return -ENOMEM;
                r = digest_file(*path, digest, NULL);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot read it again", *path);
                source = json_object_new_object();
                r = append(sources, source);
                if (r >= 0)
                        r = json_set_string(source, "path", shown);
                if (r >= 0)
                        r = json_set_string(source, "sha256", digest);
        }
        if (r >= 0)
                r = recipe_to_json(recipe, &merged);
        return r < 0 ? r : json_set(o, "merged", merged);
}

static int add_packages(
                json_object *o, const char *key, const LockedStage *locked, const char *stage) {
        json_object *array = json_get(o, key);
        int r = array ? 0 : put_array(o, key, &array);

        for (size_t i = 0; r >= 0 && locked && i < locked->n_packages; i++) {
                const LockedPackage *p = locked->packages + i;
                json_object *package = json_object_new_object();

                r = append(array, package);
                if (r >= 0)
                        r = json_set_string(package, "name", p->name);
                if (r >= 0)
                        r = json_set_string(package, "version", p->version);
                if (r >= 0)
                        r = json_set_string(package, "arch", p->arch);
                if (r >= 0)
                        r = json_set_string(package, "sha256", p->sha256);
                if (r >= 0)
                        r = json_set_string(package, "stage", stage);
        }
        return r;
}

static int add_stages(json_object *m, const Plan *plan) {
        json_object *stages = NULL;
        int r = put_array(m, "stages", &stages);

        for (size_t i = 0; r >= 0 && i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                json_object *o = json_object_new_object();

                r = append(stages, o);
                if (r >= 0)
                        r = json_set_string(o, "id", s->id);
                if (r >= 0)
                        r = json_set_string(o, "kind", stage_kind_name(s->kind));
                if (r >= 0)
                        r = json_set_string(o, "digest", s->digest);
        }
        /* What the image has, and apart from it what was only there to compile. */
        for (size_t i = 0; r >= 0 && i < plan->n_stages; i++)
                r = add_packages(m,
                                plan->stages[i].kind == STAGE_COMPILE ? "build_packages"
                                                                      : "packages",
                                plan->stages[i].locked, plan->stages[i].id);
        return r;
}

static int add_artifacts(json_object *m, const Lock *lock) {
        json_object *array = NULL;
        int r = put_array(m, "artifacts", &array);

        for (size_t i = 0; r >= 0 && i < lock->n_artifacts; i++) {
                const LockedArtifact *a = lock->artifacts + i;
                json_object *o = json_object_new_object();

                r = append(array, o);
                if (r >= 0)
                        r = json_set_string(o, "overlay", a->overlay);
                if (r >= 0)
                        r = json_set_string(o, "name", a->name);
                if (r >= 0)
                        r = json_set_string(o, "version", a->version);
                if (r >= 0)
                        r = json_set_string(o, "url", a->url);
                if (r >= 0)
                        r = json_set_string(o, "sha256", a->sha256);
        }
        return r;
}

static int add_disk(json_object *m, const Recipe *recipe, const DiskInfo *d) {
        const struct {
                const char *key;
                uint64_t value;
        } numbers[] = {
                { "size", d->size },
                { "bios_start", d->bios_start },
                { "esp_start", d->esp_start },
                { "root_start", d->root_start },
                { "root_size", d->root_size },
                { "root_used", d->root_used },
                { "root_files", d->root_files },
        };
        json_object *o = NULL, *firmware = NULL;
        int r = put_object(m, "disk", &o);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(numbers); i++)
                if (numbers[i].value > 0)
                        r = json_set_int(o, numbers[i].key, (int64_t) numbers[i].value);
        if (r >= 0)
                r = json_set_string(o, "filesystem", recipe->disk.filesystem);
        if (r >= 0)
                r = json_set_string(o, "guid", d->disk_guid);
        if (r >= 0)
                r = json_set_string(o, "root_uuid", d->root_uuid);
        if (r >= 0 && d->esp_start > 0)
                r = json_set_string(o, "esp_id", d->esp_id);
        if (r >= 0)
                r = put_array(o, "firmware", &firmware);
        STRV_FOREACH (f, recipe->disk.firmware)
                if (r >= 0)
                        r = append(firmware, json_object_new_string(*f));
        return r;
}

static int add_timings(json_object *m, const ManifestTiming *timings, size_t n) {
        json_object *o = NULL;
        int r = put_object(m, "timings", &o);

        for (size_t i = 0; r >= 0 && i < n; i++) { /* seconds, to the millisecond */
                double seconds = (double) timings[i].usec / (double) USEC_PER_SEC;
                _cleanup_free_ char *text = strf("%.3f", seconds);
                r = text ? json_set(o, timings[i].what, json_object_new_double_s(seconds, text))
                         : -ENOMEM;
        }
        return r;
}

static int add_files(json_object *m, const char *folder, char *const *files, char ***sums) {
        json_object *array = NULL;
        int r = put_array(m, "files", &array);

        STRV_FOREACH (name, files) {
                _cleanup_free_ char *path = path_join(folder, *name);
                json_object *o;
                Digest digest;
                uint64_t size;

                if (r < 0 || !path)
                        return r < 0 ? r : -ENOMEM;
                r = digest_file(path, digest, &size);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot read it back", path);
                o = json_object_new_object();
                r = append(array, o);
                if (r >= 0)
                        r = json_set_string(o, "name", *name);
                if (r >= 0)
                        r = json_set_int(o, "size", (int64_t) size);
                if (r >= 0)
                        r = json_set_string(o, "sha256", digest);
                if (r >= 0)
                        r = strv_extendf(sums, "%s  %s\n", digest, *name);
        }
        return r;
}

static int add_head(json_object *m, const Plan *plan, const Findings *findings,
                const char *tools_digest, bool proved) {
        Digest identity;
        int r;

        r = output_identity(plan, tools_digest, identity);
        if (r >= 0)
                r = json_set_int(m, "manifest", MANIFEST_VERSION);
        if (r >= 0)
                r = json_set_string(m, "name", plan->recipe->name);
        if (r >= 0)
                r = json_set_string(m, "imgbuild", VERSION);
        if (r >= 0)
                r = json_set_string(m, "identity", identity);
        if (r >= 0)
                r = json_set(m, "proved", json_object_new_boolean(proved));
        if (r >= 0)
                r = json_set_string(m, "distro", plan->recipe->base.distro);
        if (r >= 0)
                r = json_set_string(m, "release", plan->recipe->base.release);
        if (r >= 0)
                r = json_set_string(m, "arch", plan->recipe->base.arch);
        if (r >= 0)
                r = json_set_string(m, "kernel", plan->kernel);
        if (r >= 0)
                r = json_set_int(m, "epoch", plan->lock->epoch);
        if (r >= 0)
                r = json_set_string(m, "tools", tools_digest);
        if (r >= 0 && findings->versions)
                r = json_set(m, "versions", json_object_get(findings->versions));
        return r;
}

int manifest_write(Context *ctx _unused_, const Plan *plan, const Findings *findings,
                const DiskInfo *disk, char *const *files, const char *tools_digest, bool proved,
                const ManifestTiming *timings, size_t n_timings, const char *path) {
        _cleanup_json_ json_object *m = json_object_new_object();
        _cleanup_free_ char *folder = path_folder(path), *sums_path = NULL, *text = NULL;
        _cleanup_strv_free_ char **sums = NULL;
        int r;

        sums_path = folder ? path_join(folder, "SHA256SUMS") : NULL;
        if (!m || !sums_path)
                return -ENOMEM;
        r = add_head(m, plan, findings, tools_digest, proved);
        if (r >= 0)
                r = add_recipe(m, plan->recipe);
        if (r >= 0)
                r = add_stages(m, plan);
        if (r >= 0)
                r = add_artifacts(m, plan->lock);
        if (r >= 0)
                r = add_disk(m, plan->recipe, disk);
        if (r >= 0)
                r = add_files(m, folder, files, &sums);
        if (r >= 0)
                r = add_timings(m, timings, n_timings);
        if (r >= 0)
                r = json_save(path, m, 0644);
        if (r < 0)
                return r;
        text = strv_join(sums, "");
        return text ? write_file_durable(sums_path, text, strlen(text), 0644) : -ENOMEM;
}
