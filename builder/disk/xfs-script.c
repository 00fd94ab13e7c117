/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The second pass: what the protofile could not say, as commands for xfs_db. It takes names without
 * spaces only, therefore files are told to it by inode, found by its own ncheck. */

#include "disk/xfs-script.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define LIST_MAX (1024 * 1024 * 1024)

uint64_t xfs_bigtime(int64_t seconds) {
        return (uint64_t) (seconds + (INT64_C(1) << 31)) * UINT64_C(1000000000);
}

typedef struct Inode {
        char *path; /* points into the text */
        uint64_t number;
} Inode;

static int compare_inodes(const void *a, const void *b) {
        return strcmp(((const Inode *) a)->path, ((const Inode *) b)->path);
}

typedef struct Inodes {
        Inode *inodes; /* sorted by path */
        size_t n, allocated;
} Inodes;

static void inodes_done(Inodes *l) {
        free(l->inodes);
}

static int inodes_add(Inodes *l, char *path, uint64_t number) {
        if (l->n == l->allocated) {
                size_t wanted = MAX(2 * l->allocated, (size_t) 1024);
                Inode *grown = reallocarray(l->inodes, wanted, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                l->inodes = grown;
                l->allocated = wanted;
        }
        l->inodes[l->n++] = (Inode) { path, number };
        return 0;
}

/* "rootino = 128", which ncheck does not list, or " 133 boot/System.map"; folders end in "/.".
 * False for any other line. */
static bool parse_inode(char *line, char **ret_path, uint64_t *ret_number) {
        static char root[] = "";
        const char *rootino = startswith(line, "rootino = ");
        size_t length;
        char *end;

        *ret_number = strtoull(rootino ? rootino : line, &end, 10);
        if (rootino) {
                *ret_path = root;
                return true;
        }
        if (end == line || *end != ' ')
                return false;

        *ret_path = end + 1;
        length = strlen(*ret_path);
        if (length > 2 && streq(*ret_path + length - 2, "/."))
                (*ret_path)[length - 2] = '\0';
        return true;
}

/* Paths come out without the leading slash, which keeps them where they are in the
 * text; "" is the root. */
static int parse_inodes(char *text, Inodes *l) {
        char *save;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                uint64_t number;
                char *path;
                int r;

                if (!parse_inode(line, &path, &number))
                        continue;
                r = inodes_add(l, path, number);
                if (r < 0)
                        return r;
        }
        if (l->n > 0)
                qsort(l->inodes, l->n, sizeof(*l->inodes), compare_inodes);
        return 0;
}

static int find_inode(const Inodes *l, const char *path, uint64_t *ret) {
        Inode key = { .path = (char *) path + (*path == '/') };
        const Inode *found = NULL;

        if (l->n > 0)
                found = bsearch(&key, l->inodes, l->n, sizeof(key), compare_inodes);
        if (!found)
                return log_error_return(-ENOENT, "mkfs.xfs has left out %s", *path ? path : "/");
        *ret = found->number;
        return 0;
}

/* Gives an inode the name it has in the tree, and takes from it the one it was made under. */
static int script_name(const Inodes *inodes, const char *path, uint64_t inode, const char *unlink,
                FILE *links) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = strndup(path, (size_t) (slash - path));
        uint64_t parent;
        int r;

        if (!folder)
                return -ENOMEM;
        r = find_inode(inodes, folder, &parent);
        if (r < 0)
                return r;
        fprintf(links, "inode %llu\nlink -i %llu %s\n", (unsigned long long) parent,
                        (unsigned long long) inode, slash + 1);
        if (unlink)
                fprintf(links, "unlink %s\n", unlink);
        return 0;
}

/* `another`: a further name of a file whose times are set under its first. */
static int script_entry(json_object *entry, const Inodes *inodes, FILE *links, FILE *times) {
        const char *path = json_object_get_string(json_object_array_get_idx(entry, 0)),
                   *made_as = json_object_get_string(json_object_array_get_idx(entry, 3));
        int64_t mtime = json_object_get_int64(json_object_array_get_idx(entry, 1));
        mode_t mode = (mode_t) json_object_get_int64(json_object_array_get_idx(entry, 2));
        bool another = json_object_get_boolean(json_object_array_get_idx(entry, 4));
        uint64_t inode;
        int r;

        r = find_inode(inodes, made_as, &inode);
        if (r < 0)
                return r;
        if (!streq(path, made_as)) {
                r = script_name(inodes, path, inode, another ? NULL : path_basename(made_as),
                                links);
                if (r < 0)
                        return r;
        }
        if (another)
                return 0;

        fprintf(times, "inode %llu\nwrite core.mtime 0x%llx\n", (unsigned long long) inode,
                        (unsigned long long) xfs_bigtime(mtime));
        if (mode & S_ISVTX)
                fprintf(times, "write core.mode 0%o\n", mode);
        /* mkfs.xfs up to 6.13 leaves it as an attribute of that name which no kernel reads. */
        if (json_object_get_boolean(json_object_array_get_idx(entry, 5)))
                fputs("attr_remove -u system.posix_acl_access\n", times);
        return 0;
}

/* `entries` is the text of XFS_ENTRIES, which is torn to lines. */
static int script_entries(char *entries, const Inodes *inodes, FILE *links, FILE *times) {
        char *save;

        for (char *line = strtok_r(entries, "\n", &save); line;
                        line = strtok_r(NULL, "\n", &save)) {
                _cleanup_json_ json_object *entry = NULL;
                int r;

                r = json_parse(line, strlen(line), &(JsonError) {}, &entry);
                if (r < 0)
                        return log_error_errno(r, XFS_ENTRIES ": cannot read it back");
                r = script_entry(entry, inodes, links, times);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_lists(const char *work, char **ret_text, char **ret_entries, Inodes *inodes) {
        int r;

        r = inside_read_output(work, XFS_INODES, LIST_MAX, ret_text, NULL);
        if (r < 0)
                return r;
        r = inside_read_output(work, XFS_ENTRIES, LIST_MAX, ret_entries, NULL);
        if (r < 0)
                return r;
        return parse_inodes(*ret_text, inodes);
}

/* Closes *f, so that nothing is written later; what could not be written is an error. */
static int close_script(FILE **f, const char *work, const char *name) {
        FILE *closing = TAKE_PTR(*f);

        if (fclose(closing) != 0)
                return log_error_errno(errno, "%s/%s: cannot write it", work, name);
        return 0;
}

int xfs_write_scripts(const char *work) {
        _cleanup_free_ char *text = NULL, *entries = NULL;
        _cleanup_fclose_ FILE *links = NULL, *times = NULL;
        _cleanup_(inodes_done) Inodes inodes = {};
        int r;

        r = read_lists(work, &text, &entries, &inodes);
        if (r < 0)
                return log_error_errno(r, "%s: cannot make the scripts of the file system", work);
        links = inside_print_output(work, XFS_LINK_SCRIPT);
        times = inside_print_output(work, XFS_TIME_SCRIPT);
        if (!links || !times)
                return log_error_errno(
                                errno, "%s: cannot make the scripts of the file system", work);

        r = script_entries(entries, &inodes, links, times);
        if (r < 0)
                return r;
        r = close_script(&links, work, XFS_LINK_SCRIPT);
        if (r < 0)
                return r;
        return close_script(&times, work, XFS_TIME_SCRIPT);
}
