/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a guest and what of them can differ. Times are not compared: our own builds give
 * every file the same, and a rebuilt vendor image gives every file another. So contents are, by
 * checksums that the appliance makes. */

#include "inspect/diff.h"

#include "shared/file-util.h"
#include "inspect/inspect.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CHUNK 2000 /* names in one call: well below libguestfs' limit on a message, 4 MB */

typedef struct FileEntry {
        char *path, *content;
        uint64_t size;
        unsigned mode, uid, gid;
} FileEntry;

struct FileList {
        FileEntry *entries;
        size_t n, allocated;
};

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

int file_list_add(FileList **l, const char *path, unsigned mode, unsigned uid, unsigned gid,
                uint64_t size, const char *content) {
        if (!*l && !(*l = calloc(1, sizeof(**l))))
                return -ENOMEM;
        if ((*l)->n == (*l)->allocated) {
                size_t wanted = MAX(2 * (*l)->allocated, (size_t) 1024);
                FileEntry *grown = reallocarray((*l)->entries, wanted, sizeof(*grown));
                if (!grown)
                        return -ENOMEM;
                (*l)->entries = grown;
                (*l)->allocated = wanted;
        }
        FileEntry *e = (*l)->entries + (*l)->n;
        *e = (FileEntry) {
                .path = strdup(path),
                .content = content ? strdup(content) : NULL,
                .size = size,
                .mode = mode,
                .uid = uid,
                .gid = gid,
        };
        if (!e->path || (content && !e->content)) {
                free(e->path);
                free(e->content);
                return -ENOMEM;
        }
        (*l)->n++;
        return 0;
}

static int by_path(const void *a, const void *b) {
        return strcmp(((const FileEntry *) a)->path, ((const FileEntry *) b)->path);
}

static void sort(FileList *l) {
        if (l->n > 0)
                qsort(l->entries, l->n, sizeof(*l->entries), by_path);
}

static FileEntry *find(FileList *l, const char *path) {
        FileEntry key = { .path = (char *) path };

        return l->n == 0 ? NULL : bsearch(&key, l->entries, l->n, sizeof(key), by_path);
}

/* A memory file that libguestfs writes into by its path. */
static int scratch_file(char path[static 64]) {
        int fd = memfd_create("imgbuild-diff", MFD_CLOEXEC);

        if (fd < 0)
                return -errno;
        snprintf(path, 64, "/proc/self/fd/%d", fd);
        return fd;
}

/* Where the links among the entries from `first` on lead to. All are of one folder. */
static int read_links(guestfs_h *g, const char *folder, FileList *l, size_t first) {
        _cleanup_free_ char **names =
                        calloc(l->n - first + 1, sizeof(*names)); /* borrows its strings */
        _cleanup_strv_free_ char **targets = NULL;
        size_t n = 0;

        if (!names)
                return -ENOMEM;
        for (size_t i = first; i < l->n; i++)
                if (S_ISLNK(l->entries[i].mode))
                        names[n++] = (char *) path_basename(l->entries[i].path);
        if (n == 0)
                return 0;
        targets = inspect_take_list(guestfs_readlinklist(g, folder, names));
        if (!targets || strv_length(targets) != n)
                return -EIO;
        n = 0;
        for (size_t i = first; i < l->n; i++)
                if (S_ISLNK(l->entries[i].mode) && !(l->entries[i].content = strdup(targets[n++])))
                        return -ENOMEM;
        return 0;
}

/* Entries of one folder, which libguestfs asks for at once: `names` are paths from the root. */
static int add_chunk(guestfs_h *g, char *const *names, size_t n, FileList **l) {
        _cleanup_free_ char **base = calloc(n + 1, sizeof(*base)); /* borrows its strings */
        _cleanup_free_ char *folder =
                        strf("/%.*s", (int) (path_basename(names[0]) - names[0]), names[0]);
        size_t first = (*l)->n, length = folder ? strlen(folder) : 0;
        int r = 0;

        if (!base || !folder)
                return -ENOMEM;
        if (length > 1) /* "/etc/" */
                folder[length - 1] = '\0';
        for (size_t i = 0; i < n; i++)
                base[i] = (char *) path_basename(names[i]);
        struct guestfs_statns_list *stats = guestfs_lstatnslist(g, folder, base);
        if (!stats)
                return -EIO;
        for (uint32_t i = 0; r >= 0 && i < stats->len && i < n; i++) {
                const struct guestfs_statns *s = stats->val + i;
                unsigned mode = (unsigned) s->st_mode;

                if (s->st_ino != -1)
                        r = file_list_add(l, names[i], mode, (unsigned) s->st_uid,
                                        (unsigned) s->st_gid,
                                        S_ISREG(mode) ? (uint64_t) s->st_size : 0, NULL);
        }
        guestfs_free_statns_list(stats);
        return r < 0 ? r : read_links(g, folder, *l, first);
}

/* By folder, then by name. */
static int by_folder(const void *a, const void *b) {
        const char *x = *(const char *const *) a, *y = *(const char *const *) b;
        size_t n = (size_t) (path_basename(x) - x), m = (size_t) (path_basename(y) - y);
        int r = memcmp(x, y, MIN(n, m));

        return r != 0 ? r : n != m ? (n < m ? -1 : 1) : strcmp(x, y);
}

static bool same_folder(const char *x, const char *y) {
        size_t n = (size_t) (path_basename(x) - x);

        return n == (size_t) (path_basename(y) - y) && memcmp(x, y, n) == 0;
}

/* Every path of the guest, in one stream of names that end with NUL. */
static int read_paths(guestfs_h *g, char **ret_text, char ***ret_paths, size_t *ret_n) {
        _cleanup_free_ char *text = NULL, **paths = NULL;
        char scratch[64];
        size_t size, n = 0, i = 0;
        int r, fd = scratch_file(scratch);

        if (fd < 0)
                return fd;
        r = guestfs_find0(g, "/", scratch) < 0 ? -EIO
                                               : read_file(scratch, (size_t) 1 << 30, &text, &size);
        close(fd);
        if (r < 0)
                return r;
        for (const char *p = text; p < text + size; p += strlen(p) + 1)
                n++;
        paths = calloc(n + 1, sizeof(*paths));
        if (!paths)
                return -ENOMEM;
        for (char *p = text; p < text + size; p += strlen(p) + 1)
                if (*p)
                        paths[i++] = p;
        *ret_text = TAKE_PTR(text);
        *ret_paths = TAKE_PTR(paths);
        *ret_n = i;
        return 0;
}

static int read_names(guestfs_h *g, FileList **l) {
        _cleanup_free_ char *text = NULL, **paths = NULL;
        size_t n = 0;
        int r;

        r = read_paths(g, &text, &paths, &n);
        if (r >= 0 && n > 0)
                qsort(paths, n, sizeof(*paths), by_folder);
        for (size_t i = 0, end; r >= 0 && i < n; i = end) {
                for (end = i + 1; end < n && end - i < CHUNK && same_folder(paths[i], paths[end]);)
                        end++;
                r = interrupt_signal() ? -ECANCELED : add_chunk(g, paths + i, end - i, l);
        }
        return r;
}

/* Lines of md5sum: digest, two characters, "./path". A name with a newline is escaped and left
 * without a checksum. */
static int read_contents(guestfs_h *g, FileList *l) {
        _cleanup_free_ char *line = NULL;
        char path[64];
        size_t room = 0;
        ssize_t n;
        int fd = scratch_file(path);

        if (fd < 0)
                return fd;
        _cleanup_fclose_ FILE *f = fdopen(fd, "r");
        if (!f) {
                close(fd);
                return -ENOMEM;
        }
        if (guestfs_checksums_out(g, "md5", "/", path) < 0)
                return -EIO;
        rewind(f);
        while ((n = getline(&line, &room, f)) >= 0) {
                char *space = strstr(line, "  ");

                if (n > 0 && line[n - 1] == '\n')
                        line[n - 1] = '\0';
                if (!space || line[0] == '\\')
                        continue;
                *space = '\0';
                const char *name = space + 2, *rest = startswith(name, "./");
                FileEntry *e = find(l, rest ? rest : name);
                if (e && !e->content && !(e->content = strdup(line)))
                        return -ENOMEM;
        }
        return 0;
}

int file_list_read(guestfs_h *g, bool contents, FileList **ret) {
        _cleanup_file_list_free_ FileList *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                return log_oom();
        r = read_names(g, &l);
        if (r >= 0) {
                sort(l);
                r = contents ? read_contents(g, l) : 0;
        }
        if (r == -EIO)
                return log_error_errno(r, "libguestfs cannot list the files: %s",
                                strempty(guestfs_last_error(g)));
        if (r < 0)
                return log_error_errno(r, "Cannot list the files");
        *ret = TAKE_PTR(l);
        return 0;
}

static int add_path(json_object *array, const char *path) {
        _cleanup_free_ char *absolute = strf("/%s", path);
        json_object *s = absolute ? json_object_new_string(absolute) : NULL;

        if (!s || json_object_array_add(array, s) < 0) {
                json_object_put(s);
                return -ENOMEM;
        }
        return 0;
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
        _cleanup_json_ json_object *what = json_object_new_array(), *o = json_object_new_object();
        _cleanup_free_ char *path = strf("/%s", a->path);
        int r;

        if (!what || !o || !path)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(aspects); i++)
                if (aspects[i].differs)
                        json_object_array_add(what, json_object_new_string(aspects[i].what));
        if (json_object_array_length(what) == 0)
                return 0;
        r = json_set_string(o, "path", path);
        if (r >= 0)
                r = json_set(o, "what", TAKE_PTR(what));
        if (r >= 0 && json_object_array_add(changed, o) >= 0)
                o = NULL;
        return r;
}

int file_list_compare(FileList *a, FileList *b, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object(), *added = json_object_new_array(),
                                   *removed = json_object_new_array(),
                                   *changed = json_object_new_array();
        int r = 0;

        if (!o || !added || !removed || !changed)
                return -ENOMEM;
        sort(a);
        sort(b);
        for (size_t i = 0, j = 0; r >= 0 && (i < a->n || j < b->n);) {
                int order = i == a->n   ? 1
                            : j == b->n ? -1
                                        : strcmp(a->entries[i].path, b->entries[j].path);

                if (order < 0)
                        r = add_path(removed, a->entries[i++].path);
                else if (order > 0)
                        r = add_path(added, b->entries[j++].path);
                else
                        r = compare_entry(a->entries + i++, b->entries + j++, changed);
        }
        if (r >= 0)
                r = json_set(o, "added", TAKE_PTR(added));
        if (r >= 0)
                r = json_set(o, "removed", TAKE_PTR(removed));
        if (r >= 0)
                r = json_set(o, "changed", TAKE_PTR(changed));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}
