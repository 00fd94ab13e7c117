/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first stage: a tree from nothing. mmdebstrap makes it from a flat repository of exactly the
 * locked .debs, so that neither network nor mirror matters any more, with the host's programs but
 * without its files and without the right to mount or make devices: the same for root and for
 * ordinary users. */

#include "stage/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define INSIDE_REPOSITORY INSIDE "/repository"

/* One stanza of the repository's index: the .deb's own control fields, and where it is. */
static int add_stanza(FILE *index, const char *blob, const char *name, const LockedPackage *p) {
        _cleanup_free_ char *control = NULL;
        char *const argv[] = { (char *) "dpkg-deb", (char *) "--field", (char *) blob, NULL };
        int r, status;

        r = spawn_capture(NULL, argv, &control, &status);
        if (r == -ENOENT)
                return log_error_errno(r, "dpkg-deb is not installed: apt install dpkg");
        if (r < 0)
                return r;
        if (status != 0)
                return log_error_errno(
                                -EBADMSG, "%s is not a Debian package: %s", p->name, control);
        fprintf(index, "%sFilename: ./%s\nSize: %llu\nSHA256: %s\n\n", control, name,
                        (unsigned long long) p->size, p->sha256);
        return ferror(index) ? -EIO : 0;
}

static int write_index(const char *folder, char *const *blobs, char *const *names,
                const LockedStage *locked) {
        _cleanup_fclose_ FILE *index = NULL;
        _cleanup_free_ char *path = path_join(folder, "Packages");
        int r = 0;

        if (!path)
                return -ENOMEM;
        index = fopen(path, "we");
        if (!index)
                return -errno;
        for (size_t i = 0; r >= 0 && i < locked->n_packages; i++)
                r = add_stanza(index, blobs[i], names[i], locked->packages + i);
        if (r >= 0 && fflush(index) != 0)
                r = -errno;
        return r;
}

static int bootstrap(StageBuild *b, const LockedStage *locked, const char *repository) {
        _cleanup_strv_free_ char **include = NULL, **argv = NULL;
        _cleanup_free_ char *included = NULL;
        /* The tree's /proc is a mount already, which root of a user namespace may not touch. */
        static const char *const env[] = { "TAR_OPTIONS=--exclude=./proc", NULL };
        const SandboxBind bind = { repository, INSIDE_REPOSITORY, false };
        Sandbox s = b->sandbox;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < locked->n_packages; i++)
                r = strv_extendf(&include, "%s=%s", locked->packages[i].name,
                                locked->packages[i].version);
        included = strv_join(include, ",");
        if (r < 0 || !included)
                return log_oom();
        r = strv_extend_many(&argv, "mmdebstrap", "--mode=root", "--format=directory",
                        "--variant=essential", NULL);
        if (r >= 0)
                r = strv_extendf(&argv, "--architectures=%s", b->plan->recipe->base.arch);
        if (r >= 0)
                r = strv_extendf(&argv, "--include=%s", included);
        for (size_t i = 0; r >= 0 && i < strv_length(b->plan->dpkg_options); i++)
                r = strv_extendf(&argv, "--dpkgopt=%s", b->plan->dpkg_options[i] + strlen("--"));
        if (r >= 0) /* an empty suite: whatever the repository has counts */
                r = strv_extend_many(&argv, "--dpkgopt=force-unsafe-io",
                                "--skip=check/empty,check/signed-by,check/qemu,chroot/mount,cleanup/apt/lists",
                                "", SANDBOX_TREE, "deb [trusted=yes] copy:" INSIDE_REPOSITORY " ./",
                                NULL);
        if (r < 0)
                return log_oom();
        s.host = true;
        s.env = (char *const *) env;
        s.binds = &bind;
        s.n_binds = 1;
        return stage_command(b->ctx, b->stage->id, &s, NULL, argv, NULL);
}

/* mmdebstrap's own traces: the repository that nobody else has, and dpkg told not to wait for the
 * disk, as nobody should on a node. */
static int clean_up(const char *root, void *userdata _unused_) {
        static const char *const files[] = { "etc/apt/sources.list",
                "etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap" };
        _cleanup_free_ char *lists = path_join(root, "var/lib/apt/lists"), *partial = NULL;
        int r;

        partial = lists ? path_join(lists, "partial") : NULL;
        if (!partial)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *path = path_join(root, files[i]);

                if (!path)
                        return -ENOMEM;
                if (unlink(path) < 0 && errno != ENOENT)
                        return -errno;
        }
        r = rm_rf(lists);
        return r < 0 ? r : mkdir_p(partial, 0755);
}

int stage_base(StageBuild *b) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        _cleanup_free_ char *repository = NULL;
        const LockedStage *locked = b->stage->locked;
        int r;

        r = stage_locked_debs(b, locked, &blobs, &names);
        if (r >= 0)
                r = stage_link_debs(b, blobs, names, &repository);
        if (r >= 0)
                r = write_index(repository, blobs, names, locked);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot make a repository of its packages",
                                b->stage->id);
        if (!program_find("mmdebstrap", NULL))
                return log_error_errno(
                                -ENOPKG, "mmdebstrap is not installed: apt install mmdebstrap");
        r = bootstrap(b, locked, repository);
        if (r < 0)
                return r;
        r = sandbox_call(&b->sandbox, clean_up, NULL);
        if (r < 0)
                return log_error_errno(
                                r, "Stage %s: cannot clean up after mmdebstrap", b->stage->id);
        (void) rm_rf(repository);
        return 0;
}
