/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packages that lie here already, as apt sees them: locked ones that the indexes have no more, and
 * those that overlays bring as artifacts. */

#include "common/deb-control.h"
#include "shared/file-util.h"
#include "store/store.h"
#include "lock/apt.h"
#include "shared/spawn.h"

#include <inttypes.h>

/* The locked packages that the store has and no index. 0 or negative errno. */
static int find_gone(const Apt *a, const Lock *old, const LockedPackage ***ret, size_t *ret_n) {
        _cleanup_free_ const LockedPackage **packages = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n = 0, kept = 0;
        int r;

        for (size_t i = 0; i < old->n_stages; i++)
                n += old->stages[i].n_packages;
        packages = calloc(n + 1, sizeof(*packages));
        if (!packages)
                return -ENOMEM;
        n = 0;
        for (size_t i = 0; i < old->n_stages; i++)
                for (size_t k = 0; k < old->stages[i].n_packages; k++)
                        packages[n++] = old->stages[i].packages + k;
        r = apt_read_stanzas(a, packages, n, &text);
        if (r < 0)
                return r;

        char *p = text;
        for (char *stanza; (stanza = apt_next_stanza(&p));) {
                const char *digest = strstr(stanza, "\nSHA256: ");

                for (size_t i = 0; digest && i < n; i++)
                        if (packages[i] && startswith(digest + strlen("\nSHA256: "),
                                                           packages[i]->sha256))
                                packages[i] = NULL;
        }
        for (size_t i = 0; i < n; i++)
                if (packages[i] && store_has_blob(a->ctx->store, packages[i]->sha256))
                        packages[kept++] = packages[i];
        *ret = TAKE_PTR(packages);
        *ret_n = kept;
        return 0;
}

/* A flat repository of them: links to the store's blobs, and an index made of what the .debs
 * say. */
static int write_index(
                const Apt *a, const char *folder, const LockedPackage *const *packages, size_t n) {
        _cleanup_free_ char *path = path_join(folder, "Packages");
        _cleanup_fclose_ FILE *f = NULL;
        int status, r;

        r = path ? mkdir_p(folder, 0755) : -ENOMEM;
        if (r < 0)
                return r;
        f = fopen(path, "we");
        if (!f)
                return -errno;
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *blob = store_blob_path(a->ctx->store, packages[i]->sha256),
                                    *control = NULL,
                                    *link = strf("%s/%s.deb", folder, packages[i]->sha256);

                if (!blob || !link)
                        return -ENOMEM;
                /* Two stages may lock one package. */
                if (symlink(blob, link) < 0 && errno != EEXIST)
                        return -errno;
                r = spawn_capture(NULL, ARGV("dpkg-deb", "-f", blob), &control, &status);
                if (r < 0)
                        return r;
                if (status != 0)
                        continue;
                for (size_t l = strlen(control); l > 0 && control[l - 1] == '\n'; l--)
                        control[l - 1] = '\0';
                fprintf(f, "%s\nFilename: ./%s.deb\nSize: %" PRIu64 "\nSHA256: %s\n\n", control,
                                packages[i]->sha256, packages[i]->size, packages[i]->sha256);
        }
        return fflush(f) == 0 ? 0 : -errno;
}

static int index_gone(const Apt *a, const Lock *old, const char *folder, size_t *ret_n) {
        _cleanup_free_ const LockedPackage **packages = NULL;
        int r;

        r = find_gone(a, old, &packages, ret_n);
        if (r < 0 || *ret_n == 0)
                return r;
        return write_index(a, folder, packages, *ret_n);
}

int apt_offer_locked(Apt *a, const Lock *old) {
        _cleanup_free_ char *folder = path_join(a->root, "locked"), *text = NULL, *path = NULL,
                            *output = NULL, *only = NULL, *list = NULL;
        SpawnOptions options = { .env = a->env };
        size_t n;
        int status, r;

        a->old = old;
        if (!folder)
                return log_oom();
        r = index_gone(a, old, folder, &n);
        if (r == -ECANCELED || (r == 0 && n == 0))
                return r;
        if (r < 0)
                return log_error_errno(r, "Cannot offer apt the locked packages of the store");

        /* Made a moment ago out of files whose digests are checked, by us alone: nobody needs to
         * sign it. */
        text = strf("Types: deb\nURIs: file:%s\nSuites: ./\nTrusted: yes\n", folder);
        path = path_join(a->root, "sources.list.d/locked.sources");
        only = strf("Dir::Etc::sourceparts=%s/none", a->root);
        list = path ? strf("Dir::Etc::sourcelist=%s", path) : NULL;
        if (!text || !only || !list)
                return log_oom();
        r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                return log_error_errno(r, "Cannot set up apt's sources");
        r = spawn_capture(&options,
                        ARGV("apt-get", "update", "-q", "-o", only, "-o", list, "-o",
                                        "APT::Get::List-Cleanup=false"),
                        &output, &status);
        if (r == -ECANCELED)
                return r;
        if (r < 0 || status != 0) {
                _cleanup_free_ char *complaint = apt_complaint(strempty(output));

                log_error("apt cannot read the locked packages of the store:\n%s",
                                strempty(complaint));
                return r < 0 ? r : -EIO;
        }
        log_debug("%zu locked packages are in no index any more; the store has them", n);
        return 0;
}

/* apt would name a file of the store that no package has a name for. */
static int require_package(
                const Artifact *artifact, const LockedArtifact *locked, const char *blob) {
        _cleanup_deb_control_ DebControl c = {};
        int r;

        r = deb_control_read(blob, &c);
        if (r == -EBADMSG) {
                log_error("Artifact %s of overlay %s is no Debian package: see what %s serves",
                                artifact->name, locked->overlay, locked->url);
                return -EINVAL;
        }
        return r < 0 ? log_error_errno(r, "Artifact %s of overlay %s cannot be read",
                                       artifact->name, locked->overlay)
                     : 0;
}

/* Paths of the packages that overlays bring as artifacts, and names of the overlays. */
static int link_artifacts(const Apt *a, const Lock *l, char ***paths, char ***brought_by) {
        for (size_t i = 0; i < l->n_artifacts; i++) {
                const LockedArtifact *locked = l->artifacts + i;
                const Artifact *artifact = artifact_package(a->ctx, a->recipe, locked);
                _cleanup_free_ char *blob = NULL, *link = NULL;
                int r;

                if (!artifact)
                        continue;
                blob = store_blob_path(a->ctx->store, locked->sha256);
                r = blob ? require_package(artifact, locked, blob) : log_oom();
                if (r < 0)
                        return r;
                link = strf("%s/artifact-%zu.deb", a->root, strv_length(*paths));
                if (!link || strv_extend(paths, link) < 0)
                        return log_oom();
                if (symlink(blob, link) < 0)
                        return log_error_errno(-errno, "Cannot show apt an artifact");
                if (!strv_contains(*brought_by, locked->overlay) &&
                                strv_extend(brought_by, locked->overlay) < 0)
                        return log_oom();
        }
        return 0;
}

/* Names of the packages that apt would fetch, from lines of "'URL' NAME_VERSION_ARCH.deb …". The
 * artifacts themselves are named as they lie here, without "_". */
static int names_to_fetch(const char *output, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n"), **names = NULL;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *name = (*line)[0] == '\'' ? strstr(*line, "' ") : NULL;
                _cleanup_free_ char *file = name ? strndup(name + 2, strcspn(name + 2, " ")) : NULL;

                if (!file || !endswith(file, ".deb") || !strchr(file, '_'))
                        continue;
                file[strcspn(file, "_")] = '\0';
                if (strv_push(&names, TAKE_PTR(file)) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(names);
        return 0;
}

static int judge_artifacts(const char *output, int status, char *const *brought_by) {
        _cleanup_free_ char *overlays = strv_join(brought_by, ", "),
                            *complaint = apt_complaint(output);
        _cleanup_strv_free_ char **missing = NULL;

        if (!overlays || !complaint)
                return log_oom();
        if (status != 0) {
                log_error("The packages that overlays bring as artifacts (%s) cannot be installed on what is locked. apt says:\n"
                          "%s",
                                overlays, complaint);
                return -EINVAL;
        }
        if (names_to_fetch(output, &missing) < 0)
                return log_oom();
        return artifacts_find_missing(brought_by, missing);
}

int apt_check_artifacts(Apt *a, const Lock *l) {
        _cleanup_strv_free_ char **paths = NULL, **brought_by = NULL;
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = link_artifacts(a, l, &paths, &brought_by);
        if (r < 0 || !paths)
                return r;
        r = apt_ask(a, paths, NULL, &output, &status);
        if (r < 0)
                return r;
        return judge_artifacts(output, status, brought_by);
}
