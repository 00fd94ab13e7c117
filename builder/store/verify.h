/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Layers and blobs held against what they were when they came into the store. */

#include "store/store.h"

/* Whether a layer is as it was made: 1; 0 where not, which is logged, and it is no longer there;
 * -ENOENT. Looked at once in each start of the host. */
int store_check_layer(Store *s, const char *digest);

/* The same, whenever it was looked at last. */
int store_check_layer_again(Store *s, const char *digest);

/* The same of a blob, each time. */
int store_check_blob(Store *s, const char *sha256);

typedef struct StoreVerdict {
        uint64_t layers, blobs, bytes; /* those that are whole, and what was read */
        uint64_t damaged;              /* logged and set aside */
        uint64_t unknown; /* layers of an older imgbuild without a digest: they have one now */
} StoreVerdict;

/* All of it, whenever it was looked at last. Errors are logged. */
int store_verify(Store *s, StoreVerdict *ret);
