/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* RDMA as it is against RDMA as it should be. */

#include "steps/rdma/check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N 4
#define S(text) ((char *) (text))

/* Four RoCE cards that are as they should be, unless a test says otherwise. */
static RdmaDevice devices[N];
static RdmaPort ports[N];
static RdmaGid gids[N][4];
static RdmaCounter counters[N][2], later_counters[N][2];
static RdmaPort later_ports[N];
static RdmaFacts facts, later;
static const RdmaLimit limits[] = { { S("symbol_error"), 10 } };
static char *names[] = { S("m0"), S("m1"), S("m2"), S("m3"), NULL };
static RdmaWish wish;
static RdmaVerdict verdict;

static int setup(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++) {
                devices[i] = (RdmaDevice) { .name = names[i],
                        .firmware = S("1.0"),
                        .type = S("MT B"),
                        .width = 16,
                        .width_limit = 16,
                        .speed = 32,
                        .speed_limit = 32 };
                gids[i][0] = (RdmaGid) { 0, false, false };
                gids[i][1] = (RdmaGid) { 1, true, false };
                gids[i][2] = (RdmaGid) { 2, false, true };
                gids[i][3] = (RdmaGid) { 3, true, true };
                counters[i][0] = (RdmaCounter) { S("counters/symbol_error"), true, 0 };
                counters[i][1] = (RdmaCounter) { S("hw_counters/out_of_buffer"), true, 0 };
                memcpy(later_counters[i], counters[i], sizeof(counters[i]));
                ports[i] = (RdmaPort) { .device = names[i],
                        .port = 1,
                        .alone = true,
                        .state = S("4: ACTIVE"),
                        .phys_state = S("5: LinkUp"),
                        .link_layer = S("Ethernet"),
                        .rate = S("400 Gb/sec (4X NDR)"),
                        .rate_gbps = 400,
                        .gids = gids[i],
                        .n_gids = 4,
                        .counters = counters[i],
                        .n_counters = 2 };
                later_ports[i] = ports[i];
                later_ports[i].counters = later_counters[i];
        }
        facts = (RdmaFacts) { devices, N, ports, N };
        later = (RdmaFacts) { devices, N, later_ports, N };
        wish = (RdmaWish) { .ports = N,
                .rate_gbps = 400,
                .link_layer = "Ethernet",
                .devices = names,
                .limits = limits,
                .n_limits = 1 };
        return 0;
}

static int teardown(void **state) {
        (void) state;
        rdma_verdict_done(&verdict);
        return 0;
}

static void check(void) {
        rdma_verdict_done(&verdict);
        assert_return_code(rdma_check(&facts, &later, &wish, &verdict), 0);
}

static void assert_finding(size_t i, const char *code, const char *device, const char *text) {
        assert_true(verdict.n > i);
        _cleanup_free_ char *said = rdma_finding_text(&verdict.findings[i]);

        assert_string_equal(verdict.findings[i].code, code);
        if (device)
                assert_string_equal(verdict.findings[i].device, device);
        else
                assert_null(verdict.findings[i].device);
        if (!strstr(said, text))
                fail_msg("\"%s\" is not in \"%s\"", text, said);
}

static void a_good_fabric_has_no_findings(void **state) {
        (void) state;
        check();
        assert_int_equal(verdict.n, 0);
        assert_int_equal(verdict.n_ports, N);
        assert_int_equal(verdict.gid_index, 3);
}

static void each_fault_is_a_finding_of_its_own(void **state) {
        (void) state;
        ports[0].state = S("1: DOWN");
        ports[1].rate_gbps = 200;
        devices[2].firmware = S("0.9");
        counters[3][0].value = later_counters[3][0].value = 11;
        check();
        assert_int_equal(verdict.n, 5);
        assert_finding(0, "rdma.port-down", "m0", "1: DOWN, 5: LinkUp, should be 4: ACTIVE");
        assert_finding(1, "rdma.rate", "m1", "should be 400 Gb/sec");
        assert_finding(2, "rdma.errors", "m3", "symbol_error is 11, should be 10");
        assert_finding(3, "rdma.firmware", "m2", "0.9, should be 1.0, as 3 others have");
        assert_finding(4, "rdma.too-few-ports", NULL, "3 usable ports, should be 4");
}

static void a_counter_without_a_limit_may_grow(void **state) {
        (void) state;
        later_counters[0][1].value = 7;
        check();
        assert_int_equal(verdict.n, 0);
}

static void growth_counts_below_the_limit_too(void **state) {
        (void) state;
        later_counters[0][0].value = 1;
        check();
        assert_finding(0, "rdma.errors-grow", "m0", "symbol_error grew from 0 to 1");
        assert_true(verdict.findings[0].may_pass);
}

static void a_port_that_goes_away_is_missing(void **state) {
        (void) state;
        later.n_ports = N - 1;
        check();
        assert_finding(0, "rdma.device-missing", "m3", "went away");
}

static void cards_of_another_kind_have_other_firmware(void **state) {
        (void) state;
        devices[2].firmware = devices[3].firmware = S("7.7");
        devices[2].type = devices[3].type = S("MT OTHER");
        check();
        assert_int_equal(verdict.n, 0);
}

static void a_card_without_a_firmware_version_is_odd(void **state) {
        (void) state;
        devices[1].firmware = NULL;
        check();
        assert_finding(0, "rdma.firmware", "m1", "unknown, should be 1.0");
}

static void one_gid_index_must_fit_all(void **state) {
        (void) state;
        gids[0][3].ipv4 = false; /* index 3 is RoCE v2 everywhere, IPv4-mapped on three */
        check();
        assert_int_equal(verdict.n, 0);
        assert_int_equal(verdict.gid_index, 1);
        gids[0][1].roce_v2 = false;
        check();
        assert_int_equal(verdict.gid_index, 3);
        gids[1][3].roce_v2 = false;
        check();
        assert_int_equal(verdict.gid_index, -1);
        assert_finding(0, "rdma.gid-differs", NULL, "no GID index");
        gids[0][3].roce_v2 = false;
        check();
        assert_finding(0, "rdma.no-gid", "m0", "4 GIDs, none of them RoCE v2");
}

static void renamed_devices_are_taken_by_kind(void **state) {
        static char *others[] = { S("x0"), S("x1"), NULL };

        (void) state;
        wish.devices = others;
        check();
        assert_int_equal(verdict.n, 0);
        assert_int_equal(verdict.n_ports, N);
        wish.exact_names = true;
        check();
        assert_finding(0, "rdma.device-missing", "x0", "not there");
}

static void a_warning_stays_one(void **state) {
        (void) state;
        devices[0].width = 8;
        wish.pcie_warns = true;
        check();
        assert_finding(0, "rdma.pcie", "m0", "PCIe x8, should be x16");
        assert_true(verdict.findings[0].warns);
        assert_int_equal(verdict.n_ports, N);
}

static void nothing_there_is_one_finding(void **state) {
        (void) state;
        facts.n_devices = facts.n_ports = later.n_devices = later.n_ports = 0;
        check();
        assert_int_equal(verdict.n, 1);
        assert_finding(0, "rdma.no-device", NULL, "should be 4 ports");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(a_good_fabric_has_no_findings),
                T(each_fault_is_a_finding_of_its_own),
                T(a_counter_without_a_limit_may_grow),
                T(growth_counts_below_the_limit_too),
                T(a_port_that_goes_away_is_missing),
                T(cards_of_another_kind_have_other_firmware),
                T(a_card_without_a_firmware_version_is_odd),
                T(one_gid_index_must_fit_all),
                T(renamed_devices_are_taken_by_kind),
                T(a_warning_stays_one),
                T(nothing_there_is_one_finding),
#undef T
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
