/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The second pass: what the protofile could not say, as commands for xfs_db. It takes names
 * without spaces only, therefore files are told to it by inode, found by its own ncheck. */

#include "disk/xfs-script.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <sys/stat.h>

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

/* "rootino = 128", which ncheck does not list, and "  133 boot/System.map" a line; folders end in
 * "/.". Paths come out without the leading slash, which keeps them where they are in the text; ""
 * is the root. */
static int parse_inodes(char *text, Inode **ret, size_t *ret_n) {
        _cleanup_free_ Inode *inodes = NULL;
        size_t n = 0, room = 0;
        char *save;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                static char root[] = "";
                const char *rootino = startswith(line, "rootino = ");
                char *end, *path = root;
                unsigned long long number = strtoull(rootino ? rootino : line, &end, 10);

                if (!rootino) {
                        if (end == line || *end != ' ')
                                continue;
                        path = end + 1;
                        size_t length = strlen(path);
                        if (length > 2 && streq(path + length - 2, "/."))
                                path[length - 2] = '\0';
                }
                if (n == room) {
                        Inode *grown = realloc(
                                        inodes, (room = room ? 2 * room : 1024) * sizeof(*inodes));
                        if (!grown)
                                return -ENOMEM;
                        inodes = grown;
                }
                inodes[n++] = (Inode) { path, number };
        }
        if (n > 0)
                qsort(inodes, n, sizeof(*inodes), compare_inodes);
        *ret = TAKE_PTR(inodes);
        *ret_n = n;
        return 0;
}

static int find_inode(const Inode *inodes, size_t n, const char *path, uint64_t *ret) {
        Inode key = { .path = (char *) path + (*path == '/') };
        const Inode *found =
                        n > 0 ? bsearch(&key, inodes, n, sizeof(*inodes), compare_inodes) : NULL;

        if (!found)
                return log_error_errno(-ENOENT, "mkfs.xfs has left out %s", *path ? path : "/");
        *ret = found->number;
        return 0;
}

/* Gives an inode the name it has in the tree, and takes from it the one it was made under. */
static int script_name(const Inode *inodes, size_t n, const char *path, uint64_t inode,
                const char *unlink, FILE *links) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = strndup(path, (size_t) (slash - path));
        uint64_t parent;
        int r;

        if (!folder)
                return -ENOMEM;
        r = find_inode(inodes, n, folder, &parent);
        if (r < 0)
                return r;
        fprintf(links, "inode %llu\nlink -i %llu %s\n", (unsigned long long) parent,
                        (unsigned long long) inode, slash + 1);
        if (unlink)
                fprintf(links, "unlink %s\n", unlink);
        return 0;
}

static int script_entry(
                json_object *entry, const Inode *inodes, size_t n, FILE *links, FILE *times) {
        const char *path = json_object_get_string(json_object_array_get_idx(entry, 0)),
                   *made_as = json_object_get_string(json_object_array_get_idx(entry, 3));
        int64_t mtime = json_object_get_int64(json_object_array_get_idx(entry, 1));
        mode_t mode = (mode_t) json_object_get_int64(json_object_array_get_idx(entry, 2));
        bool another = json_object_get_boolean(json_object_array_get_idx(entry, 4));
        uint64_t inode;
        int r;

        r = find_inode(inodes, n, made_as, &inode);
        if (r >= 0 && !streq(path, made_as))
                r = script_name(inodes, n, path, inode, another ? NULL : path_basename(made_as),
                                links);
        if (r < 0 || another)
                return r;
        fprintf(times, "inode %llu\nwrite core.mtime 0x%llx\n", (unsigned long long) inode,
                        (unsigned long long) xfs_bigtime(mtime));
        if (mode & S_ISVTX)
                fprintf(times, "write core.mode 0%o\n", mode);
        return 0;
}

int xfs_write_scripts(const char *work) {
        _cleanup_free_ char *inodes_path = path_join(work, XFS_INODES),
                            *entries_path = path_join(work, XFS_ENTRIES),
                            *link_path = path_join(work, XFS_LINK_SCRIPT),
                            *time_path = path_join(work, XFS_TIME_SCRIPT);
        _cleanup_free_ char *text = NULL, *entries = NULL;
        _cleanup_free_ Inode *inodes = NULL;
        FILE *links = NULL, *times = NULL;
        size_t n;
        char *save;
        int r;

        if (!inodes_path || !entries_path || !link_path || !time_path)
                return log_oom();
        r = read_file(inodes_path, 1024 * 1024 * 1024, &text, NULL);
        if (r >= 0)
                r = read_file(entries_path, 1024 * 1024 * 1024, &entries, NULL);
        if (r >= 0)
                r = parse_inodes(text, &inodes, &n);
        if (r >= 0 && (!(links = fopen(link_path, "we")) || !(times = fopen(time_path, "we"))))
                r = -errno;
        if (r < 0)
                log_error_errno(r, "%s: cannot make the scripts of the file system", work);
        for (char *line = r >= 0 ? strtok_r(entries, "\n", &save) : NULL; r >= 0 && line;
                        line = strtok_r(NULL, "\n", &save)) {
                _cleanup_json_ json_object *entry = NULL;

                r = json_parse(line, strlen(line), &(JsonError) {}, &entry);
                if (r < 0)
                        log_error_errno(r, "%s: cannot read it back", entries_path);
                else
                        r = script_entry(entry, inodes, n, links, times);
        }
        if (links && fclose(links) != 0 && r >= 0)
                r = log_error_errno(errno, "%s: cannot write it", link_path);
        if (times && fclose(times) != 0 && r >= 0)
                r = log_error_errno(errno, "%s: cannot write it", time_path);
        return r;
}
