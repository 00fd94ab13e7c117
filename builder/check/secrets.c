/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Secrets that an image would hand to everybody who gets hold of it: password
 * hashes and private keys. */

#include "check/internal.h"

#define DATABASE_MAX (4u * 1024 * 1024)
#define KEY_FILE_MAX (64u * 1024) /* a key with certificates around it is smaller */

/* Field 2 of name:password:… is a locked password ("*", "!", "!!", "!*"), or "x" where shadow
 * has it. A "!" in front of a hash locks it but keeps the hash in the image, where it can be
 * cracked at leisure. */
static const char *password_fault(const char *password, size_t n, bool shadowed) {
        if (n == 0)
                return "has an empty password";
        if (shadowed && n == 1 && *password == 'x')
                return NULL;
        for (size_t i = 0; i < n; i++)
                if (password[i] != '!' && password[i] != '*')
                        return "has a password";
        return NULL;
}

typedef struct Database {
        const char *path;
        bool shadowed;        /* "x" is no password, shadow has it */
        bool empty_is_locked; /* an empty group password lets nobody in who is no member */
} Database;

/* `line` is name:password:…, to its end or a newline. */
static int check_account(const char *rule, const Database *d, const char *line, Findings *f) {
        int name = (int) strcspn(line, ":\n");
        const char *password, *fault;
        size_t n;

        if (line[name] != ':')
                return 0;
        password = line + name + 1;
        n = strcspn(password, ":\n");
        if (n == 0 && d->empty_is_locked)
                return 0;
        fault = password_fault(password, n, d->shadowed);
        if (!fault)
                return 0;

        return finding_add(f, rule, strf("/%s: \"%.*s\" %s", d->path, name, line, fault),
                        strf("lock it (\"passwd -l %.*s\" keeps the hash: \"usermod -p '*' %.*s\"); people come in with keys from cloud-init or through LDAP",
                                        name, line, name, line));
}

static int check_database(const Tree *t, const char *rule, const Database *d, Findings *f) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = tree_read(t, d->path, DATABASE_MAX, &text);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                r = check_account(rule, d, line, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_secrets_password(const Tree *t, const char *rule, Findings *f) {
        static const Database databases[] = {
                { "etc/shadow", false, false },
                { "etc/passwd", true, false },
                { "etc/gshadow", false, true },
                { "etc/shadow-", false, false },
                { "etc/passwd-", true, false },
                { "etc/gshadow-", false, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(databases); i++) {
                int r = check_database(t, rule, databases + i, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What begins a private key, whoever wrote it. */
static bool holds_private_key(const char *text, size_t size) {
        const char *p = text, *end = text + size;

        while ((p = memmem(p, (size_t) (end - p), "-----BEGIN ", 11))) {
                const char *line_end = memchr(p, '\n', (size_t) (end - p));
                size_t n = line_end ? (size_t) (line_end - p) : (size_t) (end - p);

                if (memmem(p, n, "PRIVATE KEY-----", 16) ||
                                memmem(p, n, "PRIVATE KEY BLOCK-----", 22))
                        return true;
                p += 11;
        }
        return memmem(text, size, "PuTTY-User-Key-File-", 20) != NULL;
}

/* Keys that are not text; a path is enough. */
static bool is_key_path(const char *path) {
        static const char *const paths[] = { "etc/munge/munge.key", "etc/krb5.keytab" };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                if (streq(path, paths[i]))
                        return true;
        return strstr(path, "/private-keys-v1.d/") != NULL;
}

typedef struct KeySearch {
        const char *rule;
        Findings *findings;
} KeySearch;

static int look_for_key(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        KeySearch *s = userdata;
        bool key;

        /* Package managers' own databases hold no keys but thousands of files. */
        if (S_ISDIR(st->st_mode))
                return streq(path, "var/lib/dpkg") || streq(path, "var/lib/apt") ||
                       streq(path, "var/lib/rpm") || streq(path, "var/cache") ||
                       streq(path, "etc/alternatives");
        if (!S_ISREG(st->st_mode) || st->st_size == 0)
                return 0;
        key = is_key_path(path);
        if (!key && st->st_size <= KEY_FILE_MAX) {
                _cleanup_free_ char *text = NULL;
                int r = tree_read(t, path, KEY_FILE_MAX, &text);

                if (r < 0)
                        return r;
                key = holds_private_key(text, (size_t) st->st_size);
        }
        if (!key)
                return 0;

        return finding_add(s->findings, s->rule, strf("/%s holds a private key", path),
                        strdup("remove it; secrets reach a node at boot, through systemd credentials or metadata"));
}

int check_secrets_private_key(const Tree *t, const char *rule, Findings *f) {
        static const char *const folders[] = { "etc", "root", "home", "opt", "srv", "usr/local",
                "var", "boot/efi" };
        KeySearch s = { rule, f };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                int r = tree_walk(t, folders[i], look_for_key, &s);
                if (r < 0)
                        return r;
        }
        return 0;
}
