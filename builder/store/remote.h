/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A store of layers on an HTTP server, which some fill and others read:
 *
 *   layers/DIGEST         a layer's record: one line of JSON and, where it is signed, the four
 *                         lines of minisign's signature of that line
 *   blobs/sha256/ab/ab…   its archive (stage/pack.h)
 *
 * A stage's digest is of what goes into it. What came out, the record says: the archive's digest,
 * and that of the tree in it. A record is written last, as one file.
 *
 * Nothing here is logged but a wrong URL or key: a build goes on without. */

#include "common/context.h"
#include "common/minisign.h"
#include "shared/json-util.h"
#include "store/digest.h"
#include "store/s3.h"

/* `url`: https, http, or s3 (store/s3.h). `key` is a file with minisign's public key, which has to
 * have signed every record; NULL: the server is believed, over TLS or on this host alone. -EINVAL
 * (logged). */
int remote_new(const char *url, const char *key, Remote **ret);
Remote *remote_free(Remote *r);
DEFINE_CLEANUP(Remote *, remote_free);

const char *remote_url(const Remote *r);
const S3Access *remote_s3(const Remote *r); /* NULL: its requests are not signed */
bool remote_is_keyed(const Remote *r);
bool remote_has_key(const Remote *r, const PublicKey *key);
void remote_expect_key(Remote *r, const PublicKey *key); /* as that of remote_new() */

/* From now on it is not asked any more: it is down, or hopeless. */
void remote_give_up(Remote *r);
bool remote_is_usable(const Remote *r); /* of NULL as well */

/* What came of asking it, since it was told last. */
typedef struct RemoteTally {
        size_t taken, unusable;
        uint64_t bytes;
        char *first; /* what was wrong with the first unusable one */
} RemoteTally;
RemoteTally *remote_tally(Remote *r);

/* A layer that cannot be used is not fetched once more. */
int remote_refuse(Remote *r, const char *digest);
bool remote_refuses(const Remote *r, const char *digest);

typedef struct RemoteLayer {
        Digest digest;          /* of the stage */
        Digest tree;            /* layer_portable_digest() */
        Digest archive;         /* sha256 */
        uint64_t size;          /* of the archive, bytes */
        json_object *made_with; /* of a base: docs/disk.md; else NULL */
} RemoteLayer;
void remote_layer_done(RemoteLayer *l);
#define _cleanup_remote_layer_ _cleanup_(remote_layer_done)

/* 1: it is there; 0: it is not; -EBADMSG: what is there is no record of this layer, or not signed
 * by the key; -ECANCELED after a Ctrl-C; another negative errno: the server. *ret_why (the caller
 * frees it) says more of an error; NULL on out of memory. */
int remote_find(Remote *r, const char *digest, RemoteLayer *ret, char **ret_why);

char *remote_blob_url(const Remote *r, const char *sha256);

/* Writes an archive, then its record, signed where there is a key. `stage` names the progress line
 * to feed. 0, -ECANCELED, or another negative errno, and *ret_why as above. */
int remote_write(Remote *r, Context *ctx, const char *stage, const RemoteLayer *l, int fd,
                const SecretKey *key, char **ret_why);

/* Writes a download, where it is not there yet: 0; 1: it was; errors as above. */
int remote_write_blob(Remote *r, Context *ctx, const char *stage, const char *sha256, int fd,
                uint64_t size, char **ret_why);
