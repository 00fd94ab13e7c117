/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which Python, which C library and which machine the wheels of an image must be for: its locked
 * packages say so, before there is any tree. */

#include "lock/python.h"

#include <ctype.h>

/* "3.13.5" of "3.13.5-2+deb13u1" or "0:3.13.5-1.el9". */
static char *upstream(const char *version) {
        const char *colon = strchr(version, ':'), *from = colon ? colon + 1 : version;

        return strndup(from, strspn(from, "0123456789."));
}

/* "3.13" of either. */
static char *minor_of(const char *version) {
        char *s = upstream(version), *dot = s ? strchr(s, '.') : NULL;

        dot = dot ? strchr(dot + 1, '.') : NULL;
        if (dot)
                *dot = '\0';
        return s;
}

/* A later stage's version is the one that the image ends up with. */
static const char *find_version(const Lock *l, const char *name) {
        for (size_t i = l ? l->n_stages : 0; i-- > 0;) {
                const LockedStage *s = l->stages + i;

                for (size_t k = 0; !startswith(s->id, "compile:") && k < s->n_packages; k++)
                        if (streq(s->packages[k].name, name))
                                return s->packages[k].version;
        }
        return NULL;
}

static const char *version_of(const Lock *l, const Lock *image, const char *name) {
        const char *version = find_version(l, name);

        return version ? version : find_version(image, name);
}

/* Debian's package python3 has the version of a Python, and python3.13 the program; of family el
 * the system's Python is python3 itself, and others are called as their programs are. */
static int find_python(const Lock *l, const Lock *image, const char *interpreter, PythonTarget *t) {
        const char *plain = version_of(l, image, "python3"), *version;
        _cleanup_free_ char *name = NULL;

        if (streq(interpreter, "python3") && !plain)
                return -ENOENT;
        t->minor = streq(interpreter, "python3") ? minor_of(plain)
                                                 : strdup(interpreter + strlen("python"));
        name = t->minor ? strf("python%s", t->minor) : NULL;
        if (!name)
                return -ENOMEM;
        version = version_of(l, image, name);
        if (!version && plain) {
                _cleanup_free_ char *minor = minor_of(plain);

                version = streq_ptr(minor, t->minor) ? plain : NULL;
        }
        if (!version)
                return -ENOENT;
        t->version = upstream(version);
        if (!t->version)
                return -ENOMEM;
        return startswith(t->version, t->minor) && strchr(t->minor, '.') ? 0 : -ENOENT;
}

static const char *machine_of(const char *arch) {
        return streq(arch, "amd64") ? "x86_64" : streq(arch, "arm64") ? "aarch64" : arch;
}

int python_target(const Lock *l, const Lock *image, const Recipe *recipe, const char *interpreter,
                PythonTarget *ret) {
        const char *libc = version_of(l, image, recipe->family == FAMILY_EL ? "glibc" : "libc6");
        _cleanup_python_target_ PythonTarget t = {};
        int r;

        if (!libc || sscanf(libc, "2.%u", &t.libc) != 1)
                return -ENOENT;
        r = find_python(l, image, interpreter, &t);
        if (r < 0)
                return r;
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
