/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Shells, make and env each have their own words for a program that is not there. */

#include "sandbox/complaint.h"

#include "shared/strv.h"

#include <regex.h>

/* The last group is the program. */
static const char *const missing_patterns[] = {
        "^[^ ]+: [0-9]+: ([^ :]+): not found$",        /* dash */
        ": line [0-9]+: ([^ :]+): command not found$", /* bash */
        "^make(\\[[0-9]+\\])?: ([^ :]+): No such file or directory$",
        "env: [^[:alnum:]]+([[:alnum:]_.+-]+)[^[:alnum:]]+: No such file or directory$",
};

/* Where a program's package has another name. */
static const struct {
        const char *program, *package;
} packages[] = {
        { "aclocal", "automake" },
        { "ar", "binutils" },
        { "as", "binutils" },
        { "autoconf", "autoconf" },
        { "autoreconf", "autoconf" },
        { "c++", "g++" },
        { "cc", "gcc" },
        { "cpp", "cpp" },
        { "depmod", "kmod" },
        { "dkms", "dkms" },
        { "dpkg-buildpackage", "dpkg-dev" },
        { "gpg", "gpg" },
        { "ip", "iproute2" },
        { "ld", "binutils" },
        { "lex", "flex" },
        { "libtoolize", "libtool" },
        { "lspci", "pciutils" },
        { "modinfo", "kmod" },
        { "modprobe", "kmod" },
        { "ninja", "ninja-build" },
        { "nvcc", "nvidia-cuda-toolkit" },
        { "pip", "python3-pip" },
        { "pip3", "python3-pip" },
        { "pkg-config", "pkgconf" },
        { "ps", "procps" },
        { "python", "python-is-python3" },
        { "strip", "binutils" },
        { "sysctl", "procps" },
        { "xz", "xz-utils" },
        { "yacc", "bison" },
};

static char *group(const char *line, const regmatch_t *m) {
        return m->rm_so < 0 ? NULL : strndup(line + m->rm_so, (size_t) (m->rm_eo - m->rm_so));
}

static char *match(const char *pattern, const char *line) {
        regmatch_t m[3];
        regex_t re;
        size_t last;
        int r;

        if (regcomp(&re, pattern, REG_EXTENDED) != 0)
                return NULL;
        r = regexec(&re, line, ELEMENTSOF(m), m, 0);
        last = re.re_nsub;
        regfree(&re);
        return r == 0 ? group(line, &m[last]) : NULL;
}

char *complaint_missing_program(const char *line) {
        /* Most lines are about nothing of this. */
        if (!endswith(line, "not found") && !endswith(line, "No such file or directory"))
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(missing_patterns); i++) {
                char *program = match(missing_patterns[i], line);

                if (program)
                        return program;
        }
        return NULL;
}

bool complaint_make_waits(const char *line) {
        const char *words = startswith(line, "make");

        if (words && *words == '[')
                words += strcspn(words, "]") + (strchr(words, ']') != NULL);
        return words && startswith(words, ": *** Waiting for unfinished jobs");
}

static bool speaks_of_error(const char *line) {
        static const char *const words[] = { "error:", "Error:", "ERROR:", "fatal:" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strstr(line, words[i]))
                        return true;
        return startswith(line, "E: ") != NULL;
}

void complaint_take(Complaint *c, const char *line, size_t n, uint64_t usec) {
        _cleanup_free_ char *missing = NULL;

        line += strspn(line, " \t");
        missing = c->missing ? NULL : complaint_missing_program(line);
        if (!c->first && (missing || speaks_of_error(line))) {
                c->first = strdup(line);
                c->usec = usec;
                c->line = n;
        }
        if (missing)
                c->missing = TAKE_PTR(missing);
}

void complaint_done(Complaint *c) {
        free(c->first);
        free(c->missing);
        *c = (Complaint) {};
}

char *complaint_remedy(const char *program) {
        const char *name = strrchr(program, '/'), *package;

        name = name ? name + 1 : program;
        package = name;
        for (size_t i = 0; i < ELEMENTSOF(packages); i++)
                if (streq(packages[i].program, name))
                        package = packages[i].package;
        return strf("%s is not in the tree: add the package that has it (Debian: %s)", program,
                        package);
}
