/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Both lists become one, in an order in which each folder's files stand together; then each run of
 * them is a node. A file of several names counts as often, for libguestfs does not tell which they
 * are. */

#include "inspect/byte-tree.h"
#include "inspect/internal.h"

#include <sys/stat.h>

#define DEPTH_MAX 48 /* below it, the rest of a path is one name */

typedef struct Item {
        const char *path;
        uint64_t before, after, changed;
} Item;

static uint64_t size_of(const FileEntry *e) {
        return S_ISREG(e->mode) ? e->size : 0;
}

/* One entry, or the one of each list that has the same path. */
static Item item_of(const FileEntry *a, const FileEntry *b) {
        Item i = { .path = a ? a->path : b->path };

        i.before = a ? size_of(a) : 0;
        i.after = b ? size_of(b) : 0;
        i.changed = !a || i.before != i.after || !streq_ptr(a->content, b ? b->content : NULL)
                                    ? i.after
                                    : 0;
        return i;
}

static int merge(FileList *a, FileList *b, Item **ret, size_t *ret_n) {
        Item *items = calloc(a->n + b->n + 1, sizeof(*items));
        size_t n = 0;

        if (!items)
                return -ENOMEM;
        file_list_sort(a);
        file_list_sort(b);
        for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
                int order = i == a->n   ? 1
                            : j == b->n ? -1
                                        : strcmp(a->entries[i].path, b->entries[j].path);

                items[n] = item_of(order <= 0 ? a->entries + i++ : NULL,
                                order >= 0 ? b->entries + j++ : NULL);
                if (items[n].before > 0 || items[n].after > 0)
                        n++;
        }
        *ret = items;
        *ret_n = n;
        return 0;
}

/* A slash before all else, so that "a/x" comes before "a-b". */
static int by_parts(const void *x, const void *y) {
        const unsigned char *a = (const unsigned char *) ((const Item *) x)->path,
                            *b = (const unsigned char *) ((const Item *) y)->path;

        for (; *a && *a == *b; a++, b++)
                ;
        return (*a == '/' ? 1 : *a) - (*b == '/' ? 1 : *b);
}

static int by_size(const void *x, const void *y) {
        const ByteTree *a = x, *b = y;
        uint64_t m = MAX(a->before, a->after), n = MAX(b->before, b->after);

        return m != n ? (m < n ? 1 : -1) : strcmp(a->name, b->name);
}

/* Of the path from `skip` on, how long its first name is. */
static size_t name_length(const Item *item, size_t skip, unsigned depth) {
        return depth < DEPTH_MAX ? strcspn(item->path + skip, "/") : strlen(item->path + skip);
}

static bool in_same(const Item *first, const Item *other, size_t end) {
        return strncmp(first->path, other->path, end) == 0 &&
               (other->path[end] == '/' || other->path[end] == '\0');
}

static int fill(ByteTree *t, const Item *items, size_t n, size_t skip, unsigned depth);

static int add_child(ByteTree *t, const Item *items, size_t n, size_t skip, size_t length,
                unsigned depth) {
        ByteTree *child = t->children + t->n++;
        bool folder = items->path[skip + length] == '/' || n > 1;
        int r = 0;

        child->name = strndup(items->path + skip, length);
        if (!child->name)
                return -ENOMEM;
        if (folder)
                r = fill(child, items, n, skip + length + 1, depth + 1);
        else
                *child = (ByteTree) { .name = child->name,
                        .before = items->before,
                        .after = items->after,
                        .changed = items->changed };
        t->before += child->before;
        t->after += child->after;
        t->changed += child->changed;
        return r;
}

/* How many of the items are in the first one's file or folder. */
static size_t run_of(const Item *items, size_t n, size_t end) {
        size_t k = 1;

        while (k < n && in_same(items, items + k, end))
                k++;
        return k;
}

static int fill(ByteTree *t, const Item *items, size_t n, size_t skip, unsigned depth) {
        size_t children = 0;
        int r;

        /* What was a file and became a folder has no name left here. */
        while (n > 0 && strlen(items->path) < skip) {
                t->before += items->before;
                t->after += items->after;
                items++;
                n--;
        }
        for (size_t i = 0; i < n; children++)
                i += run_of(items + i, n - i, skip + name_length(items + i, skip, depth));
        t->children = calloc(children + 1, sizeof(*t->children));
        if (!t->children)
                return -ENOMEM;
        for (size_t i = 0, k; i < n; i += k) {
                size_t length = name_length(items + i, skip, depth);

                k = run_of(items + i, n - i, skip + length);
                r = add_child(t, items + i, k, skip, length, depth);
                if (r < 0)
                        return r;
        }
        qsort(t->children, t->n, sizeof(*t->children), by_size);
        return 0;
}

static void empty(ByteTree *t) {
        for (size_t i = 0; i < t->n; i++)
                empty(t->children + i);
        free(t->children);
        free(t->name);
}

ByteTree *byte_tree_free(ByteTree *t) {
        if (!t)
                return NULL;
        empty(t);
        free(t);
        return NULL;
}

int byte_tree_new(FileList *a, FileList *b, ByteTree **ret) {
        _cleanup_byte_tree_ ByteTree *t = calloc(1, sizeof(*t));
        _cleanup_free_ Item *items = NULL;
        size_t n;
        int r;

        if (!t || !(t->name = strdup("")))
                return -ENOMEM;
        r = merge(a, b, &items, &n);
        if (r < 0)
                return r;
        if (n > 0)
                qsort(items, n, sizeof(*items), by_parts);
        r = fill(t, items, n, 0, 0);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(t);
        return 0;
}
