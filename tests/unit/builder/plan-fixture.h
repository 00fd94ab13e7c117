/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recipe of two overlays as recipe_load() would give it, on real files in a temporary folder,
 * with a lock, and the plan of both. */

#include "plan/plan.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

typedef struct World {
        char folder[64];
        Overlay first, second, *overlays[3];
        Recipe recipe;
        Lock lock;
        char *packages[2][2], *enable[2];
        LockedPackage locked[6];
        LockedStage stages[6];
        Compile compile;
        Run run;
} World;

static inline void put(World *w, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(w->folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static inline void lock_stage(World *w, const char *id, const char *package, char digit) {
        size_t i = w->lock.n_stages++;
        char *sha256 = malloc(DIGEST_HEX + 1);

        memset(sha256, digit, DIGEST_HEX);
        sha256[DIGEST_HEX] = '\0';
        w->locked[i] = (LockedPackage) { .name = (char *) package,
                .version = (char *) "1",
                .arch = (char *) "amd64",
                .sha256 = sha256 };
        w->stages[i] = (LockedStage) {
                .id = (char *) id, .packages = w->locked + i, .n_packages = 1
        };
}

static inline int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        strcpy(w->folder, "/tmp/test-plan-XXXXXX");
        if (!w || !mkdtemp(w->folder))
                return -1;
        put(w, "first/files/etc/motd", "hello\n");
        put(w, "first/files/etc/modprobe.d/x.conf", "blacklist x\n");
        put(w, "second/files/etc/issue", "x\n");
        put(w, "second/build.sh", "make\n");
        put(w, "second/run.sh", "true\n");

        w->packages[0][0] = (char *) "bash";
        w->packages[1][0] = (char *) "slurmd";
        w->enable[0] = (char *) "ssh.service";
        w->first = (Overlay) { .name = (char *) "first",
                .path = path_join(w->folder, "first"),
                .has_files = true,
                .packages = w->packages[0],
                .services.enable = w->enable };
        w->compile = (Compile) { .packages = w->packages[0],
                .script = path_join(w->folder, "second/build.sh") };
        w->run = (Run) { .script = path_join(w->folder, "second/run.sh") };
        w->second = (Overlay) { .name = (char *) "second",
                .path = path_join(w->folder, "second"),
                .has_files = true,
                .packages = w->packages[1],
                .compile = &w->compile,
                .n_compile = 1,
                .run = &w->run,
                .n_run = 1 };
        w->overlays[0] = &w->first;
        w->overlays[1] = &w->second;
        w->recipe = (Recipe) {
                .name = (char *) "x",
                .base = { .distro = (char *) "debian",
                                .release = (char *) "trixie",
                                .arch = (char *) "amd64" },
                .kernel = { .package = (char *) "linux-image-amd64", .cmdline = (char *) "" },
                .overlays = w->overlays,
                .n_overlays = 2,
        };
        w->lock = (Lock) { .epoch = 1700000000, .stages = w->stages };
        lock_stage(w, "base", "libc6", 'a');
        lock_stage(w, "kernel", "linux-image-6.12.57+deb13-amd64", 'b');
        lock_stage(w, "packages:first", "bash", 'c');
        lock_stage(w, "packages:second", "slurmd", 'd');
        lock_stage(w, "compile:second/0", "gcc", 'e');
        *state = w;
        return 0;
}

static inline int teardown(void **state) {
        World *w = *state;

        rm_rf(w->folder);
        for (size_t i = 0; i < w->lock.n_stages; i++)
                free(w->locked[i].sha256);
        free(w->first.path);
        free(w->second.path);
        free(w->compile.script);
        free(w->run.script);
        free(w);
        return 0;
}

static inline Plan *plan(World *w) {
        Plan *p = NULL;

        assert_int_equal(plan_new(&w->recipe, &w->lock, &p), 0);
        return p;
}
