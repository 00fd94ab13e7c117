/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Four disks with what a test puts on them, and the plan that is made of it. */

#include "steps/scratch/plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N 4

/* Four disks S0 … S3, blank unless a test says otherwise. */
static Disk disks[N] = {
        { (char *) "nvme0n1", (char *) "/dev/nvme0n1", (char *) "M", (char *) "S0", 1000000000,
                        NULL, false },
        { (char *) "nvme1n1", (char *) "/dev/nvme1n1", (char *) "M", (char *) "S1", 1000000000,
                        NULL, false },
        { (char *) "nvme2n1", (char *) "/dev/nvme2n1", (char *) "M", (char *) "S2", 1000000000,
                        NULL, false },
        { (char *) "nvme3n1", (char *) "/dev/nvme3n1", (char *) "M", (char *) "S3", 1000000000,
                        NULL, false },
};

static char *all_serials[] = { (char *) "S0", (char *) "S1", (char *) "S2", (char *) "S3", NULL };
static DiskFacts facts[N];
static ScratchRecord record;
static ScratchWish wish;
static ScratchPlan plan;

static inline int setup(void **state) {
        (void) state;
        for (size_t i = 0; i < N; i++)
                facts[i] = (DiskFacts) { .disk = &disks[i] };
        record = (ScratchRecord) {};
        wish = (ScratchWish) { .vg = "localscratch", .label = "localscratch", .expected = -1 };
        plan = (ScratchPlan) {};
        return 0;
}

static inline int teardown(void **state) {
        (void) state;
        scratch_plan_done(&plan);
        return 0;
}

static inline void sign(size_t i, const char *type, const char *usage) {
        Signature *s = &facts[i].signatures[facts[i].n_signatures++];

        snprintf(s->type, sizeof(s->type), "%s", type);
        snprintf(s->usage, sizeof(s->usage), "%s", usage);
}

#define UUID "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg"

static inline void ours(size_t i, const char *tags, unsigned missing) {
        sign(i, "LVM2_member", "raid");
        facts[i].vg = (char *) "localscratch";
        facts[i].vg_uuid = (char *) UUID;
        facts[i].vg_tags = (char *) tags;
        facts[i].vg_missing = missing;
        facts[i].vg_volumes = 1;
}

/* Libblkid finds nothing, but something is left. */
static inline void leave_remains(size_t i, const char *type) {
        sign(i, type, "remains at byte 4096");
        facts[i].signatures[0].remains = true;
}

static inline void make_plan(size_t n) {
        assert_return_code(scratch_plan(facts, n, &record, &wish, &plan), 0);
}

static inline void assert_fails(const char *code, const char *text) {
        assert_int_equal(plan.action, SCRATCH_FAIL);
        assert_string_equal(plan.code, code);
        if (!strstr(plan.message, text))
                fail_msg("\"%s\" is not in \"%s\"", text, plan.message);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
