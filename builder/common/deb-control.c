/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A .deb (deb(5)) is an ar archive: debian-binary, then control.tar, compressed or not, in which
 * "control" has the fields. Everything is read as dpkg reads it, and what dpkg might read otherwise
 * is refused: a second control file, a second stanza, a field twice. */

#include "common/deb-control.h"
#include "common/archive-data.h"

#include <archive_entry.h>
#include <strings.h>

#define TAR_SIZE_MAX ((size_t) 16 * 1024 * 1024) /* compressed; the largest in Debian has 2 MB */
#define CONTROL_SIZE_MAX ((size_t) 1024 * 1024)
#define ENTRIES_MAX 10000
#define BLOCK_SIZE ((size_t) 64 * 1024)

void deb_control_done(DebControl *c) {
        free(c->name);
        free(c->version);
        free(c->arch);
        *c = (DebControl) {};
}

/* The first member is debian-binary; control.tar comes next. Those with a '_' are of no meaning. */
static int find_tar(struct archive *a) {
        struct archive_entry *e;

        for (size_t i = 0; i < ENTRIES_MAX; i++) {
                const char *name;

                if (archive_read_next_header(a, &e) < ARCHIVE_WARN ||
                                !(name = archive_entry_pathname(e)))
                        return -EBADMSG;
                if (i == 0 && !streq(name, "debian-binary"))
                        return -EBADMSG;
                if (i == 0 || name[0] == '_')
                        continue;
                return startswith(name, "control.tar") ? 0 : -EBADMSG;
        }
        return -EBADMSG;
}

static int read_tar(const char *path, char **ret, size_t *ret_size) {
        _cleanup_archive_read_ struct archive *a = archive_read_new();
        int r;

        if (!a || archive_read_support_format_ar(a) < ARCHIVE_WARN)
                return -ENOMEM;
        if (access(path, R_OK) < 0)
                return -errno;
        if (archive_read_open_filename(a, path, BLOCK_SIZE) < ARCHIVE_WARN)
                return -EBADMSG;
        r = find_tar(a);
        return r < 0 ? r : archive_data_read(a, TAR_SIZE_MAX, ret, ret_size);
}

/* None of the filters for which libarchive would start a program. */
static int open_tar(const char *tar, size_t size, struct archive **ret) {
        _cleanup_archive_read_ struct archive *a = archive_read_new();

        if (!a || archive_read_support_filter_gzip(a) == ARCHIVE_FATAL ||
                        archive_read_support_filter_xz(a) == ARCHIVE_FATAL ||
                        archive_read_support_filter_zstd(a) == ARCHIVE_FATAL ||
                        archive_read_support_format_tar(a) == ARCHIVE_FATAL)
                return -ENOMEM;
        if (archive_read_open_memory(a, tar, size) < ARCHIVE_WARN)
                return -EBADMSG;
        *ret = TAKE_PTR(a);
        return 0;
}

static bool is_control(struct archive_entry *e) {
        const char *name = archive_entry_pathname(e);

        if (!name)
                return false;
        while (startswith(name, "./") || name[0] == '/')
                name += name[0] == '/' ? 1 : 2;
        return streq(name, "control");
}

/* tar unpacks them all, and the last one stays: where there are two, nothing is sure. */
static int read_control(const char *tar, size_t tar_size, char **ret, size_t *ret_size) {
        _cleanup_archive_read_ struct archive *a = NULL;
        _cleanup_free_ char *control = NULL;
        struct archive_entry *e;
        size_t size = 0;
        int r;

        r = open_tar(tar, tar_size, &a);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ENTRIES_MAX; i++) {
                r = archive_read_next_header(a, &e);
                if (r == ARCHIVE_EOF && control) {
                        *ret = TAKE_PTR(control);
                        *ret_size = size;
                        return 0;
                }
                if (r < ARCHIVE_WARN || r == ARCHIVE_EOF)
                        return -EBADMSG;
                if (!is_control(e))
                        continue;
                if (control || archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e))
                        return -EBADMSG;
                r = archive_data_read(a, CONTROL_SIZE_MAX, &control, &size);
                if (r < 0)
                        return r;
        }
        return -EBADMSG;
}

/* "Name:", in any case, then the value without the space around it. */
static int take_field(const char *line, const char *name, char **value) {
        size_t n = strlen(name), size;

        if (strncasecmp(line, name, n) != 0)
                return 0;
        if (*value)
                return -EBADMSG;
        line += n;
        line += strspn(line, " \t");
        for (size = strlen(line); size > 0 && strchr(" \t\r", line[size - 1]); size--)
                ;
        *value = strndup(line, size);
        return *value ? 0 : -ENOMEM;
}

static int take_line(const char *line, DebControl *c) {
        int r;

        r = take_field(line, "Package:", &c->name);
        if (r < 0)
                return r;
        r = take_field(line, "Version:", &c->version);
        if (r < 0)
                return r;
        return take_field(line, "Architecture:", &c->arch);
}

/* Fields, then nothing but empty lines. */
static int parse_control(char *text, DebControl *ret) {
        _cleanup_deb_control_ DebControl c = {};
        bool ended = false;

        for (char *line; (line = strsep(&text, "\n"));) {
                bool blank = line[strspn(line, " \t\r")] == '\0';
                int r;

                if (!blank && ended)
                        return -EBADMSG;
                ended = ended || (blank && c.name);
                r = take_line(line, &c);
                if (r < 0)
                        return r;
        }
        if (!c.name || !c.version || !c.arch)
                return -EBADMSG;

        *ret = c;
        c = (DebControl) {};
        return 0;
}

static int read_text(const char *path, char **ret) {
        _cleanup_free_ char *tar = NULL, *control = NULL;
        size_t tar_size, size;
        int r;

        r = read_tar(path, &tar, &tar_size);
        if (r < 0)
                return r;
        r = read_control(tar, tar_size, &control, &size);
        if (r < 0)
                return r;
        if (strlen(control) != size)
                return -EBADMSG;
        *ret = TAKE_PTR(control);
        return 0;
}

int deb_control_read(const char *path, DebControl *ret) {
        _cleanup_free_ char *control = NULL;
        int r;

        r = read_text(path, &control);
        return r < 0 ? r : parse_control(control, ret);
}

int deb_control_text(const char *path, char **ret) {
        _cleanup_deb_control_ DebControl c = {};
        _cleanup_free_ char *control = NULL, *copy = NULL;
        size_t from, size;
        int r;

        r = read_text(path, &control);
        if (r < 0)
                return r;
        copy = strdup(control); /* which reading takes apart */
        if (!copy)
                return -ENOMEM;
        r = parse_control(copy, &c);
        if (r < 0)
                return r;

        from = strspn(control, " \t\r\n");
        for (size = strlen(control); size > from && strchr(" \t\r\n", control[size - 1]); size--)
                ;
        *ret = strndup(control + from, size - from);
        return *ret ? 0 : -ENOMEM;
}
