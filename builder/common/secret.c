/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Secrets in memory, and how they are recognized. A script that turns one into something else, by a
 * cipher or a compressor say, is not noticed. */

#include "common/secret.h"
#include "common/core-files.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#define LINE_MIN 16 /* bytes: of several lines, those that are a trace by themselves */
#define LINES_MAX 6

static void wipe(char *bytes, size_t size) {
        if (bytes)
                explicit_bzero(bytes, size);
        free(bytes);
}

static void secret_done(Secret *s) {
        for (size_t i = 0; i < s->n_traces; i++)
                wipe(s->traces[i].bytes, s->traces[i].size);
        wipe(s->value, s->size);
        free(s->name);
}

void secrets_done(Secrets *s) {
        for (size_t i = 0; i < s->n; i++)
                secret_done(s->secrets + i);
        free(s->secrets);
        *s = (Secrets) {};
}

const Secret *secrets_find(const Secrets *s, const char *name) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->secrets[i].name, name))
                        return s->secrets + i;
        return NULL;
}

/* --- traces ----------------------------------------------------------------------------------- */

static int add_trace(Secret *s, const void *bytes, size_t size) {
        char *copy;

        if (s->n_traces == TRACES_MAX || size == 0)
                return 0;
        copy = malloc(size);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, bytes, size);
        s->traces[s->n_traces++] = (Trace) { copy, size };
        return 0;
}

/* As base64 has it behind `shift` bytes of something else ("USER:", say), but for the letters at
 * both ends that depend on its neighbours. */
static int add_encoded(Secret *s, const char *bytes, size_t size, size_t shift) {
        size_t all = size + shift, first = (shift * 8 + 5) / 6, end = all * 8 / 6;
        unsigned char *plain = calloc(1, all), *encoded = malloc((all + 2) / 3 * 4 + 1);
        int r = -ENOMEM;

        if (plain && encoded) {
                memcpy(plain + shift, bytes, size);
                EVP_EncodeBlock(encoded, plain, (int) all);
                r = add_trace(s, encoded + first, end - first);
                explicit_bzero(encoded, end);
                explicit_bzero(plain, all);
        }
        free(plain);
        free(encoded);
        return r;
}

static int add_traces(Secret *s, const char *bytes, size_t size) {
        int r = add_trace(s, bytes, size);

        for (size_t shift = 0; shift < 3 && r == 0 && size >= SECRET_MIN; shift++)
                r = add_encoded(s, bytes, size, shift);
        return r;
}

/* "-----BEGIN PRIVATE KEY-----" is no secret. */
static int add_lines(Secret *s, const char *bytes, size_t size) {
        const char *end = bytes + size;
        size_t n = 0;

        while (bytes < end && n < LINES_MAX) {
                const char *newline = memchr(bytes, '\n', (size_t) (end - bytes));
                size_t length = (size_t) ((newline ? newline : end) - bytes);

                if (length >= LINE_MIN && strncmp(bytes, "-----", 5) != 0) {
                        int r = add_traces(s, bytes, length);

                        if (r < 0)
                                return r;
                        n++;
                }
                bytes += length + 1;
        }
        return 0;
}

static int find_traces(Secret *s) {
        size_t size = s->size;
        int r;

        while (size > 0 && isspace((unsigned char) s->value[size - 1]))
                size--;
        if (size < SECRET_MIN)
                return -ERANGE;
        r = add_traces(s, s->value, size);
        if (r < 0)
                return r;
        return memchr(s->value, '\n', size) ? add_lines(s, s->value, size) : 0;
}

bool secret_is_in(const Secret *s, const void *data, size_t size) {
        for (size_t i = 0; i < s->n_traces; i++)
                if (memmem(data, size, s->traces[i].bytes, s->traces[i].size))
                        return true;
        return false;
}

size_t secret_longest_trace(const Secret *s) {
        size_t longest = 0;

        for (size_t i = 0; i < s->n_traces; i++)
                longest = MAX(longest, s->traces[i].size);
        return longest;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void warn_open_to_others(const char *path) {
        struct stat st;

        if (stat(path, &st) >= 0 && S_ISREG(st.st_mode) && (st.st_mode & 0077) != 0)
                log_warning("%s is open to others: chmod 600 %s", path, path);
}

static int read_secret(const char *path, Secret *s) {
        int r;

        warn_open_to_others(path);
        r = read_file(path, SECRET_MAX, &s->value, &s->size);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read the secret", path),
                       r == -ENOMEM ? r : -EINVAL;
        r = find_traces(s);
        if (r == -ERANGE)
                return log_error_return(-EINVAL,
                                "%s is shorter than %d bytes: it would be found everywhere", path,
                                SECRET_MIN);
        return r < 0 ? log_oom() : 0;
}

int secrets_check_argument(const char *argument) {
        const char *equals = strchr(argument, '=');

        return equals && equals != argument && equals[1] != '\0'
                               ? 0
                               : log_error_return(-EINVAL, "--secret=%s: NAME=FILE", argument);
}

int secrets_add(Secrets *s, const char *argument) {
        const char *equals = strchr(argument, '='), *path;
        Secret *more, secret = {};
        int r;

        r = secrets_check_argument(argument);
        if (r < 0)
                return r;
        path = equals + 1;
        no_core_files();
        secret.name = strndup(argument, (size_t) (equals - argument));
        more = reallocarray(s->secrets, s->n + 1, sizeof(Secret));
        if (more)
                s->secrets = more;
        if (!secret.name || !more) {
                free(secret.name);
                return log_oom();
        }
        r = secrets_find(s, secret.name)
                            ? log_error_return(-EINVAL, "--secret: %s is given twice", secret.name)
                            : read_secret(path, &secret);
        if (r < 0) {
                secret_done(&secret);
                return r;
        }
        s->secrets[s->n++] = secret;
        return 0;
}

/* --- masking ---------------------------------------------------------------------------------- */

/* The longest trace that begins here: 0 where none does. */
static size_t trace_at(
                const Secret *const *secrets, const char *at, size_t left, const Secret **ret) {
        size_t longest = 0;

        for (; *secrets; secrets++)
                for (size_t i = 0; i < (*secrets)->n_traces; i++) {
                        const Trace *t = (*secrets)->traces + i;

                        if (t->size <= longest || t->size > left ||
                                        memcmp(at, t->bytes, t->size) != 0)
                                continue;
                        longest = t->size;
                        *ret = *secrets;
                }
        return longest;
}

char *secrets_mask(const Secret *const *secrets, const char *line) {
        _cleanup_free_ char *text = NULL;
        size_t left = strlen(line), size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        while (left > 0) {
                const Secret *secret = NULL;
                size_t n = trace_at(secrets, line, left, &secret);

                if (n > 0)
                        fprintf(f, "[secret %s]", secret->name);
                else
                        fputc(*line, f);
                n = MAX(n, (size_t) 1);
                line += n;
                left -= n;
        }
        return fclose(f) == 0 ? TAKE_PTR(text) : NULL;
}
