/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An archive is a stranger's word. libarchive reads it and writes it, and refuses whatever would
 * lead out of the folder; names are stripped here, as tar strips them. */

#include "stage/unpack.h"

#include "shared/strv.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>

#define BLOCK_SIZE (64 * 1024)

/* A bomb is what grows past both. zlib reaches 1032 at most and only on repetition; packages of
 * programs and their sources stay below 10, and what is small may be anything. */
#define BOMB_BYTES (256LL * 1024 * 1024)
#define BOMB_RATIO 200
#define ENTRY_BYTES 4096 /* of its inode and name: empty files fill a disk, too */

static struct archive *reader_free(struct archive *a) {
        archive_read_free(a);
        return NULL;
}
DEFINE_CLEANUP(struct archive *, reader_free);

static struct archive *writer_free(struct archive *a) {
        archive_write_free(a);
        return NULL;
}
DEFINE_CLEANUP(struct archive *, writer_free);

/* None of those for which libarchive would start a program. */
static int reader_new(struct archive **ret) {
        static int (*const filters[])(struct archive *) = {
                archive_read_support_filter_gzip,
                archive_read_support_filter_bzip2,
                archive_read_support_filter_xz,
                archive_read_support_filter_lzma,
                archive_read_support_filter_lzip,
                archive_read_support_filter_zstd,
                archive_read_support_filter_lz4,
                archive_read_support_filter_compress,
        };
        _cleanup_(reader_freep) struct archive *a = archive_read_new();

        if (!a)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(filters); i++)
                if (filters[i](a) == ARCHIVE_FATAL)
                        return -ENOMEM;
        if (archive_read_support_format_tar(a) == ARCHIVE_FATAL)
                return -ENOMEM;

        *ret = TAKE_PTR(a);
        return 0;
}

static int writer_new(struct archive **ret) {
        _cleanup_(writer_freep) struct archive *a = archive_write_disk_new();

        if (!a)
                return -ENOMEM;
        archive_write_disk_set_options(a, ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_SPARSE |
                                                          ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                                          ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                          ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS);
        *ret = TAKE_PTR(a);
        return 0;
}

/* What is left of a name without leading slashes and without its first `strip` parts: "" where
 * nothing is. "./" counts as a part, as tar counts it. */
static const char *stripped(const char *name, unsigned strip) {
        name += strspn(name, "/");
        for (; strip > 0; strip--) {
                const char *slash = strchr(name, '/');

                if (!slash)
                        return "";
                name = slash + strspn(slash, "/");
        }
        return name;
}

/* How much comes out of how much, in bytes. */
typedef struct Growth {
        int64_t packed, out;
} Growth;

static int say(char **ret_why, const char *name, const char *what) {
        *ret_why = name ? strf("%s: %s", name, what) : strdup(what);
        return -EBADMSG;
}

/* An errno of the disk's is the caller's business; all else is wrong with the archive. */
static int fail(struct archive *a, char **ret_why, const char *name) {
        static const int ours[] = { ENOSPC, EDQUOT, EROFS, ENOMEM, EIO };
        int error = archive_errno(a);

        say(ret_why, name, strempty(archive_error_string(a)));
        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                if (error == ours[i])
                        return -error;
        return -EBADMSG;
}

/* Renames the entry to where it goes. Returns 1 where it goes nowhere: all its parts are
 * stripped. */
static int prepare(struct archive_entry *e, unsigned strip, char **ret_why) {
        const char *whole = archive_entry_pathname(e), *hardlink = archive_entry_hardlink(e);
        _cleanup_free_ char *name = NULL, *target = NULL;
        mode_t type = archive_entry_filetype(e);

        if (!whole)
                return say(ret_why, NULL, "an entry has no name that could be read");
        name = strdup(stripped(whole, strip));
        if (!name)
                return -ENOMEM;
        if (*name == '\0')
                return 1;
        if (!hardlink && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
                return say(ret_why, name, "is neither file, folder nor link");

        if (hardlink) {
                target = strdup(stripped(hardlink, strip));
                if (!target)
                        return -ENOMEM;
                archive_entry_set_hardlink(e, target);
        }
        archive_entry_set_pathname(e, name);

        /* Else libarchive takes set-uid bits away from what is not its owner's. */
        archive_entry_set_uid(e, geteuid());
        archive_entry_set_gid(e, getegid());
        archive_entry_set_uname(e, NULL);
        archive_entry_set_gname(e, NULL);
        return 0;
}

/* `size` bytes more come out. -EBADMSG with its reason where that is out of proportion. */
static int count(Growth *g, const char *name, size_t size, char **ret_why) {
        g->out += (int64_t) size;
        if (g->out <= BOMB_BYTES || g->out / BOMB_RATIO <= g->packed)
                return 0;
        free(*ret_why);
        *ret_why = strf("%s: the archive is a decompression bomb: its %lld bytes have become more "
                        "than %d times as much",
                        name, (long long) g->packed, BOMB_RATIO);
        return -EBADMSG;
}

static int copy_data(struct archive *from, struct archive *to, const char *name, Growth *g,
                char **ret_why) {
        for (;;) {
                const void *block;
                la_int64_t offset;
                size_t size;
                int r = archive_read_data_block(from, &block, &size, &offset);

                if (r == ARCHIVE_EOF)
                        return 0;
                if (r < ARCHIVE_WARN)
                        return fail(from, ret_why, name);
                r = count(g, name, size, ret_why);
                if (r < 0)
                        return r;
                if (archive_write_data_block(to, block, size, offset) < 0)
                        return fail(to, ret_why, name);
        }
}

static int unpack_entry(struct archive *from, struct archive *to, struct archive_entry *e,
                unsigned strip, Growth *g, char **ret_why) {
        const char *name;
        int r;

        r = prepare(e, strip, ret_why);
        if (r != 0)
                return r < 0 ? r : 0;
        r = count(g, archive_entry_pathname(e), ENTRY_BYTES, ret_why);
        if (r < 0)
                return r;

        name = archive_entry_pathname(e);
        if (archive_write_header(to, e) != ARCHIVE_OK)
                return fail(to, ret_why, name);
        r = copy_data(from, to, name, g, ret_why);
        if (r < 0)
                return r;
        return archive_write_finish_entry(to) == ARCHIVE_OK ? 0 : fail(to, ret_why, name);
}

int unpack_archive(const char *archive, const char *folder, unsigned strip, char **ret_why) {
        _cleanup_(reader_freep) struct archive *from = NULL;
        _cleanup_(writer_freep) struct archive *to = NULL;
        Growth growth = {};
        struct stat st;
        int r;

        *ret_why = NULL;
        if (stat(archive, &st) < 0)
                return -errno;
        growth.packed = st.st_size;
        /* libarchive turns the names of pax archives, which are UTF-8, into the locale's bytes. */
        (void) setlocale(LC_CTYPE, "C.UTF-8");

        r = reader_new(&from);
        if (r < 0)
                return r;
        r = writer_new(&to);
        if (r < 0)
                return r;
        if (archive_read_open_filename(from, archive, BLOCK_SIZE) != ARCHIVE_OK)
                return fail(from, ret_why, NULL);
        if (chdir(folder) < 0) /* absolute names are refused, so that the writer gets none */
                return -errno;

        for (;;) {
                struct archive_entry *e;
                int next = archive_read_next_header(from, &e);

                if (next == ARCHIVE_EOF)
                        break;
                if (next < ARCHIVE_WARN)
                        return fail(from, ret_why, NULL);
                r = unpack_entry(from, to, e, strip, &growth, ret_why);
                if (r < 0)
                        return r;
        }

        /* Folders get their modes last. */
        return archive_write_close(to) == ARCHIVE_OK ? 0 : fail(to, ret_why, NULL);
}
