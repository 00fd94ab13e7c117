/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Archives by libarchive, zstd by its own library. No time, owner or name of the host goes in. */

#include "disk/pack-archive.h"

#include "shared/file-util.h"
#include "shared/spawn.h"

#include <archive.h>
#include <archive_entry.h>
#include <sched.h>
#include <sys/stat.h>
#include <zstd.h>

#define PIECE (1024 * 1024)
#define GCE_UNIT (UINT64_C(1) << 30)
#define GZIP_OPTIONS "gzip:compression-level=3,gzip:!timestamp"

static void archive_freep(struct archive **a) {
        if (*a)
                archive_write_free(*a);
}
static void entry_freep(struct archive_entry **e) {
        archive_entry_free(*e);
}
static void cctx_freep(ZSTD_CCtx **c) {
        ZSTD_freeCCtx(*c);
}
#define _cleanup_archive_ _cleanup_(archive_freep)
#define _cleanup_entry_ _cleanup_(entry_freep)
#define _cleanup_cctx_ _cleanup_(cctx_freep)

static int archive_error(struct archive *a) {
        int e = archive_errno(a);

        return e > 0 ? -e : -EIO;
}

/* Up to a piece: its size, 0 at the end. */
static ssize_t read_piece(int fd, char *buffer) {
        ssize_t n;

        if (interrupt_signal())
                return -ECANCELED;
        do
                n = read(fd, buffer, PIECE);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

/* --- tar -------------------------------------------------------------------------------------- */

static int open_tar(int to, bool gzip, struct archive **ret) {
        _cleanup_archive_ struct archive *a = archive_write_new();

        if (!a)
                return -ENOMEM;
        /* The tar that Google asks for: --format=oldgnu. Sizes beyond 8 GiB fit, too. */
        if (archive_write_set_format_gnutar(a) != ARCHIVE_OK)
                return archive_error(a);
        if (gzip && (archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
                                    archive_write_set_options(a, GZIP_OPTIONS) != ARCHIVE_OK))
                return archive_error(a);
        if (archive_write_open_fd(a, to) != ARCHIVE_OK)
                return archive_error(a);
        *ret = TAKE_PTR(a);
        return 0;
}

static int begin_member(struct archive *a, const char *name, uint64_t size) {
        _cleanup_entry_ struct archive_entry *e = archive_entry_new();

        if (!e)
                return -ENOMEM;
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (int64_t) size);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_mtime(e, 0, 0);
        return archive_write_header(a, e) == ARCHIVE_OK ? 0 : archive_error(a);
}

static int write_member(struct archive *a, const void *data, size_t size) {
        return archive_write_data(a, data, size) == (la_ssize_t) size ? 0 : archive_error(a);
}

/* The file, and zeros behind it up to `size`. */
static int add_file(struct archive *a, const char *name, int from, uint64_t size) {
        _cleanup_free_ char *buffer = malloc(PIECE);
        uint64_t done = 0;
        int r;

        if (!buffer)
                return -ENOMEM;
        r = begin_member(a, name, size);
        if (r < 0)
                return r;
        while (done < size) {
                ssize_t n = read_piece(from, buffer);

                if (n < 0)
                        return (int) n;
                if (n == 0) {
                        n = (ssize_t) MIN((uint64_t) PIECE, size - done);
                        memset(buffer, 0, (size_t) n);
                }
                r = write_member(a, buffer, (size_t) n);
                if (r < 0)
                        return r;
                done += (uint64_t) n;
        }
        return 0;
}

static int close_tar(struct archive *a) {
        return archive_write_close(a) == ARCHIVE_OK ? 0 : archive_error(a);
}

int gce_pack(int from, int to) {
        _cleanup_archive_ struct archive *a = NULL;
        struct stat st;
        uint64_t size;
        int r;

        if (fstat(from, &st) < 0)
                return -errno;
        size = ((uint64_t) st.st_size + GCE_UNIT - 1) / GCE_UNIT * GCE_UNIT;
        r = open_tar(to, true, &a);
        if (r < 0)
                return r;
        r = add_file(a, "disk.raw", from, size);
        if (r < 0)
                return r;
        return close_tar(a);
}

static const char oci_metadata[] = "{\n"
                                   "  \"version\": 2,\n"
                                   "  \"externalLaunchOptions\": {\n"
                                   "    \"firmware\": \"UEFI_64\",\n"
                                   "    \"networkType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"bootVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"remoteDataVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"localDataVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"launchOptionsSource\": \"PARAVIRTUALIZED\",\n"
                                   "    \"pvAttachmentVersion\": 2,\n"
                                   "    \"pvEncryptionInTransitEnabled\": false,\n"
                                   "    \"consistentVolumeNamingEnabled\": true\n"
                                   "  },\n"
                                   "  \"imageCapabilityData\": null,\n"
                                   "  \"imageCapsFormatVersion\": null,\n"
                                   "  \"operatingSystem\": \"Linux\",\n"
                                   "  \"operatingSystemVersion\": \"\"\n"
                                   "}\n";

int oci_pack(int from, int to) {
        const size_t size = strlen(oci_metadata);
        _cleanup_archive_ struct archive *a = NULL;
        struct stat st;
        int r;

        if (fstat(from, &st) < 0)
                return -errno;
        r = open_tar(to, false, &a);
        if (r < 0)
                return r;
        r = begin_member(a, "image_metadata.json", size);
        if (r < 0)
                return r;
        r = write_member(a, oci_metadata, size);
        if (r < 0)
                return r;
        r = add_file(a, "output.QCOW2", from, (uint64_t) st.st_size);
        if (r < 0)
                return r;
        return close_tar(a);
}

/* --- zstd ------------------------------------------------------------------------------------- */

/* With workers the bytes do not depend on how many there are, but differ from those of none. */
static ZSTD_CCtx *zstd_context(void) {
        _cleanup_cctx_ ZSTD_CCtx *c = ZSTD_createCCtx();
        cpu_set_t set;
        int workers = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);

        if (!c || ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)) ||
                        ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_nbWorkers, workers)))
                return NULL;
        return TAKE_PTR(c);
}

static int compress_piece(ZSTD_CCtx *c, ZSTD_inBuffer *in, bool last, int to, char *out) {
        size_t left;

        do {
                ZSTD_outBuffer o = { out, PIECE, 0 };
                int r;

                left = ZSTD_compressStream2(c, &o, in, last ? ZSTD_e_end : ZSTD_e_continue);
                if (ZSTD_isError(left))
                        return -EIO;
                r = write_all(to, out, o.pos);
                if (r < 0)
                        return r;
        } while (last ? left > 0 : in->pos < in->size);
        return 0;
}

int zstd_pack(int from, int to) {
        _cleanup_free_ char *buffer = malloc(PIECE), *out = malloc(PIECE);
        _cleanup_cctx_ ZSTD_CCtx *c = zstd_context();
        ssize_t n;

        if (!buffer || !out || !c)
                return -ENOMEM;
        do {
                ZSTD_inBuffer in = { buffer, 0, 0 };
                int r;

                n = read_piece(from, buffer);
                if (n < 0)
                        return (int) n;
                in.size = (size_t) n;
                r = compress_piece(c, &in, n == 0, to, out);
                if (r < 0)
                        return r;
        } while (n > 0);
        return 0;
}
