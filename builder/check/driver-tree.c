/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What else an image with NVIDIA's driver must have, and must not: nouveau kept away, the kernel
 * held, and nothing left of what the modules were built with. */

#include "check/internal.h"
#include "shared/file-util.h"

#define CONFIG_MAX (1024u * 1024)

/* One line of modprobe.d: "blacklist nouveau" keeps udev from loading it, "install nouveau
 * /bin/false" everybody. */
static bool blocks_nouveau(const char *text) {
        while (*text) {
                char verb[16], module[32], command[64];
                int n = sscanf(text, "%15s %31s %63s", verb, module, command);

                if (n >= 2 && streq(verb, "blacklist") && streq(module, "nouveau"))
                        return true;
                if (n >= 3 && streq(verb, "install") && streq(module, "nouveau") &&
                                (endswith(command, "/false") || endswith(command, "/true")))
                        return true;
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
        return false;
}

static bool cmdline_blocks(const char *cmdline) {
        static const char *const keys[] = { "modprobe.blacklist=", "module_blacklist=" };
        _cleanup_strv_free_ char **words = strv_split(strempty(cmdline), " ");

        STRV_FOREACH (word, words)
                for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                        const char *list = startswith(*word, keys[i]);
                        _cleanup_strv_free_ char **modules = list ? strv_split(list, ",") : NULL;
                        if (strv_contains(modules, "nouveau"))
                                return true;
                }
        return false;
}

int check_nvidia_nouveau(const Tree *t, const char *rule, Findings *f) {
        static const char *const folders[] = { "etc/modprobe.d", "usr/local/lib/modprobe.d",
                "usr/lib/modprobe.d" };

        if (t->recipe && cmdline_blocks(t->recipe->kernel.cmdline))
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_strv_free_ char **names = NULL;
                int r = tree_list(t, folders[i], &names);

                if (r < 0)
                        return r;
                STRV_FOREACH (name, names) {
                        _cleanup_free_ char *path = path_join(folders[i], *name), *text = NULL;

                        if (!path)
                                return -ENOMEM;
                        if (!endswith(*name, ".conf"))
                                continue;
                        r = tree_read(t, path, CONFIG_MAX, &text);
                        if (r == -ENOENT) /* a link to nowhere */
                                continue;
                        if (r < 0)
                                return r;
                        if (blocks_nouveau(text))
                                return 0;
                }
        }
        return finding_add(f, rule,
                        strdup("nothing keeps nouveau from taking the GPU before NVIDIA's driver"),
                        strdup("put \"blacklist nouveau\" into a file of /etc/modprobe.d"));
}

/* An upgrade of the kernel on a node would leave it without a driver. Of family el, what dnf brings
 * is not booted. */
int check_nvidia_held(const Tree *t, const char *rule, Findings *f) {
        if (t->n_packages == 0) /* nothing known is not nothing wrong */
                return finding_add(f, rule,
                                strf("%s names no package, so holds cannot be judged",
                                                t->rpms ? "rpm" : "/var/lib/dpkg/status"),
                                strdup("keep the package database in the image"));
        for (size_t i = 0; i < t->n_packages && !t->rpms; i++) {
                const InstalledPackage *p = t->packages + i;

                if (startswith(p->name, "linux-image-") && !p->held) {
                        int r = finding_add(f, rule,
                                        strf("package %s is not held: an upgrade brings a kernel without the driver",
                                                        p->name),
                                        strf("run \"apt-mark hold %s\" (the builder does after the kernel stage; a package or script undid it)",
                                                        p->name));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* gcc and make are a user's right to ask for; headers, sources and dkms have one purpose only. */
static bool builds_modules(const char *package) {
        return streq(package, "dkms") || streq(package, "module-assistant") ||
               startswith(package, "linux-headers-") || startswith(package, "linux-kbuild-") ||
               streq(package, "akmods") || startswith(package, "kernel-devel") ||
               startswith(package, "kernel-uek-devel") ||
               (startswith(package, "nvidia-") &&
                               (endswith(package, "-source") || endswith(package, "-dkms")));
}

static bool is_compiler(const char *package) {
        const char *rest = startswith(package, "gcc");
        return rest && (*rest == '\0' || (*rest == '-' && strspn(rest + 1, "0123456789") ==
                                                                          strlen(rest + 1)));
}

static bool names(const Recipe *recipe, const char *package) {
        if (strv_contains(recipe->packages, package))
                return true;
        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (strv_contains(recipe->overlays[i]->packages, package))
                        return true;
        return false;
}

static bool asks_for_compiler(const Recipe *recipe, const char *package) {
        return recipe &&
               (names(recipe, package) || names(recipe, "build-essential") || names(recipe, "gcc"));
}

/* Who names dkms itself wants nodes that compile modules, as NVIDIA's packages for EL are made to;
 * it needs all the rest. */
static bool asks_for_dkms(const Tree *t) {
        return t->rpms && t->recipe && names(t->recipe, "dkms");
}

int check_nvidia_build_tools(const Tree *t, const char *rule, Findings *f) {
        if (asks_for_dkms(t))
                return 0;
        for (size_t i = 0; i < t->n_packages; i++) {
                const char *name = t->packages[i].name;

                if (builds_modules(name) ||
                                (is_compiler(name) && !asks_for_compiler(t->recipe, name))) {
                        int r = finding_add(f, rule,
                                        strf("package %s is in the image: what builds the driver belongs to the compile stage",
                                                        name),
                                        strf("name %s under an overlay's compile.packages; \"%s\" in imgbuild shell tells what pulled it",
                                                        name,
                                                        t->rpms ? "rpm -q --whatrequires"
                                                                : "apt rdepends"));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
