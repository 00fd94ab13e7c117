/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* dpkg options for packages' installation, from the files below etc/dpkg/dpkg.cfg.d that overlays
 * bring. */

#include "plan/internal.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"

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

/* dpkg reads the files that run-parts would. */
static bool is_read(const char *name) {
        static const char plain[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

        return *name && name[strspn(name, plain)] == '\0';
}

static void config_file_done(ConfigFile *f) {
        free(f->name);
        free(f->path);
        *f = (ConfigFile) {};
}

static void config_files_done(ConfigFiles *l) {
        for (size_t i = 0; i < l->n; i++)
                config_file_done(l->files + i);
        free(l->files);
}

/* A later overlay's file replaces one of the same name. */
static int add_file(ConfigFiles *l, const char *folder, const char *name) {
        _cleanup_(config_file_done)
                        ConfigFile f = { .name = strdup(name), .path = path_join(folder, name) };
        ConfigFile *grown;

        if (!f.name || !f.path)
                return -ENOMEM;
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->files[i].name, name)) {
                        config_file_done(l->files + i);
                        l->files[i] = l->files[--l->n];
                        break;
                }

        grown = reallocarray(l->files, l->n + 1, sizeof(f));
        if (!grown)
                return -ENOMEM;
        l->files = grown;
        l->files[l->n++] = f;
        f = (ConfigFile) {};
        return 0;
}

static int add_folder(ConfigFiles *l, const char *folder) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(folder, &d);
        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR ? 0 : r;
        FOLDER_FOREACH (name, d) {
                if (!is_read(name))
                        continue;
                r = add_file(l, folder, name);
                if (r < 0)
                        return r;
        }
        return 0;
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

                r = folder ? add_folder(&l, folder) : -ENOMEM;
                if (r < 0)
                        return log_error_errno(r, "%s/" FOLDER ": cannot read it",
                                        recipe->overlays[i]->path);
        }
        if (l.n > 1)
                qsort(l.files, l.n, sizeof(*l.files), by_name);
        for (size_t i = 0; i < l.n; i++) {
                _cleanup_free_ char *text = NULL;

                r = read_file(l.files[i].path, FILE_MAX, &text, NULL);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot read it", l.files[i].path);
                r = add_lines(text, &options);
                if (r < 0)
                        return log_oom();
        }
        *ret = TAKE_PTR(options);
        return 0;
}
