/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apt-host.h"
#include "log.h"
#include "spawn.h"
#include "strv.h"

#include <strings.h>

static int settings_add(AptSettings *s, const char *key, size_t key_length, const char *value,
                size_t value_length) {
        AptSetting *grown = reallocarray(s->settings, s->n + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        s->settings = grown;
        AptSetting *added = grown + s->n;
        *added = (AptSetting){ .key = strndup(key, key_length),
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
        *s = (AptSettings){};
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
        s = (AptSettings){};
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

int apt_settings_proxy(const AptSettings *s, const char *url, char **ret) {
        const char *scheme_end = strstr(url, "://"), *value = NULL;
        _cleanup_free_ char *scheme = NULL, *host = NULL, *detected = NULL;
        int r;

        if (!scheme_end) {
                *ret = NULL;
                return 0;
        }
        scheme = strndup(url, (size_t) (scheme_end - url));
        host = strndup(scheme_end + 3, strcspn(scheme_end + 3, "/:?#"));
        if (!scheme || !host)
                return -ENOMEM;

        _cleanup_free_ char *own = strf("Acquire::%s::Proxy::%s", scheme, host);
        _cleanup_free_ char *program = strf("Acquire::%s::Proxy-Auto-Detect", scheme);
        _cleanup_free_ char *old_program = strf("Acquire::%s::ProxyAutoDetect", scheme);
        _cleanup_free_ char *all = strf("Acquire::%s::Proxy", scheme);
        if (!own || !program || !old_program || !all)
                return -ENOMEM;

        value = find(s, own);
        if (!value) {
                const char *detector = find(s, program);

                if (!detector)
                        detector = find(s, old_program);
                if (detector) {
                        r = detect(detector, url, &detected);
                        if (r < 0)
                                return r;
                        value = detected;
                }
        }
        if (!value)
                value = find(s, all);
        if (!value && streq(scheme, "https")) /* as apt does: https falls back to http's */
                value = find(s, "Acquire::http::Proxy");
        if (value && strcasecmp(value, "DIRECT") == 0)
                value = "";

        char *copy = value ? strdup(value) : NULL;
        if (value && !copy)
                return -ENOMEM;
        *ret = copy;
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

int apt_targets_load(AptTarget **ret, size_t *ret_n) {
        char *argv[] = { "apt-get", "indextargets", "--format",
                "uri=$(REPO_URI)|$(ORIGIN)|$(LABEL)|", "Created-By: Packages", NULL };
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *output = NULL;
        AptTarget *targets = NULL;
        size_t n = 0;
        int status, r;

        r = spawn_capture(NULL, argv, &output, &status);
        if (r < 0)
                return r;
        lines = strv_split(output, "\n");
        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *uri = startswith(*line, "uri="), *origin, *label;
                AptTarget *grown;

                if (!uri || !(origin = strchr(uri, '|')) || !(label = strchr(origin + 1, '|')))
                        continue;
                grown = reallocarray(targets, n + 1, sizeof(*grown));
                if (!grown) {
                        apt_targets_free(targets, n);
                        return -ENOMEM;
                }
                targets = grown;
                AptTarget *t = targets + n++;
                *t = (AptTarget){
                        .uri = strndup(uri, (size_t) (origin - uri)),
                        .origin = strndup(origin + 1, (size_t) (label - origin - 1)),
                        .label = strndup(label + 1, strcspn(label + 1, "|")),
                };
                if (!t->uri || !t->origin || !t->label) {
                        apt_targets_free(targets, n);
                        return -ENOMEM;
                }
        }
        *ret = targets;
        *ret_n = n;
        return 0;
}
