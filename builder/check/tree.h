/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The tree under test, seen from outside: its files, and what every rule needs to know of it. A
 * rule looks only through these functions, so that a symbolic link of the image is never
 * followed into the host. */

#include "recipe/recipe.h"
#include "common/module-info.h"

#include <sys/stat.h>

/* One package of the tree's package database. */
typedef struct InstalledPackage {
        char *name, *version;
        char *arch;                    /* NULL: not said */
        char *source, *source_version; /* NULL: as its own */
        bool held;
} InstalledPackage;

void installed_package_done(InstalledPackage *p);

/* One of NVIDIA's kernel modules, as the file itself says. */
typedef struct DriverModule {
        char *kernel; /* the release whose folder it is in */
        char *path;   /* relative to the root */
        ModuleInfo info;
} DriverModule;

typedef struct Tree {
        int fd; /* of the root */
        const Recipe *recipe;
        const char *rpms; /* a tree of family el: "NAME\tVERSION\tARCH\tSOURCE" of each package, as its rpm said */

        /* Filled by tree_survey(). */
        char **kernels; /* releases below usr/lib/modules, sorted */
        InstalledPackage *packages;
        size_t n_packages;
        DriverModule *modules; /* NVIDIA's, of every kernel */
        size_t n_modules;
        bool driver; /* NVIDIA's is in the tree, or an overlay of the recipe should bring it */
} Tree;

/* Opens the tree below `root`. The recipe is borrowed and may be NULL. */
int tree_open(const char *root, const Recipe *recipe, Tree *ret);
void tree_done(Tree *t);

/* Paths are relative to the root; links in them resolve inside it. All return -errno on failure.
 *
 * open_regular: a regular file of at most max bytes (-EINVAL, -EFBIG). read: the whole of such a
 * file. resolve: where links lead, as an absolute path inside. list: names, sorted; a missing
 * folder is an empty one. has: links followed. */
int tree_open_file(const Tree *t, const char *path, int flags);
int tree_open_regular(const Tree *t, const char *path, size_t max, size_t *ret_size);
int tree_read(const Tree *t, const char *path, size_t max, char **ret);
int tree_lstat(const Tree *t, const char *path, struct stat *ret);
bool tree_has(const Tree *t, const char *path);
int tree_resolve(const Tree *t, const char *path, char **ret);
int tree_list(const Tree *t, const char *folder, char ***ret);

/* Calls fn for everything below `folder` (depth first, links not followed, other file systems
 * entered); path is relative to the root. fn returns 0 to go on, 1 to leave out what is below,
 * negative errno to end. */
typedef int (*tree_walk_t)(const Tree *t, const char *path, const struct stat *st, void *userdata);
int tree_walk(const Tree *t, const char *folder, tree_walk_t fn, void *userdata);

/* survey.c: reads kernels, packages and NVIDIA's modules. A tree without a package
 * database has no packages. */
int tree_survey(Tree *t);

/* packages.c: its part of that, of dpkg's database or t->rpms. */
int tree_read_packages(Tree *t);

/* NULL where there is none. The driver's version is that of the first kernel's nvidia module. */
const InstalledPackage *tree_package(const Tree *t, const char *name);
const DriverModule *tree_module(const Tree *t, const char *kernel, const char *name);
const char *tree_driver_version(const Tree *t);

/* Whether the name is that of a kernel module, compressed or not. */
bool is_module_file(const char *name);
