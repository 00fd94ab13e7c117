/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SELinux's labels on the new disk. Which label a file gets, the tree's own policy says, by the
 * tree's own libselinux: matchpathcon, in the tree's sandbox, once with all paths. The labels are
 * then written into the file system, for neither can a layer hold them (the kernel lets nobody
 * without a policy of its own set them in a namespace, and a changed label would be a copied file)
 * nor the tar stream that root is made from. */

#include "disk/internal.h"

#include "disk/walk.h"
#include "sandbox/logged-command.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>

#define CONFIG "etc/selinux/config"
#define MATCHPATHCON "usr/sbin/matchpathcon"

#define CONTEXTS "label-contexts" /* a line each, in the same order */
#define SCRIPT "label-script"     /* debugfs's */
#define TEXT_MAX (256u << 20)     /* bytes of each of them */
#define CONTEXT_MAX 255           /* bytes; the kernel's own have a quarter */

/* SELINUX=enforcing or permissive. */
static bool policy_is_on(int root_fd) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        bool on = false;

        if (inside_read_file(root_fd, CONFIG, 64 * 1024, &text, NULL) < 0)
                return false;
        lines = strv_split(text, "\n");
        STRV_FOREACH (line, lines) {
                const char *value = startswith(*line, "SELINUX=");

                if (value)
                        on = startswith(value, "enforcing") || startswith(value, "permissive");
        }
        return on;
}

Labels labels_needed(const char *root) {
        _cleanup_close_ int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (root_fd < 0 || !policy_is_on(root_fd))
                return LABELS_NONE;
        return inside_exists(root, MATCHPATHCON) && inside_exists(root, "usr/bin/xargs")
                               ? LABELS_NOW
                               : LABELS_AT_BOOT;
}

static int put_path(const FTSENT *e, const char *inside, void *userdata) {
        FILE *f = userdata;

        if (e->fts_info == FTS_DP) /* it was there on the way in */
                return 0;
        return fputs(*inside ? inside : "/", f) < 0 || fputc('\0', f) < 0 ? -EIO : 0;
}

/* In the child that sees the tree. */
static int list_paths(const char *root, void *userdata) {
        const Disk *d = userdata;
        _cleanup_fclose_ FILE *f = inside_print_output(d->work, LABELS_PATHS);
        int r;

        if (!f)
                return log_error_errno(errno, "%s: cannot list the tree for its labels", d->work);
        r = walk_tree(root, put_path, f);
        if (r < 0)
                return r;
        /* mke2fs's own. */
        return fwrite("/lost+found", 1, sizeof("/lost+found"), f) == 0 || fflush(f) != 0
                               ? log_error_errno(errno, "%s: cannot list the tree for its labels",
                                                 d->work)
                               : 0;
}

int labels_ask(const Disk *d) {
        _cleanup_free_ char *paths = path_join(d->work, LABELS_PATHS);
        _cleanup_close_ int contexts = inside_create_output(d->work, CONTEXTS, 0600);
        const Sandbox s = {
                .store = d->ctx->store,
                .layers = d->layers,
                .read_only = true,
                .epoch = d->plan->lock->epoch,
                .limits = &d->plan->recipe->limits,
        };
        const SpawnOptions options = { .stdin_path = paths, .stdout_fd = contexts };

        if (!paths)
                return log_oom();
        if (contexts < 0)
                return log_error_errno(contexts, "%s: cannot write there", d->work);
        return logged_command(d->ctx, "labels", &s, &options,
                        ARGV("/usr/bin/xargs", "-0", "/" MATCHPATHCON, "-N", "-n", "--"));
}

static bool is_context(const char *s) {
        static const char allowed[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:,-";

        return strchr(s, ':') && strlen(s) <= CONTEXT_MAX && s[strspn(s, allowed)] == '\0';
}

/* A quoted word of debugfs's; a byte below the space cannot be said in one. */
static bool put_quoted(FILE *f, const char *path) {
        for (const char *p = path; *p; p++)
                if ((unsigned char) *p < ' ')
                        return false;
        fputs("ea_set \"", f);
        for (; *path; path++) {
                if (*path == '"')
                        fputc('"', f);
                fputc(*path, f);
        }
        fputs("\" security.selinux ", f);
        return true;
}

const char *labels_next(char **contexts) {
        char *context = *contexts, *end = strchr(context, '\n');

        if (!end)
                return NULL;
        *end = '\0';
        *contexts = end + 1;
        if (streq(context, "<<none>>"))
                return "";
        return is_context(context) ? context : NULL;
}

/* With the NUL behind it that setfiles writes. */
static int put_labels(FILE *f, const char *paths, size_t size, char *contexts, unsigned *left_out) {
        for (const char *path = paths; path < paths + size; path += strlen(path) + 1) {
                const char *context = labels_next(&contexts);

                if (!context)
                        return -EBADMSG;
                if (!*context)
                        continue;
                if (put_quoted(f, path))
                        fprintf(f, "%s\\000\n", context);
                else
                        (*left_out)++;
        }
        return *contexts ? -EBADMSG : 0;
}

int labels_read(const Disk *d, char **ret_paths, size_t *ret_size, char **ret_contexts) {
        _cleanup_free_ char *paths = NULL;
        int r;

        r = inside_read_output(d->work, LABELS_PATHS, TEXT_MAX, &paths, ret_size);
        if (r < 0)
                return r;
        r = ret_contexts ? inside_read_output(d->work, CONTEXTS, TEXT_MAX, ret_contexts, NULL) : 0;
        if (r < 0)
                return r;
        *ret_paths = TAKE_PTR(paths);
        return 0;
}

/* The script's text from both lists. */
static int pair_lists(const Disk *d, FILE *f, unsigned *left_out) {
        _cleanup_free_ char *paths = NULL, *contexts = NULL;
        size_t size;
        int r;

        r = labels_read(d, &paths, &size, &contexts);
        if (r < 0)
                return r;
        r = put_labels(f, paths, size, contexts, left_out);
        if (r < 0)
                return r;
        return fflush(f) != 0 ? -errno : 0;
}

static int write_script(const Disk *d) {
        _cleanup_fclose_ FILE *f = inside_print_output(d->work, SCRIPT);
        unsigned left_out = 0;
        int r = f ? pair_lists(d, f, &left_out) : -errno;

        if (r == -EBADMSG)
                return log_error_return(-EIO,
                                "The tree's /" MATCHPATHCON
                                " does not give each file a label; is its policy whole?");
        if (r < 0)
                return log_error_errno(r, "Cannot write the disk's labels");
        if (left_out > 0)
                log_warning("%u files have a line break or the like in their names, and get no SELinux label",
                                left_out);
        return 0;
}

/* debugfs has no exit code for a command that failed, only words behind its own first line. $1: the
 * file system. */
static const char debugfs_script[] = "debugfs -w -f /work/" SCRIPT " \"$1\" 2>&1 >/dev/null | "
                                     "{ ! grep -v '^debugfs [0-9]' >&2; }\n";

int disk_write_labels(Disk *d) {
        _cleanup_free_ char *filesystem =
                        strf("%s?offset=%llu", d->file, (unsigned long long) d->layout.root_start);
        int r;

        if (!filesystem)
                return log_oom();
        r = disk_with_tree(d, list_paths, d);
        if (r < 0)
                return r;
        r = labels_ask(d);
        if (r < 0)
                return r;
        r = write_script(d);
        if (r < 0)
                return r;
        return disk_tool(d, NULL, NULL,
                        ARGV("bash", "-o", "pipefail", "-c", debugfs_script, "labels", filesystem));
}
