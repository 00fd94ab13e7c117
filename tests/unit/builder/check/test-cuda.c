/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* cuda.*, nccl.*: each fault alone, in a tree that is otherwise right. The rule that is for it
 * finds it, and no other does. */

#include "check-fixture.h"

static void test_runtime_too_new(void **state) {
        put(LIBRARIES "libcudart.so.12.8.90", "x");
        assert_found(*state, "cuda.runtime",
                        "is for CUDA 12.8, driver " DRIVER " supports CUDA 12.4");
}

static void test_runtime_of_a_toolkit(void **state) {
        put("usr/local/cuda-13.0/lib64/libcudart.so.13.0.48", "x");
        assert_found(*state, "cuda.runtime", "usr/local/cuda-13.0/lib64/libcudart.so.13.0.48");
}

static void test_nccl_too_new(void **state) {
        static const char data[] = "\0NCCL version 2.27.7+cuda12.9\0";
        put_elf(LIBRARIES "libnccl.so.2.27.7", ".rodata", data, sizeof(data));
        assert_found(*state, "nccl.version", "NCCL 2.27.7");
}

static void test_nccl_without_version(void **state) {
        put(LIBRARIES "libnccl.so.2.22.3", "damaged");
        assert_found(*state, "nccl.version", "tells no version");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                GPU(test_runtime_too_new),
                GPU(test_runtime_of_a_toolkit),
                GPU(test_nccl_too_new),
                GPU(test_nccl_without_version),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
