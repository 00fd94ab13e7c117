/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first pass: the tree as a protofile. That is text with fields at white space: a "/" in a name
 * stands for a space in it (slashes_are_spaces), but the path of a file's content cannot hold one,
 * so such a file is named through a symbolic link in the work folder. A ":" or "$" that begins a
 * name would be a comment or a folder's end, so that file first gets another name. Permissions have
 * three octal digits, so sticky bits are left to the second pass. */

#include "disk/walk.h"
#include "disk/xfs-script.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ctype.h>
#include <search.h>
#include <sys/sysmacros.h>

static bool has_space(const char *s) {
        for (; *s; s++)
                if (isspace((unsigned char) *s))
                        return true;
        return false;
}

/* A file with several names: the first that was met. */
typedef struct Linked {
        dev_t dev;
        ino_t ino;
        char *path;
} Linked;

static int compare_linked(const void *a, const void *b) {
        const Linked *x = a, *y = b;

        if (x->dev != y->dev)
                return x->dev < y->dev ? -1 : 1;
        return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void linked_free(void *p) {
        Linked *l = p;

        free(l->path);
        free(l);
}

typedef struct Lists {
        FILE *proto, *entries;
        const char *tree, *work, *work_inside;
        int64_t epoch;
        unsigned aliases;
        void *linked; /* tsearch() tree of Linked */
} Lists;

static void lists_done(Lists *l) {
        if (l->proto)
                fclose(l->proto);
        if (l->entries)
                fclose(l->entries);
        tdestroy(l->linked, linked_free);
}

static int unsupported(const char *path, const char *what) {
        log_error("%s of the tree has %s, which an XFS image cannot be made with: rename it, or use \"filesystem\": \"ext4\"",
                        path, what);
        return -EOPNOTSUPP;
}

/* Whether this is another name of a file that is there already; *ret is its first name, borrowed.
 * Else `made_as` is the path that the file gets first. */
static int find_first_name(Lists *l, const char *made_as, const struct stat *st, const char **ret) {
        Linked key = { .dev = st->st_dev, .ino = st->st_ino }, *made, **found;

        *ret = NULL;
        if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
                return 0;
        found = tfind(&key, &l->linked, compare_linked);
        if (found) {
                *ret = (*found)->path;
                return 0;
        }
        made = malloc(sizeof(*made));
        if (!made)
                return -ENOMEM;
        *made = (Linked) { .dev = st->st_dev, .ino = st->st_ino, .path = strdup(made_as) };
        if (!made->path || !tsearch(made, &l->linked, compare_linked)) {
                linked_free(made);
                return -ENOMEM;
        }
        return 0;
}

/* [path, mtime, mode, path it is made as, whether it is there under another name, whether it has an
 * access list]: one line of XFS_ENTRIES. */
static int put_entry(Lists *l, const char *inside, const struct stat *st, const char *made_as,
                bool another, bool acl) {
        _cleanup_json_ json_object *entry = json_object_new_array();
        json_object *values[] = {
                json_object_new_string(inside),
                json_object_new_int64(MIN((int64_t) st->st_mtim.tv_sec, l->epoch)),
                json_object_new_int64(st->st_mode),
                json_object_new_string(made_as),
                json_object_new_boolean(another),
                json_object_new_boolean(acl),
        };

        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                if (!entry || !values[i] || json_object_array_add(entry, values[i]) < 0)
                        return -ENOMEM;
        fprintf(l->entries, "%s\n", json_object_to_json_string_ext(entry, JSON_C_TO_STRING_PLAIN));
        return 0;
}

static void put_attributes(Lists *l, char type, const struct stat *st) {
        fprintf(l->proto, "%c%c%c%03o %u %u", type, st->st_mode & S_ISUID ? 'u' : '-',
                        st->st_mode & S_ISGID ? 'g' : '-', st->st_mode & 0777, st->st_uid,
                        st->st_gid);
}

static void put_name(Lists *l, const char *name) {
        for (; *name; name++)
                fputc(*name == ' ' ? '/' : *name, l->proto);
        fputc(' ', l->proto);
}

static int put_content(Lists *l, const char *inside) {
        _cleanup_free_ char *alias = NULL, *target = NULL;

        if (!has_space(inside)) {
                fprintf(l->proto, " %s%s", l->tree, inside);
                return 0;
        }
        alias = strf("%s/alias-%u", l->work, l->aliases);
        target = strf("%s%s", l->tree, inside);
        if (!alias || !target)
                return -ENOMEM;
        if (symlink(target, alias) < 0)
                return -errno;
        fprintf(l->proto, " %s/alias-%u", l->work_inside, l->aliases++);
        return 0;
}

static int put_target(Lists *l, const FTSENT *e, const char *inside) {
        char target[4096];
        ssize_t n = readlink(e->fts_accpath, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        if (has_space(target))
                return unsupported(inside, "white space in what it leads to");
        fprintf(l->proto, " %s", target);
        return 0;
}

/* As a protofile names it; NUL for what it has no letter for. */
static char type_letter(mode_t mode) {
        switch (mode & S_IFMT) {
        case S_IFREG:
                return '-';
        case S_IFLNK:
                return 'l';
        case S_IFCHR:
                return 'c';
        case S_IFBLK:
                return 'b';
        case S_IFIFO:
                return 'p';
        default:
                return '\0';
        }
}

/* The path that a file is made under: its own, or one that a protofile can say. */
static char *made_as_path(Lists *l, const FTSENT *e, const char *inside) {
        if (*e->fts_name != ':' && *e->fts_name != '$')
                return strdup(inside);
        return strf("%.*simgbuild-alias-%u", (int) (strlen(inside) - e->fts_namelen), inside,
                        l->aliases++);
}

/* What is behind the attributes: where the content is, what a link leads to, a device's numbers. */
static int put_substance(Lists *l, const FTSENT *e, const char *inside, char type) {
        dev_t device = e->fts_statp->st_rdev;

        if (type == '-')
                return put_content(l, inside);
        if (type == 'l')
                return put_target(l, e, inside);
        if (type == 'c' || type == 'b')
                fprintf(l->proto, " %u %u", major(device), minor(device));
        return 0;
}

static int put_file(Lists *l, const FTSENT *e, const char *inside) {
        const struct stat *st = e->fts_statp;
        _cleanup_free_ char *made_as = made_as_path(l, e, inside);
        const char *first;
        char type = type_letter(st->st_mode);
        int r;

        if (!made_as)
                return -ENOMEM;
        if (!type) /* a socket: whoever listens makes it anew */
                return 0;
        if (!streq(made_as, inside) && has_space(inside))
                return unsupported(inside,
                                "a name that begins with \":\" or \"$\" and has white space");
        r = find_first_name(l, made_as, st, &first);
        if (r < 0)
                return r;
        if (first && !has_space(inside))
                return put_entry(l, inside, st, first, true, false);

        /* Also another name with a space, which xfs_db could not say: it becomes
         * a file of its own. */
        put_name(l, path_basename(made_as));
        put_attributes(l, type, st);
        r = put_substance(l, e, inside, type);
        if (r < 0)
                return r;
        fputc('\n', l->proto);
        return put_entry(l, inside, st, made_as, false, walk_has_access_list(e));
}

/* A tab or line break: a "/" can stand for a space only. */
static bool has_other_space(const char *name) {
        for (; *name; name++)
                if (*name != ' ' && isspace((unsigned char) *name))
                        return true;
        return false;
}

static int put_folder(Lists *l, const FTSENT *e, const char *inside) {
        if (*e->fts_name == ':' || *e->fts_name == '$')
                return unsupported(inside, "a folder's name that begins with \":\" or \"$\"");
        if (e->fts_level > 0)
                put_name(l, e->fts_name);
        put_attributes(l, 'd', e->fts_statp);
        fputc('\n', l->proto);
        return put_entry(l, inside, e->fts_statp, inside, false, false);
}

static int put_one(const FTSENT *e, const char *inside, void *userdata) {
        Lists *l = userdata;

        if (e->fts_level > 0 && has_other_space(e->fts_name))
                return unsupported(inside, "a tab or line break in its name");
        if (e->fts_info == FTS_D)
                return put_folder(l, e, inside);
        if (e->fts_info == FTS_DP) {
                fputs("$\n", l->proto);
                return 0;
        }
        return put_file(l, e, inside);
}

int xfs_write_lists(const char *root, const char *tree, const char *work, const char *work_inside,
                int64_t epoch) {
        _cleanup_(lists_done) Lists l = {
                .tree = tree,
                .work = work,
                .work_inside = work_inside,
                .epoch = epoch,
        };
        int r;

        l.proto = inside_print_output(work, XFS_PROTO);
        l.entries = inside_print_output(work, XFS_ENTRIES);
        if (!l.proto || !l.entries)
                return log_error_errno(
                                errno, "%s: cannot write the lists of the file system", work);
        fputs("/\n0 0\n", l.proto); /* the boot program and sizes of old: ignored */
        r = walk_tree(root, put_one, &l);
        if (r == -EOPNOTSUPP)
                return r;
        if (r < 0)
                return log_error_errno(r, "Cannot list the tree for its file system");
        if (fflush(l.proto) != 0 || fflush(l.entries) != 0)
                return log_error_errno(errno, "Cannot list the tree for its file system");
        return 0;
}
