/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packing and unpacking by zstd, with a dictionary that may be much larger than what is packed; and
 * the images that dictionaries come from. */

#include "disk/delta-zstd.h"
#include "appliance/appliance.h"
#include "shared/log.h"

#include <zstd.h>

#define LEVEL 22                  /* for what one package's update is */
#define LEVEL_LARGE 9             /* beyond LARGE, where the other takes minutes */
#define LARGE (32u * 1024 * 1024) /* bytes, data and dictionary */

struct DeltaZstd {
        ZSTD_CCtx *pack;
        ZSTD_DCtx *unpack;
};

int delta_zstd_new(DeltaZstd **ret) {
        DeltaZstd *z = calloc(1, sizeof(*z));

        if (!z)
                return -ENOMEM;
        z->pack = ZSTD_createCCtx();
        z->unpack = ZSTD_createDCtx();
        if (!z->pack || !z->unpack ||
                        ZSTD_isError(ZSTD_CCtx_setParameter(
                                        z->pack, ZSTD_c_windowLog, DELTA_WINDOW_LOG)) ||
                        ZSTD_isError(ZSTD_CCtx_setParameter(
                                        z->pack, ZSTD_c_enableLongDistanceMatching, 1))) {
                delta_zstd_free(z);
                return -ENOMEM;
        }
        *ret = z;
        return 0;
}

DeltaZstd *delta_zstd_free(DeltaZstd *z) {
        if (!z)
                return NULL;
        ZSTD_freeCCtx(z->pack);
        ZSTD_freeDCtx(z->unpack);
        free(z);
        return NULL;
}

int delta_pack(DeltaZstd *z, const void *dictionary, size_t dictionary_size, const void *data,
                size_t size, uint8_t **ret, size_t *ret_size) {
        size_t room = ZSTD_compressBound(size), packed;
        _cleanup_free_ uint8_t *frame = malloc(room);
        int level = dictionary_size + size > LARGE ? LEVEL_LARGE : LEVEL;

        if (!frame)
                return -ENOMEM;
        if (ZSTD_isError(ZSTD_CCtx_setParameter(z->pack, ZSTD_c_compressionLevel, level)) ||
                        ZSTD_isError(ZSTD_CCtx_refPrefix(z->pack, dictionary, dictionary_size)))
                return -EIO;
        packed = ZSTD_compress2(z->pack, frame, room, data, size);
        if (ZSTD_isError(packed))
                return -ENOMEM;
        *ret = TAKE_PTR(frame);
        *ret_size = packed;
        return 0;
}

int delta_unpack(DeltaZstd *z, const void *dictionary, size_t dictionary_size, const void *frame,
                size_t frame_size, void *data, size_t size) {
        size_t one = ZSTD_findFrameCompressedSize(frame, frame_size);

        if (ZSTD_isError(one) || one != frame_size ||
                        ZSTD_isError(ZSTD_DCtx_refPrefix(z->unpack, dictionary, dictionary_size)))
                return -EBADMSG;
        return ZSTD_decompressDCtx(z->unpack, data, size, frame, frame_size) == size ? 0 : -EBADMSG;
}

int delta_read_dictionary(ImageReader *old, const DeltaPiece *p, void *data) {
        for (size_t i = 0; i < p->n_dictionary; i++) {
                const DeltaRange *range = p->dictionary + i;
                int r = image_reader_read(old, data, range->from, range->blocks);

                if (r < 0)
                        return r;
                data = (char *) data + range->blocks * DELTA_BLOCK;
        }
        return 0;
}

int delta_open_image(const char *path, ImageReader **ret, const char **ret_driver) {
        const char *driver;
        int r;

        r = image_format_log(path, &driver);
        if (r < 0)
                return r == -EACCES ? r : -EINVAL;
        r = image_reader_open(path, driver, ret);
        if (r == -EOPNOTSUPP)
                return log_error_return(-EINVAL,
                                "%s is in the format %s: convert it with 'imgbuild export --format=qcow2' or raw first",
                                path, driver);
        if (r == -EBADMSG)
                return log_error_return(-EINVAL,
                                "%s is damaged, or another kind of qcow2 than imgbuild writes: 'imgbuild export --format=qcow2' converts it",
                                path);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        if (ret_driver)
                *ret_driver = driver;
        return 0;
}
