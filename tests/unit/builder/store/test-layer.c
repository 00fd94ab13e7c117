/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What no layer may be; all else about layers is in test-store.c. */

#include "store/store.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define EPOCH 1700000000

static char path[64];
static Store *store;

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-layer.XXXXXX");
        assert_non_null(mkdtemp(path));
        return store_open(path, &store);
}

static int teardown(void **state _unused_) {
        store = store_free(store);
        return rm_rf(path);
}

/* truncate -s 7E takes a script no time; hashing it would take centuries. */
static void a_hole_that_no_disk_has_room_for_is_refused(void **state _unused_) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;
        _cleanup_free_ char *file = NULL;

        assert_int_equal(store_begin_layer(store, A, &d), 0);
        file = path_join(layer_draft_upper(d), "hole");
        assert_int_equal(write_file_atomic(file, "x", 1, 0644), 0);
        assert_int_equal(truncate(file, (off_t) STORE_LAYER_MAX + 1), 0);
        assert_int_equal(store_commit_layer(d, EPOCH, NULL), -EFBIG);
        assert_false(store_has_layer(store, A));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                a_hole_that_no_disk_has_room_for_is_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
