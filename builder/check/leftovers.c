/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What building leaves behind: indexes, caches, logs, the build host's resolver, shell histories.
 * It makes images big, different at each build, and tells of the build host. */

#include "check/internal.h"
#include "shared/file-util.h"
#include "shared/size.h"

/* Names the first file and counts the others: a hundred leftovers are one finding. */
typedef struct Leftovers {
        char *first;
        size_t n;
        uint64_t bytes;
        const char *const *allowed; /* paths, ends with NULL */
} Leftovers;

static int count_file(
                const Tree *t _unused_, const char *path, const struct stat *st, void *userdata) {
        Leftovers *l = userdata;

        if (S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && st->st_size == 0))
                return 0;
        for (const char *const *a = l->allowed; a && *a; a++)
                if (streq(path, *a))
                        return 0;
        if (!l->first && !(l->first = strdup(path)))
                return -ENOMEM;
        l->n++;
        l->bytes += (uint64_t) st->st_size;
        return 0;
}

static int check_empty(const Tree *t, const char *rule, const char *const *folders,
                const char *const *allowed, const char *what, const char *remedy, Findings *f) {
        for (; *folders; folders++) {
                _cleanup_free_ char *first = NULL;
                Leftovers l = { .allowed = allowed };
                char size[FORMAT_BYTES_MAX];
                int r = tree_walk(t, *folders, count_file, &l);

                first = l.first;
                if (r < 0)
                        return r;
                if (l.n == 0)
                        continue;
                r = finding_add(f, rule,
                                strf("%s in /%s: %zu files, %s (/%s …)", what, *folders, l.n,
                                                format_bytes(size, l.bytes), first),
                                strdup(remedy));
                if (r < 0)
                        return r;
        }
        return 0;
}

#define LIST(...) ((const char *const[]) { __VA_ARGS__, NULL })

int check_leftovers_apt_lists(const Tree *t, const char *rule, Findings *f) {
        return check_empty(t, rule, LIST("var/lib/apt/lists"), NULL, "package indexes",
                        "remove them at the end (\"rm -rf /var/lib/apt/lists/*\"); apt-get update brings them back",
                        f);
}

int check_leftovers_caches(const Tree *t, const char *rule, Findings *f) {
        return check_empty(t, rule,
                        LIST("var/cache/apt", "var/cache/dnf", "var/cache/yum", "var/cache/libdnf5",
                                        "var/cache/man", "root/.cache", "root/.npm"),
                        NULL, "caches",
                        "remove them in the run script that made them, or let stage finalize do it",
                        f);
}

int check_leftovers_logs(const Tree *t, const char *rule, Findings *f) {
        return check_empty(t, rule, LIST("var/log"), LIST("var/log/README"), "logs of the build",
                        "remove or truncate them; a node's logs start with the node", f);
}

int check_leftovers_temporary(const Tree *t, const char *rule, Findings *f) {
        return check_empty(t, rule, LIST("tmp", "var/tmp", "run/imgbuild"), NULL, "temporary files",
                        "remove them in the script that made them", f);
}

static int check_home(const Tree *t, const char *rule, const char *home, Findings *f) {
        static const char *const names[] = { ".bash_history", ".zsh_history", ".python_history",
                ".lesshst", ".viminfo", ".wget-hsts", ".sqlite_history", ".node_repl_history",
                ".rediscli_history" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = path_join(home, names[i]);
                struct stat st;
                int r;

                if (!path)
                        return -ENOMEM;
                if (tree_lstat(t, path, &st) < 0)
                        continue;
                r = finding_add(f, rule, strf("/%s is in the image", path), strdup("remove it"));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_leftovers_history(const Tree *t, const char *rule, Findings *f) {
        _cleanup_strv_free_ char **users = NULL;
        int r;

        r = check_home(t, rule, "root", f);
        if (r < 0)
                return r;
        r = tree_list(t, "home", &users);
        if (r < 0)
                return r;
        STRV_FOREACH (user, users) {
                _cleanup_free_ char *home = strf("home/%s", *user);

                if (!home)
                        return -ENOMEM;
                r = check_home(t, rule, home, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A link to what systemd-resolved or NetworkManager writes below /run is the image's own choice; a
 * file with the build host's name servers is not. */
int check_leftovers_resolv_conf(const Tree *t, const char *rule, Findings *f) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        int r = tree_lstat(t, "etc/resolv.conf", &st);

        if (r == -ENOENT || (r >= 0 && (S_ISLNK(st.st_mode) || st.st_size == 0)))
                return 0;
        if (r < 0)
                return r;
        r = tree_read(t, "etc/resolv.conf", 1024 * 1024, &text);
        if (r < 0)
                return r;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
                if (startswith(line, "nameserver") || startswith(line, "search") ||
                                startswith(line, "domain"))
                        return finding_add(f, rule,
                                        strf("/etc/resolv.conf has \"%.*s\"",
                                                        (int) strcspn(line, "\n"), line),
                                        strdup("remove it, or make it a link to /run/systemd/resolve/stub-resolv.conf"));
        return 0;
}
