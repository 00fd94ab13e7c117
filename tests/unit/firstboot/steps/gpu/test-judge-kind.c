/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What kind of GPU it is: divided, virtual, a consumer's, part of a cluster. */

#include "gpu-judge-fixture.h"

static void mig_is_as_configured(void **state) {
        (void) state;
        set(1, GPU_MIG, 1);
        set(1, GPU_MIG_PENDING, 1);
        set(1, GPU_MIG_DEVICES, 7);
        assert_finding(GPU_CODE_MIG, 1);
        wish.mig = GPU_MIG_ANY;
        assert_well();
        wish.mig = GPU_MIG_ON;
        judge();
        assert_int_equal(findings.n, N - 1); /* the others are whole */
        wish.mig = GPU_MIG_OFF;
        set(1, GPU_MIG, 0);
        assert_finding(GPU_CODE_MIG, 1); /* on after the next reset */
        set_error(1, GPU_MIG, NVML_ERROR_NOT_SUPPORTED);
        assert_well();
}

static void a_divided_gpu_has_parts(void **state) {
        (void) state;
        wish.mig = GPU_MIG_ON;
        for (unsigned i = 0; i < N; i++) {
                set(i, GPU_MIG, 1);
                set(i, GPU_MIG_PENDING, 1);
                set(i, GPU_MIG_DEVICES, i);
        }
        assert_finding(GPU_CODE_MIG, 0);
}

static void a_vgpu_has_a_verdict_of_its_own(void **state) {
        (void) state;
        set(2, GPU_VIRTUALIZATION, NVML_GPU_VIRTUALIZATION_MODE_VGPU);
        set_error(2, GPU_ECC, NVML_ERROR_NOT_SUPPORTED);
        set_error(2, GPU_PCIE_WIDTH, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_VGPU, 2);
        wish.vgpu = true;
        assert_well();
        set(2, GPU_REMAP_FAILED, 1); /* what it tells counts all the same */
        assert_finding(GPU_CODE_REMAP_FAILED, 2);
        wish.vgpu = false;
        set(2, GPU_VIRTUALIZATION, 1); /* passed through: a whole GPU */
        set(2, GPU_REMAP_FAILED, 0);
        judge();
        assert_int_equal(findings.items[0].code, GPU_CODE_NOT_SUPPORTED);
}

static void a_consumers_gpu_has_a_verdict_of_its_own(void **state) {
        (void) state;
        set(0, GPU_BRAND, NVML_BRAND_GEFORCE);
        set_error(0, GPU_ECC, NVML_ERROR_NOT_SUPPORTED);
        set_error(0, GPU_REMAP_PENDING, NVML_ERROR_NOT_SUPPORTED);
        assert_finding(GPU_CODE_CONSUMER, 0);
        wish.consumer = true;
        assert_well();
}

static void clusters_need_imex(void **state) {
        (void) state;
        for (unsigned i = 0; i < N; i++) {
                strcpy(facts->gpus[i].cluster, "01000000-0000-0000-0000-000000000000");
                set(i, GPU_CLIQUE, 5);
        }
        assert_finding(GPU_CODE_IMEX, -1);
        facts->imex.state = GPU_SERVICE_RUNNING;
        assert_finding(GPU_CODE_IMEX, -1); /* without a channel */
        facts->imex_channel = true;
        assert_well();
        set(3, GPU_CLIQUE, 6);
        assert_finding(GPU_CODE_FABRIC, 3);
        set(3, GPU_CLIQUE, 5);
        facts->gpus[2].cluster[0] = '\0';
        assert_finding(GPU_CODE_FABRIC, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                T(mig_is_as_configured),
                T(a_divided_gpu_has_parts),
                T(a_vgpu_has_a_verdict_of_its_own),
                T(a_consumers_gpu_has_a_verdict_of_its_own),
                T(clusters_need_imex),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
