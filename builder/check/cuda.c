/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CUDA runtime and NCCL must not be newer than what the driver speaks: the newer call fails at run
 * time, in the first job, with "CUDA driver version is insufficient for CUDA runtime version". */

#include "check/internal.h"
#include "shared/file-util.h"

#include <fcntl.h>
#include <ctype.h>

/* The first driver of each CUDA release, newest first. Source: NVIDIA CUDA Toolkit Release Notes,
 * table "CUDA Toolkit and Corresponding Driver Versions" (Linux x86_64, GA of each release),
 * https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/. What the driver itself supports is
 * meant, as nvidia-smi shows it; minor version compatibility would let some newer runtimes start,
 * but not what they compile at run time (PTX). */
static const struct {
        const char *driver, *cuda;
} drivers[] = {
        { "595.45.04", "13.2" },
        { "590.44.01", "13.1" },
        { "580.65.06", "13.0" },
        { "575.51.03", "12.9" },
        { "570.26", "12.8" },
        { "560.28.03", "12.6" },
        { "555.42.02", "12.5" },
        { "550.54.14", "12.4" },
        { "545.23.06", "12.3" },
        { "535.54.03", "12.2" },
        { "530.30.02", "12.1" },
        { "525.60.13", "12.0" },
        { "520.61.05", "11.8" },
        { "515.43.04", "11.7" },
        { "510.39.01", "11.6" },
        { "495.29.05", "11.5" },
        { "470.42.01", "11.4" },
};

static const char *cuda_of_driver(const char *driver) {
        for (size_t i = 0; i < ELEMENTSOF(drivers); i++)
                if (version_compare(driver, drivers[i].driver) >= 0)
                        return drivers[i].cuda;
        return NULL;
}

/* The first driver for this release of CUDA, for the remedy; NULL where the
 * table does not know it. */
static const char *driver_of_cuda(const char *cuda) {
        for (size_t i = 0; i < ELEMENTSOF(drivers); i++)
                if (streq(drivers[i].cuda, cuda))
                        return drivers[i].driver;
        return NULL;
}

/* "12.4" of "12.4.127". */
static char *major_minor(const char *version) {
        size_t n = strspn(version, "0123456789");

        if (version[n] == '.')
                n += 1 + strspn(version + n + 1, "0123456789");
        return strndup(version, n);
}

static int compare_with_driver(const Tree *t, const char *rule, const char *what,
                const char *version, Findings *f) {
        const char *driver = tree_driver_version(t), *supported;
        _cleanup_free_ char *cuda = major_minor(version);
        const char *first;

        if (!cuda)
                return -ENOMEM;
        if (!driver) /* nvidia.version says so */
                return 0;
        supported = cuda_of_driver(driver);
        if (!supported)
                return finding_add(f, rule,
                                strf("driver %s is older than any in the table; %s cannot be judged",
                                                driver, what),
                                strf("use driver %s or later",
                                                drivers[ELEMENTSOF(drivers) - 1].driver));
        if (version_compare(cuda, supported) <= 0)
                return 0;
        first = driver_of_cuda(cuda);
        return finding_add(f, rule,
                        strf("%s is for CUDA %s, driver %s supports CUDA %s", what, cuda, driver,
                                        supported),
                        first ? strf("install driver %s or later, or a build for CUDA %s or older",
                                                first, supported)
                              : strf("install a build for CUDA %s or older", supported));
}

typedef int (*library_found_t)(const Tree *t, const char *rule, const char *path, Findings *f);

/* Where CUDA's libraries may be: the system's folders and those of toolkits. */
static int library_folders(const Tree *t, char ***ret) {
        static const char *const fixed[] = { "usr/lib/x86_64-linux-gnu", "usr/lib64", NULL };
        _cleanup_strv_free_ char **folders = NULL, **names = NULL;
        int r;

        r = strv_extend_strv(&folders, (char *const *) fixed);
        if (r < 0)
                return r;
        r = tree_list(t, "usr/local", &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                if (!startswith(*name, "cuda-"))
                        continue;
                r = strv_extendf(&folders, "usr/local/%s/lib64", *name);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(folders);
        return 0;
}

static int each_library_of(const Tree *t, const char *rule, const char *folder, const char *prefix,
                library_found_t fn, Findings *f) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = tree_list(t, folder, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = NULL;
                struct stat st;

                if (!startswith(*name, prefix))
                        continue;
                path = path_join(folder, *name);
                if (!path)
                        return -ENOMEM;
                r = tree_lstat(t, path, &st);
                if (r < 0)
                        return r;
                if (!S_ISREG(st.st_mode))
                        continue;
                r = fn(t, rule, path, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Calls fn for each library file of this prefix; a link counts as its target, which is
 * a file of its own. */
static int each_library(const Tree *t, const char *rule, const char *prefix, library_found_t fn,
                Findings *f) {
        _cleanup_strv_free_ char **folders = NULL;
        int r;

        r = library_folders(t, &folders);
        if (r < 0)
                return r;
        STRV_FOREACH (folder, folders) {
                r = each_library_of(t, rule, *folder, prefix, fn, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int judge_runtime(const Tree *t, const char *rule, const char *path, Findings *f) {
        const char *version = soname_version(path);
        _cleanup_free_ char *what = strf("/%s", path);
        int r;

        if (!what)
                return -ENOMEM;
        if (!version)
                return finding_add(f, rule, strf("/%s tells no version", path),
                                strdup("install the runtime from a package"));
        r = findings_fact(f, "cuda", version);
        if (r < 0)
                return r;
        return compare_with_driver(t, rule, what, version, f);
}

int check_cuda_runtime(const Tree *t, const char *rule, Findings *f) {
        return each_library(t, rule, "libcudart.so.", judge_runtime, f);
}

/* NCCL carries "NCCL version 2.22.3+cuda12.4" among its strings. */
static int take_nccl_version(const char *s, void *userdata) {
        const char *v = startswith(s, "NCCL version ");

        if (!v || !strstr(v, "+cuda") || !isdigit((unsigned char) *v))
                return 0;
        *(char **) userdata = strdup(v);
        return *(char **) userdata ? 1 : -ENOMEM;
}

static int judge_nccl(const Tree *t, const char *rule, const char *path, Findings *f) {
        _cleanup_close_ int fd = tree_open_file(t, path, O_RDONLY);
        _cleanup_free_ char *version = NULL, *what = NULL;
        int r;

        if (fd < 0)
                return fd;
        r = elf_section_strings(fd, ".rodata", 16, take_nccl_version, &version);
        if (r < 0 && r != -ENOENT && r != -EBADMSG)
                return r;
        if (!version)
                return finding_add(f, rule, strf("/%s tells no version of NCCL and CUDA", path),
                                strdup("install NCCL from a package; the file is damaged or something else"));
        what = strf("NCCL %.*s (/%s)", (int) strcspn(version, "+"), version, path);
        if (!what)
                return -ENOMEM;
        r = findings_fact(f, "nccl", version);
        if (r < 0)
                return r;
        return compare_with_driver(t, rule, what, strstr(version, "+cuda") + 5, f);
}

int check_nccl_version(const Tree *t, const char *rule, Findings *f) {
        return each_library(t, rule, "libnccl.so.", judge_nccl, f);
}
