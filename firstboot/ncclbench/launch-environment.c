/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads variables that launchers set: numbers, hosts, Slurm's node lists. */

#include "ncclbench/launch-internal.h"
#include "shared/strv.h"

const char *environment_get(char *const *environment, const char *name) {
        size_t n = strlen(name);

        for (char *const *e = environment; e && *e; e++)
                if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
                        return *e + n + 1;
        return NULL;
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_host_character(char c) {
        return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' || c == '.' ||
               c == '_';
}

/* The "[003-007,9]" of a list: the end of its first number, and of the whole. */
static int scan_range(const char *open, const char **ret_digits_end, const char **ret_close) {
        const char *p = open + 1;

        if (!is_digit(*p))
                return -EINVAL;
        p += strspn(p, "0123456789");
        *ret_digits_end = p;
        p += strspn(p, "0123456789-,");
        if (*p != ']')
                return -EINVAL;
        *ret_close = p;
        return 0;
}

int nodelist_first(const char *list, char *ret, size_t size) {
        char host[256];
        size_t n = 0;

        for (const char *p = list; *p && *p != ','; p++) {
                const char *from = p, *to = p + 1;

                if (*p == '[') {
                        /* The first of the range: its digits as they stand, with leading zeros. */
                        from = p + 1;
                        if (scan_range(p, &to, &p) < 0)
                                return -EINVAL;
                } else if (!is_host_character(*p))
                        return -EINVAL;

                if (n + (size_t) (to - from) >= sizeof(host))
                        return -EINVAL;
                memcpy(host + n, from, (size_t) (to - from));
                n += (size_t) (to - from);
        }
        if (n == 0 || n >= size)
                return -EINVAL;

        memcpy(ret, host, n);
        ret[n] = '\0';
        return 0;
}

int environment_number(char *const *environment, const char *name, long min, long max, long *ret,
                char **ret_error) {
        const char *text = environment_get(environment, name);
        char *end;

        if (!text)
                return 0;
        errno = 0;
        long v = strtol(text, &end, 10);
        if (errno || end == text || *end || v < min || v > max) {
                *ret_error = strf(
                                "$%s is '%s', not a number from %ld to %ld", name, text, min, max);
                return -EINVAL;
        }
        *ret = v;
        return 1;
}

int launch_set_master(Launch *l, const char *host, const char *port, char **ret_error) {
        char *end;
        long v = strtol(port, &end, 10);

        if (end == port || *end || v < 1 || v > 65535) {
                *ret_error = strf("'%s' is not a port", port);
                return -EINVAL;
        }
        if (isempty(host) || strlen(host) >= sizeof(l->host)) {
                *ret_error = strf("'%s' is not a host", host);
                return -EINVAL;
        }
        snprintf(l->host, sizeof(l->host), "%s", host);
        snprintf(l->port, sizeof(l->port), "%ld", v);
        return 0;
}

int launch_slurm_host(char *const *env, char *ret, size_t size) {
        static const char *const names[] = { "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
                "SLURM_NODELIST" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const char *list = environment_get(env, names[i]);

                if (list)
                        return nodelist_first(list, ret, size);
        }
        return -ENOENT;
}
