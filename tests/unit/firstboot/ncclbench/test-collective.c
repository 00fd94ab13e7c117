/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/collective.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static Layout layout_of(const char *name, size_t elements, size_t size, size_t ranks) {
        Layout l;

        collective_find(name)->layout(elements, size, ranks, &l);
        return l;
}

static double factor(const char *name, int n) {
        return collective_find(name)->factor(n);
}

/* nccl-tests, doc/PERFORMANCE.md, Summary. */
static void bus_bandwidth_factors_are_nccl_tests(void **state _unused_) {
        assert_true(factor("all_reduce", 8) == 1.75);
        assert_true(factor("reduce_scatter", 8) == 0.875);
        assert_true(factor("all_gather", 8) == 0.875);
        assert_true(factor("broadcast", 8) == 1);
        assert_true(factor("reduce", 8) == 1);
        assert_true(factor("alltoall", 4) == 0.75);
        assert_true(factor("sendrecv", 4) == 1);
}

static void a_single_rank_has_no_bus(void **state _unused_) {
        assert_true(factor("all_reduce", 1) == 0);
}

static void pieces_are_multiples_of_sixteen_bytes(void **state _unused_) {
        Layout l = layout_of("all_gather", 1000, 2, 3);

        assert_int_equal(l.count, 328);
        assert_int_equal(l.receive_count, 3 * 328);
        assert_int_equal(l.in_place_send, 328);
        assert_int_equal(l.in_place_receive, 0);
}

static void reduce_scatter_receives_its_piece_in_place(void **state _unused_) {
        Layout l = layout_of("reduce_scatter", 64, 4, 4);

        assert_int_equal(l.send_count, 64);
        assert_int_equal(l.receive_count, 16);
        assert_int_equal(l.in_place_receive, 16);
        assert_int_equal(l.in_place_send, 0);
}

static void no_layout_outgrows_the_size_asked_for(void **state _unused_) {
        for (size_t c = 0; c < collective_count; c++)
                for (size_t ranks = 1; ranks < 20; ranks++)
                        for (size_t elements = 0; elements < 300; elements += 7) {
                                Layout l;

                                collective_table[c].layout(elements, 4, ranks, &l);
                                assert_true(layout_bytes(&l, 4) <= elements * 4);
                        }
}

static PatternJob expect(const char *name, int root, int rank, int ranks) {
        const Collective *c = collective_find(name);
        Layout l;
        PatternJob job;

        c->layout(64 * (size_t) ranks, 4, (size_t) ranks, &l);
        assert_int_equal(collective_expect(c, &l, TYPE_FLOAT, OP_SUM, root, rank, ranks, &job), 0);
        return job;
}

static void reduce_promises_nothing_to_others_than_the_root(void **state _unused_) {
        assert_int_equal(expect("reduce", 2, 1, 4).count, 0);
        assert_int_equal(expect("reduce", 2, 2, 4).count, 256);
}

static void broadcast_gives_everybody_the_roots_data(void **state _unused_) {
        for (int rank = 0; rank < 4; rank++)
                assert_int_equal(expect("broadcast", 3, rank, 4).rank, 3);
}

static void sendrecv_receives_from_the_rank_before(void **state _unused_) {
        assert_int_equal(expect("sendrecv", -1, 0, 4).rank, 3);
        assert_int_equal(expect("sendrecv", -1, 2, 4).rank, 1);
}

static void alltoall_takes_its_own_piece_of_each_rank(void **state _unused_) {
        PatternJob job = expect("alltoall", -1, 2, 4);

        assert_int_equal(job.chunk, 64);
        assert_int_equal(job.index_base, 128);
        assert_int_equal(job.rank, 0);
        assert_false(job.reduced);
}

static void reduce_scatter_expects_its_own_piece(void **state _unused_) {
        PatternJob job = expect("reduce_scatter", -1, 3, 4);

        assert_int_equal(job.index_base, 3 * 64);
        assert_true(job.reduced);
}

static void unknown_operations_are_not_found(void **state _unused_) {
        assert_null(collective_find("allreduce"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bus_bandwidth_factors_are_nccl_tests),
                cmocka_unit_test(a_single_rank_has_no_bus),
                cmocka_unit_test(pieces_are_multiples_of_sixteen_bytes),
                cmocka_unit_test(reduce_scatter_receives_its_piece_in_place),
                cmocka_unit_test(no_layout_outgrows_the_size_asked_for),
                cmocka_unit_test(reduce_promises_nothing_to_others_than_the_root),
                cmocka_unit_test(broadcast_gives_everybody_the_roots_data),
                cmocka_unit_test(sendrecv_receives_from_the_rank_before),
                cmocka_unit_test(alltoall_takes_its_own_piece_of_each_rank),
                cmocka_unit_test(reduce_scatter_expects_its_own_piece),
                cmocka_unit_test(unknown_operations_are_not_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
