/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a delta's header and as a piece's control: what is taken lies inside of both disks
 * and of the limits, and is the same again when it is written and read. */

#include "disk/delta-format.h"

#define OLD 70000u /* blocks */
#define LEFT 90000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-delta: %s\n", what);
        abort();
}

static void try_header(const char *text, size_t size) {
        _cleanup_free_ char *again = NULL;
        DeltaHeader h, h2;
        size_t used, used2;

        if (delta_header_parse(text, size, &h, &used) < 0)
                return;
        expect(used <= size && text[used - 1] == '\n', "a header without an end");
        expect(h.old.size > 0 && h.old.size <= DELTA_DISK_MAX && h.new.size > 0 &&
                                        h.new.size <= DELTA_DISK_MAX,
                        "a disk without limits");
        expect(digest_valid(h.file) && digest_valid(h.new.sha256) && digest_valid(h.old.beginning),
                        "a digest that is none");
        again = delta_header_format(&h);
        expect(again && delta_header_parse(again, strlen(again), &h2, &used2) == 0 &&
                                        h2.new.size == h.new.size &&streq(h2.file, h.file),
                        "two readings of one header");
}

static void see_inside(const DeltaPiece *p) {
        uint64_t blocks = 0, data = 0, dictionary = 0;

        for (size_t i = 0; i < p->n_ops; i++) {
                const DeltaOp *op = p->ops + i;

                expect(op->blocks > 0 && op->blocks <= LEFT - blocks, "blocks beyond the new disk");
                blocks += op->blocks;
                if (op->kind == DELTA_DATA)
                        data += op->blocks;
                if (op->kind == DELTA_OLD)
                        expect(op->from < OLD && op->blocks <= OLD - op->from,
                                        "blocks beyond the old disk");
        }
        for (size_t i = 0; i < p->n_dictionary; i++) {
                expect(p->dictionary[i].from < OLD && p->dictionary[i].blocks <=
                                                                      OLD - p->dictionary[i].from,
                                "a dictionary beyond the old disk");
                dictionary += p->dictionary[i].blocks;
        }
        expect(blocks == p->blocks && data == p->data_blocks && dictionary == p->dictionary_blocks,
                        "a wrong sum");
        expect(blocks > 0 && data <= DELTA_DATA_MAX && dictionary <= DELTA_DICTIONARY_MAX,
                        "a piece without limits");
}

static void try_control(const uint8_t *data, size_t size) {
        _cleanup_delta_piece_ DeltaPiece p = {}, again = {};
        _cleanup_free_ uint8_t *control = NULL;
        size_t control_size;

        if (delta_piece_parse(data, size, OLD, LEFT, &p) < 0) {
                expect(p.n_ops == 0 && !p.ops, "a failure that leaves something");
                return;
        }
        see_inside(&p);
        expect(delta_piece_format(&p, &control, &control_size) == 0 &&
                                        delta_piece_parse(control, control_size, OLD, LEFT,
                                                        &again) == 0,
                        "a control that cannot be written");
        expect(again.n_ops == p.n_ops && again.n_dictionary == p.n_dictionary &&
                                        again.blocks == p.blocks,
                        "two readings of one control");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        try_header((const char *) data, size);
        try_control(data, size);
        return 0;
}
