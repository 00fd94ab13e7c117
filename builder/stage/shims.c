/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage/shims.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#define NOTHING "#!/bin/sh\nexit 0\n"

/* man-db's scripts call mandb by its path, but through one of these two. PATH's first folder is
 * the shims' own. */
#define UNLESS_MANDB(program)                                                \
        "#!/bin/sh\nfor a; do [ \"$a\" = /usr/bin/mandb ] && exit 0; done\n" \
        "PATH=${PATH#*:}\nexec " program " \"$@\"\n"

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
        { "mandb", NOTHING },
        { "setpriv", UNLESS_MANDB("setpriv") },
        { "runuser", UNLESS_MANDB("runuser") },
        { "start-stop-daemon", NOTHING },
        { "invoke-rc.d", NOTHING },
        { "service", NOTHING },
        { "policy-rc.d", "#!/bin/sh\nexit 101\n" }, /* "action forbidden by policy" */
        { "py3compile", LATER("py3compile") },
        { "update-ca-certificates", LATER("update-ca-certificates") },
};

int shims_write(Store *s, char **ret_folder) {
        _cleanup_free_ char *folder = NULL;
        int r = store_scratch(s, "shims", &folder);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(shims); i++) {
                _cleanup_free_ char *path = path_join(folder, shims[i].name);

                r = path ? write_file_atomic(path, shims[i].text, strlen(shims[i].text), 0755)
                         : -ENOMEM;
        }
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

void later_free(Later *l, size_t n) {
        for (size_t i = 0; i < n; i++)
                strv_free(l[i].argv);
        free(l);
}

static int command_argv(size_t i, const char *notes, unsigned jobs, char ***ret) {
        _cleanup_strv_free_ char **words = strv_split(commands[i].command, " "), **paths = NULL,
                                 **argv = NULL;
        int r = words ? 0 : -ENOMEM;

        STRV_FOREACH (w, words)
                if (r >= 0)
                        r = streq(*w, "-j%u") ? strv_extendf(&argv, "-j%u", jobs)
                                              : strv_extend(&argv, *w);
        if (r >= 0 && commands[i].paths) {
                paths = strv_split(notes, "\n");
                if (!paths)
                        return -ENOMEM;
                strv_sort(paths);
                STRV_FOREACH (p, paths)
                        if (r >= 0 && !strv_contains(argv, *p))
                                r = strv_extend(&argv, *p);
        }
        if (r < 0)
                return r;
        *ret = TAKE_PTR(argv);
        return 0;
}

int shims_later(const char *later, unsigned jobs, Later **ret, size_t *ret_n) {
        Later *l = calloc(ELEMENTSOF(commands), sizeof(*l));
        size_t n = 0;
        int r = l ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(commands); i++) {
                _cleanup_free_ char *path = path_join(later, commands[i].name), *notes = NULL;

                r = path ? read_file(path, 1024 * 1024, &notes, NULL) : -ENOMEM;
                if (r == -ENOENT) {
                        r = 0;
                        continue;
                }
                if (r >= 0)
                        r = command_argv(i, notes, jobs, &l[n].argv);
                if (r >= 0)
                        l[n++].optional = commands[i].optional;
        }
        if (r < 0) {
                later_free(l, n);
                return r;
        }
        *ret = l;
        *ret_n = n;
        return 0;
}
