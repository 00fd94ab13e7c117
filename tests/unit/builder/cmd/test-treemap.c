/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/treemap.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static bool near(double a, double b) {
        return fabs(a - b) < 1e-6 * MAX(1, fabs(b));
}

static void assert_divides(const uint64_t *sizes, size_t n, Area whole) {
        uint64_t total = 0;
        Area areas[64];
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                total += sizes[i];
        treemap_divide(sizes, n, total, whole, areas);
        for (size_t i = 0; i < n; i++) {
                const Area *a = areas + i;

                assert_true(near(a->width * a->height,
                                whole.width * whole.height * (double) sizes[i] / (double) total));
                assert_true(a->x >= whole.x - 1e-6 && a->y >= whole.y - 1e-6);
                assert_true(a->x + a->width <= whole.x + whole.width + 1e-6);
                assert_true(a->y + a->height <= whole.y + whole.height + 1e-6);
                sum += a->width * a->height;
                for (size_t k = 0; k < i; k++) {
                        const Area *b = areas + k;
                        double wide = MIN(a->x + a->width, b->x + b->width) - MAX(a->x, b->x),
                               high = MIN(a->y + a->height, b->y + b->height) - MAX(a->y, b->y);

                        assert_true(wide < 1e-6 || high < 1e-6);
                }
        }
        assert_true(near(sum, whole.width * whole.height));
}

static void areas_are_in_proportion_and_do_not_overlap(void **state _unused_) {
        static const uint64_t paper[] = { 6, 6, 4, 3, 2, 2, 1 }, one[] = { 5 },
                              far[] = { UINT64_C(1) << 40, 1000, 3, 1 };
        uint64_t many[64];

        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = 1000 / (i + 1);
        assert_divides(paper, ELEMENTSOF(paper), (Area) { 0, 0, 6, 4 });
        assert_divides(one, 1, (Area) { 10, 20, 30, 40 });
        assert_divides(far, ELEMENTSOF(far), (Area) { 0, 0, 1000, 1000 });
        assert_divides(many, ELEMENTSOF(many), (Area) { 5, 5, 100, 700 });
}

/* The example of the paper: its first two are 3 by 2, one above the other. */
static void they_are_as_square_as_the_paper_has_them(void **state _unused_) {
        static const uint64_t sizes[] = { 6, 6, 4, 3, 2, 2, 1 };
        Area areas[ELEMENTSOF(sizes)];

        treemap_divide(sizes, ELEMENTSOF(sizes), 24, (Area) { 0, 0, 6, 4 }, areas);
        assert_true(near(areas[0].width, 3) && near(areas[0].height, 2));
        assert_true(near(areas[1].x, 0) && near(areas[1].y, 2));
        assert_true(near(areas[2].x, 3) && near(areas[2].y, 0));
        assert_true(near(areas[2].width, 12. / 7) && near(areas[2].height, 7. / 3));
}

static void no_room_is_no_trouble(void **state _unused_) {
        static const uint64_t sizes[] = { 3, 2 };
        Area areas[2];

        treemap_divide(sizes, 2, 5, (Area) { 1, 2, 0, 10 }, areas);
        assert_true(areas[0].width == 0 && areas[1].height == 0);
        treemap_divide(sizes, 0, 0, (Area) { 0, 0, 1, 1 }, areas);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(areas_are_in_proportion_and_do_not_overlap),
                cmocka_unit_test(they_are_as_square_as_the_paper_has_them),
                cmocka_unit_test(no_room_is_no_trouble),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
