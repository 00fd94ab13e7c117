/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/nvme-model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define IDENTIFY (VM_NVME_SERIAL_MAX + VM_NVME_MODEL_MAX)

/* Stands for a paused QEMU: a process with the Identify data of two disks in its memory. Once it
 * is told to by a byte, it answers with them. */
typedef struct Holder {
        pid_t pid;
        int to, from;
} Holder;

static void start(Holder *h) {
        int in[2], out[2];
        char byte, *memory;

        assert_int_equal(pipe(in) | pipe(out), 0);
        h->pid = fork();
        assert_true(h->pid >= 0);
        if (h->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                -1, 0);
                if (memory == MAP_FAILED)
                        _exit(1);
                nvme_identify_pattern("ONE", memory + 4000);
                nvme_identify_pattern("TWO", memory + 70001);
                if (write(out[1], "r", 1) != 1 || read(in[0], &byte, 1) != 1 ||
                                write(out[1], memory + 4000, IDENTIFY) != IDENTIFY ||
                                write(out[1], memory + 70001, IDENTIFY) != IDENTIFY)
                        _exit(1);
                _exit(0);
        }
        h->to = in[1];
        h->from = out[0];
        close(in[0]);
        close(out[1]);
        assert_int_equal(read(h->from, &byte, 1), 1);
}

static void finish(Holder *h, char first[static IDENTIFY + 1], char second[static IDENTIFY + 1]) {
        int status;

        assert_int_equal(write(h->to, "x", 1), 1);
        assert_int_equal(read(h->from, first, IDENTIFY), IDENTIFY);
        assert_int_equal(read(h->from, second, IDENTIFY), IDENTIFY);
        first[IDENTIFY] = second[IDENTIFY] = '\0';
        waitpid(h->pid, &status, 0);
        close(h->to);
        close(h->from);
}

static void model_is_written_behind_its_serial(void **state _unused_) {
        const VmConfig c = {
                .nvme = { { .serial = (char *) "ONE" },
                                { .serial = (char *) "TWO", .model = (char *) "Some Vendor SSD" } },
                .n_nvme = 2,
        };
        char first[IDENTIFY + 1], second[IDENTIFY + 1];
        Holder h;

        start(&h);
        assert_int_equal(vm_set_models(h.pid, &c), 0);
        finish(&h, first, second);
        assert_string_equal(first, "ONE                 QEMU NVMe Ctrl                          ");
        assert_string_equal(second, "TWO                 Some Vendor SSD                         ");
}

static void controller_that_is_not_there_is_an_error(void **state _unused_) {
        const VmConfig c = { .nvme = { { .serial = (char *) "THREE", .model = (char *) "M" } },
                .n_nvme = 1 };
        char first[IDENTIFY + 1], second[IDENTIFY + 1];
        Holder h;

        start(&h);
        assert_int_equal(vm_set_models(h.pid, &c), -ENOENT);
        finish(&h, first, second);
}

static void process_that_is_not_there_is_an_error(void **state _unused_) {
        const VmConfig c = { .nvme = { { .serial = (char *) "ONE", .model = (char *) "M" } },
                .n_nvme = 1 };

        assert_true(vm_set_models(0x7ffffff0, &c) < 0);
}

static void models_are_wanted_only_where_one_is_set(void **state _unused_) {
        const VmConfig with = { .nvme = { { .serial = (char *) "ONE" },
                                                { .serial = (char *) "TWO",
                                                                .model = (char *) "M" } },
                .n_nvme = 2 },
                       without = { .nvme = { { .serial = (char *) "ONE" } }, .n_nvme = 1 };

        assert_true(vm_wants_models(&with));
        assert_false(vm_wants_models(&without));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(model_is_written_behind_its_serial),
                cmocka_unit_test(controller_that_is_not_there_is_an_error),
                cmocka_unit_test(process_that_is_not_there_is_an_error),
                cmocka_unit_test(models_are_wanted_only_where_one_is_set),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
