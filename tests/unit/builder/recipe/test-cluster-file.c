/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe/recipe.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void swallow(int level _unused_, const char *line _unused_, void *userdata _unused_) {
}

/* The file of that text, in a folder of its own. */
static int load(const char *text, ClusterFile **ret) {
        char folder[] = "/tmp/test-cluster-file-XXXXXX";
        _cleanup_free_ char *path = NULL;
        int r;

        assert_non_null(mkdtemp(folder));
        path = path_join(folder, "c.json");
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
        log_set_writer(swallow, NULL);
        r = cluster_file_load(path, ret);
        log_set_writer(NULL, NULL);
        assert_int_equal(rm_rf(folder), 0);
        return r;
}

static void machines_are_counted_out(void **state _unused_) {
        _cleanup_cluster_file_ ClusterFile *f = NULL;

        assert_int_equal(
                        load("{ \"name\": \"c\", \"network\": \"10.0.0.0/24\", \"machines\": ["
                             "{ \"name\": \"head\", \"image\": \"h\", \"cpus\": 2, \"memory\": \"1G\" },"
                             "{ \"name\": \"node\", \"count\": 2, \"image\": \"n\", \"nvme\": [\"4\"], \"links\": [\"rdma\"] },"
                             "{ \"name\": \"login\", \"count\": 1, \"image\": \"n\" } ] }",
                                        &f),
                        0);
        assert_int_equal(f->n_machines, 4);
        assert_string_equal(f->machines[0].name, "head");
        assert_int_equal(f->machines[0].cpus, 2);
        assert_string_equal(f->machines[0].memory, "1G");
        assert_string_equal(f->machines[1].name, "node1");
        assert_string_equal(f->machines[2].name, "node2");
        assert_string_equal(f->machines[2].nvme[0], "4");
        assert_string_equal(f->machines[2].links[0], "rdma");
        assert_string_equal(f->machines[3].name, "login1");
        assert_null(f->machines[3].memory);
}

static void paths_are_meant_from_the_files_folder(void **state _unused_) {
        _cleanup_cluster_file_ ClusterFile *f = NULL;

        assert_int_equal(
                        load("{ \"name\": \"c\", \"network\": \"10.0.0.0/24\", \"machines\": ["
                             "{ \"name\": \"a\", \"image\": \"./a.raw\", \"user_data\": \"a.yaml\" },"
                             "{ \"name\": \"b\", \"image\": \"/b.raw\" }, { \"name\": \"c\", \"image\": \"debian\" } ] }",
                                        &f),
                        0);
        assert_non_null(startswith(f->machines[0].image, "/tmp/test-cluster-file-"));
        assert_true(endswith(f->machines[0].image, "/a.raw"));
        assert_true(endswith(f->machines[0].user_data, "/a.yaml"));
        assert_string_equal(f->machines[1].image, "/b.raw");
        assert_string_equal(f->machines[2].image, "debian");
}

static void bad_files_are_refused(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "[]",
                "{}",
                "{ \"name\": \"c\", \"network\": \"x\" }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ {} ] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ { \"name\": \"a-\", \"image\": \"b\" } ] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ { \"name\": \"a\", \"image\": \"b\", \"count\": 0 } ] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ { \"name\": \"a\", \"image\": \"b\", \"count\": 65 } ] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ { \"name\": \"a\", \"image\": \"b\" }, { \"name\": \"a\", \"image\": \"b\" } ] }",
                "{ \"name\": \"c\", \"network\": \"x\", \"machines\": [ { \"name\": \"a\", \"image\": \"b\", \"nvme\": \"4\" } ] }",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                ClusterFile *f = NULL;

                if (load(bad[i], &f) != -EINVAL)
                        fail_msg("accepted: %s", bad[i]);
                assert_null(f);
        }
}

static void a_missing_file_is_an_error(void **state _unused_) {
        ClusterFile *f = NULL;

        log_set_writer(swallow, NULL);
        assert_true(cluster_file_load("/nowhere/at/all.json", &f) < 0);
        log_set_writer(NULL, NULL);
        assert_null(f);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(machines_are_counted_out),
                cmocka_unit_test(paths_are_meant_from_the_files_folder),
                cmocka_unit_test(bad_files_are_refused),
                cmocka_unit_test(a_missing_file_is_an_error),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
