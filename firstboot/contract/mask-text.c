/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Secrets inside of strings: found by the form of the text, or by their very value. */

#include "contract/secrets.h"

#include <ctype.h>

#define MASK "***"

/* Text as it grows. */
typedef struct Text {
        char *s;
        size_t n;
} Text;

static void put(Text *t, const char *s, size_t n) {
        memcpy(t->s + t->n, s, n);
        t->n += n;
}

static bool is_scheme_char(char c) {
        return isalnum((unsigned char) c) || strchr("+.-", c);
}

/* Behind "SCHEME://": masks who, and what comes after the host. Returns where the URL ends. */
static const char *put_url(Text *t, const char *p) {
        const char *end = p + strcspn(p, " \t\r\n\"'<>"), *host = p;
        size_t n = MIN(strcspn(p, "/?#"), (size_t) (end - p));

        for (const char *at = p; at < p + n; at++)
                if (*at == '@')
                        host = at + 1;
        if (host > p) {
                put(t, MASK, strlen(MASK));
                put(t, "@", 1);
        }
        put(t, host, (size_t) (p + n - host));
        if (end - (p + n) == 1 && p[n] == '/')
                put(t, "/", 1);
        else if (end > p + n) {
                put(t, "/", 1);
                put(t, MASK, strlen(MASK));
        }
        return end;
}

static const char *const words[] = { "password", "passwd", "passphrase", "secret", "token",
        "private_key", "private-key", "apikey", "api_key", "api-key", "authorization", "bearer" };

bool name_sounds_secret(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcasestr(name, words[i]))
                        return true;
        return false;
}

/* Where a secret's name begins at p, and something that can be its value follows, the length of
 * what comes before the value; otherwise 0. */
static size_t before_value(const char *p) {
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(words) && n == 0; i++)
                if (strncasecmp(p, words[i], strlen(words[i])) == 0)
                        n = strlen(words[i]);
        if (n == 0)
                return 0;
        while (isalnum((unsigned char) p[n]) || p[n] == '_' || p[n] == '-')
                n++;

        size_t gap = strspn(p + n, " \t\"'=:");
        return gap > 0 && p[n + gap] ? n + gap : 0;
}

char *mask_text(const char *text) {
        /* Each "://" grows by two masks at most. */
        Text t = { .s = malloc(strlen(text) * 4 + 16) };

        if (!t.s)
                return NULL;
        for (const char *p = text; *p;) {
                size_t n = before_value(p);

                if (n > 0) {
                        put(&t, p, n);
                        put(&t, MASK, strlen(MASK));
                        break;
                }
                if (startswith(p, "://") && p > text && is_scheme_char(p[-1])) {
                        put(&t, p, 3);
                        p = put_url(&t, p + 3);
                        continue;
                }
                put(&t, p++, 1);
        }
        t.s[t.n] = '\0';
        return t.s;
}

/* The longest of the secrets that is at p; 0: none is. One that is shorter than the mask is
 * none. */
static size_t secret_at(const char *p, char *const *secrets) {
        size_t longest = 0;

        STRV_FOREACH (s, secrets)
                if (strlen(*s) >= strlen(MASK) && startswith(p, *s))
                        longest = MAX(longest, strlen(*s));
        return longest;
}

char *redact_text(const char *text, char *const *secrets) {
        Text t = { .s = malloc(strlen(text) + 1) };

        if (!t.s)
                return NULL;
        for (const char *p = text; *p;) {
                size_t n = secret_at(p, secrets);

                put(&t, n > 0 ? MASK : p, n > 0 ? strlen(MASK) : 1);
                p += MAX(n, 1u);
        }
        t.s[t.n] = '\0';
        return t.s;
}

/* The string with its secrets taken out; *ret is NULL where it has none. 0 or -ENOMEM. */
static int redact_string(json_object *o, char *const *secrets, json_object **ret) {
        const char *text = json_object_get_string(o);
        _cleanup_free_ char *clean = redact_text(text, secrets);

        if (!clean)
                return -ENOMEM;
        if (streq(clean, text))
                return 0;
        *ret = json_object_new_string(clean);
        return *ret ? 0 : -ENOMEM;
}

static int redact_member(
                json_object *o, const char *key, json_object *value, char *const *secrets) {
        json_object *clean = NULL;
        int r;

        if (!json_object_is_type(value, json_type_string))
                return redact_json(value, secrets);
        r = redact_string(value, secrets, &clean);
        return r < 0 || !clean ? r : json_set(o, key, clean);
}

static int redact_item(json_object *array, size_t i, char *const *secrets) {
        json_object *value = json_object_array_get_idx(array, i), *clean = NULL;
        int r;

        if (!json_object_is_type(value, json_type_string))
                return redact_json(value, secrets);
        r = redact_string(value, secrets, &clean);
        if (r < 0 || !clean)
                return r;
        return json_object_array_put_idx(array, i, clean) < 0 ? -ENOMEM : 0;
}

int redact_json(json_object *o, char *const *secrets) {
        int r;

        if (!secrets)
                return 0;
        if (json_object_is_type(o, json_type_array)) {
                for (size_t i = 0; i < json_object_array_length(o); i++) {
                        r = redact_item(o, i, secrets);
                        if (r < 0)
                                return r;
                }
                return 0;
        }
        if (!json_object_is_type(o, json_type_object))
                return 0;
        json_object_object_foreach (o, key, value) {
                r = redact_member(o, key, value, secrets);
                if (r < 0)
                        return r;
        }
        return 0;
}
