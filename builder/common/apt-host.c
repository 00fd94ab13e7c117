/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/apt-host.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <strings.h>

static int settings_add(AptSettings *s, const char *key, size_t key_length, const char *value,
                size_t value_length) {
        AptSetting *grown = reallocarray(s->settings, s->n + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        s->settings = grown;
        AptSetting *added = grown + s->n;
        *added = (AptSetting) { .key = strndup(key, key_length),
                .value = strndup(value, value_length) };
        s->n++;
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
        char *argv[] = { "apt-config", "dump", "--format=%F=%v%n", "Acquire", NULL };
        _cleanup_apt_settings_ AptSettings s = {};
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(NULL, argv, &output, &status);
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
        char *argv[] = { (char *) program, (char *) url, NULL };
        SpawnOptions options = { .timeout_usec = 10 * USEC_PER_SEC };
        _cleanup_free_ char *output = NULL;
        int status, r;

        r = spawn_capture(&options, argv, &output, &status);
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

int apt_settings_proxy(const AptSettings *s, const char *url, char **ret) {
        _cleanup_free_ char *scheme = NULL, *host = NULL, *detected = NULL, *copy = NULL;
        const char *value, *detector;
        int r, error = 0;

        r = split_url(url, &scheme, &host);
        if (r == -EINVAL) { /* no URL that a proxy could be for */
                *ret = NULL;
                return 0;
        }
        if (r < 0)
                return r;
        value = find_for(s, scheme, "Proxy", host, &error);
        if (!value) {
                detector = find_for(s, scheme, "Proxy-Auto-Detect", NULL, &error);
                if (!detector) /* its older name */
                        detector = find_for(s, scheme, "ProxyAutoDetect", NULL, &error);
                r = detector ? detect(detector, url, &detected) : 0;
                if (r < 0)
                        return r;
                value = detected;
        }
        if (!value)
                value = find_for(s, scheme, "Proxy", NULL, &error);
        if (error < 0)
                return error;
        if (value && strcasecmp(value, "DIRECT") == 0)
                value = "";
        if (value && !(copy = strdup(value)))
                return -ENOMEM;
        *ret = TAKE_PTR(copy);
        return 0;
}

void apt_targets_free(AptTarget *targets, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(targets[i].origin);
                free(targets[i].label);
                free(targets[i].uri);
        }
        free(targets);
}

static int targets_add(AptTarget **targets, size_t *n, const char *uri, size_t uri_length,
                const char *origin, size_t origin_length, const char *label, size_t label_length) {
        AptTarget *grown = reallocarray(*targets, *n + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        *targets = grown;
        AptTarget *t = grown + (*n)++;
        *t = (AptTarget) {
                .uri = strndup(uri, uri_length),
                .origin = strndup(origin, origin_length),
                .label = strndup(label, label_length),
        };
        return t->uri && t->origin && t->label ? 0 : -ENOMEM;
}

/* Sources whose indexes the host has: apt knows what these are. "uri=URI|ORIGIN|LABEL|" */
static int parse_target(const char *line, AptTarget **targets, size_t *n) {
        const char *uri = startswith(line, "uri="), *origin, *label;

        if (!uri || !(origin = strchr(uri, '|')) || !(label = strchr(origin + 1, '|')))
                return 0;
        return targets_add(targets, n, uri, (size_t) (origin - uri), origin + 1,
                        (size_t) (label - origin - 1), label + 1, strcspn(label + 1, "|"));
}

/* Of those it has no index of (before the host's first "apt-get update", or an empty one) it only
 * says what it would fetch. "'URI/dists/SUITE/InRelease' FILE 0" */
static int parse_release_uri(const char *line, AptTarget **targets, size_t *n) {
        const char *dists = line[0] == '\'' ? strstr(line, "/dists/") : NULL;

        if (!dists || !strstr(dists, "/InRelease'"))
                return 0;
        return targets_add(targets, n, line + 1, (size_t) (dists - line - 1), "", 0, "", 0);
}

int apt_targets_load(AptTarget **ret, size_t *ret_n) {
        char *known[] = { "apt-get", "indextargets", "--format",
                "uri=$(REPO_URI)|$(ORIGIN)|$(LABEL)|", "Created-By: Packages", NULL };
        char *wanted[] = { "apt-get", "update", "--print-uris", NULL };
        const struct {
                char *const *argv;
                int (*parse)(const char *line, AptTarget **targets, size_t *n);
        } ways[] = { { known, parse_target }, { wanted, parse_release_uri } };
        AptTarget *targets = NULL;
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(ways) && r >= 0; i++) {
                _cleanup_strv_free_ char **lines = NULL;
                _cleanup_free_ char *output = NULL;
                int status;

                r = spawn_capture(NULL, ways[i].argv, &output, &status);
                if (r < 0)
                        break;
                lines = strv_split(output, "\n");
                if (!lines)
                        r = -ENOMEM;
                for (char **line = lines; r >= 0 && *line; line++)
                        r = ways[i].parse(*line, &targets, &n);
        }
        if (r < 0) {
                apt_targets_free(targets, n);
                return r;
        }
        *ret = targets;
        *ret_n = n;
        return 0;
}
