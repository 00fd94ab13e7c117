/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first stage: a tree from nothing. mmdebstrap makes it from a flat repository of exactly the
 * locked .debs, so that neither network nor mirror matters any more, with programs of the tools
 * tree (for that tree itself: the host's), but without files of the host and without the right to
 * mount or make devices: the same for root and for ordinary users. */

#include "stage/internal.h"
#include "common/deb-control.h"
#include "sandbox/open-inside.h"
#include "stage/prune.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ctype.h>

#include <fcntl.h>

#define INSIDE_REPOSITORY INSIDE "/repository"
#define PRUNE "prune" /* a script in the repository's folder */

/* One stanza of the repository's index: the .deb's own control fields, and where it is. */
static int add_stanza(FILE *index, const char *blob, const char *name, const LockedPackage *p) {
        _cleanup_free_ char *control = NULL;
        int r;

        r = deb_control_text(blob, &control);
        if (r == -EBADMSG)
                return log_error_return(r,
                                "%s is not a Debian package: its control file cannot be read",
                                p->name);
        if (r < 0)
                return r;

        fprintf(index, "%s\nFilename: ./%s\nSize: %llu\nSHA256: %s\n\n", control, name,
                        (unsigned long long) p->size, p->sha256);
        return ferror(index) ? -EIO : 0;
}

static int write_index(const char *folder, char *const *blobs, char *const *names,
                const LockedStage *locked) {
        _cleanup_fclose_ FILE *index = NULL;
        _cleanup_free_ char *path = path_join(folder, "Packages");

        if (!path)
                return -ENOMEM;
        index = fopen(path, "we");
        if (!index)
                return -errno;
        for (size_t i = 0; i < locked->n_packages; i++) {
                int r = add_stanza(index, blobs[i], names[i], locked->packages + i);

                if (r < 0)
                        return r;
        }
        return fflush(index) != 0 ? -errno : 0;
}

static int write_prune(const StageBuild *b, const char *folder) {
        _cleanup_free_ char *text = NULL, *path = path_join(folder, PRUNE);
        int r;

        if (!path)
                return -ENOMEM;
        r = prune_script(b->plan->dpkg_options, &text);
        if (r < 0 || !text)
                return r;
        return write_file_atomic(path, text, strlen(text), 0755);
}

static int make_repository(StageBuild *b, char **ret_folder) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        _cleanup_free_ char *folder = NULL;
        const LockedStage *locked = b->stage->locked;
        int r;

        r = stage_locked_debs(b, locked, &blobs, &names);
        if (r < 0)
                return r;
        r = stage_link_debs(b, blobs, names, &folder);
        if (r < 0)
                return r;
        r = write_index(folder, blobs, names, locked);
        if (r < 0)
                return r;
        r = write_prune(b, folder);
        if (r < 0)
                return r;

        *ret_folder = TAKE_PTR(folder);
        return 0;
}

/* "NAME=VERSION,…" */
static int include_list(const LockedStage *locked, char **ret) {
        _cleanup_strv_free_ char **packages = NULL;

        for (size_t i = 0; i < locked->n_packages; i++) {
                const LockedPackage *p = locked->packages + i;
                int r = strv_extendf(&packages, "%s=%s", p->name, p->version);

                if (r < 0)
                        return r;
        }
        *ret = strv_join(packages, ",");
        return *ret ? 0 : -ENOMEM;
}

static int mmdebstrap_argv(const StageBuild *b, char ***ret) {
        static const char skip[] = "--skip=check/empty,check/signed-by,check/qemu,chroot/mount,"
                                   "cleanup/apt/lists";
        static const char source[] = "deb [trusted=yes] copy:" INSIDE_REPOSITORY " ./";
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *include = NULL;
        int r;

        r = include_list(b->stage->locked, &include);
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, ARGV("mmdebstrap", "--mode=root", "--format=directory",
                                                    "--variant=essential"));
        if (r < 0)
                return r;
        r = strv_extendf(&argv, "--architectures=%s", b->plan->recipe->base.arch);
        if (r < 0)
                return r;
        r = strv_extendf(&argv, "--include=%s", include);
        if (r < 0)
                return r;
        if (strv_length(b->plan->dpkg_options) > 0) {
                r = strv_extend(&argv, "--extract-hook=" INSIDE_REPOSITORY "/" PRUNE);
                if (r < 0)
                        return r;
        }
        /* An empty suite: whatever the repository has counts. */
        r = strv_extend_strv(
                        &argv, ARGV("--dpkgopt=force-unsafe-io", skip, "", SANDBOX_TREE, source));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

static int bootstrap(StageBuild *b, const char *repository) {
        _cleanup_strv_free_ char **argv = NULL;
        const SandboxBind bind = { repository, INSIDE_REPOSITORY, false };
        Sandbox s = b->sandbox;

        if (mmdebstrap_argv(b, &argv) < 0)
                return log_oom();
        s.host = true;
        s.programs = b->maker->tree;
        /* The tree's /proc is a mount already, which root of a user namespace may not touch. */
        s.env = ARGV("TAR_OPTIONS=--exclude=./proc");
        s.binds = &bind;
        s.n_binds = 1;
        return stage_command(b, &s, argv);
}

/* mmdebstrap's own traces: the repository that nobody else has, and dpkg told not to wait for the
 * disk, as nobody should on a node. */
static int clean_up(const char *root, void *userdata _unused_) {
        static const char *const traces[] = { "etc/apt/sources.list",
                "etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
                "var/lib/apt/lists" };
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            partial = -EBADF;

        if (root_fd < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(traces); i++) {
                int r = inside_remove(root_fd, traces[i]);

                if (r < 0)
                        return r;
        }
        partial = inside_make_folder(root_fd, "var/lib/apt/lists/partial", 0755);
        return partial < 0 ? partial : 0;
}

/* "1.21.22" of "Debian 'dpkg' package management program version 1.21.22 (amd64)." */
static int first_version(const char *program, char **ret) {
        _cleanup_free_ char *output = NULL;
        const char *p;
        int status, r;

        r = spawn_capture(NULL, ARGV(program, "--version"), &output, &status);
        if (r < 0)
                return r;
        for (p = output; *p && !(isdigit((unsigned char) *p) && (p == output || p[-1] == ' ')); p++)
                ;
        *ret = strndup(p, strcspn(p, " \n"));
        return *ret ? 0 : -ENOMEM;
}

/* What no lock pins is at least said: the host's versions. */
static int describe_host(json_object **ret) {
        static const struct {
                const char *key, *program;
        } programs[] = { { "mmdebstrap", "mmdebstrap" }, { "dpkg", "dpkg" }, { "apt", "apt-get" } };
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = json_set_fields(o, JSON_STRING("by", "host"));
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(programs); i++) {
                _cleanup_free_ char *version = NULL;

                r = first_version(programs[i].program, &version);
                if (r < 0)
                        return r;
                r = json_set_string(o, programs[i].key, version);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

static int find_programs(StageBuild *b) {
        int r;

        if (b->maker->tree) {
                b->made_with = json_object_get(b->maker->made_with);
                return 0;
        }
        if (!program_find("mmdebstrap", NULL))
                return log_error_return(
                                -ENOPKG, "mmdebstrap is not installed: apt install mmdebstrap");
        r = describe_host(&b->made_with);
        return r < 0 ? log_error_errno(r,
                                       "This host's mmdebstrap, dpkg and apt do not say their versions")
                     : 0;
}

int stage_base(StageBuild *b) {
        _cleanup_free_ char *repository = NULL;
        int r;

        if (b->plan->recipe->family == FAMILY_EL)
                return stage_base_el(b);
        r = make_repository(b, &repository);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot make a repository of its packages",
                                b->stage->id);
        r = find_programs(b);
        if (r < 0)
                return r;

        r = bootstrap(b, repository);
        if (r < 0)
                return r;
        r = sandbox_call(&b->sandbox, clean_up, NULL);
        if (r < 0)
                return log_error_errno(
                                r, "Stage %s: cannot clean up after mmdebstrap", b->stage->id);
        (void) rm_rf(repository);
        return 0;
}
