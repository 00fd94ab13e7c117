/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* manifest.json and SHA256SUMS beside the image. docs/disk.md describes the keys; output.c reads
 * some of them back to see whether a build is due, so they are an interface. */

#include "disk/disk.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"

#define MANIFEST_VERSION 1

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

static int add_source(json_object *sources, const Recipe *recipe, const char *path) {
        _cleanup_free_ char *shown = path_from(recipe->path, path);
        json_object *source = NULL;
        Digest digest;
        int r;

        if (!shown)
                return -ENOMEM;
        r = digest_file(path, digest, NULL);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it again", path);
        r = json_append_object(sources, &source);
        if (r < 0)
                return r;
        return json_set_fields(source, JSON_STRING("path", shown), JSON_STRING("sha256", digest));
}

static int add_recipe(json_object *m, const Recipe *recipe) {
        json_object *o = NULL, *sources = NULL, *merged = NULL;
        int r;

        r = json_add_object(m, "recipe", &o);
        if (r < 0)
                return r;
        r = json_set_string(o, "name", recipe->name);
        if (r < 0)
                return r;
        r = json_add_array(o, "sources", &sources);
        if (r < 0)
                return r;
        STRV_FOREACH (path, recipe->sources) {
                r = add_source(sources, recipe, *path);
                if (r < 0)
                        return r;
        }

        r = recipe_to_json(recipe, &merged);
        if (r < 0)
                return r;
        return json_set(o, "merged", merged);
}

/* The repository that an overlay named, NULL for the distribution's own archive. */
static const char *foreign_origin(const Lock *lock, const LockedPackage *p) {
        const LockedOrigin *origin = p->origin ? lock_find_origin(lock, p->origin) : NULL;

        return origin && origin->uri ? origin->name : NULL;
}

/* The packages that a stage installed; `locked` may be NULL. */
static int add_packages(json_object *array, const Lock *lock, const LockedStage *locked,
                const char *stage) {
        for (size_t i = 0; locked && i < locked->n_packages; i++) {
                const LockedPackage *p = locked->packages + i;
                json_object *package = NULL;
                int r;

                r = json_append_object(array, &package);
                if (r < 0)
                        return r;
                r = json_set_fields(package, JSON_STRING("name", p->name),
                                JSON_STRING("version", p->version), JSON_STRING("arch", p->arch),
                                JSON_STRING("sha256", p->sha256), JSON_STRING("stage", stage),
                                JSON_STRING("origin", foreign_origin(lock, p)));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What the image has, and apart from it what was only there to compile. */
static int add_all_packages(json_object *m, const Plan *plan) {
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                const char *key = s->kind == STAGE_COMPILE ? "build_packages" : "packages";
                json_object *array = json_get(m, key);
                int r;

                if (!array) {
                        r = json_add_array(m, key, &array);
                        if (r < 0)
                                return r;
                }
                r = add_packages(array, plan->lock, s->locked, s->id);
                if (r < 0)
                        return r;
        }
        return 0;
}

static char *package_key(json_object *p) {
        return strf("%s %s %s", strempty(json_get_string(p, "name")),
                        strempty(json_get_string(p, "version")),
                        strempty(json_get_string(p, "arch")));
}

static int index_packages(json_object *packages, json_object *index) {
        for (size_t i = 0; i < json_array_length(packages); i++) {
                json_object *p = json_object_array_get_idx(packages, i);
                _cleanup_free_ char *key = package_key(p);

                if (!key || json_set(index, key, json_object_get(p)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* By which vulnerabilities are recorded; no lock has it, but the packages themselves. */
static int add_package_sources(json_object *m, const Findings *findings) {
        _cleanup_json_ json_object *index = json_object_new_object();
        json_object *packages = json_get(m, "packages");

        if (!index || index_packages(findings->installed, index) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(packages); i++) {
                json_object *p = json_object_array_get_idx(packages, i), *o;
                _cleanup_free_ char *key = package_key(p);

                if (!key)
                        return -ENOMEM;
                o = json_get(index, key);
                if (json_set_fields(p, JSON_STRING("source", json_get_string(o, "source")),
                                    JSON_STRING("source_version",
                                                    json_get_string(o, "source_version"))) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* What is installed, and no stage of the lock's installed it: the vendor's, and packages among
 * artifacts. */
static int add_image_packages(json_object *m, const Plan *plan, const Findings *findings) {
        _cleanup_json_ json_object *locked = json_object_new_object();
        json_object *array = NULL;
        int r;

        if (!plan->recipe->base.image)
                return 0;
        r = json_add_array(m, "image_packages", &array);
        if (r < 0)
                return r;
        if (!locked || index_packages(json_get(m, "packages"), locked) < 0)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < json_array_length(findings->installed); i++) {
                json_object *p = json_object_array_get_idx(findings->installed, i);
                _cleanup_free_ char *key = package_key(p);

                if (!key)
                        return -ENOMEM;
                if (!json_get(locked, key))
                        r = json_append(array, json_object_get(p));
        }
        return r;
}

static int add_stages(json_object *m, const Plan *plan) {
        json_object *stages = NULL;
        int r;

        r = json_add_array(m, "stages", &stages);
        if (r < 0)
                return r;
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;
                json_object *o = NULL;

                r = json_append_object(stages, &o);
                if (r < 0)
                        return r;
                r = json_set_fields(o, JSON_STRING("id", s->id),
                                JSON_STRING("kind", stage_kind_name(s->kind)),
                                JSON_STRING("digest", s->digest));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_artifacts(json_object *m, const Lock *lock) {
        json_object *array = NULL;
        int r;

        r = json_add_array(m, "artifacts", &array);
        if (r < 0)
                return r;
        for (size_t i = 0; i < lock->n_artifacts; i++) {
                const LockedArtifact *a = lock->artifacts + i;
                json_object *o = NULL;

                r = json_append_object(array, &o);
                if (r < 0)
                        return r;
                r = json_set_fields(o, JSON_STRING("overlay", a->overlay),
                                JSON_STRING("name", a->name), JSON_STRING("version", a->version),
                                JSON_STRING("url", a->url), JSON_STRING("sha256", a->sha256));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_wheels(json_object *array, const LockedEnvironment *e) {
        for (size_t i = 0; i < e->n_wheels; i++) {
                const LockedWheel *w = e->wheels + i;
                json_object *o = NULL;
                int r;

                r = json_append_object(array, &o);
                if (r < 0)
                        return r;
                r = json_set_fields(o, JSON_STRING("environment", e->path),
                                JSON_STRING("name", w->name), JSON_STRING("version", w->version),
                                JSON_STRING("licence", w->licence), JSON_STRING("file", w->file),
                                JSON_STRING("role", w->role), JSON_STRING("sha256", w->sha256));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_python(json_object *m, const Lock *lock) {
        json_object *array = NULL;
        int r;

        if (lock->n_environments == 0)
                return 0;
        r = json_add_array(m, "python", &array);
        for (size_t i = 0; r == 0 && i < lock->n_environments; i++)
                r = add_wheels(array, lock->environments + i);
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
        int r;

        r = json_add_object(m, "disk", &o);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                if (numbers[i].value == 0)
                        continue;
                r = json_set_int(o, numbers[i].key, (int64_t) numbers[i].value);
                if (r < 0)
                        return r;
        }
        if (recipe->disk.keep)
                return json_set_string(o, "layout", "keep");
        r = json_set_fields(o, JSON_STRING("filesystem", recipe->disk.filesystem),
                        JSON_STRING("guid", d->disk_guid), JSON_STRING("root_uuid", d->root_uuid),
                        JSON_STRING("esp_id", d->esp_start > 0 ? d->esp_id : NULL));
        if (r < 0)
                return r;

        r = json_add_array(o, "firmware", &firmware);
        if (r < 0)
                return r;
        STRV_FOREACH (f, recipe->disk.firmware) {
                r = json_append(firmware, json_object_new_string(*f));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_timings(json_object *m, const ManifestTiming *timings, size_t n) {
        json_object *o = NULL;
        int r;

        r = json_add_object(m, "timings", &o);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) { /* seconds, to the millisecond */
                double seconds = (double) timings[i].usec / (double) USEC_PER_SEC;
                _cleanup_free_ char *text = strf("%.3f", seconds);

                if (!text)
                        return -ENOMEM;
                r = json_set(o, timings[i].what, json_object_new_double_s(seconds, text));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* One image, in the manifest and as a line of SHA256SUMS. */
static int add_file(json_object *array, const char *folder, const char *name, char ***sums) {
        _cleanup_close_ int fd = inside_open_output(folder, name, SIZE_MAX);
        json_object *o = NULL;
        Digest digest;
        uint64_t size;
        int r;

        r = fd < 0 ? fd : digest_fd(fd, digest, &size);
        if (r < 0)
                return log_error_errno(r, "%s/%s: cannot read it back", folder, name);
        r = json_append_object(array, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("name", name), JSON_INT("size", size),
                        JSON_STRING("sha256", digest));
        if (r < 0)
                return r;
        return strv_extendf(sums, "%s  %s\n", digest, name);
}

static int add_files(json_object *m, const char *folder, char *const *files, char ***sums) {
        json_object *array = NULL;
        int r;

        r = json_add_array(m, "files", &array);
        if (r < 0)
                return r;
        STRV_FOREACH (name, files) {
                r = add_file(array, folder, *name, sums);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Which stages may have another result next time; none of them, and no kernel wrote to its disk:
 * the image is reproducible. */
static int add_reproducible(json_object *m, const Plan *plan) {
        json_object *stages = NULL;
        int r;

        r = json_add_array(m, "network_stages", &stages);
        if (r < 0)
                return r;
        for (size_t i = 0; i < plan->n_stages; i++) {
                if (!stage_uses_network(plan->stages + i))
                        continue;
                r = json_append(stages, json_object_new_string(plan->stages[i].id));
                if (r < 0)
                        return r;
        }
        return json_set_fields(
                        m, JSON_BOOL("reproducible", json_object_array_length(stages) == 0 &&
                                                                     !plan->recipe->disk.keep));
}

static int add_head(json_object *m, const Plan *plan, const Findings *findings,
                const char *tools_digest, bool proved) {
        const Recipe *recipe = plan->recipe;
        Digest identity;
        int r;

        r = output_identity(plan, tools_digest, identity);
        if (r < 0)
                return r;
        return json_set_fields(m, JSON_INT("manifest", MANIFEST_VERSION),
                        JSON_STRING("name", recipe->name), JSON_STRING("imgbuild", VERSION),
                        JSON_STRING("identity", identity), JSON_BOOL("proved", proved),
                        JSON_STRING("distro", recipe->base.distro),
                        JSON_STRING("release", recipe->base.release),
                        JSON_STRING("arch", recipe->base.arch), JSON_STRING("kernel", plan->kernel),
                        JSON_INT("epoch", plan->lock->epoch), JSON_STRING("tools", tools_digest),
                        JSON_TAKE("versions", json_object_get(findings->versions)),
                        JSON_TAKE("privileged", json_object_get(findings->privileged)));
}

/* What the image is made of, and the disk it became. */
static int add_sources(
                json_object *m, const Plan *plan, const Findings *findings, const DiskInfo *disk) {
        int r;

        r = add_recipe(m, plan->recipe);
        if (r < 0)
                return r;
        r = add_stages(m, plan);
        if (r < 0)
                return r;
        r = add_all_packages(m, plan);
        if (r < 0)
                return r;
        r = add_package_sources(m, findings);
        if (r < 0)
                return r;
        r = add_image_packages(m, plan, findings);
        if (r < 0)
                return r;
        r = add_artifacts(m, plan->lock);
        if (r < 0)
                return r;
        r = add_python(m, plan->lock);
        if (r < 0)
                return r;
        return add_disk(m, plan->recipe, disk);
}

int manifest_write(const Plan *plan, const Findings *findings, const DiskInfo *disk,
                char *const *files, const char *tools_digest, json_object *base_made_with,
                json_object *compiled, bool proved, const ManifestTiming *timings, size_t n_timings,
                const char *path) {
        _cleanup_json_ json_object *m = json_object_new_object();
        _cleanup_free_ char *folder = path_folder(path), *sums_path = NULL, *text = NULL;
        _cleanup_strv_free_ char **sums = NULL;
        int r;

        if (!m || !folder)
                return -ENOMEM;
        sums_path = path_join(folder, "SHA256SUMS");
        if (!sums_path)
                return -ENOMEM;

        r = add_head(m, plan, findings, tools_digest, proved);
        if (r < 0)
                return r;
        r = json_set_fields(m, JSON_TAKE("base_made_with", json_object_get(base_made_with)),
                        JSON_TAKE("compiled", json_object_get(compiled)));
        if (r < 0)
                return r;
        r = add_reproducible(m, plan);
        if (r < 0)
                return r;
        r = add_sources(m, plan, findings, disk);
        if (r < 0)
                return r;
        r = add_files(m, folder, files, &sums);
        if (r < 0)
                return r;
        r = add_timings(m, timings, n_timings);
        if (r < 0)
                return r;
        r = json_save(path, m, 0644);
        if (r < 0)
                return r;

        text = strv_join(sums, "");
        if (!text)
                return -ENOMEM;
        return write_file_durable(sums_path, text, strlen(text), 0644);
}
