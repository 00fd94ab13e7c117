/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ncclbench/launch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECRET "NCCLBENCH_SECRET=0123456789abcdef"

static int detect_with(const Options *o, char *const *environment, Launch *ret) {
        _cleanup_free_ char *error = NULL;
        int r = launch_detect(o, environment, ret, &error);

        assert_true(r == 0 || error);
        return r;
}

/* A list of NAME=VALUE. */
#define detect(ret, ...)                                                                           \
        detect_with(&(Options) { .rank = -1, .world = -1, .local_rank = -1 },                      \
                        (char *const[]) { (char *) "PATH=/bin", __VA_ARGS__ __VA_OPT__(, ) NULL }, \
                        ret)
#define S(text) ((char *) (text))

static void without_anything_we_are_alone(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l), 0);
        assert_int_equal(l.world, 1);
        assert_string_equal(l.by, "alone");
}

static void torchrun_variables_are_read(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("RANK=3"), S("WORLD_SIZE=8"), S("LOCAL_RANK=1"),
                                         S("MASTER_ADDR=node1"), S("MASTER_PORT=29500"), S(SECRET)),
                        0);
        assert_int_equal(l.rank, 3);
        assert_int_equal(l.world, 8);
        assert_int_equal(l.local_rank, 1);
        assert_string_equal(l.host, "node1");
        assert_string_equal(l.port, "29500");
}

static void half_of_torchruns_variables_are_an_error(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("RANK=3")), -EINVAL);
        assert_int_equal(detect(&l, S("RANK=3"), S("WORLD_SIZE=8"), S("LOCAL_RANK=1"),
                                         S("MASTER_ADDR=a"), S(SECRET)),
                        -EINVAL);
        assert_int_equal(detect(&l, S("RANK=x"), S("WORLD_SIZE=8"), S("LOCAL_RANK=1")), -EINVAL);
}

static void srun_step_is_read(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("SLURM_PROCID=5"), S("SLURM_NTASKS=16"), S("SLURM_LOCALID=5"),
                                         S("SLURM_STEP_ID=2"), S("SLURM_JOB_ID=100"),
                                         S("SLURM_STEP_NODELIST=gpu[007-008]"), S(SECRET)),
                        0);
        assert_int_equal(l.rank, 5);
        assert_int_equal(l.world, 16);
        assert_int_equal(l.local_rank, 5);
        assert_string_equal(l.host, "gpu007");
        assert_string_equal(l.port, "21602");
        assert_string_equal(l.by, "srun");
}

static void a_batch_script_is_no_step(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("SLURM_PROCID=0"), S("SLURM_NTASKS=16"),
                                         S("SLURM_JOB_ID=100")),
                        0);
        assert_int_equal(l.world, 1);
}

static void the_steps_own_number_of_tasks_counts(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("SLURM_PROCID=0"), S("SLURM_NTASKS=16"),
                                         S("SLURM_STEP_NUM_TASKS=1"), S("SLURM_STEP_ID=0")),
                        0);
        assert_int_equal(l.world, 1);
}

static void slurms_name_of_the_node_is_taken(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("SLURMD_NODENAME=gpu7")), 0);
        assert_string_equal(l.name, "gpu7");
}

static void flags_win_over_the_environment(void **state _unused_) {
        const Options o = { .rank = 1, .world = 2, .local_rank = 0, .master = "[::1]:4711" };
        char *const environment[] = { S("RANK=7"), S("WORLD_SIZE=9"), S(SECRET), NULL };
        Launch l;

        assert_int_equal(detect_with(&o, environment, &l), 0);
        assert_int_equal(l.rank, 1);
        assert_int_equal(l.world, 2);
        assert_string_equal(l.host, "::1");
        assert_string_equal(l.port, "4711");
}

static void several_processes_need_a_secret(void **state _unused_) {
        const Options o = { .rank = 1, .world = 2, .local_rank = 0, .master = "host:4711" };
        char *const none[] = { S("A=b"), NULL }, *const brief[] = { S("NCCLBENCH_SECRET=short"),
                NULL };
        Launch l;

        assert_int_equal(detect_with(&o, none, &l), -EINVAL);
        assert_int_equal(detect_with(&o, brief, &l), -EINVAL);
}

static void a_process_beyond_the_world_is_refused(void **state _unused_) {
        const Options o = { .rank = 2, .world = 2, .local_rank = 0, .master = "host:4711" };
        char *const environment[] = { S(SECRET), NULL };
        Launch l;

        assert_int_equal(detect_with(&o, environment, &l), -EINVAL);
}

static void bad_ports_are_refused(void **state _unused_) {
        static const char *const bad[] = { "host:0", "host:65536", "host:x", "host:", ":1",
                "host:1x" };
        char *const environment[] = { S(SECRET), NULL };
        Launch l;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                const Options o = { .rank = 0, .world = 2, .master = bad[i] };

                assert_int_equal(detect_with(&o, environment, &l), -EINVAL);
        }
}

static void first_host_of_a_node_list(void **state _unused_) {
        static const struct {
                const char *list, *first;
        } lists[] = {
                { "node1", "node1" },
                { "node[003-007,9],other", "node003" },
                { "a[1-2]b[3-4]", "a1b3" },
                { "gpu-a.example,gpu-b", "gpu-a.example" },
                { "n[12]", "n12" },
        };
        char host[64];

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                assert_int_equal(nodelist_first(lists[i].list, host, sizeof(host)), 0);
                assert_string_equal(host, lists[i].first);
        }
}

static void bad_node_lists_are_refused(void **state _unused_) {
        static const char *const bad[] = { "", ",", "n[", "n[]", "n[1", "n[a-b]", "n;rm", "n 1",
                "n[1;2]" };
        char host[64] = "untouched";

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(nodelist_first(bad[i], host, sizeof(host)), -EINVAL);
        assert_string_equal(host, "untouched");
        assert_int_equal(nodelist_first("toolong", host, 4), -EINVAL);
}

/* mpirun -np 2 on one host, and what it sets there. */
static void open_mpi_on_one_host_is_read(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("OMPI_COMM_WORLD_RANK=1"), S("OMPI_COMM_WORLD_SIZE=2"),
                                         S("OMPI_COMM_WORLD_LOCAL_RANK=1"),
                                         S("OMPI_COMM_WORLD_LOCAL_SIZE=2"),
                                         S("PMIX_NAMESPACE=prterun-a-1@1"), S("PMIX_RANK=1"),
                                         S(SECRET)),
                        0);
        assert_int_equal(l.rank, 1);
        assert_int_equal(l.world, 2);
        assert_int_equal(l.local_rank, 1);
        assert_string_equal(l.host, "127.0.0.1");
        assert_string_equal(l.by, "Open MPI");
}

static void all_of_a_job_choose_one_port_and_another_job_another(void **state _unused_) {
        Launch a, b, c;
#define OF(rank, job)                                                                             \
        S("OMPI_COMM_WORLD_RANK=" rank), S("OMPI_COMM_WORLD_SIZE=2"),                             \
                        S("OMPI_COMM_WORLD_LOCAL_RANK=" rank), S("OMPI_COMM_WORLD_LOCAL_SIZE=2"), \
                        S("PMIX_NAMESPACE=" job), S("MASTER_ADDR=node1"), S(SECRET)

        assert_int_equal(detect(&a, OF("0", "4711")), 0);
        assert_int_equal(detect(&b, OF("1", "4711")), 0);
        assert_int_equal(detect(&c, OF("0", "4712")), 0);
        assert_string_equal(a.port, b.port);
        assert_string_not_equal(a.port, c.port);
        assert_string_equal(a.host, "node1");
}

/* mpirun within a Slurm allocation: its daemons are the step, so SLURM_PROCID counts nodes. */
static void mpi_counts_before_the_slurm_step_that_it_runs_in(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("OMPI_COMM_WORLD_RANK=9"), S("OMPI_COMM_WORLD_SIZE=16"),
                                         S("OMPI_COMM_WORLD_LOCAL_RANK=1"),
                                         S("OMPI_COMM_WORLD_LOCAL_SIZE=8"), S("SLURM_PROCID=1"),
                                         S("SLURM_STEP_ID=0"), S("SLURM_NTASKS=2"),
                                         S("SLURM_JOB_ID=5"), S("SLURM_JOB_NODELIST=gpu[3-4]"),
                                         S(SECRET)),
                        0);
        assert_int_equal(l.rank, 9);
        assert_int_equal(l.world, 16);
        assert_string_equal(l.host, "gpu3");
}

static void pmi_of_mpich_is_read(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("PMI_RANK=3"), S("PMI_SIZE=4"), S("MPI_LOCALRANKID=3"),
                                         S("MPI_LOCALNRANKS=4"), S(SECRET)),
                        0);
        assert_int_equal(l.rank, 3);
        assert_int_equal(l.world, 4);
        assert_int_equal(l.local_rank, 3);
}

static void mpi_on_many_hosts_without_a_word_of_the_first_is_an_error(void **state _unused_) {
        _cleanup_free_ char *error = NULL;
        Launch l;

        assert_int_equal(launch_detect(&(Options) { .rank = -1, .world = -1, .local_rank = -1 },
                                         (char *const[]) { S("OMPI_COMM_WORLD_RANK=1"),
                                                         S("OMPI_COMM_WORLD_SIZE=2"),
                                                         S("OMPI_COMM_WORLD_LOCAL_RANK=0"),
                                                         S("OMPI_COMM_WORLD_LOCAL_SIZE=1"),
                                                         S(SECRET), NULL },
                                         &l, &error),
                        -EINVAL);
        assert_non_null(strstr(error, "MASTER_ADDR"));
}

static void launchers_that_do_not_say_how_many_are_an_error(void **state _unused_) {
        Launch l;

        assert_int_equal(detect(&l, S("PMIX_RANK=1"), S("PMIX_NAMESPACE=x")), -EINVAL);
        assert_int_equal(detect(&l, S("OMPI_COMM_WORLD_RANK=1")), -EINVAL);
        assert_int_equal(detect(&l, S("PMI_RANK=1")), -EINVAL);
        assert_int_equal(detect(&l, S("PMI_RANK=1"), S("PMI_SIZE=2"), S(SECRET)), -EINVAL);
        assert_int_equal(detect(&l, S("FLUX_TASK_RANK=1")), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(without_anything_we_are_alone),
                cmocka_unit_test(torchrun_variables_are_read),
                cmocka_unit_test(half_of_torchruns_variables_are_an_error),
                cmocka_unit_test(srun_step_is_read),
                cmocka_unit_test(a_batch_script_is_no_step),
                cmocka_unit_test(the_steps_own_number_of_tasks_counts),
                cmocka_unit_test(slurms_name_of_the_node_is_taken),
                cmocka_unit_test(flags_win_over_the_environment),
                cmocka_unit_test(several_processes_need_a_secret),
                cmocka_unit_test(a_process_beyond_the_world_is_refused),
                cmocka_unit_test(bad_ports_are_refused),
                cmocka_unit_test(first_host_of_a_node_list),
                cmocka_unit_test(bad_node_lists_are_refused),
                cmocka_unit_test(open_mpi_on_one_host_is_read),
                cmocka_unit_test(all_of_a_job_choose_one_port_and_another_job_another),
                cmocka_unit_test(mpi_counts_before_the_slurm_step_that_it_runs_in),
                cmocka_unit_test(pmi_of_mpich_is_read),
                cmocka_unit_test(mpi_on_many_hosts_without_a_word_of_the_first_is_an_error),
                cmocka_unit_test(launchers_that_do_not_say_how_many_are_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
