/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Words of apt_auth.conf(5): machine [PROTOCOL://]HOST[:PORT][/PATH] login L password P, in any
 * number of lines. */

#include "common/apt-auth.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <strings.h>

#define FILE_MAX (1024 * 1024) /* bytes */
#define SPACE " \t\r\n"

char *apt_secret_free(char *text) {
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        return NULL;
}

static void login_done(AptLogin *l) {
        free(l->host);
        free(l->port);
        free(l->path);
        apt_secret_free(l->login);
        apt_secret_free(l->password);
        *l = (AptLogin) {};
}

void apt_auth_done(AptAuth *a) {
        for (size_t i = 0; i < a->n; i++)
                login_done(a->logins + i);
        free(a->logins);
        *a = (AptAuth) {};
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The next word of *text, which moves on; NULL at the end, and with *oom set where memory ran
 * out. */
static char *next_word(const char **text, bool *oom) {
        size_t n;
        char *word;

        for (;;) {
                *text += strspn(*text, SPACE);
                if (**text != '#')
                        break;
                *text += strcspn(*text, "\n");
        }
        n = strcspn(*text, SPACE);
        if (n == 0)
                return NULL;
        word = strndup(*text, n);
        *oom = *oom || !word;
        *text += n;
        return word;
}

/* HOST[:PORT][/PATH] of a URL without its scheme; -ENOMEM. */
static int split_place(const char *place, char **ret_host, char **ret_port, const char **ret_path) {
        size_t n = strcspn(place, "/"), host = strcspn(place, ":/");

        *ret_path = place + n;
        *ret_host = strndup(place, MIN(host, n));
        if (!*ret_host)
                return -ENOMEM;
        if (host >= n)
                return 0;
        *ret_port = strndup(place + host + 1, n - host - 1);
        return *ret_port ? 0 : -ENOMEM;
}

static int take_machine(AptAuth *a, const char *word) {
        const char *scheme = strstr(word, "://"), *path = NULL;
        AptLogin *grown = reallocarray(a->logins, a->n + 1, sizeof(*grown)), *l;
        int r;

        if (!grown)
                return -ENOMEM;
        a->logins = grown;
        l = a->logins + a->n++;
        *l = (AptLogin) { .insecure = scheme && !startswith(word, "https://") };
        r = split_place(scheme ? scheme + 3 : word, &l->host, &l->port, &path);
        if (r < 0)
                return r;
        if (*path && !streq(path, "/")) {
                l->path = strdup(path);
                if (!l->path)
                        return -ENOMEM;
        }
        return 0;
}

/* One word and, where it is one that takes a value, that. 0 at the end. */
static int take_word(AptAuth *a, const char **text) {
        bool oom = false;
        _cleanup_apt_secret_ char *word = next_word(text, &oom), *value = NULL;
        AptLogin *last = a->n > 0 ? a->logins + a->n - 1 : NULL;
        char **place = NULL;
        int r;

        if (oom)
                return -ENOMEM;
        if (!word)
                return 0;
        if (!streq(word, "machine") && !streq(word, "login") && !streq(word, "password"))
                return 1;
        value = next_word(text, &oom);
        if (oom)
                return -ENOMEM;
        if (!value)
                return 0;
        if (streq(word, "machine")) {
                r = take_machine(a, value);
                return r < 0 ? r : 1;
        }
        if (!last)
                return 1;
        place = streq(word, "login") ? &last->login : &last->password;
        apt_secret_free(*place);
        *place = TAKE_PTR(value);
        return 1;
}

int apt_auth_parse(AptAuth *a, const char *text) {
        int r;

        do
                r = take_word(a, &text);
        while (r > 0);
        return r;
}

static int read_auth_file(AptAuth *a, const char *path) {
        _cleanup_apt_secret_ char *text = NULL;
        int r;

        r = read_file(path, FILE_MAX, &text, NULL);
        if (r == -ENOENT)
                return 0;
        if (r < 0) {
                log_notice("%s: cannot read it, so its logins are not used: %s", path,
                                strerror(-r));
                return r == -ENOMEM ? r : 0;
        }
        return apt_auth_parse(a, text);
}

/* As apt does: names that end in ".conf", or have no dot. */
static bool is_part(const char *name) {
        return endswith(name, ".conf") || !strchr(name, '.');
}

static int read_auth_folder(AptAuth *a, const char *folder) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        if (folder_open(folder, &d) < 0)
                return 0;
        FOLDER_FOREACH (name, d) {
                r = name[0] != '.' && is_part(name) ? strv_extend(&names, name) : 0;
                if (r < 0)
                        return r;
        }
        strv_sort(names);
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = path_join(folder, *name);

                r = path ? read_auth_file(a, path) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* FILE='/etc/apt/auth.conf' */
static char *shell_value(const char *output, const char *name) {
        const char *at = strstr(output, name);

        if (!at || strncmp(at + strlen(name), "='", 2) != 0)
                return NULL;
        at += strlen(name) + 2;
        return strndup(at, strcspn(at, "'\n"));
}

static int load_own(AptAuth *a) {
        const char *path = getenv("IMGBUILD_AUTH_FILE");

        if (isempty(path))
                return 0;
        if (access(path, F_OK) < 0)
                log_notice("%s, which IMGBUILD_AUTH_FILE names, is not there", path);
        return read_auth_file(a, path);
}

static int load_apts(AptAuth *a) {
        _cleanup_free_ char *output = NULL, *file = NULL, *folder = NULL;
        int status, r;

        r = spawn_capture(NULL,
                        ARGV("apt-config", "shell", "AUTH_FILE", "Dir::Etc::netrc/f", "AUTH_FOLDER",
                                        "Dir::Etc::netrcparts/d"),
                        &output, &status);
        if (r < 0)
                return r;
        file = shell_value(output, "AUTH_FILE");
        folder = shell_value(output, "AUTH_FOLDER");
        if (file) {
                r = read_auth_file(a, file);
                if (r < 0)
                        return r;
        }
        return folder ? read_auth_folder(a, folder) : 0;
}

int apt_auth_load(AptAuth *ret) {
        _cleanup_apt_auth_ AptAuth a = {};
        int r;

        r = load_own(&a);
        if (r < 0)
                return r;
        r = load_apts(&a);
        if (r < 0 && (r != -ENOENT || a.n == 0))
                return r;
        *ret = a;
        a = (AptAuth) {};
        return 0;
}

/* --- finding ---------------------------------------------------------------------------------- */

static bool fits(const AptLogin *l, const char *host, const char *port, const char *path) {
        return l->login && l->password && strcasecmp(l->host, host) == 0 &&
               (!l->port || streq_ptr(l->port, port)) &&
               (!l->path || startswith(path, l->path)); /* as apt: /deb is for /debian, too */
}

static const AptLogin *find(const AptAuth *a, const char *url, bool secure) {
        const char *scheme = strstr(url, "://"), *path = NULL;
        _cleanup_free_ char *host = NULL, *port = NULL;

        if (!scheme || split_place(scheme + 3, &host, &port, &path) < 0)
                return NULL;
        for (size_t i = 0; i < a->n; i++)
                if ((!secure || !a->logins[i].insecure) && fits(a->logins + i, host, port, path))
                        return a->logins + i;
        return NULL;
}

const AptLogin *apt_auth_find(const AptAuth *a, const char *url) {
        return find(a, url, false);
}

const AptLogin *apt_auth_for(const AptAuth *a, const char *url) {
        return startswith(url, "https://") ? find(a, url, true) : NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

int apt_auth_text(const AptAuth *a, char **ret) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        for (size_t i = 0; i < a->n; i++) {
                const AptLogin *l = a->logins + i;

                if (!l->insecure && l->login && l->password)
                        fprintf(f, "machine https://%s%s%s%s login %s password %s\n", l->host,
                                        l->port ? ":" : "", strempty(l->port), strempty(l->path),
                                        l->login, l->password);
        }
        if (fclose(f) != 0) {
                apt_secret_free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
