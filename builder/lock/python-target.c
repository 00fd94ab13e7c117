/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which Python, which C library and which machine the wheels of an image must be for: its locked
 * packages say so, before there is any tree. */

#include "lock/python.h"

#include <ctype.h>

/* "3.13.5" of "3.13.5-2+deb13u1". */
static char *upstream(const char *version) {
        return strndup(version, strspn(version, "0123456789."));
}

static bool is_python(const char *name) {
        const char *minor = startswith(name, "python3.");

        return minor && *minor && minor[strspn(minor, "0123456789")] == '\0';
}

static int take(const LockedPackage *p, PythonTarget *t) {
        char **to = is_python(p->name) ? &t->version : streq(p->name, "python3") ? &t->minor : NULL;

        if (streq(p->name, "libc6") && sscanf(p->version, "2.%u", &t->libc) != 1)
                t->libc = 0;
        if (!to || *to)
                return 0;
        *to = upstream(p->version);
        return *to ? 0 : -ENOMEM;
}

static const char *machine_of(const char *arch) {
        return streq(arch, "amd64") ? "x86_64" : streq(arch, "arm64") ? "aarch64" : arch;
}

int python_target(const Lock *l, const Recipe *recipe, PythonTarget *ret) {
        _cleanup_python_target_ PythonTarget t = {};
        char *dot;

        for (size_t i = 0; i < l->n_stages; i++) {
                const LockedStage *s = l->stages + i;

                for (size_t k = 0; !startswith(s->id, "compile:") && k < s->n_packages; k++)
                        if (take(s->packages + k, &t) < 0)
                                return -ENOMEM;
        }
        if (!t.minor || !t.version || t.libc == 0)
                return -ENOENT;

        dot = strchr(t.minor, '.'); /* the package python3 is 3.13.5-1, or 3.12.3-0ubuntu2 */
        dot = dot ? strchr(dot + 1, '.') : NULL;
        if (dot)
                *dot = '\0';
        t.machine = strdup(machine_of(recipe->base.arch));
        t.name = t.machine ? strf("cpython-%s-glibc-2.%u-%s", t.version, t.libc, t.machine) : NULL;
        if (!t.name)
                return -ENOMEM;
        *ret = t;
        t = (PythonTarget) {};
        return 0;
}

int python_target_parse(const char *name, PythonTarget *ret) {
        _cleanup_python_target_ PythonTarget t = {};
        char version[32], machine[32];
        const char *dot;

        if (sscanf(name, "cpython-%31[0-9.]-glibc-2.%u-%31[a-z0-9_]", version, &t.libc, machine) !=
                                        3 ||
                        t.libc > 999)
                return -EINVAL;
        dot = strchr(version, '.');
        if (!dot || !isdigit((unsigned char) dot[1]))
                return -EINVAL;
        t.name = strdup(name);
        t.version = strdup(version);
        t.machine = strdup(machine);
        t.minor = strndup(version, (size_t) (dot + 1 - version) + strspn(dot + 1, "0123456789"));
        if (!t.name || !t.version || !t.machine || !t.minor)
                return -ENOMEM;
        *ret = t;
        t = (PythonTarget) {};
        return 0;
}

void python_target_done(PythonTarget *t) {
        free(t->name);
        free(t->version);
        free(t->minor);
        free(t->machine);
}
