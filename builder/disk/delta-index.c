/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Blocks are known by the first half of their SHA-256: two different ones with the same are not to
 * be had, even by who can choose what is in an image. 24 bytes a block of the old disk are kept:
 * 6 MB for each GiB. */

#include "disk/delta-index.h"
#include "shared/spawn.h"

#define PIECE 256u /* blocks that are read at once */
#define NONE UINT32_MAX

typedef struct Key {
        uint64_t high, low;
} Key;

static const Key zero_key; /* stands for a block of zeros */

typedef struct Index {
        EVP_MD *sha256;
        Key *keys;  /* of the old disk's blocks */
        bool *used; /* by the new disk; of the first block of each content */
        uint64_t n, mask;
        uint32_t *slots; /* open addressing: a block, or NONE */
        unsigned char data[PIECE * DELTA_BLOCK];
} Index;

static Index *index_free(Index *x) {
        if (!x)
                return NULL;
        EVP_MD_free(x->sha256);
        free(x->keys);
        free(x->used);
        free(x->slots);
        free(x);
        return NULL;
}
DEFINE_CLEANUP(Index *, index_free);

static int index_new(uint64_t blocks, Index **ret) {
        _cleanup_(index_freep) Index *x = calloc(1, sizeof(*x));
        uint64_t slots = 64;

        if (blocks >= NONE)
                return -EFBIG;
        while (slots < 2 * blocks)
                slots *= 2;
        if (!x)
                return -ENOMEM;
        x->n = blocks;
        x->mask = slots - 1;
        x->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
        x->keys = calloc(blocks + 1, sizeof(*x->keys));
        x->used = calloc(blocks + 1, sizeof(*x->used));
        x->slots = malloc(slots * sizeof(*x->slots));
        if (!x->sha256 || !x->keys || !x->used || !x->slots)
                return -ENOMEM;
        memset(x->slots, 0xff, slots * sizeof(*x->slots));
        *ret = TAKE_PTR(x);
        return 0;
}

static bool key_equal(Key a, Key b) {
        return a.high == b.high && a.low == b.low;
}

static int key_of(const Index *x, const unsigned char *block, Key *ret) {
        unsigned char digest[EVP_MAX_MD_SIZE];

        if (block_is_zero(block)) {
                *ret = zero_key;
                return 0;
        }
        if (EVP_Digest(block, DELTA_BLOCK, digest, NULL, x->sha256, NULL) != 1)
                return -EIO;
        memcpy(ret, digest, sizeof(*ret));
        return 0;
}

/* The first block of that content; NONE. *ret_slot: where it is, or would be. */
static uint32_t lookup(const Index *x, Key key, uint64_t *ret_slot) {
        uint64_t slot = key.low & x->mask;

        while (x->slots[slot] != NONE && !key_equal(x->keys[x->slots[slot]], key))
                slot = (slot + 1) & x->mask;
        if (ret_slot)
                *ret_slot = slot;
        return x->slots[slot];
}

/* Calls fn for each block in order. *ret: SHA-256 of the disk. */
static int for_each_block(Index *x, ImageReader *image,
                int (*fn)(Index *x, uint64_t block, Key key, void *userdata), void *userdata,
                Digest ret) {
        uint64_t n = image_reader_blocks(image), left = image_reader_size(image);
        _cleanup_hash_free_ Hash *h = NULL;
        Key key;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        for (uint64_t block = 0; block < n; block += PIECE) {
                size_t blocks = (size_t) MIN((uint64_t) PIECE, n - block),
                       bytes = (size_t) MIN((uint64_t) blocks * DELTA_BLOCK, left);

                if (interrupt_signal())
                        return -ECANCELED;
                r = image_reader_read(image, x->data, block, blocks);
                if (r < 0)
                        return r;
                hash_bytes(h, x->data, bytes);
                left -= bytes;
                for (size_t i = 0; i < blocks; i++) {
                        r = key_of(x, x->data + i * DELTA_BLOCK, &key);
                        if (r < 0)
                                return r;
                        r = fn(x, block + i, key, userdata);
                        if (r < 0)
                                return r;
                }
        }
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

static int put_old(Index *x, uint64_t block, Key key, void *userdata _unused_) {
        uint64_t slot;

        x->keys[block] = key;
        if (!key_equal(key, zero_key) && lookup(x, key, &slot) == NONE)
                x->slots[slot] = (uint32_t) block;
        return 0;
}

/* What goes on where the last blocks of the old disk ended is one op with them; then what stayed
 * where it was. */
static uint64_t choose_old(
                const Index *x, uint64_t block, Key key, const DeltaPiece *ops, uint64_t first) {
        const DeltaOp *last = ops->n_ops > 0 ? ops->ops + ops->n_ops - 1 : NULL;
        uint64_t next = last && last->kind == DELTA_OLD ? last->from + last->blocks : block;

        if (next < x->n && key_equal(x->keys[next], key))
                return next;
        return block < x->n && key_equal(x->keys[block], key) ? block : first;
}

static int map_new(Index *x, uint64_t block, Key key, void *userdata) {
        DeltaPiece *ops = userdata;
        uint32_t first;

        if (key_equal(key, zero_key))
                return delta_piece_add(ops, (DeltaOp) { .kind = DELTA_ZERO, .blocks = 1 });
        first = lookup(x, key, NULL);
        if (first == NONE)
                return delta_piece_add(ops, (DeltaOp) { .kind = DELTA_DATA, .blocks = 1 });
        x->used[first] = true;
        return delta_piece_add(
                        ops, (DeltaOp) { DELTA_OLD, choose_old(x, block, key, ops, first), 1 });
}

/* Of several blocks with the same content the first stands for all. */
static int find_unused(const Index *x, DeltaMap *m) {
        DeltaPiece unused = {};

        for (uint64_t block = 0; block < x->n; block++) {
                if (x->used[block] || key_equal(x->keys[block], zero_key) ||
                                lookup(x, x->keys[block], NULL) != block)
                        continue;
                if (delta_piece_add_dictionary(&unused, (DeltaRange) { block, 1 }) < 0) {
                        delta_piece_done(&unused);
                        return -ENOMEM;
                }
        }
        m->unused = unused.dictionary;
        m->n_unused = unused.n_dictionary;
        m->unused_blocks = unused.dictionary_blocks;
        return 0;
}

void delta_map_done(DeltaMap *m) {
        delta_piece_done(&m->ops);
        free(m->unused);
}

int delta_map(ImageReader *old, ImageReader *new, DeltaMap *ret) {
        _cleanup_(index_freep) Index *x = NULL;
        _cleanup_delta_map_ DeltaMap m = {};
        int r;

        r = index_new(image_reader_blocks(old), &x);
        if (r < 0)
                return r;
        r = for_each_block(x, old, put_old, NULL, m.old);
        if (r < 0)
                return r;
        r = for_each_block(x, new, map_new, &m.ops, m.new);
        if (r < 0)
                return r;
        r = find_unused(x, &m);
        if (r < 0)
                return r;
        *ret = m;
        m = (DeltaMap) {};
        return 0;
}
