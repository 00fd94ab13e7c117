/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock files in. What is read here names files, versions and URLs that later rooms use without
 * looking again, so everything is checked; people merge these files in git, so the messages expect
 * that. */

#include "store/digest.h"
#include "shared/file-util.h"
#include "lock/read.h"
#include "shared/log.h"

#include <inttypes.h>
#include <sys/stat.h>

/* Every file of an image gets such a time: no file system, archive or program ends before it. */
#define EPOCH_MAX INT64_C(4294967295) /* seconds since 1970: 2106 */
#define EPOCH_WANTED "a number of seconds since 1970, before the year 2106"

static const Field origin_fields[] = {
        { "name", lock_name_valid, false, "the origin's name" },
        { "uri", lock_url_valid, true, "a URI" },
        { "suite", lock_text_valid, true, "a suite such as trixie" },
        { "fingerprint", lock_name_valid, true, "a key's fingerprint" },
        { "key", lock_base64_valid, true, "a public key in base64" },
};

static const Field package_fields[] = {
        { "name", lock_name_valid, false, "a package's name" },
        { "version", lock_version_valid, false, "a package's version" },
        { "arch", lock_name_valid, false, "an architecture" },
        { "origin", lock_name_valid, false, "the name of one of $.origins" },
        { "path", lock_path_valid, false, "a path below the origin's URI, without '..'" },
        { "size", NULL, false, "a number of bytes" },
        { "sha256", digest_valid, false, DIGEST_WANTED },
        { "kernel", lock_name_valid, true, "a kernel's release" },
};

static const Field artifact_fields[] = {
        { "overlay", lock_name_valid, false, "an overlay's name" },
        { "name", lock_name_valid, false, "an artifact's name" },
        { "version", lock_text_valid, true, "a version" },
        { "url", lock_url_valid, false, "a URL" },
        { "size", NULL, false, "a number of bytes" },
        { "sha256", digest_valid, false, DIGEST_WANTED },
};

static const Field image_fields[] = {
        { "name", lock_line_valid, false, "the image's URL or file name" },
        { "root", lock_text_valid, true, "a device such as /dev/sda2" },
        { "signed_by", lock_text_valid, true, "a fingerprint" },
        { "sha256", digest_valid, false, DIGEST_WANTED },
        { "distro", lock_name_valid, false, "a distribution" },
        { "release", lock_name_valid, false, "a release such as trixie" },
        { "kernel", lock_name_valid, true, "a kernel's release" },
        { "status", digest_valid, false, DIGEST_WANTED },
        { "size", NULL, false, "a number of bytes" },
        { "newest", NULL, false, EPOCH_WANTED },
};

/* Only where the base is one. */
static int read_image(Reader *r, json_object *root, Lock *l) {
        json_object *o = json_get(root, "image");
        const char *s[ELEMENTSOF(image_fields)];
        uint64_t numbers[2] = {};
        LockedImage image;

        if (!o || !lock_read_fields(r, o, "$.image", image_fields, ELEMENTSOF(image_fields), s,
                                  numbers))
                return 0;
        if (numbers[1] > (uint64_t) EPOCH_MAX)
                lock_bad(r, "$.image", "\"newest\" must be " EPOCH_WANTED);
        image = (LockedImage) {
                .name = (char *) s[0],
                .root = (char *) s[1],
                .signed_by = (char *) s[2],
                .sha256 = (char *) s[3],
                .distro = (char *) s[4],
                .release = (char *) s[5],
                .kernel = (char *) s[6],
                .status = (char *) s[7],
                .size = numbers[0],
                .newest = (int64_t) numbers[1],
        };
        return lock_set_image(l, &image);
}

static int read_origins(Reader *r, json_object *root, Lock *l) {
        size_t n;
        json_object *a = lock_read_array(r, root, "$", "origins", &n);

        for (size_t i = 0; i < n; i++) {
                const char *s[ELEMENTSOF(origin_fields)];
                char where[64];

                snprintf(where, sizeof(where), "$.origins[%zu]", i);
                if (!lock_read_fields(r, json_object_array_get_idx(a, i), where, origin_fields,
                                    ELEMENTSOF(origin_fields), s, NULL))
                        continue;
                if (lock_find_origin(l, s[0]))
                        lock_bad(r, where, "there are two origins \"%s\"", s[0]);
                if ((s[1] || s[3] || s[4]) && (!s[3] || !s[4]))
                        lock_bad(r, where,
                                        "a repository's \"fingerprint\" and \"key\" are missing");
                if (!s[1] && !s[2]) /* dnf's repositories have none */
                        lock_bad(r, where, "\"suite\" must be a suite such as trixie");
                LockedOrigin o = {
                        .name = (char *) s[0],
                        .uri = (char *) s[1],
                        .suite = (char *) s[2],
                        .fingerprint = (char *) s[3],
                        .key = (char *) s[4],
                };
                if (lock_add_origin(l, &o) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int read_stage(Reader *r, json_object *o, const char *where, Lock *l) {
        static const char *const keys[] = { "id", "request", "packages" };
        const char *id = json_get_string(o, "id"), *request = json_get_string(o, "request");
        LockedStage *stage;
        json_object *a;
        size_t n;

        if (!json_object_is_type(o, json_type_object)) {
                lock_bad(r, where, "must be an object");
                return 0;
        }
        json_object_object_foreach (o, key, ignored) {
                (void) ignored;
                if (!streq(key, keys[0]) && !streq(key, keys[1]) && !streq(key, keys[2]))
                        lock_unknown_key(r, where, key);
        }
        if (!id || !lock_id_valid(id))
                lock_bad(r, where, "\"id\" must be a stage such as \"packages:slurm\"");
        else if (lock_find_stage(l, id))
                lock_bad(r, where, "there are two stages \"%s\"", id);
        if (!request || !digest_valid(request))
                lock_bad(r, where, "\"request\" must be " DIGEST_WANTED);
        a = lock_read_array(r, o, where, "packages", &n);
        if (lock_add_stage(l, strempty(id), strempty(request), &stage) < 0)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                const char *s[ELEMENTSOF(package_fields)];
                uint64_t size = 0;
                char here[128];

                snprintf(here, sizeof(here), "%s.packages[%zu]", where, i);
                if (!lock_read_fields(r, json_object_array_get_idx(a, i), here, package_fields,
                                    ELEMENTSOF(package_fields), s, &size))
                        continue;
                if (!lock_find_origin(l, s[3]))
                        lock_bad(r, here, "origin \"%s\" is not one of $.origins", s[3]);
                LockedPackage p = {
                        .name = (char *) s[0],
                        .version = (char *) s[1],
                        .arch = (char *) s[2],
                        .origin = (char *) s[3],
                        .path = (char *) s[4],
                        .sha256 = (char *) s[5],
                        .kernel = (char *) s[6],
                        .size = size,
                };
                if (locked_stage_add(stage, &p) < 0)
                        return -ENOMEM;
        }

        locked_stage_sort(stage);
        for (size_t i = 1; i < stage->n_packages; i++)
                if (streq(stage->packages[i - 1].name, stage->packages[i].name) &&
                                streq(stage->packages[i - 1].arch, stage->packages[i].arch))
                        lock_bad(r, where, "package \"%s\" is listed twice",
                                        stage->packages[i].name);
        return 0;
}

static int read_artifacts(Reader *r, json_object *root, Lock *l) {
        size_t n;
        json_object *a = lock_read_array(r, root, "$", "artifacts", &n);

        for (size_t i = 0; i < n; i++) {
                const char *s[ELEMENTSOF(artifact_fields)];
                uint64_t size = 0;
                char where[64];

                snprintf(where, sizeof(where), "$.artifacts[%zu]", i);
                if (!lock_read_fields(r, json_object_array_get_idx(a, i), where, artifact_fields,
                                    ELEMENTSOF(artifact_fields), s, &size))
                        continue;
                if (lock_find_artifact(l, s[0], s[1]))
                        lock_bad(r, where, "artifact \"%s\" of overlay \"%s\" is listed twice",
                                        s[1], s[0]);
                LockedArtifact artifact = {
                        .overlay = (char *) s[0],
                        .name = (char *) s[1],
                        .version = (char *) s[2],
                        .url = (char *) s[3],
                        .sha256 = (char *) s[4],
                        .size = size,
                };
                if (lock_add_artifact(l, &artifact) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int read_root(Reader *r, json_object *root, Lock **ret) {
        static const char *const keys[] = { "version", "recipe", "epoch", "image", "origins",
                "stages", "artifacts", "python" };
        _cleanup_lock_free_ Lock *l = NULL;
        const char *recipe = json_get_string(root, "recipe");
        int64_t version = json_get_int(root, "version", 0);
        json_object *a;
        size_t n;

        if (!json_object_is_type(root, json_type_object)) {
                lock_bad(r, "$", "must be an object");
                return 0;
        }
        if (version != LOCK_VERSION) {
                lock_bad(r, "$.version",
                                "this imgbuild reads version %d, the file has %" PRId64 "%s",
                                LOCK_VERSION, version,
                                version > LOCK_VERSION ? ": it needs a newer imgbuild" : "");
                return 0;
        }
        json_object_object_foreach (root, key, ignored) {
                bool known = false;

                (void) ignored;
                for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                        known = known || streq(keys[i], key);
                if (!known)
                        lock_unknown_key(r, "$", key);
        }
        if (!recipe || !lock_name_valid(recipe)) {
                lock_bad(r, "$", "\"recipe\" must be the recipe's name");
                recipe = "";
        }
        if (lock_new(recipe, &l) < 0)
                return -ENOMEM;
        l->epoch = json_get_int(root, "epoch", -1);
        if (l->epoch < 0 || l->epoch > EPOCH_MAX)
                lock_bad(r, "$", "\"epoch\" must be " EPOCH_WANTED);
        if (read_image(r, root, l) < 0 || read_origins(r, root, l) < 0)
                return -ENOMEM;
        a = lock_read_array(r, root, "$", "stages", &n);
        for (size_t i = 0; i < n; i++) {
                char where[64];

                snprintf(where, sizeof(where), "$.stages[%zu]", i);
                if (read_stage(r, json_object_array_get_idx(a, i), where, l) < 0)
                        return -ENOMEM;
        }
        if (read_artifacts(r, root, l) < 0 || lock_read_environments(r, root, l) < 0)
                return -ENOMEM;
        lock_sort(l);
        *ret = TAKE_PTR(l);
        return 0;
}

static bool has_conflict_markers(const char *text) {
        return startswith(text, "<<<<<<< ") || strstr(text, "\n<<<<<<< ");
}

int lock_read(const char *path, Lock **ret) {
        _cleanup_json_ json_object *root = NULL;
        _cleanup_lock_free_ Lock *l = NULL;
        _cleanup_free_ char *text = NULL;
        Reader reader = { .path = path };
        JsonError error = {};
        struct stat st;
        size_t size;
        int r;

        if (stat(path, &st) >= 0 && !S_ISREG(st.st_mode)) /* a pipe would be waited for */
                return log_error_return(-EINVAL,
                                "%s is no regular file; move it away, and 'imgbuild lock' makes a lock",
                                path);
        r = read_file(path, LOCK_SIZE_MAX, &text, &size);
        if (r == -ENOENT)
                return r;
        if (r == -EFBIG) {
                log_error("%s: larger than the %d MiB a lock may have; remove it, and 'imgbuild lock' makes a new one",
                                path, LOCK_SIZE_MAX / (1024 * 1024));
                return -EINVAL;
        }
        if (r < 0)
                return log_error_errno(r, "%s: Cannot read the lock", path);

        r = json_parse(text, size, &error, &root);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0 && has_conflict_markers(text)) {
                log_error("%s:%u: unresolved merge: "
                          "take either side's whole file (git checkout --ours or --theirs), "
                          "and 'imgbuild lock' adds what it lacks",
                                path, error.line);
                return -EINVAL;
        }
        if (r < 0) {
                log_error("%s:%u:%u: %s; restore the file from git, or remove it and 'imgbuild lock' makes a new one",
                                path, error.line, error.column, error.message);
                return -EINVAL;
        }
        r = read_root(&reader, root, &l);
        if (r < 0)
                return log_oom();
        if (reader.errors > 0) {
                if (reader.errors > ERRORS_SHOWN)
                        log_error("%s: and %zu more of these", path, reader.errors - ERRORS_SHOWN);
                log_error("%s: not a lock to build from; restore it from git, or remove it and 'imgbuild lock' makes a new one",
                                path);
                return -EINVAL;
        }
        *ret = TAKE_PTR(l);
        return 0;
}
