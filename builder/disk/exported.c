/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The notes beside exported disks. A rebuild carries both over into the new folder, where the
 * note's identity is no longer the manifest's. */

#include "disk/exported.h"
#include "disk/internal.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/json-util.h"

#include <sys/stat.h>

#define NOTE ".from.json"
#define NOTE_MAX (64 * 1024)
#define MANIFEST_MAX (64 * 1024 * 1024)

/* NULL: there is no manifest, or it names no such file (where one is asked for). */
static char *identity_of(const char *folder, const char *file) {
        _cleanup_free_ char *path = realpath(folder, NULL);
        _cleanup_json_ json_object *manifest = NULL;
        json_object *files;

        if (!path || folder_load_json(path, "manifest.json", MANIFEST_MAX, &manifest) < 0)
                return NULL;
        files = json_get(manifest, "files");
        for (size_t i = 0; file && i < json_array_length(files); i++)
                if (streq_ptr(json_get_string(json_object_array_get_idx(files, i), "name"), file))
                        file = NULL;
        return file ? NULL : strdup(strempty(json_get_string(manifest, "identity")));
}

/* 1: what lies under the note's name is one, or nothing; 0: somebody else's. -ENOMEM. */
static int is_ours(const char *path) {
        _cleanup_free_ char *folder = path_folder(path),
                            *real = folder ? realpath(folder, NULL) : NULL;
        _cleanup_json_ json_object *note = NULL;
        struct stat st;

        if (!folder)
                return -ENOMEM;
        if (lstat(path, &st) < 0)
                return 1;
        return real && folder_load_json(real, path_basename(path), NOTE_MAX, &note) >= 0 &&
               json_get_string(note, "image") && json_get_string(note, "identity");
}

int exported_note(const char *image, const char *output) {
        _cleanup_free_ char *folder = path_folder(image), *path = strf("%s" NOTE, output),
                            *identity = NULL;
        _cleanup_json_ json_object *note = NULL;
        int r;

        if (!folder || !path)
                return -ENOMEM;
        r = is_ours(path);
        if (r <= 0)
                return r < 0 ? r : -EEXIST;
        identity = identity_of(folder, path_basename(image));
        if (isempty(identity))
                return unlink(path) < 0 && errno != ENOENT ? -errno : 0;

        note = json_object_new_object();
        if (!note || json_set_fields(note, JSON_STRING("image", path_basename(image)),
                                     JSON_STRING("identity", identity)) < 0)
                return -ENOMEM;
        return json_save(path, note, 0644);
}

/* Whether the note is of another build. */
static bool is_of_another(const char *folder, const char *name, const char *identity) {
        _cleanup_json_ json_object *note = NULL;
        const char *noted;

        if (folder_load_json(folder, name, NOTE_MAX, &note) < 0)
                return false; /* somebody else's file of that name */
        noted = json_get_string(note, "identity");
        return !isempty(noted) && !streq(noted, identity);
}

/* The file that the note `name` stands beside, where it is stale; NULL: it is not, or out of
 * memory. */
static char *stale_file(const char *folder, const char *name, const char *identity) {
        _cleanup_free_ char *file = NULL, *disk = NULL;

        if (!endswith(name, NOTE))
                return NULL;
        file = strndup(name, strlen(name) - strlen(NOTE));
        disk = file ? path_join(folder, file) : NULL;
        if (!disk || access(disk, F_OK) < 0 || !is_of_another(folder, name, identity))
                return NULL;
        return TAKE_PTR(file);
}

int exported_stale(const char *folder, char ***ret) {
        _cleanup_free_ char *identity = identity_of(folder, NULL);
        _cleanup_strv_free_ char **stale = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(folder, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                char *file = isempty(identity) ? NULL : stale_file(folder, name, identity);

                if (!file)
                        continue;
                r = strv_push(&stale, file);
                if (r < 0)
                        return r;
        }
        strv_sort(stale);
        *ret = TAKE_PTR(stale);
        return 0;
}
