/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Questions to apt's solver about the system that is locked so far. */

#include "lock/internal.h"
#include "store/store.h"
#include "store/fetch.h"
#include "shared/file-util.h"
#include "lock/apt.h"
#include "shared/spawn.h"

#include <ctype.h>
#include <fcntl.h>

#define STANZAS_SIZE_MAX (64 * 1024 * 1024)
#define PIN_PRIORITY 999 /* over every index's 500 and 990, and yet never a downgrade */

static char *unescape(const char *s, size_t n) {
        char *text = malloc(n + 1), *p = text;

        for (size_t i = 0; text && i < n; i++) {
                unsigned c;

                if (s[i] == '%' && i + 2 < n && isxdigit((unsigned char) s[i + 1]) &&
                                isxdigit((unsigned char) s[i + 2]) &&
                                sscanf(s + i + 1, "%2x", &c) == 1) {
                        *p++ = (char) c;
                        i += 2;
                } else
                        *p++ = s[i];
        }
        if (text)
                *p = '\0';
        return text;
}

/* One of the old lock's that apt_offer_locked() offers keeps the origin it had. */
static int add_offered(const Apt *a, const char *sha256, LockedStage *s) {
        for (size_t i = 0; a->old && i < a->old->n_stages; i++)
                for (size_t k = 0; k < a->old->stages[i].n_packages; k++)
                        if (streq(a->old->stages[i].packages[k].sha256, sha256))
                                return locked_stage_add(s, a->old->stages[i].packages + k);
        return -ENOENT;
}

/* The enabled source that has the longest part of the URL for its own. */
static const AptSource *find_source(const Apt *a, const char *url, size_t *ret_length) {
        const AptSource *found = NULL;

        *ret_length = 0;
        for (size_t i = 0; i < a->n_sources; i++) {
                const AptSource *s = a->sources + i;
                size_t n = strlen(s->prefix);

                if (s->enabled && n > *ret_length && strncmp(url, s->prefix, n) == 0) {
                        found = s;
                        *ret_length = n;
                }
        }
        return found;
}

/* 'URL' NAME_VERSION_ARCH.deb SIZE SHA256:DIGEST */
static int parse_uri_line(const Apt *a, const char *id, const char *line, LockedStage *s) {
        const char *end = strchr(line + 1, '\'');
        _cleanup_strv_free_ char **words = end ? strv_split(end + 1, " ") : NULL, **parts = NULL;
        const AptSource *source = NULL;
        const char *sha256 = NULL;
        size_t n_path = 0;

        if (strv_length(words) >= 3)
                sha256 = startswith(words[2], "SHA256:");
        if (!sha256 || !digest_valid(sha256) || !endswith(words[0], ".deb")) {
                log_error("Stage %s: apt gives no sha256 for a package, so it cannot be locked: %s",
                                id, line);
                return -EBADMSG;
        }
        source = find_source(a, line + 1, &n_path);
        if (startswith(line + 1, "file:") && add_offered(a, sha256, s) >= 0)
                return 0;
        words[0][strlen(words[0]) - strlen(".deb")] = '\0';
        parts = strv_split(words[0], "_");
        if (!source || strv_length(parts) != 3) {
                log_error("Stage %s: apt names a package that belongs to none of the recipe's sources: %s",
                                id, line);
                return -EBADMSG;
        }
        const char *path = line + 1 + n_path;
        while (startswith(path, "./"))
                path += 2;

        _cleanup_free_ char *name = unescape(parts[0], strlen(parts[0]));
        _cleanup_free_ char *version = unescape(parts[1], strlen(parts[1]));
        _cleanup_free_ char *arch = unescape(parts[2], strlen(parts[2]));
        _cleanup_free_ char *plain_path = unescape(path, (size_t) (end - path));
        if (!name || !version || !arch || !plain_path)
                return log_oom();

        LockedPackage package = {
                .name = name,
                .version = version,
                .arch = arch,
                .sha256 = (char *) sha256,
                .size = strtoull(words[1], NULL, 10),
                .origin = (char *) source->origin,
                .path = plain_path,
        };
        return locked_stage_add(s, &package) < 0 ? log_oom() : 0;
}

int apt_pin(Apt *a, const LockedPackage *p) {
        return strv_extendf(&a->pins, "Package: %s\nPin: version %s\nPin-Priority: %d\n", p->name,
                        p->version, PIN_PRIORITY);
}

static AptRecord *find_installed(const Apt *a, const char *name) {
        for (size_t i = 0; i < a->n_installed; i++)
                if (streq(a->installed[i].name, name))
                        return a->installed + i;
        return NULL;
}

/* Status and preferences, before apt is asked. */
static int write_state(const Apt *a, char *const *without) {
        _cleanup_free_ char *pins = strv_join(a->pins, "\n"),
                            *preferences = path_join(a->root, "preferences"),
                            *status = path_join(a->root, "state/status"), *text = NULL;
        size_t size;
        FILE *f;
        int r;

        if (!pins || !preferences || !status)
                return -ENOMEM;
        r = write_file_atomic(preferences, pins, strlen(pins), 0644);
        if (r < 0)
                return r;
        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        for (size_t i = 0; i < a->n_installed; i++)
                fprintf(f, "Status: install ok installed\n%s\n\n", a->installed[i].stanza);
        STRV_FOREACH (name, without)
                if (!find_installed(a, *name))
                        assumed_print(f, *name, a->recipe->base.arch);
        if (fclose(f) != 0)
                return -ENOMEM;
        return write_file_atomic(status, text, size, 0644);
}

int apt_ask(const Apt *a, char *const *packages, char *const *without, char **ret_output,
                int *ret_status) {
        _cleanup_strv_free_ char **argv = NULL;
        SpawnOptions options = { .env = a->env };
        int r;

        r = strv_extend_strv(&argv, ARGV("apt-get", "install", "--print-uris", "-y", "-q",
                                                    "--no-remove", "--"));
        if (r < 0)
                return log_oom();
        r = strv_extend_strv(&argv, packages);
        if (r < 0)
                return log_oom();

        r = write_state(a, without);
        if (r < 0)
                return log_error_errno(
                                r, "Cannot write in the store %s", store_path(a->ctx->store));
        r = spawn_capture(&options, argv, ret_output, ret_status);
        if (r < 0 && r != -ECANCELED)
                return log_error_errno(r, "Cannot run apt-get");
        return r;
}

int apt_solve(Apt *a, const char *id, char *const *packages, char *const *without, LockedStage *s) {
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *output = NULL;
        int status, r;

        if (strv_length(packages) == 0)
                return 0;
        r = apt_ask(a, packages, without, &output, &status);
        if (r < 0)
                return r;
        if (status != 0 && strstr(output, strerror(ENOSPC)))
                return apt_log_no_space(a);
        if (status != 0)
                return apt_log_unsolved(a, id, output);
        lines = strv_split(output, "\n");
        if (!lines)
                return log_oom();
        STRV_FOREACH (line, lines)
                if ((*line)[0] == '\'') {
                        r = parse_uri_line(a, id, *line, s);
                        if (r < 0)
                                return r;
                }
        r = apt_settle_suites(a, s);
        if (r < 0)
                return r;
        locked_stage_sort(s);
        return 0;
}

int apt_read_stanzas(const Apt *a, const LockedPackage *const *packages, size_t n, char **ret) {
        _cleanup_free_ char *path = path_join(a->root, "stanzas");
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_close_ int fd = -EBADF;
        int status, r;

        if (!path || strv_extend_strv(&argv, ARGV("apt-cache", "show", "--")) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (strv_extendf(&argv, "%s:%s=%s", packages[i]->name, packages[i]->arch,
                                    packages[i]->version) < 0)
                        return -ENOMEM;
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        SpawnOptions options = { .env = a->env, .stdout_fd = fd };
        r = spawn_run(&options, argv, &status);
        if (r < 0)
                return r;
        return read_file(path, STANZAS_SIZE_MAX, ret, NULL);
}

char *apt_next_stanza(char **p) {
        char *stanza = *p + strspn(*p, "\n"), *end;

        if (!*stanza)
                return NULL;
        end = strstr(stanza, "\n\n");
        *p = end ? end + 2 : stanza + strlen(stanza);
        if (!end) { /* the last one, maybe with a newline at its end */
                size_t n = strlen(stanza);
                if (stanza[n - 1] == '\n')
                        stanza[n - 1] = '\0';
        } else
                *end = '\0';
        return stanza;
}

static int set_installed(Apt *a, const char *name, const char *stanza) {
        _cleanup_free_ char *copy = strdup(stanza);
        AptRecord *there = find_installed(a, name);

        if (!copy)
                return -ENOMEM;
        if (there) {
                free(there->stanza);
                there->stanza = TAKE_PTR(copy);
                return 0;
        }
        AptRecord *grown = reallocarray(a->installed, a->n_installed + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        a->installed = grown;
        grown[a->n_installed] = (AptRecord) { .name = strdup(name), .stanza = TAKE_PTR(copy) };
        return grown[a->n_installed++].name ? 0 : -ENOMEM;
}

/* A locked version that the index has no more: the package itself says what it depends on. */
static int install_from_deb(Apt *a, const LockedPackage *p, const Lock *lock) {
        LockedPackage one = *p;
        char id[] = "";
        LockedStage stage = { .id = id, .packages = &one, .n_packages = 1 };
        _cleanup_free_ char *deb = NULL, *output = NULL;
        int status, r;

        r = fetch_packages(a->ctx, a->recipe, lock, &stage, NULL);
        if (r < 0)
                return r;
        deb = store_blob_path(a->ctx->store, p->sha256);
        if (!deb)
                return log_oom();
        r = spawn_capture(NULL, ARGV("dpkg-deb", "-f", deb), &output, &status);
        if (r == -ECANCELED)
                return r;
        if (r < 0 || status != 0) {
                log_error("%s %s cannot be read: dpkg-deb -f %s fails; 'imgbuild cache verify' looks whether it is whole",
                                p->name, p->version, deb);
                return -EBADMSG;
        }
        for (size_t n = strlen(output); n > 0 && output[n - 1] == '\n'; n--)
                output[n - 1] = '\0';
        return set_installed(a, p->name, output) < 0 ? log_oom() : 0;
}

int apt_install(Apt *a, const LockedStage *s, const Lock *lock) {
        _cleanup_free_ const LockedPackage **packages = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        if (s->n_packages == 0)
                return 0;
        packages = calloc(s->n_packages, sizeof(*packages));
        if (!packages)
                return log_oom();
        for (size_t i = 0; i < s->n_packages; i++)
                packages[i] = s->packages + i;
        /* With the status that apt_solve() wrote: a new one would only make apt compute its cache
         * again. */
        r = apt_read_stanzas(a, packages, s->n_packages, &text);
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "Cannot ask apt about packages");

        char *p = text;
        for (char *stanza; (stanza = apt_next_stanza(&p));) {
                const char *digest = strstr(stanza, "\nSHA256: ");

                for (size_t i = 0; digest && i < s->n_packages; i++) {
                        if (!packages[i] || !startswith(digest + strlen("\nSHA256: "),
                                                            packages[i]->sha256))
                                continue;
                        if (set_installed(a, packages[i]->name, stanza) < 0)
                                return log_oom();
                        packages[i] = NULL;
                }
        }
        for (size_t i = 0; i < s->n_packages; i++)
                if (packages[i]) {
                        r = install_from_deb(a, packages[i], lock);
                        if (r < 0)
                                return r;
                }
        return 0;
}

/* The value of a field at the start of one of the stanza's lines, up to the end of its line; NULL:
 * it has none. */
static char *field_of(const char *stanza, const char *field) {
        for (const char *line = stanza; line; line = strchr(line, '\n')) {
                const char *value;

                line += *line == '\n';
                value = startswith(line, field);
                if (value)
                        return strndup(value, strcspn(value, "\n"));
        }
        return NULL;
}

/* write_state() says itself that it is installed. */
static void cut_status(char *stanza) {
        char *line = startswith(stanza, "Status: ") ? stanza : strstr(stanza, "\nStatus: "), *end;

        line += *line == '\n';
        end = strchr(line, '\n');
        if (end)
                memmove(line, end + 1, strlen(end + 1) + 1);
        else
                *line = '\0';
}

static bool counts_as_installed(const char *status) {
        static const char *const states[] = { " installed", " triggers-pending",
                " triggers-awaited" };

        for (size_t i = 0; status && i < ELEMENTSOF(states); i++)
                if (endswith(status, states[i]))
                        return true;
        return false;
}

int apt_install_status(Apt *a, char *text) {
        char *p = text;

        for (char *stanza; (stanza = apt_next_stanza(&p));) {
                _cleanup_free_ char *name = field_of(stanza, "Package: "),
                                    *arch = field_of(stanza, "Architecture: "),
                                    *status = field_of(stanza, "Status: ");
                char *rest;

                if (!name || !arch || !counts_as_installed(status) ||
                                (!streq(arch, "all") && !streq(arch, a->recipe->base.arch)))
                        continue;
                cut_status(stanza);
                rest = stanza + strspn(stanza, "\n");
                if (set_installed(a, name, rest) < 0)
                        return log_oom();
        }
        return 0;
}
