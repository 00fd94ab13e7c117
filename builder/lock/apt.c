/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apt on a system that does not exist: set up in scratch, its sources, its indexes. */

#include "lock/apt.h"
#include "store/store.h"
#include "shared/file-util.h"
#include "lock/internal.h"
#include "shared/spawn.h"

#include "shared/folder.h"
#include <time.h>

#define RELEASE_SIZE_MAX (16 * 1024 * 1024)
#define COMPLAINT_LINES_MAX 30

Apt *apt_free(Apt *a) {
        if (!a)
                return NULL;
        if (a->root)
                rm_rf(a->root);
        for (size_t i = 0; i < a->n_sources; i++) {
                free(a->sources[i].uri);
                free(a->sources[i].suite);
                free(a->sources[i].prefix);
                strv_free(a->sources[i].suites);
                free(a->sources[i].file);
                free(a->sources[i].text);
        }
        for (size_t i = 0; i < a->n_installed; i++) {
                free(a->installed[i].name);
                free(a->installed[i].stanza);
        }
        free(a->sources);
        free(a->installed);
        free(a->root);
        strv_free(a->env);
        strv_free(a->pins);
        free(a);
        return NULL;
}

char *apt_complaint(const char *output) {
        static const char *const chatter[] = {
                "Reading ",
                "Building ",
                "Get:",
                "Hit:",
                "Ign:",
                "Fetched ",
                "'",
                "Some packages could not be",
                "requested an impossible",
                "distribution that some",
                "or been moved out",
                "The following information may help",
        };
        _cleanup_strv_free_ char **lines = strv_split(output, "\n"), **kept = NULL;

        if (!lines)
                return NULL;
        STRV_FOREACH (line, lines) {
                bool idle = strv_length(kept) >= COMPLAINT_LINES_MAX;

                for (size_t i = 0; i < ELEMENTSOF(chatter) && !idle; i++)
                        idle = startswith(*line, chatter[i]);
                if (!idle && strv_extendf(&kept, "  %s", *line) < 0)
                        return NULL;
        }
        return kept ? strv_join(kept, "\n") : strdup("  (apt gave no reason)");
}

int apt_log_no_space(const Apt *a) {
        log_error("No space left in the store %s for package indexes. "
                  "Free some with 'imgbuild cache prune', or use --cache on a larger file system",
                        store_path(a->ctx->store));
        return -ENOSPC;
}

/* As apt prints the URLs of a source's packages. */
static char *url_prefix(const char *uri) {
        const char *path = startswith(uri, "file:///");
        size_t n;
        char *prefix = path ? strf("file:/%s", path) : strdup(uri);

        for (n = prefix ? strlen(prefix) : 0; n > 0 && prefix[n - 1] == '/'; n--)
                prefix[n - 1] = '\0';
        if (!prefix)
                return NULL;
        _cleanup_free_ char *bare = prefix;
        return strf("%s/", bare);
}

static int add_source(Apt *a, const char *origin, const Repository *repository, const char *uri,
                const char *suite, const char *suites, const char *components,
                const char *keyring) {
        AptSource *grown = reallocarray(a->sources, a->n_sources + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        a->sources = grown;
        AptSource *s = grown + a->n_sources;
        *s = (AptSource) {
                .origin = origin,
                .repository = repository,
                .uri = strdup(uri),
                .suite = strdup(suite),
                .suites = strv_split(suites, " "),
                .prefix = url_prefix(uri),
        };
        s->file = strf("sources.list.d/%02zu.sources", a->n_sources);
        s->text = strf("Types: deb\nURIs: %s\nSuites: %s\n%s%s%sArchitectures: %s\nSigned-By: %s\n",
                        uri, suites,
                        isempty(components) ? "" : "Components: ", strempty(components),
                        isempty(components) ? "" : "\n", a->recipe->base.arch, keyring);
        s->enabled = true;
        a->n_sources++;
        if (!s->uri || !s->suite || !s->suites || !s->prefix || !s->file || !s->text)
                return -ENOMEM;
        return apt_write_below(a, s->file, s->text);
}

/* The scratch folder as apt wants to find it, and the environment that leads there. */
static int make_root(Apt *a) {
        static const char *const folders[] = { "state/lists/partial", "cache/archives/partial",
                "sources.list.d" };
        int r;

        r = store_scratch(a->ctx->store, "apt", &a->root);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *folder = path_join(a->root, folders[i]);

                r = folder ? mkdir_p(folder, 0755) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        r = apt_write_below(a, "state/status", "");
        if (r < 0)
                return r;
        r = apt_write_below(a, "preferences", "");
        if (r < 0)
                return r;
        return apt_make_env(a);
}

int apt_new(Context *ctx, const Recipe *recipe, const Mirrors *mirrors, Apt **ret) {
        _cleanup_free_ char *components = strv_join(recipe->base.components, " ");
        _cleanup_apt_free_ Apt *a = calloc(1, sizeof(*a));
        int r;

        if (!a || !components)
                return log_oom();
        a->ctx = ctx;
        a->recipe = recipe;
        r = make_root(a);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot set up apt in the store %s", store_path(ctx->store));
        r = apt_write_config(a);
        if (r < 0)
                return r;
        for (size_t i = 0; i < mirrors->n; i++) {
                const Mirror *m = mirrors->mirrors + i;
                _cleanup_free_ char *suites = strv_join(m->suites, " ");

                r = suites ? add_source(a, m->origin, NULL, m->uri, m->suites[0], suites,
                                             isempty(components) ? "main" : components,
                                             mirrors->keyring)
                           : -ENOMEM;
                if (r < 0)
                        return log_error_errno(r, "Cannot set up apt in the store %s",
                                        store_path(ctx->store));
        }
        *ret = TAKE_PTR(a);
        return 0;
}

static AptSource *find_source(const Apt *a, const Repository *repository) {
        for (size_t i = 0; i < a->n_sources; i++)
                if (streq(a->sources[i].origin, repository->name))
                        return a->sources + i;
        return NULL;
}

int apt_add_repository(Apt *a, const Overlay *overlay, const Repository *repository) {
        _cleanup_free_ char *components = strv_join(repository->components, " "), *keyring = NULL;
        const AptSource *there = find_source(a, repository);
        int r;

        if (there && there->repository && streq_ptr(there->repository->uri, repository->uri) &&
                        streq(there->suite, repository->suite) &&
                        streq(there->repository->fingerprint, repository->fingerprint))
                return 0; /* two overlays may bring the same one */
        if (there) {
                log_error("%s: there is another repository named \"%s\" already: give this one another name",
                                overlay->path, repository->name);
                return -EINVAL;
        }
        keyring = strf("%s/%s.gpg", a->root, repository->name);
        if (!keyring || !components)
                return log_oom();
        r = repository_key(a->ctx, a->recipe, overlay, repository, keyring);
        if (r < 0)
                return r;
        /* Sources' first is the distribution's main archive. */
        r = add_source(a, repository->name, repository,
                        repository->uri ? repository->uri : a->sources[0].uri, repository->suite,
                        repository->suite, components, keyring);
        return r < 0 ? log_error_errno(r, "Cannot set up repository %s", repository->name) : 0;
}

static const char *release_origin(const char *text) {
        const char *line = startswith(text, "Origin: ") ? text : strstr(text, "\nOrigin: ");

        return line ? strchr(line, ':') + strlen(": ") : NULL;
}

/* A Release file's Date, seconds since 1970; -1 where it has none. *ret_own: whether the file is
 * the distribution's own. */
static int64_t release_date(const Apt *a, const char *text, bool *ret_own) {
        const char *date = strstr(text, "\nDate: "), *origin = release_origin(text);
        size_t n = strlen(a->recipe->base.distro);
        struct tm tm = {};

        *ret_own = false;
        if (origin)
                *ret_own = strncasecmp(origin, a->recipe->base.distro, n) == 0 && origin[n] == '\n';
        if (!date || !strptime(date + strlen("\nDate: "), "%a, %d %b %Y %H:%M:%S", &tm))
                return -1;
        return timegm(&tm);
}

/* The newest date of the Release files that apt has fetched: of the distribution's, so that
 * recipes with further repositories have the layers below them in common with others; of all of
 * them where none says that it is the distribution's. */
static int newest_release(const Apt *a, int64_t *ret) {
        _cleanup_free_ char *folder = path_join(a->root, "state/lists");
        _cleanup_closedir_ DIR *d = NULL;
        int64_t own = -1, any = -1;
        int r;

        if (!folder)
                return -ENOMEM;
        r = folder_open(folder, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *path = NULL, *text = NULL;
                int64_t date;
                bool is_own;

                if (!endswith(name, "InRelease") && !endswith(name, "_Release"))
                        continue;
                path = path_join(folder, name);
                if (!path || read_file(path, RELEASE_SIZE_MAX, &text, NULL) < 0)
                        continue;
                date = release_date(a, text, &is_own);
                any = MAX(any, date);
                if (is_own)
                        own = MAX(own, date);
        }
        if (any < 0)
                return -ENODATA;
        *ret = own >= 0 ? own : any;
        return 0;
}

/* apt tells everything that goes wrong by the same exit code; by its words it is told apart. */
typedef struct UpdateTrouble {
        const char *words[5]; /* one of them is enough */
        int error;
        const char *what; /* of the package indexes of a recipe */
} UpdateTrouble;

/* The first that fits: a clock that is behind makes signatures invalid, too. */
static const UpdateTrouble troubles[] = {
        { { "is not valid yet", "Not live until", "in the future" }, -ENETUNREACH,
                        "are newer than this host's clock, which is behind: set it ('timedatectl' shows it), then do this again" },
        { { "is not signed", "signatures couldn't be verified", "signatures were invalid",
                          "OpenPGP signature verification failed" },
                        -EBADMSG, "cannot be trusted: a signature does not match the pinned key" },
        { { "is expired" }, -ENETUNREACH,
                        "have expired: nobody renews this mirror any more (another one: --mirror), or this host's clock is ahead" },
        { { "" }, -ENETUNREACH,
                        "cannot be had; check network, proxy and --mirror, and that the release has such suites" },
};

static bool trouble_fits(const UpdateTrouble *t, const char *output) {
        for (size_t i = 0; i < ELEMENTSOF(t->words) && t->words[i]; i++)
                if (strstr(output, t->words[i]))
                        return true;
        return false;
}

static int explain_update(const Apt *a, const char *output) {
        _cleanup_free_ char *complaint = apt_complaint(output);
        const UpdateTrouble *t = troubles;

        if (strstr(output, strerror(ENOSPC)))
                return apt_log_no_space(a);
        while (!trouble_fits(t, output))
                t++;
        log_error("The package indexes of %s %s. apt says:\n%s", a->recipe->name, t->what,
                        strempty(complaint));
        return t->error;
}

int apt_update(Apt *a, int64_t *ret_epoch) {
        SpawnOptions options = { .env = a->env };
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(&options, ARGV("apt-get", "update", "-q"), &output, &status);
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "Cannot run apt-get update");
        if (status != 0)
                return explain_update(a, output);
        r = newest_release(a, ret_epoch);
        if (r < 0)
                return log_error_errno(r, "The Release files that apt fetched have no date");

        for (size_t i = 0; i < a->n_sources; i++) {
                _cleanup_free_ char *path = NULL;

                if (!a->sources[i].repository)
                        continue;
                path = path_join(a->root, a->sources[i].file);
                if (!path || unlink(path) < 0)
                        return log_error_errno(
                                        path ? -errno : -ENOMEM, "Cannot set up apt's sources");
                a->sources[i].enabled = false;
        }
        return 0;
}

int apt_enable_repository(Apt *a, const Repository *repository) {
        AptSource *s = find_source(a, repository);
        int r;

        if (!s || s->enabled)
                return 0;
        r = apt_write_below(a, s->file, s->text);
        if (r < 0)
                return log_error_errno(r, "Cannot enable repository %s", repository->name);
        s->enabled = true;
        return 0;
}

int apt_origins(const Apt *a, const Lock *old, Lock *l) {
        for (size_t i = 0; i < a->n_sources; i++) {
                const AptSource *s = a->sources + i;
                const LockedOrigin *before = lock_find_origin(old, s->origin);
                LockedOrigin o = { .name = (char *) s->origin, .suite = s->suite };
                _cleanup_free_ char *keyring = NULL, *key = NULL;
                int r;

                if (s->repository) {
                        o.uri = s->repository->uri;
                        o.fingerprint = s->repository->fingerprint;
                        keyring = strf("%s/%s.gpg", a->root, s->origin);
                        if (!keyring)
                                return log_oom();
                        r = key_to_text(keyring, &key);
                        if (r < 0)
                                return log_error_errno(r, "The key of repository %s cannot be read",
                                                s->origin);
                        /* Vendors sign their keys anew now and then: that alone moves nothing. */
                        o.key = before && streq_ptr(before->fingerprint, o.fingerprint)
                                                ? before->key
                                                : key;
                }
                if (lock_add_origin(l, &o) < 0)
                        return log_oom();
        }
        return 0;
}
