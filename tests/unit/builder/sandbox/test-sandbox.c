/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a sandbox shows and what it keeps away. */

#include "sandbox-fixture.h"

#include "shared/log.h"
#include "shared/time-util.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mount.h>

static void changes_land_in_upper(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL, *path = path_join(f.upper, "etc/new");

        assert_int_equal(sh(&f.sandbox, "cat /etc/below > /etc/new", NULL), 0);
        assert_int_equal(read_file(path, 100, &text, NULL), 0);
        assert_string_equal(text, "below\n");
}

static void a_second_command_goes_on_in_the_same_upper(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(sh(&f.sandbox, "echo 1 > /etc/new", NULL), 0);
        assert_int_equal(sh(&f.sandbox, "test -s /etc/new", NULL), 0);
}

static void removals_become_whiteouts(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *path = path_join(f.upper, "etc/below");
        struct stat st;

        assert_int_equal(sh(&f.sandbox, "rm /etc/below", NULL), 0);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISCHR(st.st_mode) && st.st_rdev == 0);
}

static void without_upper_changes_are_thrown_away(void **state _unused_) {
        requires_namespaces();
        Sandbox s = f.sandbox;

        s.upper = s.work = NULL;
        assert_int_equal(sh(&s, "echo > /etc/new && test -e /etc/new", NULL), 0);
        assert_int_equal(sh(&s, "test ! -e /etc/new", NULL), 0);
}

static void read_only_refuses_changes(void **state _unused_) {
        requires_namespaces();
        Sandbox s = f.sandbox;

        s.upper = s.work = NULL;
        s.read_only = true;
        assert_int_equal(sh(&s, "! (: > /etc/new) 2>/dev/null && cat /etc/below >/dev/null", NULL),
                        0);
}

static void host_files_are_invisible(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *command = strf(
                        "! test -e %s && ! test -e /root && ! test -e /home && test -z \"$(ls /tmp)\" && test ! -e /run/imgbuild",
                        f.path);

        assert_int_equal(sh(&f.sandbox, command, NULL), 0);
}

static void environment_is_not_inherited(void **state _unused_) {
        requires_namespaces();
        setenv("IMGBUILD_TEST_SECRET", "1", 1);
        assert_int_equal(
                        sh(&f.sandbox, "test -z \"$IMGBUILD_TEST_SECRET\" && test $SOURCE_DATE_EPOCH = 1700000000",
                                        NULL),
                        0);
}

static void kernel_settings_are_not_writable(void **state _unused_) {
        requires_namespaces();
        /* Root may write anywhere: only a mount that is read-only stops it. */
        assert_int_equal(
                        sh(&f.sandbox,
                                        "for p in /proc/sys/vm/swappiness /proc/sysrq-trigger; do ! (: > $p) 2>/dev/null || exit 1; done; "
                                        "for p in /proc/acpi /proc/driver /proc/fs /proc/scsi; do ! test -w $p || exit 1; done; "
                                        "! (: > /sys/x) 2>/dev/null && test -z \"$(ls /sys)\"",
                                        NULL),
                        0);
}

static void host_processes_are_invisible(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(sh(&f.sandbox, "ls -d /proc/[0-9]* | wc -l", &text), 0);
        assert_true(atoi(text) > 0 && atoi(text) < 8);
}

static void there_is_no_network(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(sh(&f.sandbox, "sed 1,2d /proc/net/dev | grep -v '^ *lo:' | wc -l", &text),
                        0);
        assert_int_equal(atoi(text), 0);
}

static void device_nodes_cannot_be_made(void **state _unused_) {
        requires_namespaces();
        assert_int_not_equal(sh(&f.sandbox, "mknod /etc/disk b 7 0 2>/dev/null", NULL), 0);
}

static void rights_are_those_of_the_list(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL;

        /* CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SYS_CHROOT SETFCAP */
        assert_int_equal(sh(&f.sandbox, "grep -E '^Cap(Prm|Eff)' /proc/self/status", &text), 0);
        assert_string_equal(text, "CapPrm:\t00000000800400fb\nCapEff:\t00000000800400fb\n");
}

static void descriptors_are_not_inherited(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *path = path_join(f.path, "secret"), *text = NULL;

        put(f.path, "secret", "secret\n");
        int fd = open(path, O_RDWR); /* not close-on-exec */
        assert_true(fd >= 0 && dup2(fd, 7) == 7);
        int r = sh(&f.sandbox, "cat <&7; echo changed >&7", &text);
        close(7);
        close(fd);
        assert_int_not_equal(r, 0);
        assert_string_equal(text, "");

        free(text);
        text = NULL;
        assert_int_equal(sh(&f.sandbox, "ls /proc/$$/fd; true", &text), 0);
        assert_string_equal(text, "0\n1\n2\n");
}

/* bubblewrap's own process in the sandbox has no filter, and its program is the host's file: root
 * of a tree could write into the one, and change the mode of the other. */
static void the_first_process_is_out_of_reach(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(
                        sh(&f.sandbox,
                                        "for p in /proc/1 /proc/self/../1 /proc/$$/root/proc/1; do "
                                        "for n in exe mem root task/1/mem task/1/exe; do "
                                        "! test -e $p/$n || { echo $p/$n; exit 1; }; done; done; ! touch /proc/1/x",
                                        NULL),
                        0);
}

/* imgbuild shell hands on what it has. */
static void an_inherited_null_keeps_its_mode_too(void **state _unused_) {
        requires_namespaces();
        const SpawnOptions o = { .stdin_inherit = true };
        int status = -1, null = open("/dev/null", O_RDWR | O_CLOEXEC), saved = dup(STDIN_FILENO);

        assert_true(null >= 0 && saved >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO);
        int r = sandbox_run(&f.sandbox, &o,
                        ARGV("/bin/sh", "-c", "! chmod 0666 /proc/self/fd/0 2>/dev/null"), &status);
        dup2(saved, STDIN_FILENO);
        close(saved);
        close(null);
        assert_int_equal(r, 0);
        assert_int_equal(status, 0);
}

/* shadow's programs end where the audit log cannot be opened, but for some errors. */
static void users_can_be_made(void **state _unused_) {
        requires_namespaces();
        if (access("/usr/sbin/useradd", X_OK) < 0)
                skip();
        assert_int_equal(
                        sh(&f.sandbox,
                                        "touch /etc/passwd /etc/group && useradd -r -M someone && grep -q ^someone: /etc/passwd && "
                                        "touch /etc/x && chown someone /etc/x && setpriv --reuid someone --clear-groups -- id -un >/dev/null",
                                        NULL),
                        0);
}

static void tmp_has_the_modes_apt_wants(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(sh(&f.sandbox, "stat -c %a /tmp", &text), 0);
        assert_string_equal(text, "1777\n");
}

static void the_exit_code_is_the_commands(void **state _unused_) {
        requires_namespaces();
        assert_int_equal(sh(&f.sandbox, "exit 7", NULL), 7);
}

static int call_writes(const char *root, void *userdata) {
        put(root, "etc/called", userdata);
        return 3;
}

static int call_fails(const char *root _unused_, void *userdata _unused_) {
        return -EXDEV;
}

static void a_call_sees_the_merged_tree(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *text = NULL, *path = path_join(f.upper, "etc/called");

        assert_int_equal(sandbox_call(&f.sandbox, call_writes, (void *) "called"), 3);
        assert_int_equal(read_file(path, 100, &text, NULL), 0);
        assert_string_equal(text, "called");
        assert_int_equal(sandbox_call(&f.sandbox, call_fails, NULL), -EXDEV);
}

static void nothing_stays_mounted_here(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *before = NULL, *after = NULL;

        assert_int_equal(read_file("/proc/self/mountinfo", 1 << 20, &before, NULL), 0);
        assert_int_equal(sh(&f.sandbox, "true", NULL), 0);
        assert_int_equal(read_file("/proc/self/mountinfo", 1 << 20, &after, NULL), 0);
        assert_string_equal(before, after);
}

static void many_layers_fit(void **state _unused_) {
        requires_namespaces();
        _cleanup_strv_free_ char **layers = NULL;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(strv_extend(&layers, f.lower), 0);
        for (int i = 0; i < 80; i++) {
                _cleanup_free_ char *path = strf("%s/layers/%032d/tree", store_path(f.store), i),
                                    *name = strf("etc/l%d", i);
                assert_int_equal(mkdir_p(path, 0755), 0);
                put(path, name, "");
                assert_int_equal(strv_extend(&layers, path), 0);
        }
        Sandbox s = f.sandbox;
        s.layers = layers;
        assert_int_equal(sh(&s, "ls /etc/l* | wc -l", &text), 0);
        assert_int_equal(atoi(text), 80);
}

/* The parent is killed without a chance to clean up: every process of the sandbox must be gone
 * soon after. */
static void a_killed_parent_leaves_no_process(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *alive = path_join(f.path, "source/alive"),
                            *source = path_join(f.path, "source");
        struct stat st = {}, later;

        put(f.path, "source/x", "");
        SandboxBind binds[] = { f.usr, { source, "/run/imgbuild/src", true } };
        Sandbox s = f.sandbox;
        s.binds = binds;
        s.n_binds = 2;

        pid_t pid = fork();
        if (pid == 0) {
                sh(&s,
                                "trap '' TERM HUP INT; (while :; do echo >> /run/imgbuild/src/alive; sleep 0.02; done) & "
                                "while :; do echo >> /run/imgbuild/src/alive; sleep 0.02; done",
                                NULL);
                _exit(0);
        }
        for (int i = 0; i < 3000 && (stat(alive, &st) < 0 || st.st_size == 0); i++)
                usleep(10000);
        assert_true(st.st_size > 0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        /* They end soon, not at once: until a while has passed in which nobody wrote. */
        for (int i = 0; i < 40; i++) {
                assert_int_equal(stat(alive, &st), 0);
                usleep(500000);
                assert_int_equal(stat(alive, &later), 0);
                if (later.st_size == st.st_size)
                        break;
        }
        assert_int_equal(st.st_size, later.st_size);
}

/* Whether a process has the text among its arguments. Looked up without a shell: its children
 * carry its arguments until they run their own program, and would be found. */
static bool somebody_has(const char *text) {
        DIR *proc = opendir("/proc");
        struct dirent *d;
        bool found = false;

        assert_non_null(proc);
        while (!found && (d = readdir(proc))) {
                _cleanup_free_ char *path = strf("/proc/%s/cmdline", d->d_name), *arguments = NULL;
                size_t size = 0;

                if (d->d_name[0] < '0' || d->d_name[0] > '9' ||
                                strtol(d->d_name, NULL, 10) == getpid())
                        continue;
                found = read_file(path, 1 << 20, &arguments, &size) >= 0 &&
                        memmem(arguments, size, text, strlen(text));
        }
        closedir(proc);
        return found;
}

/* Whoever ends a command goes on at once: with its upper, and with other commands. */
static void a_command_that_was_ended_leaves_no_process(void **state _unused_) {
        requires_namespaces();
        char *const argv[] = { (char *) "/bin/sh", (char *) "-c",
                (char *) "trap '' TERM; i=0; while [ $i -lt 500 ]; do sleep 963.75 & i=$((i + 1)); done; wait",
                NULL };
        const SpawnOptions o = { .timeout_usec = 2 * USEC_PER_SEC };
        int status;

        assert_int_equal(sandbox_run(&f.sandbox, &o, argv, &status), -ETIMEDOUT);
        assert_false(somebody_has("963.75"));
}

/* The same at every moment of a sandbox's start, when half of its processes are not yet there. */
static void a_parent_killed_early_leaves_no_process(void **state _unused_) {
        requires_namespaces();

        for (int i = 0; i < 60; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        sh(&f.sandbox, "sleep 60", NULL);
                        _exit(0);
                }
                usleep((useconds_t) i * 500);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        bool left = true;
        for (int i = 0; i < 200 && left; i++) {
                left = somebody_has(f.path);
                if (left)
                        usleep(100000);
        }
        assert_false(left);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(changes_land_in_upper, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_second_command_goes_on_in_the_same_upper, setup, teardown),
                cmocka_unit_test_setup_teardown(removals_become_whiteouts, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                without_upper_changes_are_thrown_away, setup, teardown),
                cmocka_unit_test_setup_teardown(read_only_refuses_changes, setup, teardown),
                cmocka_unit_test_setup_teardown(host_files_are_invisible, setup, teardown),
                cmocka_unit_test_setup_teardown(environment_is_not_inherited, setup, teardown),
                cmocka_unit_test_setup_teardown(kernel_settings_are_not_writable, setup, teardown),
                cmocka_unit_test_setup_teardown(host_processes_are_invisible, setup, teardown),
                cmocka_unit_test_setup_teardown(there_is_no_network, setup, teardown),
                cmocka_unit_test_setup_teardown(device_nodes_cannot_be_made, setup, teardown),
                cmocka_unit_test_setup_teardown(rights_are_those_of_the_list, setup, teardown),
                cmocka_unit_test_setup_teardown(descriptors_are_not_inherited, setup, teardown),
                cmocka_unit_test_setup_teardown(the_first_process_is_out_of_reach, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                an_inherited_null_keeps_its_mode_too, setup, teardown),
                cmocka_unit_test_setup_teardown(users_can_be_made, setup, teardown),
                cmocka_unit_test_setup_teardown(tmp_has_the_modes_apt_wants, setup, teardown),
                cmocka_unit_test_setup_teardown(the_exit_code_is_the_commands, setup, teardown),
                cmocka_unit_test_setup_teardown(a_call_sees_the_merged_tree, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_stays_mounted_here, setup, teardown),
                cmocka_unit_test_setup_teardown(many_layers_fit, setup, teardown),
                cmocka_unit_test_setup_teardown(a_killed_parent_leaves_no_process, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_command_that_was_ended_leaves_no_process, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_parent_killed_early_leaves_no_process, setup, teardown),
        };

        if (geteuid() != 0 && userns_enter(argc, argv) < 0) {
                print_message("needs root or a user namespace\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
