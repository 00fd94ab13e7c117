/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where programs find libcudart: the linker's cache; what the module "cuda" and our own environment
 * put into LD_LIBRARY_PATH. What lies elsewhere is found by nobody, and only shows that it was
 * meant to be there. */

#include "ncclbench/runtime.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <glob.h>
#include <limits.h>

#define LDCONFIG "/sbin/ldconfig"
#define ASK_USEC (15 * USEC_PER_SEC) /* profile scripts may sit on a file system that is away */
#define NAME "libcudart.so."

#if defined(__x86_64__)
#define CACHE_ABI "x86-64"
#elif defined(__aarch64__)
#define CACHE_ABI "AArch64"
#else
#define CACHE_ABI "libc6"
#endif

void runtime_found_done(RuntimeFound *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->items[i].soname);
                free(f->items[i].path);
                free(f->items[i].real);
        }
        free(f->items);
        free(f->installed);
        *f = (RuntimeFound) {};
}

/* A name that programs are linked against: libcudart.so.12; before CUDA 12 libcudart.so.11.0. */
static bool is_soname(const char *name) {
        const char *version = startswith(name, NAME) ? name + strlen(NAME) : "";
        size_t major = strspn(version, "0123456789");

        if (major == 0)
                return false;
        if (!version[major])
                return true;
        return version[major] == '.' && strtol(version, NULL, 10) < 12 &&
               version[major + 1 + strspn(version + major + 1, "0123456789")] == '\0';
}

static bool known(const RuntimeFound *f, const char *soname, const char *real) {
        for (size_t i = 0; i < f->n; i++)
                if (streq(f->items[i].soname, soname) && streq_ptr(f->items[i].real, real))
                        return true;
        return false;
}

static int add(RuntimeFound *f, const char *root, const char *path, const char *source) {
        _cleanup_free_ char *full = strf("%s%s", strempty(root), path), *real = NULL;
        const char *name = strrchr(path, '/');
        RuntimeLibrary *items, *l;

        if (!full)
                return -ENOMEM;
        name = name ? name + 1 : path;
        real = realpath(full, NULL);
        if (known(f, name, real))
                return 0;

        items = reallocarray(f->items, f->n + 1, sizeof(*items));
        if (!items)
                return -ENOMEM;
        f->items = items;
        l = &items[f->n];
        *l = (RuntimeLibrary) {
                .soname = strdup(name),
                .path = TAKE_PTR(full),
                .real = TAKE_PTR(real),
                .source = source,
        };
        f->n++;
        return l->soname ? 0 : -ENOMEM;
}

/* "	libcudart.so.12 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcudart.so.12" */
static int add_cache_line(RuntimeFound *f, const char *root, char *line) {
        char *name = line + strspn(line, " \t"), *arrow = strstr(name, " => "), *abi;

        if (!arrow)
                return 0;
        *arrow = '\0';
        abi = strchr(name, ' ');
        if (!abi || !strstr(abi, CACHE_ABI))
                return 0;
        *abi = '\0';
        return is_soname(name) ? add(f, root, arrow + strlen(" => "), "ldconfig") : 0;
}

static int ask_cache(RuntimeFound *f, const char *root) {
        const SpawnOptions o = { .timeout_usec = ASK_USEC };
        _cleanup_free_ char *cache = strf("%s/etc/ld.so.cache", strempty(root)), *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        int status, r;

        if (!cache)
                return -ENOMEM;
        r = spawn_capture(&o, ARGV(LDCONFIG, "-C", cache, "-p"), &text, &status);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || status != 0)
                return 0; /* no cache: nothing is found by it */
        lines = strv_split(text, "\n");
        STRV_FOREACH (line, lines) {
                r = add_cache_line(f, root, *line);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* All that match below the root; paths without it. */
static int find_files(const char *root, const char *pattern, char ***ret) {
        _cleanup_free_ char *full = strf("%s%s", strempty(root), pattern);
        glob_t g = {};
        int r = 0;

        if (!full)
                return -ENOMEM;
        if (glob(full, 0, NULL, &g) == 0)
                for (size_t i = 0; i < g.gl_pathc && r >= 0; i++)
                        r = strv_extend(ret, g.gl_pathv[i] + strlen(strempty(root)));
        globfree(&g);
        return r;
}

static int add_folder(RuntimeFound *f, const char *root, const char *folder, const char *source) {
        _cleanup_free_ char *pattern = strf("%s/" NAME "*", folder);
        _cleanup_strv_free_ char **files = NULL;
        int r;

        if (!pattern)
                return -ENOMEM;
        r = find_files(root, pattern, &files);
        if (r < 0)
                return r;
        STRV_FOREACH (file, files) {
                if (!is_soname(strrchr(*file, '/') + 1))
                        continue;
                r = add(f, root, *file, source);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_search_path(
                RuntimeFound *f, const char *root, const char *search, const char *source) {
        _cleanup_strv_free_ char **folders = strv_split(search, ":\n");

        STRV_FOREACH (folder, folders) {
                int r = **folder == '/' ? add_folder(f, root, *folder, source) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* What `module load cuda` adds for users, if there are modules. */
static int ask_modules(RuntimeFound *f, const char *root) {
        static const char script[] =
                        "unset LD_LIBRARY_PATH; for f; do . \"$f\"; done >/dev/null 2>&1; "
                        "module load cuda >/dev/null 2>&1 || exit 1; printf '%s\\n' \"$LD_LIBRARY_PATH\"";
        const SpawnOptions o = { .timeout_usec = ASK_USEC };
        _cleanup_strv_free_ char **files = NULL, **argv = NULL;
        _cleanup_free_ char *text = NULL;
        int status, r;

        r = find_files(root, "/etc/profile.d/*modules*.sh", &files);
        if (r < 0)
                return r;
        r = find_files(root, "/etc/profile.d/*lmod*.sh", &files);
        if (r < 0)
                return r;
        r = strv_extend_many(&argv, "bash", "--noprofile", "--norc", "-c", script, "bash", NULL);
        if (r < 0)
                return r;
        if (!files)
                return 0;
        STRV_FOREACH (file, files) {
                r = strv_extendf(&argv, "%s%s", strempty(root), *file);
                if (r < 0)
                        return r;
        }

        r = spawn_capture(&o, argv, &text, &status);
        if (r == -ENOMEM)
                return r;
        return r < 0 || status != 0 ? 0 : add_search_path(f, root, text, "module");
}

/* The first file or package that shows that a runtime was installed. */
static int find_installed(RuntimeFound *f, const char *root) {
        static const char *const traces[] = {
                "/usr/local/cuda*/lib*/" NAME "[0-9]*",
                "/usr/local/cuda*/targets/*/lib/" NAME "[0-9]*",
                "/usr/lib/*/" NAME "[0-9]*",
                "/usr/lib64/" NAME "[0-9]*",
                "/var/lib/dpkg/info/libcudart[0-9]*.list",
                "/var/lib/dpkg/info/cuda-cudart-[0-9]*.list",
        };

        for (size_t i = 0; i < ELEMENTSOF(traces) && !f->installed; i++) {
                _cleanup_strv_free_ char **files = NULL;
                int r = find_files(root, traces[i], &files);

                if (r < 0)
                        return r;
                if (files && !(f->installed = strdup(files[0])))
                        return -ENOMEM;
        }
        return 0;
}

static int find_all(RuntimeFound *f, const char *root) {
        const char *search = getenv("LD_LIBRARY_PATH");
        int r;

        r = ask_cache(f, root);
        if (r < 0)
                return r;
        r = ask_modules(f, root);
        if (r < 0)
                return r;
        r = search && !root ? add_search_path(f, root, search, "LD_LIBRARY_PATH") : 0;
        if (r < 0)
                return r;
        return find_installed(f, root);
}

int runtime_find(const char *root, RuntimeFound *ret) {
        RuntimeFound f = {};
        int r;

        r = find_all(&f, root);
        if (r < 0) {
                runtime_found_done(&f);
                return r;
        }
        *ret = f;
        return 0;
}

bool runtime_find_doubled(const RuntimeFound *f, const RuntimeLibrary **ret_first,
                const RuntimeLibrary **ret_second) {
        for (size_t i = 0; i < f->n; i++)
                for (size_t k = i + 1; k < f->n; k++)
                        if (streq(f->items[i].soname, f->items[k].soname) &&
                                        f->items[i].source == f->items[k].source) {
                                *ret_first = &f->items[i];
                                *ret_second = &f->items[k];
                                return true;
                        }
        return false;
}
