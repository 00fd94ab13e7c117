/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a guest, as libguestfs lists them; checksums are made in the appliance. */

#include "inspect/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

#include <sys/stat.h>

#define PULSE_USEC (10 * USEC_PER_SEC)
#define CHUNK 2000 /* names in one call: well below libguestfs' limit on a message, 4 MB */

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
        targets = guestfs_readlinklist(g, folder, names);
        if (!targets || strv_length(targets) != n)
                return -EIO;
        n = 0;
        for (size_t i = first; i < l->n; i++)
                if (S_ISLNK(l->entries[i].mode) && !(l->entries[i].content = strdup(targets[n++])))
                        return -ENOMEM;
        return 0;
}

static void statns_listp(struct guestfs_statns_list **l) {
        if (*l)
                guestfs_free_statns_list(*l);
}

/* Entries of one folder, which libguestfs asks for at once: `names` are paths from the root. */
static int add_chunk(guestfs_h *g, char *const *names, size_t n, FileList *l) {
        _cleanup_free_ char **base = calloc(n + 1, sizeof(*base)); /* borrows its strings */
        _cleanup_free_ char *folder =
                        strf("/%.*s", (int) (path_basename(names[0]) - names[0]), names[0]);
        size_t first = l->n, length;

        if (!base || !folder)
                return -ENOMEM;
        length = strlen(folder);
        if (length > 1) /* "/etc/" */
                folder[length - 1] = '\0';
        for (size_t i = 0; i < n; i++)
                base[i] = (char *) path_basename(names[i]);

        _cleanup_(statns_listp) struct guestfs_statns_list *stats =
                        guestfs_lstatnslist(g, folder, base);
        if (!stats)
                return -EIO;
        for (uint32_t i = 0; i < stats->len && i < n; i++) {
                const struct guestfs_statns *s = stats->val + i;
                unsigned mode = (unsigned) s->st_mode;
                int r;

                if (s->st_ino == -1)
                        continue;
                r = file_list_add(l, names[i], mode, (unsigned) s->st_uid, (unsigned) s->st_gid,
                                S_ISREG(mode) ? (uint64_t) s->st_size : 0, NULL);
                if (r < 0)
                        return r;
        }
        return read_links(g, folder, l, first);
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
static int read_paths(guestfs_h *g, char **ret_text, size_t *ret_size) {
        char scratch[64];
        _cleanup_close_ int fd = guest_memory_file(scratch);

        if (fd < 0)
                return fd;
        if (guestfs_find0(g, "/", scratch) < 0)
                return -EIO;
        return read_file(scratch, (size_t) 1 << 30, ret_text, ret_size);
}

/* The names in the text, which the array borrows. */
static int split_paths(char *text, size_t size, char ***ret_paths, size_t *ret_n) {
        char **paths;
        size_t n = 0, i = 0;

        for (const char *p = text; p < text + size; p += strlen(p) + 1)
                n++;
        paths = calloc(n + 1, sizeof(*paths));
        if (!paths)
                return -ENOMEM;
        for (char *p = text; p < text + size; p += strlen(p) + 1)
                if (*p)
                        paths[i++] = p;

        *ret_paths = paths;
        *ret_n = i;
        return 0;
}

static int read_names(guestfs_h *g, FileList *l) {
        _cleanup_free_ char *text = NULL, **paths = NULL;
        size_t size, n;
        int r;

        r = read_paths(g, &text, &size);
        if (r < 0)
                return r;
        r = split_paths(text, size, &paths, &n);
        if (r < 0)
                return r;
        if (n > 0)
                qsort(paths, n, sizeof(*paths), by_folder);

        for (size_t i = 0, end; i < n; i = end) {
                for (end = i + 1; end < n && end - i < CHUNK && same_folder(paths[i], paths[end]);)
                        end++;
                if (interrupt_signal())
                        return -ECANCELED;
                r = add_chunk(g, paths + i, end - i, l);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A line of md5sum: digest, two characters, "./path". A name with a newline is escaped and left
 * without a checksum. */
static int take_checksum(FileList *l, char *line, size_t n) {
        char *space = strstr(line, "  ");
        const char *name, *rest;
        FileEntry *e;

        if (n > 0 && line[n - 1] == '\n')
                line[n - 1] = '\0';
        if (!space || line[0] == '\\')
                return 0;
        *space = '\0';

        name = space + 2;
        rest = startswith(name, "./");
        e = file_list_find(l, rest ? rest : name);
        if (!e || e->content)
                return 0;
        e->content = strdup(line);
        return e->content ? 0 : -ENOMEM;
}

typedef struct Watch {
        FileListTell tell;
        void *userdata;
        uint64_t expected; /* bytes */
        int fd;
} Watch;

/* libguestfs tells nothing while it reads; the text that it writes grows. */
static void look(void *userdata) {
        const Watch *w = userdata;
        struct stat st;

        if (fstat(w->fd, &st) >= 0 && w->expected > 0)
                w->tell((unsigned) MIN((uint64_t) st.st_size * 100 / w->expected, UINT64_C(99)),
                                w->userdata);
}

static int read_contents(guestfs_h *g, FileList *l, FileListTell tell, void *userdata) {
        char path[64];
        _cleanup_close_ int fd = guest_memory_file(path);
        _cleanup_free_ char *line = NULL;
        size_t room = 0;
        ssize_t n;

        if (fd < 0)
                return fd;
        Watch watch = { tell, userdata, file_list_checksum_text(l), fd };
        _cleanup_(pulse_stopp) Pulse *pulse = NULL; /* ends before what it looks at */
        if (tell && pulse_start(PULSE_USEC, look, &watch, &pulse) < 0)
                log_debug("Nothing is told of how far it is");
        if (guestfs_checksums_out(g, "md5", "/", path) < 0)
                return -EIO;
        pulse = pulse_stop(pulse);
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        if (!f)
                return -errno;
        while ((n = getline(&line, &room, f)) >= 0) {
                int r = take_checksum(l, line, (size_t) n);
                if (r < 0)
                        return r;
        }
        return ferror(f) ? -EIO : 0;
}

/* Sorted, so that contents find their files. */
static int read_all(guestfs_h *g, bool contents, FileListTell tell, void *userdata, FileList *l) {
        int r;

        r = read_names(g, l);
        if (r < 0)
                return r;
        file_list_sort(l);
        return contents ? read_contents(g, l, tell, userdata) : 0;
}

int file_list_read(guestfs_h *g, bool contents, FileListTell tell, void *userdata, FileList **ret) {
        _cleanup_file_list_free_ FileList *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                return log_oom();
        r = read_all(g, contents, tell, userdata, l);
        if (r == -EIO)
                return log_error_errno(r, "libguestfs cannot list the files: %s",
                                strempty(guestfs_last_error(g)));
        if (r < 0)
                return log_error_errno(r, "Cannot list the files");
        *ret = TAKE_PTR(l);
        return 0;
}
