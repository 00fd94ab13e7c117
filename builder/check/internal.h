/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the rules of check.h are written with: the tree under test, its packages, and findings. A
 * rule is one function and one line of the table in check.c; it looks only through tree_*(), so
 * that a symbolic link of the image is never followed into the host. */

#include "check/check.h"
#include "common/version.h"
#include "common/module-info.h"
#include "common/elf-strings.h"

#include <sys/stat.h>

/* One package of the tree's package database. */
typedef struct InstalledPackage {
        char *name, *version;
        bool held;
} InstalledPackage;

/* One of NVIDIA's kernel modules, as the file itself says. */
typedef struct DriverModule {
        char *kernel; /* the release whose folder it is in */
        char *path;   /* relative to the root */
        ModuleInfo info;
} DriverModule;

typedef struct Tree {
        int fd; /* of the root */
        const Recipe *recipe;
        char **kernels; /* releases below usr/lib/modules, sorted */
        InstalledPackage *packages;
        size_t n_packages;
        bool driver; /* NVIDIA's driver is in the tree, or an overlay of the recipe should bring it */
        DriverModule *modules; /* NVIDIA's, of every kernel */
        size_t n_modules;
} Tree;

/* Opens the tree below `root` and reads what every rule needs. The recipe is borrowed. */
int tree_open(const char *root, const Recipe *recipe, Tree *ret);
void tree_done(Tree *t);

/* Paths are relative to the root; links in them resolve inside it. All return -errno on failure.
 * read: a whole file of at most max bytes (-EFBIG). resolve: where links lead, as an absolute path
 * inside. list: names, sorted; a missing folder is an empty one. has: links followed. */
int tree_open_file(const Tree *t, const char *path, int flags);
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

/* Reads the package database (dpkg's status file). A tree without one has no packages. */
int tree_read_packages(Tree *t);
const InstalledPackage *tree_package(const Tree *t, const char *name);

/* Reads what NVIDIA's modules of every kernel say of themselves; the driver's version is that of
 * the first kernel's nvidia module, NULL where there is none. */
int tree_read_modules(Tree *t);
const char *tree_driver_version(const Tree *t);

/* Adds a finding; the texts are formatted by the caller, taken and freed here. NULL texts mean out
 * of memory. */
int finding_add(Findings *f, const char *rule, char *found, char *remedy);
int findings_fact(Findings *f, const char *key,
                const char *value); /* a line of the manifest's versions */

/* "550.163.01" from the last part of a library's path (libcuda.so.550.163.01); NULL where there is
 * none. */
const char *soname_version(const char *path);

typedef int (*rule_run_t)(const Tree *t, const char *rule, Findings *f);

int check_kernel_present(const Tree *t, const char *rule, Findings *f);
int check_kernel_initramfs(const Tree *t, const char *rule, Findings *f);
int check_nvidia_modules(const Tree *t, const char *rule, Findings *f);
int check_nvidia_vermagic(const Tree *t, const char *rule, Findings *f);
int check_nvidia_depmod(const Tree *t, const char *rule, Findings *f);
int check_nvidia_version(const Tree *t, const char *rule, Findings *f);
int check_nvidia_firmware(const Tree *t, const char *rule, Findings *f);
int check_nvidia_nouveau(const Tree *t, const char *rule, Findings *f);
int check_nvidia_held(const Tree *t, const char *rule, Findings *f);
int check_nvidia_build_tools(const Tree *t, const char *rule, Findings *f);
int check_cuda_runtime(const Tree *t, const char *rule, Findings *f);
int check_nccl_version(const Tree *t, const char *rule, Findings *f);
int check_identity_machine_id(const Tree *t, const char *rule, Findings *f);
int check_identity_ssh_host_keys(const Tree *t, const char *rule, Findings *f);
int check_identity_seed(const Tree *t, const char *rule, Findings *f);
int check_identity_host_ids(const Tree *t, const char *rule, Findings *f);
int check_secrets_password(const Tree *t, const char *rule, Findings *f);
int check_secrets_private_key(const Tree *t, const char *rule, Findings *f);
int check_leftovers_apt_lists(const Tree *t, const char *rule, Findings *f);
int check_leftovers_caches(const Tree *t, const char *rule, Findings *f);
int check_leftovers_logs(const Tree *t, const char *rule, Findings *f);
int check_leftovers_resolv_conf(const Tree *t, const char *rule, Findings *f);
int check_leftovers_history(const Tree *t, const char *rule, Findings *f);
int check_leftovers_temporary(const Tree *t, const char *rule, Findings *f);
int check_services_enabled(const Tree *t, const char *rule, Findings *f);

int check_facts(const Tree *t, Findings *f); /* versions of what the manifest names */

/* Names of every unit that is enabled in the tree (links below etc/systemd/system/X.wants and the
 * like), templates with their instance, sorted, each once. */
int enabled_units(const Tree *t, char ***ret);

/* Turns systemd-analyze's output into findings, one a unit. */
int verify_findings(const char *rule, const char *output, int status, Findings *f);

/* Every rule in the order they run; ends with a NULL name. */
typedef enum RuleWhen {
        WHEN_ALWAYS,
        WHEN_DISK,    /* images that boot */
        WHEN_DRIVER,  /* an NVIDIA driver is in the tree, or the recipe says there should be one */
        WHEN_COMMAND, /* runs a program of the tree, in a sandbox: see check.c */
} RuleWhen;
typedef struct Rule {
        const char *name;
        RuleWhen when;
        rule_run_t run;
} Rule;
extern const Rule check_rules[];

/* Runs the rules that look at the tree alone. *ret_units: the enabled units, for services.verify;
 * may be NULL. */
int rules_run(const char *root, const Recipe *recipe, Findings *f, char ***ret_units);
