/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's part is played at the other end of a pair of sockets: its answers lie there before
 * they are asked for, for the first question is number 1. */

#include "steps/rdma/statistics.h"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define DEVICES RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET)
#define COUNTERS RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET)

typedef struct Kernel {
        int ends[2];
        Statistics statistics;
        _Alignas(struct nlmsghdr) char room[64 * 1024];
} Kernel;

static struct nlmsghdr *message(Kernel *k, unsigned type, unsigned flags, uint32_t sequence) {
        struct nlmsghdr *m = mnl_nlmsg_put_header(k->room);

        m->nlmsg_type = (uint16_t) type;
        m->nlmsg_flags = (uint16_t) flags;
        m->nlmsg_seq = sequence;
        return m;
}

static void answer(Kernel *k, const struct nlmsghdr *m) {
        assert_int_equal(send(k->ends[1], m, m->nlmsg_len, 0), m->nlmsg_len);
}

static void answer_device(Kernel *k, const char *name, uint32_t index) {
        struct nlmsghdr *m = message(k, DEVICES, NLM_F_MULTI, 1);

        mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, index);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_DEV_NAME, name);
        answer(k, m);
}

static void answer_error(Kernel *k, uint32_t sequence, int error) {
        struct nlmsghdr *m = message(k, NLMSG_ERROR, 0, sequence);
        struct nlmsgerr *e = mnl_nlmsg_put_extra_header(m, sizeof(*e));

        e->error = error;
        answer(k, m);
}

static void open_kernel(Kernel *k) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, k->ends), 0);
}

static int start(void **state) {
        Kernel *k = calloc(1, sizeof(Kernel));

        open_kernel(k);
        answer_device(k, "mlx5_0", 7);
        answer_device(k, "mlx5_1", 9);
        answer(k, message(k, NLMSG_DONE, NLM_F_MULTI, 1));
        assert_int_equal(statistics_open_fd(k->ends[0], &k->statistics), 0);
        *state = k;
        return 0;
}

static int end(void **state) {
        Kernel *k = *state;

        statistics_done(&k->statistics);
        safe_close(k->ends[1]);
        free(k);
        return 0;
}

static struct nlmsghdr *counters(Kernel *k, uint32_t sequence, struct nlattr **ret) {
        struct nlmsghdr *m = message(k, COUNTERS, 0, sequence);

        mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, 9);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_1");
        mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
        *ret = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
        return m;
}

static void put_counter(struct nlmsghdr *m, const char *name, uint64_t value) {
        struct nlattr *entry = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
        mnl_attr_put_u64(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
        mnl_attr_nest_end(m, entry);
}

static int ask(Kernel *k, const Statistic **ret, size_t *ret_n) {
        return statistics_of_port(&k->statistics, "mlx5_1", 1, ret, ret_n);
}

static void counters_come_in_the_kernels_order(void **state) {
        const Statistic *items;
        Kernel *k = *state;
        struct nlattr *nest;
        struct nlmsghdr *m;
        size_t n;

        m = counters(k, 2, &nest);
        put_counter(m, "rx_write_requests", 0);
        put_counter(m, "out_of_sequence", UINT64_MAX);
        mnl_attr_nest_end(m, nest);
        answer(k, m);
        assert_int_equal(ask(k, &items, &n), 0);
        assert_int_equal(n, 2);
        assert_string_equal(items[0].name, "rx_write_requests");
        assert_true(items[0].value == 0);
        assert_string_equal(items[1].name, "out_of_sequence");
        assert_true(items[1].value == UINT64_MAX);
}

static void the_question_names_the_devices_number_and_the_port(void **state) {
        _Alignas(struct nlmsghdr) char asked[256];
        uint32_t found[RDMA_NLDEV_ATTR_MAX] = {};
        const struct nlmsghdr *m = (void *) asked;
        const Statistic *items;
        const struct nlattr *a;
        Kernel *k = *state;
        size_t n;

        answer_error(k, 2, -EINVAL);
        ask(k, &items, &n);
        recv(k->ends[1], asked, sizeof(asked), 0); /* for the devices */
        assert_true(recv(k->ends[1], asked, sizeof(asked), 0) > 0);
        assert_int_equal(m->nlmsg_type, COUNTERS);
        mnl_attr_for_each(a, m, 0) found[mnl_attr_get_type(a)] = mnl_attr_get_u32(a);
        assert_int_equal(found[RDMA_NLDEV_ATTR_DEV_INDEX], 9);
        assert_int_equal(found[RDMA_NLDEV_ATTR_PORT_INDEX], 1);
}

static void what_a_later_kernel_adds_is_passed_over(void **state) {
        const Statistic *items;
        struct nlattr *nest, *entry;
        Kernel *k = *state;
        struct nlmsghdr *m;
        size_t n;

        m = counters(k, 2, &nest);
        entry = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
        mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_MAX + 5, 1);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "sent");
        mnl_attr_put_u64(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 5);
        mnl_attr_nest_end(m, entry);
        mnl_attr_nest_end(m, nest);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_MAX + 6, "more");
        answer(k, m);
        assert_int_equal(ask(k, &items, &n), 0);
        assert_int_equal(n, 1);
        assert_true(items[0].value == 5);
}

static void one_answer_is_not_left_over_from_another(void **state) {
        const Statistic *items;
        Kernel *k = *state;
        struct nlattr *nest;
        struct nlmsghdr *m;
        size_t n;

        for (uint32_t sequence = 2; sequence < 4; sequence++) {
                m = counters(k, sequence, &nest);
                put_counter(m, "sent", sequence);
                mnl_attr_nest_end(m, nest);
                answer(k, m);
        }
        for (uint32_t sequence = 2; sequence < 4; sequence++) {
                assert_int_equal(ask(k, &items, &n), 0);
                assert_int_equal(n, 1);
                assert_true(items[0].value == sequence);
        }
}

static void a_device_that_is_not_there(void **state) {
        const Statistic *items;
        Kernel *k = *state;
        size_t n;

        assert_int_equal(statistics_of_port(&k->statistics, "mlx5_2", 1, &items, &n), -ENODEV);
}

static void what_the_kernel_refuses_ends_that_question_alone(void **state) {
        const Statistic *items;
        Kernel *k = *state;
        struct nlattr *nest;
        struct nlmsghdr *m;
        size_t n;

        answer_error(k, 2, -EMSGSIZE);
        assert_int_equal(ask(k, &items, &n), -EMSGSIZE);
        m = counters(k, 3, &nest);
        put_counter(m, "sent", 1);
        mnl_attr_nest_end(m, nest);
        answer(k, m);
        assert_int_equal(ask(k, &items, &n), 0);
}

static void is_no_answer(Kernel *k, const struct nlmsghdr *m) {
        const Statistic *items;
        size_t n;

        answer(k, m);
        assert_int_equal(ask(k, &items, &n), -EBADMSG);
        assert_int_equal(ask(k, &items, &n), -ENOTCONN);
}

static void an_answer_to_another_question(void **state) {
        Kernel *k = *state;
        struct nlattr *nest;
        struct nlmsghdr *m = counters(k, 1, &nest);

        put_counter(m, "sent", 1);
        mnl_attr_nest_end(m, nest);
        is_no_answer(k, m);
}

static void an_answer_of_another_kind(void **state) {
        Kernel *k = *state;

        is_no_answer(k, message(k, DEVICES, 0, 2));
}

static void an_answer_without_counters(void **state) {
        Kernel *k = *state;

        is_no_answer(k, message(k, COUNTERS, 0, 2));
}

static void a_counter_without_a_value(void **state) {
        struct nlattr *nest, *entry;
        Kernel *k = *state;
        struct nlmsghdr *m = counters(k, 2, &nest);

        entry = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "sent");
        mnl_attr_nest_end(m, entry);
        mnl_attr_nest_end(m, nest);
        is_no_answer(k, m);
}

static void a_value_of_half_the_size(void **state) {
        struct nlattr *nest, *entry;
        Kernel *k = *state;
        struct nlmsghdr *m = counters(k, 2, &nest);

        entry = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
        mnl_attr_put_strz(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "sent");
        mnl_attr_put_u32(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 1);
        mnl_attr_nest_end(m, entry);
        mnl_attr_nest_end(m, nest);
        is_no_answer(k, m);
}

static void a_name_that_does_not_end(void **state) {
        struct nlattr *nest, *entry;
        Kernel *k = *state;
        struct nlmsghdr *m = counters(k, 2, &nest);

        entry = mnl_attr_nest_start(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
        mnl_attr_put_str(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "sent");
        mnl_attr_put_u64(m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 1);
        mnl_attr_nest_end(m, entry);
        mnl_attr_nest_end(m, nest);
        is_no_answer(k, m);
}

static void an_answer_that_is_larger_than_any(void **state) {
        Kernel *k = *state;
        struct nlattr *nest;
        struct nlmsghdr *m = counters(k, 2, &nest);

        for (unsigned i = 0; i < 1000; i++)
                put_counter(m, "a_counter_of_a_long_name", i);
        mnl_attr_nest_end(m, nest);
        is_no_answer(k, m);
}

static void no_answer_at_all_is_waited_for_once(void **state) {
        const Statistic *items;
        Kernel *k = *state;
        size_t n;

        assert_int_equal(ask(k, &items, &n), -ETIMEDOUT);
        assert_int_equal(ask(k, &items, &n), -ENOTCONN);
}

static void a_list_that_the_kernel_refuses(void **state _unused_) {
        _cleanup_free_ Kernel *k = calloc(1, sizeof(Kernel));

        open_kernel(k);
        answer_error(k, 1, -EOPNOTSUPP);
        assert_int_equal(statistics_open_fd(k->ends[0], &k->statistics), -EOPNOTSUPP);
        safe_close(k->ends[1]);
}

static void a_list_that_changed_meanwhile_is_none(void **state _unused_) {
        _cleanup_free_ Kernel *k = calloc(1, sizeof(Kernel));

        open_kernel(k);
        answer_device(k, "mlx5_0", 7);
        answer(k, message(k, NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, 1));
        assert_int_equal(statistics_open_fd(k->ends[0], &k->statistics), -EINTR);
        safe_close(k->ends[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(counters_come_in_the_kernels_order),
                TEST(the_question_names_the_devices_number_and_the_port),
                TEST(what_a_later_kernel_adds_is_passed_over),
                TEST(one_answer_is_not_left_over_from_another),
                TEST(a_device_that_is_not_there),
                TEST(what_the_kernel_refuses_ends_that_question_alone),
                TEST(an_answer_to_another_question),
                TEST(an_answer_of_another_kind),
                TEST(an_answer_without_counters),
                TEST(a_counter_without_a_value),
                TEST(a_value_of_half_the_size),
                TEST(a_name_that_does_not_end),
                TEST(an_answer_that_is_larger_than_any),
                TEST(no_answer_at_all_is_waited_for_once),
                cmocka_unit_test(a_list_that_the_kernel_refuses),
                cmocka_unit_test(a_list_that_changed_meanwhile_is_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
