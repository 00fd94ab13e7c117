/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/dpkg-options.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <dirent.h>

#define FOLDER "files/etc/dpkg/dpkg.cfg.d"
#define FILE_MAX (1024 * 1024)

/* dpkg.cfg(5): one option a line, its value after white space or '=', '#' at the start of a line
 * begins a comment. */
static int add_lines(const char *text, char ***options) {
        _cleanup_strv_free_ char **lines = strv_split(text, "\n");

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *name = *line + strspn(*line, " \t\r");
                size_t n = strcspn(name, " \t\r=");
                const char *value = name + n + strspn(name + n, " \t\r=");
                size_t m = strlen(value);
                int r;

                while (m > 0 && strchr(" \t\r", value[m - 1]))
                        m--;
                if (n == 0 || *name == '#')
                        continue;
                r = m > 0 ? strv_extendf(options, "--%.*s=%.*s", (int) n, name, (int) m, value)
                          : strv_extendf(options, "--%.*s", (int) n, name);
                if (r < 0)
                        return r;
        }
        return 0;
}

typedef struct ConfigFile {
        char *name, *path;
} ConfigFile;

typedef struct ConfigFiles {
        ConfigFile *files;
        size_t n;
} ConfigFiles;

static void config_files_done(ConfigFiles *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->files[i].name);
                free(l->files[i].path);
        }
        free(l->files);
}

/* dpkg reads the files that run-parts would. */
static bool is_read(const char *name) {
        return *name &&
               name[strspn(name,
                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
                               '\0';
}

static int add_folder(const char *folder, ConfigFiles *l) {
        DIR *d = opendir(folder);
        int r = 0;

        if (!d)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        for (struct dirent *e; r >= 0 && (e = readdir(d));) {
                ConfigFile *grown, f = {};

                if (!is_read(e->d_name))
                        continue;
                for (size_t i = 0; i < l->n; i++) /* the later overlay's file replaces it */
                        if (streq(l->files[i].name, e->d_name)) {
                                free(l->files[i].name);
                                free(l->files[i].path);
                                l->files[i] = l->files[--l->n];
                                break;
                        }
                f.name = strdup(e->d_name);
                f.path = path_join(folder, e->d_name);
                grown = f.name && f.path ? reallocarray(l->files, l->n + 1, sizeof(f)) : NULL;
                if (!grown) {
                        free(f.name);
                        free(f.path);
                        r = -ENOMEM;
                        break;
                }
                l->files = grown;
                l->files[l->n++] = f;
        }
        closedir(d);
        return r;
}

static int by_name(const void *a, const void *b) {
        return strcmp(((const ConfigFile *) a)->name, ((const ConfigFile *) b)->name);
}

int dpkg_options_load(const Recipe *recipe, char ***ret) {
        _cleanup_(config_files_done) ConfigFiles l = {};
        _cleanup_strv_free_ char **options = NULL;
        int r;

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                _cleanup_free_ char *folder = path_join(recipe->overlays[i]->path, FOLDER);

                r = folder ? add_folder(folder, &l) : -ENOMEM;
                if (r < 0)
                        return log_error_errno(r, "%s/" FOLDER ": cannot read it",
                                        recipe->overlays[i]->path);
        }
        if (l.n > 1)
                qsort(l.files, l.n, sizeof(*l.files), by_name);
        for (size_t i = 0; i < l.n; i++) {
                _cleanup_free_ char *text = NULL;

                r = read_file(l.files[i].path, FILE_MAX, &text, NULL);
                if (r >= 0)
                        r = add_lines(text, &options);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot read it", l.files[i].path);
        }
        *ret = TAKE_PTR(options);
        return 0;
}
