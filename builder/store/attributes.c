/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What overlayfs keeps in attributes of its own is one host's: handles of files below, numbers of a
 * file system. Only that a folder hides those below it is content. */

#include "store/attributes.h"

#include "shared/strv.h"

#include <limits.h>
#include <sys/xattr.h>

#define ATTRIBUTES_MAX 65536 /* bytes; the kernel's own limits */
#define OPAQUE "trusted.overlay.opaque"
#define OPAQUE_USER "user.overlay.opaque"

static bool is_label(const char *name) {
        static const char *const names[] = { "security.selinux", "security.SMACK64", "security.ima",
                "security.evm" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

/* The name that an attribute has in the set; NULL where it has none. */
static const char *name_in(AttributeSet set, const char *name) {
        if (set != ATTRIBUTES_LABELLED && is_label(name))
                return NULL;
        if (set == ATTRIBUTES_OWN)
                return name;
        if (streq(name, OPAQUE_USER))
                return OPAQUE;
        if (startswith(name, "trusted.overlay.") || startswith(name, "user.overlay."))
                return streq(name, OPAQUE) ? name : NULL;
        return name;
}

static int add(TreeAttributes *a, const char *path, const char *name, const char *as, char *value) {
        ssize_t size = lgetxattr(path, name, value, ATTRIBUTES_MAX);
        TreeAttribute *grown, *last;

        if (size < 0)
                return -errno;
        grown = reallocarray(a->list, a->n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        a->list = grown;
        last = grown + a->n++;
        *last = (TreeAttribute) {
                .name = strdup(as), .value = malloc((size_t) size + 1), .size = (size_t) size
        };
        if (!last->name || !last->value)
                return -ENOMEM;
        memcpy(last->value, value, (size_t) size);
        return 0;
}

static int by_name(const void *a, const void *b) {
        return strcmp(((const TreeAttribute *) a)->name, ((const TreeAttribute *) b)->name);
}

int tree_attributes_read(int folder, const char *name, AttributeSet set, TreeAttributes *ret) {
        _cleanup_tree_attributes_ TreeAttributes a = {};
        _cleanup_free_ char *names = malloc(ATTRIBUTES_MAX), *value = NULL;
        char path[64 + NAME_MAX + 1]; /* a link's can only be asked for by a path */
        ssize_t n;

        if (!names)
                return -ENOMEM;
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, name);
        n = llistxattr(path, names, ATTRIBUTES_MAX);
        if (n < 0 && errno != ENOTSUP)
                return -errno;
        for (const char *at = names; n > 0 && at < names + n; at += strlen(at) + 1) {
                const char *as = name_in(set, at);
                int r;

                if (!as)
                        continue;
                if (!value && !(value = malloc(ATTRIBUTES_MAX)))
                        return -ENOMEM;
                r = add(&a, path, at, as, value);
                if (r < 0)
                        return r;
        }
        if (a.n > 1)
                qsort(a.list, a.n, sizeof(*a.list), by_name);
        *ret = a;
        a = (TreeAttributes) {};
        return 0;
}

void tree_attributes_done(TreeAttributes *a) {
        for (size_t i = 0; i < a->n; i++) {
                free(a->list[i].name);
                free(a->list[i].value);
        }
        free(a->list);
}
