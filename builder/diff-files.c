/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a guest and what of them can differ. Times are not compared: our own builds give every file the same,
 * and a rebuilt vendor image gives every file another. So contents are, by checksums that the appliance makes. */

#include "diff.h"

#include "inspect.h"
#include "log.h"

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

int file_list_add(FileList **l, const char *path, unsigned mode, unsigned uid, unsigned gid, uint64_t size, const char *content) {
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
                .path = strdup(path), .content = content ? strdup(content) : NULL, .size = size, .mode = mode, .uid = uid, .gid = gid,
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

static int add_chunk(guestfs_h *g, char **names, FileList **l) {
        struct guestfs_statns_list *stats = guestfs_lstatnslist(g, "/", names);
        _cleanup_strv_free_ char **links = NULL;
        int r = 0;

        if (!stats)
                return -EIO;
        links = inspect_take_list(guestfs_readlinklist(g, "/", names)); /* "" for what is no link */
        if (!links)
                r = -EIO;
        for (uint32_t i = 0; r >= 0 && i < stats->len && names[i]; i++) {
                const struct guestfs_statns *s = stats->val + i;
                unsigned mode = (unsigned) s->st_mode;
                bool has_size = S_ISREG(mode);

                if (s->st_ino == -1)
                        continue;
                r = file_list_add(l, names[i], mode, (unsigned) s->st_uid, (unsigned) s->st_gid,
                                has_size ? (uint64_t) s->st_size : 0, S_ISLNK(mode) && i < strv_length(links) ? links[i] : NULL);
        }
        guestfs_free_statns_list(stats);
        return r;
}

static int read_names(guestfs_h *g, FileList **l) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *name = NULL;
        char path[64];
        size_t room = 0;
        int r = 0, fd = scratch_file(path);

        if (fd < 0)
                return fd;
        _cleanup_fclose_ FILE *f = fdopen(fd, "r");
        if (!f) {
                close(fd);
                return -ENOMEM;
        }
        if (guestfs_find0(g, "/", path) < 0)
                return -EIO;
        rewind(f);
        for (;;) {
                ssize_t n = getdelim(&name, &room, '\0', f);

                if (n > 0)
                        r = strv_extend(&names, name);
                if (r >= 0 && names && (n < 0 || strv_length(names) == CHUNK)) {
                        r = add_chunk(g, names, l);
                        names = strv_free(names);
                }
                if (n < 0 || r < 0)
                        return r;
        }
}

/* Lines of md5sum: digest, two characters, "./path". A name with a newline is escaped and left without a checksum. */
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
                return log_error_errno(r, "libguestfs cannot list the files: %s", strempty(guestfs_last_error(g)));
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
                                   *removed = json_object_new_array(), *changed = json_object_new_array();
        int r = 0;

        if (!o || !added || !removed || !changed)
                return -ENOMEM;
        sort(a);
        sort(b);
        for (size_t i = 0, j = 0; r >= 0 && (i < a->n || j < b->n);) {
                int order = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->entries[i].path, b->entries[j].path);

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
