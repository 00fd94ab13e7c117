/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apt-config and apt-get know how a host's apt is set up, whatever files say so. */

#include "common/apt-host.h"

#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <strings.h>

static int settings_add(AptSettings *s, const char *key, size_t key_length, const char *value,
                size_t value_length) {
        AptSetting *grown = reallocarray(s->settings, s->n + 1, sizeof(*grown)), *added;

        if (!grown)
                return -ENOMEM;
        s->settings = grown;
        added = grown + s->n++;
        *added = (AptSetting) {
                .key = strndup(key, key_length),
                .value = strndup(value, value_length),
        };
        return added->key && added->value ? 0 : -ENOMEM;
}

void apt_settings_done(AptSettings *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->settings[i].key);
                free(s->settings[i].value);
        }
        free(s->settings);
        *s = (AptSettings) {};
}

int apt_settings_load(AptSettings *ret) {
        _cleanup_apt_settings_ AptSettings s = {};
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(NULL, ARGV("apt-config", "dump", "--format=%F=%v%n", "Acquire"), &output,
                        &status);
        if (r < 0)
                return r;
        if (status != 0)
                return -EIO;

        lines = strv_split(output, "\n");
        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *equals = strchr(*line, '=');

                if (!startswith(*line, "Acquire::") || !equals || equals[1] == '\0')
                        continue;
                r = settings_add(&s, *line, (size_t) (equals - *line), equals + 1,
                                strlen(equals + 1));
                if (r < 0)
                        return r;
        }
        *ret = s;
        s = (AptSettings) {};
        return 0;
}

static const char *find(const AptSettings *s, const char *key) {
        for (size_t i = 0; i < s->n; i++)
                if (strcasecmp(s->settings[i].key, key) == 0)
                        return s->settings[i].value;
        return NULL;
}

/* apt asks this program for a proxy, naming the URL; it prints one, or DIRECT. */
static int detect(const char *program, const char *url, char **ret) {
        const SpawnOptions options = { .timeout_usec = 10 * USEC_PER_SEC };
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(&options, ARGV(program, url), &output, &status);
        if (r < 0 || status != 0) {
                log_debug("Proxy detection by %s failed; going on without", program);
                return r == -ECANCELED || r == -ENOMEM ? r : 0;
        }
        output[strcspn(output, " \r\n")] = '\0';
        if (*output)
                *ret = TAKE_PTR(output);
        return 0;
}

/* Acquire::SCHEME::OPTION, or …::HOST. As in apt, https falls back to what is set for http. NULL
 * where there is none, and with *ret_error set on out of memory. */
static const char *find_for(const AptSettings *s, const char *scheme, const char *option,
                const char *host, int *ret_error) {
        const char *const schemes[] = { scheme, streq(scheme, "https") ? "http" : NULL };

        for (size_t i = 0; i < ELEMENTSOF(schemes) && schemes[i]; i++) {
                _cleanup_free_ char *key = strf("Acquire::%s::%s%s%s", schemes[i], option,
                                host ? "::" : "", strempty(host));
                const char *value = key ? find(s, key) : NULL;

                if (!key)
                        *ret_error = -ENOMEM;
                if (value)
                        return value;
        }
        return NULL;
}

/* Splits "http://user@host:80/path". */
static int split_url(const char *url, char **ret_scheme, char **ret_host) {
        const char *end = strstr(url, "://"), *host, *at;
        _cleanup_free_ char *scheme = NULL;

        if (!end)
                return -EINVAL;
        host = end + 3;
        at = memchr(host, '@', strcspn(host, "/?#"));
        if (at)
                host = at + 1;
        scheme = strndup(url, (size_t) (end - url));
        *ret_host = strndup(host, strcspn(host, "/:?#"));
        *ret_scheme = TAKE_PTR(scheme);
        return *ret_scheme && *ret_host ? 0 : -ENOMEM;
}

/* What the program says that this host's apt asks; nothing where it asks none. */
static int detect_for(const AptSettings *s, const char *scheme, const char *url, char **ret) {
        static const char *const options[] = { "Proxy-Auto-Detect", "ProxyAutoDetect" /* older */ };

        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                int error = 0;
                const char *detector = find_for(s, scheme, options[i], NULL, &error);

                if (error < 0)
                        return error;
                if (detector)
                        return detect(detector, url, ret);
        }
        return 0;
}

/* The host's own setting, else what is detected, else the scheme's. */
static int find_proxy(const AptSettings *s, const char *scheme, const char *host, const char *url,
                char **ret) {
        _cleanup_free_ char *detected = NULL;
        const char *value;
        int r, error = 0;

        value = find_for(s, scheme, "Proxy", host, &error);
        if (!value) {
                r = detect_for(s, scheme, url, &detected);
                if (r < 0)
                        return r;
                value = detected;
        }
        if (!value)
                value = find_for(s, scheme, "Proxy", NULL, &error);
        if (error < 0)
                return error;
        if (!value)
                return 0;

        *ret = strdup(strcasecmp(value, "DIRECT") == 0 ? "" : value);
        return *ret ? 0 : -ENOMEM;
}

int apt_settings_proxy(const AptSettings *s, const char *url, char **ret) {
        _cleanup_free_ char *scheme = NULL, *host = NULL, *proxy = NULL;
        int r;

        r = split_url(url, &scheme, &host);
        if (r == -EINVAL) { /* no URL that a proxy could be for */
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                return r;
        r = find_proxy(s, scheme, host, url, &proxy);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(proxy);
        return 0;
}

const char *apt_settings_tls(const AptSettings *s, const char *option, const char *url) {
        _cleanup_free_ char *scheme = NULL, *host = NULL, *key = NULL, *key_of_host = NULL;
        const char *value;

        if (split_url(url, &scheme, &host) < 0 || !streq(scheme, "https"))
                return NULL;
        key = strf("Acquire::https::%s", option);
        key_of_host = strf("Acquire::https::%s::%s", host, option);
        if (!key || !key_of_host)
                return NULL;
        value = find(s, key_of_host);
        return value ? value : find(s, key);
}

void apt_targets_free(AptTarget *targets, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(targets[i].origin);
                free(targets[i].label);
                free(targets[i].uri);
        }
        free(targets);
}

typedef struct TargetList {
        AptTarget *targets;
        size_t n;
} TargetList;

static void target_list_done(TargetList *l) {
        apt_targets_free(l->targets, l->n);
}

static int targets_add(TargetList *l, const char *uri, size_t uri_length, const char *origin,
                size_t origin_length, const char *label, size_t label_length) {
        AptTarget *grown = reallocarray(l->targets, l->n + 1, sizeof(*grown)), *t;

        if (!grown)
                return -ENOMEM;
        l->targets = grown;
        t = grown + l->n++;
        *t = (AptTarget) {
                .uri = strndup(uri, uri_length),
                .origin = strndup(origin, origin_length),
                .label = strndup(label, label_length),
        };
        return t->uri && t->origin && t->label ? 0 : -ENOMEM;
}

/* Sources whose indexes the host has: apt knows what these are. "uri=URI|ORIGIN|LABEL|" */
static int parse_target(const char *line, TargetList *l) {
        const char *uri = startswith(line, "uri="), *origin, *label;

        if (!uri || !(origin = strchr(uri, '|')) || !(label = strchr(origin + 1, '|')))
                return 0;
        return targets_add(l, uri, (size_t) (origin - uri), origin + 1,
                        (size_t) (label - origin - 1), label + 1, strcspn(label + 1, "|"));
}

/* Of those it has no index of (before the host's first "apt-get update", or an empty one) it only
 * says what it would fetch. "'URI/dists/SUITE/InRelease' FILE 0" */
static int parse_release_uri(const char *line, TargetList *l) {
        const char *dists = line[0] == '\'' ? strstr(line, "/dists/") : NULL;

        if (!dists || !strstr(dists, "/InRelease'"))
                return 0;
        return targets_add(l, line + 1, (size_t) (dists - line - 1), "", 0, "", 0);
}

static int ask_apt(
                char *const argv[], int (*parse)(const char *line, TargetList *l), TargetList *l) {
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(NULL, argv, &output, &status);
        if (r < 0)
                return r;
        lines = strv_split(output, "\n");
        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                r = parse(*line, l);
                if (r < 0)
                        return r;
        }
        return 0;
}

int apt_targets_load(AptTarget **ret, size_t *ret_n) {
        _cleanup_(target_list_done) TargetList l = {};
        int r;

        r = ask_apt(ARGV("apt-get", "indextargets", "--format",
                                    "uri=$(REPO_URI)|$(ORIGIN)|$(LABEL)|", "Created-By: Packages"),
                        parse_target, &l);
        if (r < 0)
                return r;
        r = ask_apt(ARGV("apt-get", "update", "--print-uris"), parse_release_uri, &l);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(l.targets);
        *ret_n = l.n;
        l.n = 0;
        return 0;
}
