/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the layers above the image made of it. Whatever lies in one of them was made, changed or
 * removed; which of it, the merged tree says. */

#include "disk/keep.h"

#include "disk/walk.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SECTOR 512

typedef struct List {
        char **items; /* "/a/b" */
        size_t n, room;
} List;

static void list_done(List *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i]);
        free(l->items);
}

static int list_add(List *l, const char *path) {
        if (l->n == l->room) {
                size_t room = MAX(2 * l->room, (size_t) 1024);
                char **grown = reallocarray(l->items, room, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                l->items = grown;
                l->room = room;
        }
        l->items[l->n] = strdup(path);
        return l->items[l->n] ? (l->n++, 0) : -ENOMEM;
}

static int by_path(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Parents come before what is in them. */
static void list_sort(List *l) {
        size_t n = 0;

        if (l->n > 0)
                qsort(l->items, l->n, sizeof(*l->items), by_path);
        for (size_t i = 0; i < l->n; i++) {
                if (n > 0 && streq(l->items[n - 1], l->items[i]))
                        free(l->items[i]);
                else
                        l->items[n++] = l->items[i];
        }
        l->n = n;
}

typedef struct Changes {
        const Disk *d;
        List all, opaque; /* opaque: folders of which nothing below counts */
        KeepChanges *shared;
} Changes;

static bool is_opaque(const char *folder) {
        static const char *const names[] = { "trusted.overlay.opaque", "user.overlay.opaque" };
        char value[2];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (lgetxattr(folder, names[i], value, sizeof(value)) == 1 && value[0] == 'y')
                        return true;
        return false;
}

/* What is mounted over when the system runs, and what mkfs made. */
static bool is_nobodys(const char *inside) {
        static const char *const folders[] = { "/dev/", "/proc/", "/sys/", "/run/", "/tmp/",
                "/lost+found" };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++)
                if (startswith(inside, folders[i]))
                        return true;
        return false;
}

static int note(const FTSENT *e, const char *inside, void *userdata) {
        Changes *c = userdata;

        if (e->fts_info == FTS_DP || !*inside || is_nobodys(inside))
                return 0;
        if (e->fts_info == FTS_D && is_opaque(e->fts_accpath)) {
                int r = list_add(&c->opaque, inside);

                if (r < 0)
                        return r;
        }
        return list_add(&c->all, inside);
}

static int note_merged(const FTSENT *e, const char *inside, void *userdata) {
        Changes *c = userdata;
        _cleanup_free_ char *path = NULL;

        if (e->fts_info == FTS_DP)
                return 0;
        path = strf("%s%s", c->opaque.items[c->opaque.n - 1], inside);
        return path ? list_add(&c->all, path) : -ENOMEM;
}

/* Takes the opaque folders off their list. */
static int note_opaque(Changes *c, const char *root, FILE *removed) {
        for (; c->opaque.n > 0; c->opaque.n--) {
                char *folder = c->opaque.items[c->opaque.n - 1];
                _cleanup_free_ char *path = path_join(root, folder);
                struct stat st;
                int r = 0;

                if (!path)
                        return -ENOMEM;
                fprintf(removed, ".%s", folder);
                fputc('\0', removed);
                if (lstat(path, &st) >= 0 && S_ISDIR(st.st_mode))
                        r = walk_tree(path, note_merged, c);
                if (r < 0)
                        return r;
                free(folder);
        }
        return 0;
}

/* Of the image itself: a file where the tree has a folder. */
static bool stands_in_the_way(const Disk *d, const char *inside) {
        _cleanup_free_ char *path = path_join(d->layers[0], inside);
        struct stat st;

        return path && lstat(path, &st) >= 0 && !S_ISDIR(st.st_mode);
}

static int judge(Changes *c, const char *root, const char *inside, FILE *paths, FILE *removed) {
        _cleanup_free_ char *path = path_join(root, inside);
        struct stat st;
        bool there;

        if (!path)
                return -ENOMEM;
        there = lstat(path, &st) >= 0;
        if (!there && errno != ENOENT && errno != ENOTDIR)
                return -errno;
        if (!there || !S_ISDIR(st.st_mode) || stands_in_the_way(c->d, inside)) {
                fprintf(removed, ".%s", inside);
                fputc('\0', removed);
                c->shared->removed += !there;
        }
        if (!there || S_ISSOCK(st.st_mode))
                return 0;
        fputs(inside, paths);
        fputc('\0', paths);
        c->shared->files++;
        c->shared->bytes += S_ISREG(st.st_mode) ? (uint64_t) st.st_size : 0;
        return 0;
}

static int end_list(FILE *removed, KeepChanges *changes) {
        long size = ftell(removed);

        if (size < 0)
                return -errno;
        changes->removed_size = (uint64_t) size;
        for (; size == 0 || size % SECTOR != 0; size++)
                fputc('\0', removed);
        return 0;
}

/* In the child that sees the tree. */
static int list_changes(const char *root, void *userdata) {
        Changes *c = userdata;
        _cleanup_fclose_ FILE *paths = inside_print_output(c->d->work, KEEP_PATHS),
                              *removed = inside_print_output(c->d->work, KEEP_REMOVED);
        int r;

        if (!paths || !removed)
                return -errno;
        for (char *const *layer = c->d->layers + 1; *layer; layer++) {
                r = walk_tree(*layer, note, c);
                if (r < 0)
                        return r;
        }
        r = note_opaque(c, root, removed);
        if (r < 0)
                return r;
        list_sort(&c->all);
        for (size_t i = 0; i < c->all.n; i++) {
                r = judge(c, root, c->all.items[i], paths, removed);
                if (r < 0)
                        return r;
        }
        r = end_list(removed, c->shared);
        if (r < 0)
                return r;
        return fflush(paths) != 0 || fflush(removed) != 0 ? -errno : 0;
}

int keep_list(Disk *d, KeepChanges *changes) {
        Changes c = { .d = d };
        int r;

        c.shared = mmap(NULL, sizeof(*c.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        if (c.shared == MAP_FAILED)
                return log_oom();
        r = disk_with_tree(d, list_changes, &c);
        *changes = *c.shared;
        (void) munmap(c.shared, sizeof(*c.shared));
        list_done(&c.all);
        list_done(&c.opaque);
        return r < 0 ? log_error_errno(r, "Cannot list what differs from the vendor's image") : 0;
}
