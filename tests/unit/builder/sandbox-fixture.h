/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A store and a sandbox in a folder of /tmp. The tree is the host's own /usr, so that there is a
 * shell in it. */

#include "common/userns.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

typedef struct Fixture {
        char path[64];
        Store *store;
        char *lower, *upper, *work;
        char *layers[2];
        SandboxBind usr;
        Sandbox sandbox;
} Fixture;

static Fixture f;

static void put(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static void make_link(const char *folder, const char *target, const char *name) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state _unused_) {
        static const char *const links[] = { "bin", "lib", "lib64", "sbin" };
        static const char *const folders[] = { "usr", "proc", "sys", "dev", "run", "tmp", "etc" };

        f = (Fixture) {};
        snprintf(f.path, sizeof(f.path), "/tmp/test-sandbox.XXXXXX");
        assert_non_null(mkdtemp(f.path));
        _cleanup_free_ char *store = path_join(f.path, "store");
        assert_int_equal(store_open(store, &f.store), 0);
        assert_int_equal(store_scratch(f.store, "lower", &f.lower), 0);
        assert_int_equal(store_scratch(f.store, "upper", &f.upper), 0);
        assert_int_equal(store_scratch(f.store, "work", &f.work), 0);
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(f.lower, folders[i]);
                assert_int_equal(mkdir(path, 0755), 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(links); i++) {
                _cleanup_free_ char *target = strf("usr/%s", links[i]);
                make_link(f.lower, target, links[i]);
        }
        put(f.lower, "etc/below", "below\n");
        f.layers[0] = f.lower;
        f.usr = (SandboxBind) { "/usr", "/usr", false };
        f.sandbox = (Sandbox) {
                .store = f.store,
                .layers = f.layers,
                .upper = f.upper,
                .work = f.work,
                .binds = &f.usr,
                .n_binds = 1,
                .epoch = 1700000000,
        };
        return 0;
}

static int teardown(void **state _unused_) {
        store_free(f.store);
        free(f.lower);
        free(f.upper);
        free(f.work);
        return rm_rf(f.path);
}

static inline int sh(const Sandbox *s, const char *script, char **ret_output) {
        char *const argv[] = { (char *) "/bin/sh", (char *) "-c", (char *) script, NULL };
        int status = -1;
        size_t size;
        _cleanup_free_ char *path = path_join(f.path, "output");
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        SpawnOptions o = { .stdout_fd = fd };

        assert_true(fd >= 0);
        int r = sandbox_run(s, &o, argv, &status);
        close(fd);
        if (ret_output)
                assert_int_equal(read_file(path, 1 << 20, ret_output, &size), 0);
        return r < 0 ? r : status;
}

static inline void requires_namespaces(void) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0)
                _exit(unshare(CLONE_NEWNS) < 0);
        waitpid(pid, &status, 0);
        if (status != 0) {
                print_message("needs root, or a user namespace, for a mount namespace\n");
                skip();
        }
}
