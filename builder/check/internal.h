/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a rule is written with: the tree under test (tree.h) and findings. A rule is one function
 * and one line of the table in rules.c. */

#include "check/check.h"
#include "check/tree.h"
#include "common/version.h"
#include "shared/strv.h"
#include "common/module-info.h"
#include "common/elf-strings.h"

/* findings.c. Adds a finding; the texts are formatted by the caller, taken and freed here. NULL
 * texts mean out of memory. */
int finding_add(Findings *f, const char *rule, char *found, char *remedy);

int finding_add_warning(Findings *f, const char *rule, char *found, char *remedy);

/* support.c: support.floors, of the versions in f. */
int check_support(const Recipe *recipe, Findings *f);

/* A line of the manifest's versions. */
int findings_fact(Findings *f, const char *key, const char *value);

/* rules.c. Runs the rules that look at the tree alone, and collects the facts. `rpms` as in a Tree.
 * *ret_units: the enabled units, for services.verify; may be NULL. */
int rules_run(const char *root, const Recipe *recipe, const char *rpms, Findings *f,
                char ***ret_units);

/* The name as the table has it, which outlives every finding; NULL where there is no such rule. */
const char *rule_find(const char *name);

/* commands.c: services.verify and overlay.check, which run programs of the tree; and what the
 * tree's rpm says of its packages, as in a Tree, NULL where its family is another. */
int check_rpms(Context *ctx, const Plan *plan, char *const *layers, char **ret);
int check_services_verify(Context *ctx, const Plan *plan, char *const *layers, char *const *units,
                Findings *f);
int check_overlay_scripts(Context *ctx, const Plan *plan, char *const *layers, Findings *f);

/* facts.c: versions of what the manifest names. */
int check_facts(const Tree *t, Findings *f);

/* privileged.c: files that give rights to who runs or opens them. */
int check_privileged(const Tree *t, Findings *f);

/* nvidia.c: "550.163.01" from the last part of a library's path (libcuda.so.550.163.01); NULL
 * where there is none. */
const char *soname_version(const char *path);

/* services.c: names of every unit that is enabled in the tree (links below
 * etc/systemd/system/X.wants and the like), templates with their instance, sorted, each once. */
int enabled_units(const Tree *t, char ***ret);

/* Turns systemd-analyze's output into findings, one a unit. */
int verify_findings(const char *rule, const char *output, int status, Findings *f);

typedef int (*rule_run_t)(const Tree *t, const char *rule, Findings *f);

int check_kernel_present(const Tree *t, const char *rule, Findings *f);
int check_kernel_initramfs(const Tree *t, const char *rule, Findings *f);
int check_kernel_options(const Tree *t, const char *rule, Findings *f);
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
int check_node_sysctl(const Tree *t, const char *rule, Findings *f);
