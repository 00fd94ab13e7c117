/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "contract/history.h"
#include "root-fixture.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <float.h>
#include <sys/resource.h>
#include <sys/stat.h>

static HistoryEntry entry(const char *verdict, double busbw) {
        HistoryEntry e = { .kind = "verdict", .time = 1700000000, .machine = 7 };

        snprintf(e.verdict, sizeof(e.verdict), "%s", verdict);
        if (busbw > 0) {
                e.known[HISTORY_BUSBW] = true;
                e.figures[HISTORY_BUSBW] = busbw;
        }
        return e;
}

static void add(const char *verdict, double busbw) {
        HistoryEntry e = entry(verdict, busbw);

        assert_return_code(history_append(&e), 0);
}

static void test_what_was_written_is_read(void **state) {
        _cleanup_free_ HistoryEntry *l = NULL;
        HistoryEntry e = entry("failed", 480.25);
        size_t n;

        (void) state;
        snprintf(e.code, sizeof(e.code), "gpu.xid");
        snprintf(e.text, sizeof(e.text), "GPU 3: \"Xid\" 79\n");
        assert_return_code(history_append(&e), 0);
        assert_return_code(history_load(&l, &n, NULL), 0);
        assert_int_equal(n, 1);
        assert_string_equal(l[0].verdict, "failed");
        assert_string_equal(l[0].code, "gpu.xid");
        assert_string_equal(l[0].text, "GPU 3: \"Xid\" 79?");
        assert_true(l[0].known[HISTORY_BUSBW] && !l[0].known[HISTORY_H2D]);
        assert_true(l[0].figures[HISTORY_BUSBW] > 480.2 && l[0].figures[HISTORY_BUSBW] < 480.3);
        assert_int_equal(l[0].time, 1700000000);
}

static void test_a_machine_without_history_has_none(void **state) {
        _cleanup_free_ HistoryEntry *l = NULL;
        size_t n = 1;

        (void) state;
        assert_return_code(history_load(&l, &n, NULL), 0);
        assert_int_equal(n, 0);
}

static void test_a_long_text_gives_way(void **state) {
        HistoryEntry e = entry("ready", 1), back;
        char slot[HISTORY_SLOT];

        (void) state;
        memset(e.text, '\\', sizeof(e.text) - 1);
        memset(e.code, 'c', sizeof(e.code) - 1);
        e.sequence = UINT32_MAX;
        for (size_t i = 0; i < _HISTORY_FIGURES; i++) {
                e.known[i] = true;
                e.figures[i] = -1.2345e-100;
        }
        assert_return_code(history_slot_write(&e, slot), 0);
        assert_return_code(history_slot_read(slot, &back), 0);
        assert_int_equal(back.sequence, UINT32_MAX);
        assert_true(back.known[HISTORY_SCRATCH]);
}

/* The last thousand, in the order they came, though the clock went back meanwhile. */
/* A program that prints nonsense: "%.5g" of the largest double is none that can be read. */
static void test_a_figure_beyond_reason_is_left_out(void **state) {
        HistoryEntry e = { .sequence = 1, .kind = "boot", .verdict = "ready" }, back;
        char slot[HISTORY_SLOT];

        (void) state;
        e.known[HISTORY_BUSBW] = e.known[HISTORY_H2D] = true;
        e.figures[HISTORY_BUSBW] = -DBL_MAX;
        e.figures[HISTORY_H2D] = 55.5;
        assert_int_equal(history_slot_write(&e, slot), 0);
        assert_int_equal(history_slot_read(slot, &back), 0);
        assert_false(back.known[HISTORY_BUSBW]);
        assert_true(back.figures[HISTORY_H2D] == 55.5);
}

static void test_the_last_thousand_are_kept_in_order(void **state) {
        _cleanup_free_ HistoryEntry *l = NULL;
        _cleanup_free_ char *path = fb_path(PATH_HISTORY);
        struct stat st;
        size_t n;

        (void) state;
        for (int i = 1; i <= HISTORY_SLOTS + 50; i++) {
                HistoryEntry e = entry("ready", i);

                e.time = 1700000000 - i * 3600;
                assert_return_code(history_append(&e), 0);
        }
        assert_return_code(history_load(&l, &n, NULL), 0);
        assert_int_equal(n, HISTORY_ENTRIES);
        for (size_t i = 0; i < n; i++)
                assert_int_equal((int) l[i].figures[HISTORY_BUSBW],
                                HISTORY_SLOTS + 50 - HISTORY_ENTRIES + 1 + (int) i);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, HISTORY_SLOTS * HISTORY_SLOT);
}

static void tear(off_t at, size_t size) {
        _cleanup_free_ char *path = fb_path(PATH_HISTORY);
        _cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
        char junk[HISTORY_SLOT];

        memset(junk, 'x', sizeof(junk));
        assert_int_equal(pwrite(fd, junk, size, at), size);
}

static void test_a_torn_write_costs_one_entry(void **state) {
        _cleanup_free_ HistoryEntry *l = NULL;
        size_t n, damaged;

        (void) state;
        for (int i = 1; i <= 10; i++)
                add("ready", i);
        assert_return_code(history_load(&l, &n, &damaged), 0);
        assert_int_equal(damaged, 0);
        l = (free(l), NULL);
        tear(10 * HISTORY_SLOT + 200, 100); /* the tenth, of sequence 10 */
        assert_return_code(history_load(&l, &n, &damaged), 0);
        assert_int_equal(n, 9);
        assert_int_equal(damaged, 1);
        add("ready", 11);
        l = (free(l), NULL);
        assert_return_code(history_load(&l, &n, NULL), 0);
        assert_int_equal(n, 10);
        assert_int_equal((int) l[9].figures[HISTORY_BUSBW], 11);
}

/* Once it is there, a full disk costs nothing: its space is its own. */
static void test_a_full_disk_costs_nothing(void **state) {
        struct rlimit before, none;
        _cleanup_free_ HistoryEntry *l = NULL;
        size_t n;

        (void) state;
        add("ready", 1);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        none = (struct rlimit) { HISTORY_SLOTS * HISTORY_SLOT, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
        add("ready", 2);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_return_code(history_load(&l, &n, NULL), 0);
        assert_int_equal(n, 2);
}

static void test_garbage_is_no_entry(void **state) {
        char slot[HISTORY_SLOT] = { 0 };
        HistoryEntry e;

        (void) state;
        assert_int_equal(history_slot_read(slot, &e), -EBADMSG);
        memset(slot, ' ', sizeof(slot));
        assert_int_equal(history_slot_read(slot, &e), -EBADMSG);
}

static void test_slower_than_usual_is_seen(void **state) {
        HistoryEntry past[8], e;
        HistoryFigure f;
        double usual;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(past); i++)
                past[i] = entry("ready", 480 + (double) i);
        e = entry("ready", 400);
        assert_true(history_is_slow(past, 8, &e, 15, &f, &usual));
        assert_int_equal(f, HISTORY_BUSBW);
        assert_true(usual > 479 && usual < 488);
        e = entry("ready", 470);
        assert_false(history_is_slow(past, 8, &e, 15, &f, &usual));
}

static void test_another_machines_past_is_none(void **state) {
        HistoryEntry past[8], e = entry("ready", 100);
        HistoryFigure f;
        double usual;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(past); i++)
                past[i] = entry("ready", 480);
        e.machine = 8;
        assert_false(history_is_slow(past, 8, &e, 15, &f, &usual));
        e.machine = 7;
        assert_false(history_is_slow(past, HISTORY_PAST_MIN - 1, &e, 15, &f, &usual));
}

/* A node that gets slower and slower does not become its own measure. */
static void test_what_was_slow_is_no_past(void **state) {
        HistoryEntry past[12], e = entry("ready", 300);
        HistoryFigure f;
        double usual;

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(past); i++) {
                past[i] = entry("ready", i < 5 ? 480 : 300);
                past[i].slow = i >= 5;
        }
        assert_true(history_is_slow(past, 12, &e, 15, &f, &usual));
}

static void test_figures_come_out_of_the_steps(void **state) {
        _cleanup_json_ json_object *gpu = json_tokener_parse(
                        "{\"gpus\":[{\"uuid\":\"GPU-a\",\"h2d\":55000,\"nvlinks_active\":18,\"ecc_volatile\":1},"
                        "{\"uuid\":\"GPU-b\",\"h2d\":54000,\"nvlinks_active\":17,\"ecc_volatile\":2}]}");
        HistoryEntry e = {}, other = {};

        (void) state;
        history_take(&e, "gpu", gpu);
        assert_int_equal((int) e.figures[HISTORY_H2D], 54000);
        assert_int_equal((int) e.figures[HISTORY_LINKS], 17);
        assert_int_equal((int) e.figures[HISTORY_ECC], 3);
        assert_int_not_equal(e.machine, other.machine);
        assert_false(e.known[HISTORY_D2H]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                test_what_was_written_is_read, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_a_machine_without_history_has_none, root_setup, root_teardown),
                cmocka_unit_test(test_a_long_text_gives_way),
                cmocka_unit_test(test_a_figure_beyond_reason_is_left_out),
                cmocka_unit_test_setup_teardown(test_the_last_thousand_are_kept_in_order,
                                root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_a_torn_write_costs_one_entry, root_setup, root_teardown),
                cmocka_unit_test_setup_teardown(
                                test_a_full_disk_costs_nothing, root_setup, root_teardown),
                cmocka_unit_test(test_garbage_is_no_entry),
                cmocka_unit_test(test_slower_than_usual_is_seen),
                cmocka_unit_test(test_another_machines_past_is_none),
                cmocka_unit_test(test_what_was_slow_is_no_past),
                cmocka_unit_test(test_figures_come_out_of_the_steps),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
