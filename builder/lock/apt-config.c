/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The configuration that apt runs with here: the host's for reaching servers, ours for everything
 * that decides what a lock says. */

#include "common/apt-auth.h"
#include "common/apt-host.h"
#include "shared/file-util.h"
#include "lock/apt.h"

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

typedef struct Setting {
        const char *key, *value;
} Setting;

/* Paths below our root; "": the root itself. */
static const Setting places[] = {
        { "Dir::State", "state" },
        { "Dir::State::status", "state/status" },
        { "Dir::State::extended_states", "state/extended_states" },
        { "Dir::Cache", "cache" },
        { "Dir::Log", "" },
        { "Dir::Etc::sourceparts", "sources.list.d" },
        { "Dir::Etc::preferences", "preferences" },
        { "Dir::Etc::netrc", "auth.conf" },
};

static const Setting fixed[] = {
        { "Dir::Cache::pkgcache", "pkgcache.bin" },
        { "Dir::Cache::srcpkgcache", "srcpkgcache.bin" },
        { "Dir::Etc::main", "/dev/null" },
        { "Dir::Etc::parts", "/dev/null" },
        { "Dir::Etc::sourcelist", "/dev/null" },
        { "Dir::Etc::preferencesparts", "/dev/null" },
        { "Dir::Etc::netrcparts", "/dev/null" },
        { "Dir::Etc::trusted", "/dev/null" },
        { "Dir::Etc::trustedparts", "/dev/null" },
        { "APT::Install-Recommends", "false" },
        { "APT::Install-Suggests", "false" },
        { "APT::Solver", "internal" },
        { "APT::Get::Always-Include-Phased-Updates", "true" },
        { "APT::Update::Error-Mode", "any" },
        { "APT::Color", "false" },
        /* The store is its owner's alone: apt's own user could not read keys and indexes there. */
        { "APT::Sandbox::User", "root" },
        { "Acquire::Languages", "none" },
        { "Acquire::ForceHash", "SHA256" },
        { "Acquire::Retries", "3" },
        { "Acquire::http::Timeout", "30" },
        /* At once: with its own delays, apt 2.6's update was seen to hang until it was killed. */
        { "Acquire::Retries::Delay", "false" },
        { "Acquire::AllowInsecureRepositories", "false" },
        { "Acquire::AllowWeakRepositories", "false" },
        { "Acquire::AllowDowngradeToInsecureRepositories", "false" },
};

static bool is_ignored(const char *key) {
        for (size_t i = 0; i < ELEMENTSOF(ignored_settings); i++)
                if (startswith(key, ignored_settings[i]))
                        return true;
        return false;
}

/* The one place where a value is quoted. apt knows no way to write a quote inside of quotes. */
static int put_setting(FILE *f, const char *key, const char *value) {
        if (strchr(value, '"'))
                return -EINVAL;
        fprintf(f, "%s \"%s\";\n", key, value);
        return 0;
}

static int put_places(FILE *f, const char *root) {
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *path = path_join(root, places[i].value);
                int r = path ? put_setting(f, places[i].key, path) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int put_config(FILE *f, const Apt *a, const AptSettings *host) {
        int r;

        for (size_t i = 0; i < host->n; i++)
                if (!is_ignored(host->settings[i].key))
                        (void) put_setting(f, host->settings[i].key, host->settings[i].value);
        r = put_places(f, a->root);
        if (r < 0)
                return r;
        r = put_setting(f, "APT::Architecture", a->recipe->base.arch);
        if (r < 0)
                return r;
        fputs("#clear APT::Architectures;\n", f);
        r = put_setting(f, "APT::Architectures::", a->recipe->base.arch);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(fixed); i++) {
                r = put_setting(f, fixed[i].key, fixed[i].value);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The host's logins but those for plain http, for apt's eyes: the store is its owner's alone. */
static int write_auth(const Apt *a) {
        _cleanup_free_ char *path = path_join(a->root, "auth.conf");
        _cleanup_apt_secret_ char *text = NULL;
        _cleanup_apt_auth_ AptAuth auth = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = apt_auth_load(&auth);
        if (r < 0)
                return r;
        r = apt_auth_text(&auth, &text);
        return r < 0 ? r : write_file_atomic(path, text, strlen(text), 0600);
}

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
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "apt-config does not work on this host");

        f = open_memstream(&text, &size);
        if (!f)
                return log_oom();
        r = put_config(f, a, &host);
        if (fclose(f) != 0 || r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return log_error_return(r,
                                "apt cannot work in %s: a quote in a path cannot be written in its configuration; choose another store with --cache",
                                a->root);
        r = write_auth(a);
        if (r < 0)
                return log_error_errno(r, "Cannot hand the host's logins to apt");
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
