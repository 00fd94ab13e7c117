/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where a distribution's archives are found: given, or asked of the host's apt, or of
 * mmdebstrap. */

#include "lock/mirror.h"
#include "store/store.h"
#include "common/apt-host.h"
#include "shared/file-util.h"
#include "shared/spawn.h"

#include <time.h>

#define MIRROR_LIST_SIZE_MAX 65536

/* One row an archive. `suites` are what follows the release's name. Rolling releases have the
 * plain suite only. */
typedef struct Archive {
        const char *distro;
        const char *name;
        const char *label; /* of its Release files, beside Origin */
        const char *suites[4];
} Archive;

static const Archive archives[] = {
        { "debian", "debian", "Debian", { "", "-updates" } },
        { "debian", "debian-security", "Debian-Security", { "-security" } },
        { "ubuntu", "ubuntu", "Ubuntu", { "", "-updates", "-security" } },
};

static const struct {
        const char *distro, *origin, *keyring, *keyring_package;
        const char *history; /* of its main archive; a date goes behind it */
} distros[] = {
        { "debian", "Debian", "/usr/share/keyrings/debian-archive-keyring.gpg",
                        "debian-archive-keyring", "https://snapshot.debian.org/archive/debian" },
        { "ubuntu", "Ubuntu", "/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu-keyring",
                        "https://snapshot.ubuntu.com/ubuntu" },
};

#define HISTORY_DELAY_SECONDS \
        (24 * 60 * 60) /* until such an archive has what a Release file names */

static const char *const rolling[] = { "sid", "unstable", "experimental" };

const Mirror *mirrors_get(const Mirrors *m, const char *origin) {
        for (size_t i = 0; i < m->n; i++)
                if (streq(m->mirrors[i].origin, origin))
                        return m->mirrors + i;
        return NULL;
}

void mirrors_done(Mirrors *m) {
        for (size_t i = 0; i < m->n; i++) {
                free(m->mirrors[i].uri);
                strv_free(m->mirrors[i].suites);
        }
        free(m->mirrors);
        *m = (Mirrors) {};
}

/* Where `name` stands in the path of `uri` as a whole part, the last of these. */
static const char *find_part(const char *uri, const char *name) {
        const char *scheme = strstr(uri, "://"), *path = strchr(scheme ? scheme + 3 : uri, '/'),
                   *found = NULL;
        size_t n = strlen(name);

        for (const char *p = path; p; p = strchr(p + 1, '/'))
                if (strncmp(p + 1, name, n) == 0 && (p[1 + n] == '/' || p[1 + n] == '\0'))
                        found = p + 1;
        return found;
}

char *mirror_sibling(const char *mirror, const char *main, const char *origin) {
        const char *part = find_part(mirror, main);

        if (!part)
                return strdup(mirror);
        return strf("%.*s%s%s", (int) (part - mirror), mirror, origin, part + strlen(main));
}

int mirror_suite(const Recipe *recipe, const char *origin, char **ret) {
        char *suite = NULL;

        for (size_t i = 0; i < ELEMENTSOF(archives) && !suite; i++)
                if (streq(archives[i].distro, recipe->base.distro) &&
                                streq(archives[i].name, origin)) {
                        suite = strf("%s%s", recipe->base.release, archives[i].suites[0]);
                        if (!suite)
                                return -ENOMEM;
                }
        *ret = suite;
        return 0;
}

char *mirror_history(const Recipe *recipe, int64_t epoch) {
        time_t when = (time_t) epoch + HISTORY_DELAY_SECONDS;
        char date[32];
        struct tm tm;

        for (size_t i = 0; i < ELEMENTSOF(distros); i++)
                if (streq(distros[i].distro, recipe->base.distro) && gmtime_r(&when, &tm) &&
                                strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm) > 0)
                        return strf("%s/%s", distros[i].history, date);
        return NULL;
}

static void set_uri(Mirror *m, char *uri) {
        size_t n = strlen(uri);

        while (n > 0 && uri[n - 1] == '/')
                uri[--n] = '\0';
        free(m->uri);
        m->uri = uri;
}

/* The place behind a source's URI. Hosts in clouds name a file with mirrors: its first line is the
 * one apt prefers. 0; -EOPNOTSUPP for what we cannot download from. */
static int real_uri(const char *uri, char **ret) {
        const char *list = startswith(uri, "mirror+file:");
        _cleanup_free_ char *path = NULL, *text = NULL;
        int r;

        if (list) {
                path = strndup(list, strlen(list) - endswith(list, "/"));
                if (!path)
                        return -ENOMEM;
                r = read_file(path, MIRROR_LIST_SIZE_MAX, &text, NULL);
                if (r < 0)
                        return r;
                text[strcspn(text, " \t\r\n")] = '\0';
        } else if (!(text = strdup(uri)))
                return -ENOMEM;
        if (!startswith(text, "http://") && !startswith(text, "https://") &&
                        (list || !startswith(text, "file:")))
                return -EOPNOTSUPP;
        *ret = TAKE_PTR(text);
        return 0;
}

/* Where the host has no index, only the URI's last part says which archive it is. */
static bool is_archive(
                const AptTarget *t, const char *uri, const Archive *row, const char *origin) {
        const char *part;

        if (!isempty(t->origin))
                return streq(t->origin, origin) && streq(t->label, row->label);
        part = find_part(uri, row->name);
        return part && strlen(part) <= strlen(row->name) + 1;
}

static int take_target(
                Mirrors *m, const AptTarget *t, const Archive *const *rows, const char *origin) {
        _cleanup_free_ char *uri = NULL;
        int r;

        r = real_uri(t->uri, &uri);
        if (r < 0)
                return r == -ENOMEM ? r : 0; /* a CD, say */
        for (size_t i = 0; uri && i < m->n; i++)
                if (!m->mirrors[i].uri && is_archive(t, uri, rows[i], origin))
                        set_uri(m->mirrors + i, TAKE_PTR(uri));
        return 0;
}

/* Fills what the host's sources know. A host of another distribution knows nothing, which is no
 * error. */
static int ask_host(Mirrors *m, const Archive *const *rows, const char *origin) {
        AptTarget *targets = NULL;
        size_t n = 0;
        int r;

        r = apt_targets_load(&targets, &n);
        if (r < 0) {
                log_debug("Cannot ask this host's apt for its mirrors: %s", strerror(-r));
                return r == -ECANCELED || r == -ENOMEM ? r : 0;
        }
        for (size_t k = 0; k < n; k++) {
                r = take_target(m, targets + k, rows, origin);
                if (r < 0)
                        break;
        }
        apt_targets_free(targets, n);
        return r;
}

/* The first mirror without a URI that has the suite gets this one. */
static int take_suite(Mirrors *m, const char *uri, const char *suite) {
        for (size_t i = 0; i < m->n; i++) {
                char *copy;

                if (m->mirrors[i].uri || !strv_contains(m->mirrors[i].suites, suite))
                        continue;
                copy = strdup(uri);
                if (!copy)
                        return -ENOMEM;
                set_uri(m->mirrors + i, copy);
                return 0;
        }
        return 0;
}

/* mmdebstrap knows a default; a hook that prints what it wrote and fails ends it before it fetches
 * anything. */
static int ask_mmdebstrap(Context *ctx, Mirrors *m, const Recipe *recipe) {
        _cleanup_free_ char *scratch = NULL, *target = NULL, *output = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        int status, r;

        r = store_scratch(ctx->store, "mirror", &scratch);
        if (r < 0)
                return r;
        target = path_join(scratch, "tree");
        if (!target)
                return -ENOMEM;
        r = spawn_capture(NULL,
                        ARGV("mmdebstrap", "--variant=apt",
                                        geteuid() == 0 ? "--mode=root" : "--mode=auto",
                                        "--setup-hook=cat \"$1\"/etc/apt/sources.list >&2; exit 1",
                                        recipe->base.release, target),
                        &output, &status);
        rm_rf(scratch);
        if (r < 0)
                return r;
        lines = strv_split(output, "\n");
        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *p = startswith(*line, "deb ");
                _cleanup_strv_free_ char **words = NULL;

                if (!p)
                        continue;
                if (*p == '[' && (p = strchr(p, ']')))
                        p++;
                if (!p)
                        continue;
                words = strv_split(p, " ");
                if (!words)
                        return -ENOMEM;
                if (strv_length(words) >= 2 && take_suite(m, words[0], words[1]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int choose(Context *ctx, Mirrors *m, const Archive *const *rows, const Recipe *recipe,
                const char *origin) {
        const char *given = ctx->mirror ? ctx->mirror : recipe->base.mirror;
        int r;

        if (given) {
                m->chosen_by = ctx->mirror ? "--mirror" : "the recipe's base.mirror";
                for (size_t i = 0; i < m->n; i++) {
                        char *uri = i == 0 ? strdup(given)
                                           : mirror_sibling(given, rows[0]->name, rows[i]->name);

                        if (!uri)
                                return log_oom();
                        set_uri(m->mirrors + i, uri);
                }
                return 0;
        }
        m->chosen_by = "this host's apt configuration";
        r = ask_host(m, rows, origin);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return r;
        bool complete = true;
        for (size_t i = 0; i < m->n; i++)
                complete = complete && m->mirrors[i].uri;
        if (complete)
                return 0;

        m->chosen_by = "mmdebstrap's default";
        r = ask_mmdebstrap(ctx, m, recipe);
        if (r == -ECANCELED)
                return r;
        for (size_t i = 0; i < m->n; i++)
                if (r < 0 || !m->mirrors[i].uri) {
                        log_error("No mirror of %s is known: this host's apt has none and mmdebstrap names none%s. "
                                  "Give one with --mirror or in the recipe's base.mirror",
                                        rows[i]->name,
                                        r == -ENOENT ? " (it is not installed)" : "");
                        return -ENOPKG;
                }
        return 0;
}

int mirrors_find(Context *ctx, const Recipe *recipe, Mirrors *ret) {
        _cleanup_mirrors_ Mirrors m = {};
        const Archive *rows[ELEMENTSOF(archives)];
        const char *origin = NULL, *own_keyring = getenv("IMGBUILD_KEYRING");
        bool one_suite = false;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(distros); i++)
                if (streq(distros[i].distro, recipe->base.distro)) {
                        origin = distros[i].origin;
                        m.keyring = isempty(own_keyring) ? distros[i].keyring : own_keyring;
                        if (access(m.keyring, R_OK) < 0) {
                                log_error("%s is missing: without it no package of %s can be trusted. %s%s",
                                                m.keyring, recipe->base.distro,
                                                isempty(own_keyring) ? "Install "
                                                                     : "Set IMGBUILD_KEYRING right",
                                                isempty(own_keyring) ? distros[i].keyring_package
                                                                     : "");
                                return -ENOPKG;
                        }
                }
        if (!origin || recipe->family != FAMILY_DEBIAN) {
                log_error("%s: packages of \"%s\" cannot be resolved; this imgbuild knows debian and ubuntu",
                                recipe->path, recipe->base.distro);
                return -EOPNOTSUPP;
        }
        for (size_t i = 0; i < ELEMENTSOF(rolling); i++)
                one_suite = one_suite || streq(recipe->base.release, rolling[i]);

        m.mirrors = calloc(ELEMENTSOF(archives), sizeof(Mirror));
        if (!m.mirrors)
                return log_oom();
        for (size_t i = 0; i < ELEMENTSOF(archives); i++) {
                const Archive *a = archives + i;

                if (!streq(a->distro, recipe->base.distro) || (one_suite && *a->suites[0]))
                        continue;
                rows[m.n] = a;
                Mirror *mirror = m.mirrors + m.n++;
                mirror->origin = a->name;
                for (size_t k = 0;
                                k < ELEMENTSOF(a->suites) && a->suites[k] && (k == 0 || !one_suite);
                                k++)
                        if (strv_extendf(&mirror->suites, "%s%s", recipe->base.release,
                                            a->suites[k]) < 0)
                                return log_oom();
        }
        r = choose(ctx, &m, rows, recipe, origin);
        if (r < 0)
                return r;
        for (size_t i = 0; i < m.n; i++)
                log_debug("Mirror of %s: %s (by %s)", m.mirrors[i].origin, m.mirrors[i].uri,
                                m.chosen_by);
        *ret = m;
        m = (Mirrors) {};
        return 0;
}
