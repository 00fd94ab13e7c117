/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of two guests, side by side. Times are not compared: our own builds give
 * every file the same, and a rebuilt vendor image gives every file another. So contents
 * are, by their checksums. */

#include "inspect/internal.h"

#include <sys/stat.h>

FileList *file_list_new(void) {
        return calloc(1, sizeof(FileList));
}

FileList *file_list_free(FileList *l) {
        if (!l)
                return NULL;
        for (size_t i = 0; i < l->n; i++) {
                free(l->entries[i].path);
                free(l->entries[i].content);
        }
        free(l->entries);
        free(l);
        return NULL;
}

static int make_room(FileList *l) {
        size_t wanted = MAX(2 * l->allocated, (size_t) 1024);
        FileEntry *grown;

        if (l->n < l->allocated)
                return 0;
        grown = reallocarray(l->entries, wanted, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        l->entries = grown;
        l->allocated = wanted;
        return 0;
}

int file_list_add(FileList *l, const char *path, unsigned mode, unsigned uid, unsigned gid,
                uint64_t size, const char *content) {
        FileEntry e = { .size = size, .mode = mode, .uid = uid, .gid = gid };
        int r;

        r = make_room(l);
        if (r < 0)
                return r;
        e.path = strdup(path);
        e.content = content ? strdup(content) : NULL;
        if (!e.path || (content && !e.content)) {
                free(e.path);
                free(e.content);
                return -ENOMEM;
        }
        l->entries[l->n++] = e;
        return 0;
}

void file_list_sum(const FileList *l, size_t *ret_files, uint64_t *ret_bytes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < l->n; i++)
                bytes += l->entries[i].size;
        *ret_files = l->n;
        *ret_bytes = bytes;
}

uint64_t file_list_checksum_text(const FileList *l) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < l->n; i++)
                if (S_ISREG(l->entries[i].mode))
                        bytes += 32 + strlen("  ./\n") + strlen(l->entries[i].path);
        return bytes;
}

static int by_path(const void *a, const void *b) {
        return strcmp(((const FileEntry *) a)->path, ((const FileEntry *) b)->path);
}

void file_list_sort(FileList *l) {
        if (l->n > 0)
                qsort(l->entries, l->n, sizeof(*l->entries), by_path);
}

FileEntry *file_list_find(FileList *l, const char *path) {
        FileEntry key = { .path = (char *) path };

        return l->n == 0 ? NULL : bsearch(&key, l->entries, l->n, sizeof(key), by_path);
}

static int add_path(json_object *array, const char *path) {
        _cleanup_free_ char *absolute = strf("/%s", path);

        if (!absolute)
                return -ENOMEM;
        return json_append(array, json_object_new_string(absolute));
}

/* Nothing is added where the two are alike. */
static int compare_entry(const FileEntry *a, const FileEntry *b, json_object *changed) {
        const struct {
                const char *what;
                bool differs;
        } aspects[] = {
                { "type", (a->mode & S_IFMT) != (b->mode & S_IFMT) },
                { "mode", (a->mode & 07777) != (b->mode & 07777) },
                { "owner", a->uid != b->uid || a->gid != b->gid },
                { "size", a->size != b->size },
                { "content", !streq_ptr(a->content, b->content) },
        };
        _cleanup_json_ json_object *what = json_object_new_array();
        _cleanup_free_ char *path = strf("/%s", a->path);
        json_object *o = NULL;
        int r;

        if (!what || !path)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(aspects); i++) {
                if (!aspects[i].differs)
                        continue;
                r = json_append(what, json_object_new_string(aspects[i].what));
                if (r < 0)
                        return r;
        }
        if (json_object_array_length(what) == 0)
                return 0;

        r = json_append_object(changed, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("path", path), JSON_TAKE("what", TAKE_PTR(what)));
}

int file_list_compare(FileList *a, FileList *b, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *added = NULL, *removed = NULL, *changed = NULL;

        if (!o || json_add_array(o, "added", &added) < 0 ||
                        json_add_array(o, "removed", &removed) < 0 ||
                        json_add_array(o, "changed", &changed) < 0)
                return -ENOMEM;
        file_list_sort(a);
        file_list_sort(b);

        for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
                int r, order = i == a->n   ? 1
                               : j == b->n ? -1
                                           : strcmp(a->entries[i].path, b->entries[j].path);

                if (order < 0)
                        r = add_path(removed, a->entries[i++].path);
                else if (order > 0)
                        r = add_path(added, b->entries[j++].path);
                else
                        r = compare_entry(a->entries + i++, b->entries + j++, changed);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(o);
        return 0;
}
