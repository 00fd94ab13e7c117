/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A control is numbers of 7 bits a byte, the lowest first, the highest bit set where more follow:
 * how many ranges the dictionary has, each as the gap to the one before and its length; then ops,
 * as length × 4 + kind. Blocks of the old disk follow with how far they are from where the last
 * ones ended, × 2, and + 1 backwards. */

#include "disk/delta-format.h"
#include "shared/json-util.h"
#include "shared/strv.h"

#include <inttypes.h>

/* --- the header ------------------------------------------------------------------------------- */

/* Nothing in it needs to be escaped. */
char *delta_header_format(const DeltaHeader *h) {
        return strf(DELTA_MAGIC "{ \"old\": { \"size\": %" PRIu64
                                ", \"sha256\": \"%s\", \"beginning\": \"%s\" }, "
                                "\"new\": { \"size\": %" PRIu64
                                ", \"sha256\": \"%s\", \"beginning\": \"%s\", "
                                "\"format\": \"%s\", \"file\": \"%s\" } }\n",
                        h->old.size, h->old.sha256, h->old.beginning, h->new.size, h->new.sha256,
                        h->new.beginning, h->format, h->file);
}

static int take_digest(json_object *o, const char *key, Digest ret) {
        const char *digest = json_get_string(o, key);

        if (!digest_valid(digest))
                return -EBADMSG;
        memcpy(ret, digest, sizeof(Digest));
        return 0;
}

static int take_disk(json_object *o, DeltaDisk *ret) {
        int64_t size = json_get_int(o, "size", 0);

        if (size <= 0 || (uint64_t) size > DELTA_DISK_MAX)
                return -EBADMSG;
        ret->size = (uint64_t) size;
        if (take_digest(o, "sha256", ret->sha256) < 0)
                return -EBADMSG;
        return take_digest(o, "beginning", ret->beginning);
}

int delta_header_parse(const char *text, size_t size, DeltaHeader *ret, size_t *ret_size) {
        const size_t magic = strlen(DELTA_MAGIC);
        _cleanup_json_ json_object *o = NULL;
        const char *format, *end;
        DeltaHeader h = {};
        JsonError error;
        int r;

        if (size < magic || memcmp(text, DELTA_MAGIC, magic) != 0)
                return -EBADMSG;
        end = memchr(text + magic, '\n', MIN(size - magic, (size_t) DELTA_LINE_MAX));
        if (!end)
                return -EBADMSG;
        r = json_parse(text + magic, (size_t) (end - text) - magic, &error, &o);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;

        format = json_get_string(json_get(o, "new"), "format");
        if (!format || (!streq(format, "raw") && !streq(format, "qcow2")))
                return -EBADMSG;
        strcpy(h.format, format);
        if (take_disk(json_get(o, "old"), &h.old) < 0 ||
                        take_disk(json_get(o, "new"), &h.new) < 0 ||
                        take_digest(json_get(o, "new"), "file", h.file) < 0)
                return -EBADMSG;
        *ret = h;
        *ret_size = (size_t) (end + 1 - text);
        return 0;
}

/* --- pieces ----------------------------------------------------------------------------------- */

void delta_piece_done(DeltaPiece *p) {
        free(p->dictionary);
        free(p->ops);
        *p = (DeltaPiece) {};
}

/* The array with room for one more; NULL on out of memory, and it is as it was. */
static void *with_room(void *items, size_t n, size_t *allocated, size_t size) {
        size_t wanted = MAX(2 * n, (size_t) 64);

        if (n < *allocated)
                return items;
        items = reallocarray(items, wanted, size);
        if (items)
                *allocated = wanted;
        return items;
}

static bool follows(const DeltaOp *last, const DeltaOp *op) {
        return last->kind == op->kind &&
               (op->kind != DELTA_OLD || last->from + last->blocks == op->from);
}

int delta_piece_add(DeltaPiece *p, DeltaOp op) {
        DeltaOp *last = p->n_ops > 0 ? p->ops + p->n_ops - 1 : NULL;

        if (last && follows(last, &op)) {
                last->blocks += op.blocks;
        } else {
                DeltaOp *ops = with_room(p->ops, p->n_ops, &p->ops_allocated, sizeof(*ops));

                if (!ops)
                        return -ENOMEM;
                p->ops = ops;
                p->ops[p->n_ops++] = op;
        }
        p->blocks += op.blocks;
        if (op.kind == DELTA_DATA)
                p->data_blocks += op.blocks;
        return 0;
}

int delta_piece_add_dictionary(DeltaPiece *p, DeltaRange range) {
        DeltaRange *last = p->n_dictionary > 0 ? p->dictionary + p->n_dictionary - 1 : NULL;

        if (last && last->from + last->blocks == range.from) {
                last->blocks += range.blocks;
        } else {
                DeltaRange *ranges = with_room(p->dictionary, p->n_dictionary,
                                &p->dictionary_allocated, sizeof(*ranges));

                if (!ranges)
                        return -ENOMEM;
                p->dictionary = ranges;
                p->dictionary[p->n_dictionary++] = range;
        }
        p->dictionary_blocks += range.blocks;
        return 0;
}

#define NUMBER_MAX 10 /* bytes of a number */

static uint8_t *put(uint8_t *to, uint64_t n) {
        for (; n >= 0x80; n >>= 7)
                *to++ = (uint8_t) (n | 0x80);
        *to++ = (uint8_t) n;
        return to;
}

int delta_piece_format(const DeltaPiece *p, uint8_t **ret, size_t *ret_size) {
        uint8_t *control = malloc(NUMBER_MAX * (1 + 2 * p->n_dictionary + 2 * p->n_ops)),
                *to = control;
        uint64_t at = 0;

        if (!control)
                return -ENOMEM;
        to = put(to, p->n_dictionary);
        for (size_t i = 0; i < p->n_dictionary; i++) {
                to = put(to, p->dictionary[i].from - at);
                to = put(to, p->dictionary[i].blocks);
                at = p->dictionary[i].from + p->dictionary[i].blocks;
        }

        at = 0;
        for (const DeltaOp *op = p->ops; op < p->ops + p->n_ops; op++) {
                to = put(to, op->blocks << 2 | op->kind);
                if (op->kind != DELTA_OLD)
                        continue;
                to = put(to, op->from >= at ? (op->from - at) << 1 : (at - op->from) << 1 | 1);
                at = op->from + op->blocks;
        }
        *ret = control;
        *ret_size = (size_t) (to - control);
        return 0;
}

typedef struct Input {
        const uint8_t *at, *end;
        uint64_t old_blocks;
} Input;

static int take(Input *in, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned shift = 0; in->at < in->end && shift < 63; shift += 7) {
                uint8_t byte = *in->at++;

                n |= (uint64_t) (byte & 0x7f) << shift;
                if (!(byte & 0x80)) {
                        *ret = n;
                        return 0;
                }
        }
        return -EBADMSG;
}

/* So many blocks, some at least, from there on are in the old disk. */
static bool is_inside(const Input *in, uint64_t from, uint64_t blocks) {
        return blocks > 0 && from <= in->old_blocks && blocks <= in->old_blocks - from;
}

static int take_dictionary(Input *in, DeltaPiece *p) {
        uint64_t n, at = 0;
        int r;

        r = take(in, &n);
        if (r < 0)
                return r;
        if (n > DELTA_DICTIONARY_MAX)
                return -EBADMSG;
        for (; n > 0; n--) {
                uint64_t gap, blocks;

                if (take(in, &gap) < 0 || take(in, &blocks) < 0 || gap > in->old_blocks - at ||
                                !is_inside(in, at + gap, blocks) ||
                                blocks > DELTA_DICTIONARY_MAX - p->dictionary_blocks)
                        return -EBADMSG;
                r = delta_piece_add_dictionary(p, (DeltaRange) { at + gap, blocks });
                if (r < 0)
                        return r;
                at += gap + blocks;
        }
        return 0;
}

/* at: where the blocks of the last such op ended. */
static int take_from(Input *in, uint64_t *at, DeltaOp *op) {
        uint64_t distance;

        if (take(in, &distance) < 0)
                return -EBADMSG;
        if (distance & 1 ? distance >> 1 > *at : distance >> 1 > in->old_blocks - *at)
                return -EBADMSG;
        op->from = distance & 1 ? *at - (distance >> 1) : *at + (distance >> 1);
        if (!is_inside(in, op->from, op->blocks))
                return -EBADMSG;
        *at = op->from + op->blocks;
        return 0;
}

static int take_ops(Input *in, uint64_t left, DeltaPiece *p) {
        uint64_t at = 0, number;

        while (in->at < in->end) {
                DeltaOp op = {};
                int r;

                if (take(in, &number) < 0 || (number & 3) > DELTA_DATA)
                        return -EBADMSG;
                op.kind = number & 3;
                op.blocks = number >> 2;
                if (op.blocks == 0 || op.blocks > left - p->blocks ||
                                (op.kind == DELTA_DATA &&
                                                op.blocks > DELTA_DATA_MAX - p->data_blocks) ||
                                (op.kind == DELTA_OLD && take_from(in, &at, &op) < 0))
                        return -EBADMSG;
                r = delta_piece_add(p, op);
                if (r < 0)
                        return r;
        }
        return p->blocks > 0 ? 0 : -EBADMSG;
}

int delta_piece_parse(const uint8_t *control, size_t size, uint64_t old_blocks, uint64_t left,
                DeltaPiece *ret) {
        Input in = { control, control + size, old_blocks };
        _cleanup_delta_piece_ DeltaPiece p = {};
        int r;

        r = take_dictionary(&in, &p);
        if (r < 0)
                return r;
        r = take_ops(&in, left, &p);
        if (r < 0)
                return r;
        *ret = p;
        p = (DeltaPiece) {};
        return 0;
}
