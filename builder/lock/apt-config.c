/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The configuration that apt runs with here: the host's for reaching servers, ours for everything
 * that decides what a lock says. */

#include "common/apt-host.h"
#include "shared/file-util.h"
#include "lock/apt.h"

extern char **environ;

/* What the host must not decide: it would make locks differ from host to host, or let in what
 * nobody signed. */
static const char *const ignored_settings[] = {
        "Acquire::IndexTargets",
        "Acquire::Languages",
        "Acquire::ForceHash",
        "Acquire::AllowInsecureRepositories",
        "Acquire::AllowWeakRepositories",
        "Acquire::AllowDowngradeToInsecureRepositories",
        "Acquire::By-Hash",
};

int apt_write_below(const Apt *a, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(a->root, name);

        return path ? write_file_atomic(path, text, strlen(text), 0644) : -ENOMEM;
}

/* The store is its owner's alone, so apt's unprivileged user could not read keys and indexes in
 * it. */
int apt_write_config(const Apt *a) {
        _cleanup_apt_settings_ AptSettings host = {};
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;
        int r;

        r = apt_settings_load(&host);
        if (r == -ENOENT) {
                log_error("apt is needed to resolve packages, and this host has none: install the packages apt and mmdebstrap");
                return -ENOPKG;
        }
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r,
                                                         "apt-config does not work on this host");

        f = open_memstream(&text, &size);
        if (!f)
                return log_oom();
        for (size_t i = 0; i < host.n; i++) {
                bool ours = false;

                for (size_t k = 0; k < ELEMENTSOF(ignored_settings) && !ours; k++)
                        ours = startswith(host.settings[i].key, ignored_settings[k]);
                if (!ours && !strchr(host.settings[i].value,
                                             '"')) /* apt cannot quote these either */
                        fprintf(f, "%s \"%s\";\n", host.settings[i].key, host.settings[i].value);
        }
        /* Retries at once: with its own delays, apt 2.6's update was seen to hang until it was killed. */
        fprintf(f,
                        "Dir::State \"%1$s/state\";\n"
                        "Dir::State::status \"%1$s/state/status\";\n"
                        "Dir::State::extended_states \"%1$s/state/extended_states\";\n"
                        "Dir::Cache \"%1$s/cache\";\n"
                        "Dir::Cache::pkgcache \"pkgcache.bin\";\n"
                        "Dir::Cache::srcpkgcache \"srcpkgcache.bin\";\n"
                        "Dir::Log \"%1$s\";\n"
                        "Dir::Etc::main \"/dev/null\";\n"
                        "Dir::Etc::parts \"/dev/null\";\n"
                        "Dir::Etc::sourcelist \"/dev/null\";\n"
                        "Dir::Etc::sourceparts \"%1$s/sources.list.d\";\n"
                        "Dir::Etc::preferences \"%1$s/preferences\";\n"
                        "Dir::Etc::preferencesparts \"/dev/null\";\n"
                        "Dir::Etc::trusted \"/dev/null\";\n"
                        "Dir::Etc::trustedparts \"/dev/null\";\n"
                        "APT::Architecture \"%2$s\";\n"
                        "#clear APT::Architectures;\n"
                        "APT::Architectures { \"%2$s\"; };\n"
                        "APT::Install-Recommends \"false\";\n"
                        "APT::Install-Suggests \"false\";\n"
                        "APT::Solver \"internal\";\n"
                        "APT::Get::Always-Include-Phased-Updates \"true\";\n"
                        "APT::Update::Error-Mode \"any\";\n"
                        "APT::Color \"false\";\n"
                        "APT::Sandbox::User \"root\";\n"
                        "Acquire::Languages \"none\";\n"
                        "Acquire::ForceHash \"SHA256\";\n"
                        "Acquire::Retries \"3\";\n"
                        "Acquire::http::Timeout \"30\";\n"
                        "Acquire::Retries::Delay \"false\";\n"
                        "Acquire::AllowInsecureRepositories \"false\";\n"
                        "Acquire::AllowWeakRepositories \"false\";\n"
                        "Acquire::AllowDowngradeToInsecureRepositories \"false\";\n",
                        a->root, a->recipe->base.arch);
        if (fclose(f) != 0)
                return log_oom();
        r = apt_write_below(a, "apt.conf", text);
        return r < 0 ? log_error_errno(r, "Cannot write apt's configuration") : 0;
}

int apt_make_env(Apt *a) {
        static const char *const replaced[] = { "APT_CONFIG=", "LC_ALL=", "LANGUAGE=", "LANG=" };

        for (char **e = environ; *e; e++) {
                bool ours = false;

                for (size_t i = 0; i < ELEMENTSOF(replaced); i++)
                        ours = ours || startswith(*e, replaced[i]);
                if (!ours && strv_extend(&a->env, *e) < 0)
                        return -ENOMEM;
        }
        if (strv_extendf(&a->env, "APT_CONFIG=%s/apt.conf", a->root) < 0)
                return -ENOMEM;
        return strv_extend(&a->env, "LC_ALL=C.UTF-8");
}
