/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The programs themselves, a few lines of shell each, and what the notes of those that put
 * something off turn into. */

#include "stage/shims.h"
#include "stage/rpm-clock.h"
#include "sandbox/open-inside.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#define NOTES_MAX (1024 * 1024) /* bytes */

#define NOTHING "#!/bin/sh\nexit 0\n"

/* man-db's scripts call mandb by its path, but through one of these two. PATH's first folder is
 * the shims' own. */
#define UNLESS_MANDB(program)                                                \
        "#!/bin/sh\nfor a; do [ \"$a\" = /usr/bin/mandb ] && exit 0; done\n" \
        "PATH=${PATH#*:}\nexec " program " \"$@\"\n"

/* Without a kernel's name dkms compiles for the one that runs, which is the builder's; modules for
 * it that came out would be signed with a key made by chance. */
#define DKMS                                                                       \
        "#!/bin/sh\n"                                                              \
        "for a; do case $a in -k*|--kernel*|--all) named=1 ;; esac; done\n"        \
        "case $1 in build|install|autoinstall) [ \"$named\" ] || exit 0 ;; esac\n" \
        "PATH=${PATH#*:}\nexec dkms \"$@\"\n"

/* Notes its absolute arguments, one a line. */
#define LATER(name)                                        \
        "#!/bin/sh\n: >>" SHIMS_LATER_INSIDE "/" name "\n" \
        "for a; do case $a in /*) echo \"$a\" >>" SHIMS_LATER_INSIDE "/" name " ;; esac; done\n"

/* All of apt's configuration while it installs: the image's own (hooks of debconf, say) is not
 * read. What the lock says is right, so apt need not ask. Caches are worth megabytes in each
 * layer, and nothing to anybody; /run is in memory. */
#define APT_CONF                                                             \
        "Dir::Etc::Parts \"/dev/null\";\n"                                   \
        "Dir::Etc::Main \"/dev/null\";\n"                                    \
        "Dir::Etc::SourceList \"/dev/null\";\n"                              \
        "Dir::Etc::SourceParts \"/dev/null\";\n"                             \
        "Dir::State::Lists \"/run/imgbuild/lists\";\n"                       \
        "Dir::Cache::PkgCache \"/run/pkgcache.bin\";\n"                      \
        "Dir::Cache::SrcPkgCache \"/run/srcpkgcache.bin\";\n"                \
        "Dir::Log::Terminal \"\";\n"                                         \
        "Dir::Log::History \"\";\n"                                          \
        "Dir::Log::Planner \"\";\n"                                          \
        "APT::Get::Assume-Yes \"true\";\n"                                   \
        "APT::Get::Allow-Downgrades \"true\";\n"                             \
        "APT::Get::Allow-Change-Held-Packages \"true\";\n"                   \
        "APT::Install-Recommends \"false\";\n"                               \
        "APT::Sandbox::User \"root\";\n"                                     \
        "quiet \"1\";\n"                                                     \
        "Dpkg::Use-Pty \"false\";\n"                                         \
        "DPkg::Path \"" SHIMS_INSIDE                                         \
        ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\";\n" \
        "Dpkg::Options { \"--force-confold\"; \"--force-unsafe-io\"; };\n"

static const struct {
        const char *name, *text;
} shims[] = {
        { "apt.conf", APT_CONF },
        { "update-initramfs", NOTHING },
        { "dracut", NOTHING },
        { "depmod", NOTHING },
        { "kernel-install", NOTHING },
        { "weak-modules", NOTHING },
        { "mandb", NOTHING },
        { "dkms", DKMS },
        { "setpriv", UNLESS_MANDB("setpriv") },
        { "runuser", UNLESS_MANDB("runuser") },
        { "start-stop-daemon", NOTHING },
        { "invoke-rc.d", NOTHING },
        { "service", NOTHING },
        { "policy-rc.d", "#!/bin/sh\nexit 101\n" }, /* "action forbidden by policy" */
        { "py3compile", LATER("py3compile") },
        { "update-ca-certificates", LATER("update-ca-certificates") },
};

static int write_clock(const char *folder) {
        _cleanup_free_ char *path = path_join(folder, RPM_CLOCK);
        size_t size;
        const void *data = rpm_clock(&size);

        return path ? write_file_atomic(path, data, size, 0755) : -ENOMEM;
}

int shims_write(Store *s, char **ret_folder) {
        _cleanup_free_ char *folder = NULL;
        int r;

        r = store_scratch(s, "shims", &folder);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(shims); i++) {
                _cleanup_free_ char *path = path_join(folder, shims[i].name);

                if (!path)
                        return -ENOMEM;
                r = write_file_atomic(path, shims[i].text, strlen(shims[i].text), 0755);
                if (r < 0)
                        return r;
        }
        r = write_clock(folder);
        if (r < 0)
                return r;
        *ret_folder = TAKE_PTR(folder);
        return 0;
}

/* What a note turns into: the command, and whether the noted paths follow. */
static const struct {
        const char *name;
        const char *command; /* words */
        bool paths, optional;
} commands[] = {
        /* As py3compile does it: public modules always, private folders where a package names
         * them. A module that another Python's syntax is in stays without byte code. Byte code
         * that names its source's time, not its hash, is known to be right: it is not made again
         * by each stage, and Python on the node need not read the source. */
        { "py3compile", "python3 -m compileall -q -j%u --invalidation-mode timestamp /usr/lib/python3/dist-packages",
                        true, true },
        { "update-ca-certificates", "update-ca-certificates", false, false },
};

void later_list_done(LaterList *l) {
        for (size_t i = 0; i < l->n; i++)
                strv_free(l->commands[i].argv);
        free(l->commands);
        *l = (LaterList) {};
}

static int add_words(char ***argv, const char *command, unsigned jobs) {
        _cleanup_strv_free_ char **words = strv_split(command, " ");

        if (!words)
                return -ENOMEM;
        STRV_FOREACH (w, words) {
                int r = streq(*w, "-j%u") ? strv_extendf(argv, "-j%u", jobs)
                                          : strv_extend(argv, *w);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Each noted path once, in order. */
static int add_paths(char ***argv, const char *notes) {
        _cleanup_strv_free_ char **paths = strv_split(notes, "\n");

        if (!paths)
                return -ENOMEM;
        strv_sort(paths);
        STRV_FOREACH (p, paths) {
                int r = strv_contains(*argv, *p) ? 0 : strv_extend(argv, *p);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Fills *ret from command i's note. Returns 0 where there is none, 1 where there is. */
static int read_note(size_t i, const char *later, unsigned jobs, Later *ret) {
        _cleanup_free_ char *notes = NULL;
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = inside_read_output(later, commands[i].name, NOTES_MAX, &notes, NULL);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;

        r = add_words(&argv, commands[i].command, jobs);
        if (r < 0)
                return r;
        if (commands[i].paths) {
                r = add_paths(&argv, notes);
                if (r < 0)
                        return r;
        }
        *ret = (Later) { .argv = TAKE_PTR(argv), .optional = commands[i].optional };
        return 1;
}

int shims_later(const char *later, unsigned jobs, LaterList *ret) {
        _cleanup_(later_list_done) LaterList l = {};

        l.commands = calloc(ELEMENTSOF(commands), sizeof(*l.commands));
        if (!l.commands)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                int r = read_note(i, later, jobs, l.commands + l.n);

                if (r < 0)
                        return r;
                l.n += (size_t) r;
        }
        *ret = l;
        l = (LaterList) {};
        return 0;
}
