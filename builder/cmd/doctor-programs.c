/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The programs of the host, as a table: which verb calls them, from which version on they do what
 * we ask of them, and how to get them. What is no program is in doctor-host.c. */

#include "cmd/doctor-report.h"
#include "common/version.h"

#include "shared/spawn.h"

#include <ctype.h>

/* Who builds trees: of an image, or the tools tree where the store lacks it. */
#define TREES "build boot check export shell"

static const struct {
        const char *program, *verbs, *minimum, *version_option, *package;
} programs[] = {
        /* --add-seccomp-fd came with 0.6.0. */
        { "bwrap", TREES, "0.6.0", "--version", "bubblewrap" },
        { "mmdebstrap", TREES, "1.0.0", "--version", "mmdebstrap" },
        { "apt-get", "plan lock " TREES, "2.0.0", "--version", "apt" },
        { "dpkg-deb", "lock " TREES, NULL, "--version", "dpkg" },
        { "gpg", "lock " TREES, NULL, "--version", "gpg" },
        { "ssh", "boot", NULL, "-V", "openssh-client" },
        { "ssh-keygen", "boot", NULL, NULL, "openssh-client" },
        { "supermin", "build inspect diff", NULL, "--version", "supermin" },
        { "qemu-system-x86_64", "build inspect diff", NULL, "--version", "qemu-system-x86" },
        { "qemu-img", "build inspect diff", NULL, "--version", "qemu-utils" },
};

char *doctor_find_version(const char *text) {
        for (const char *p = text; *p; p++) {
                size_t n = 0, dots = 0;

                if (!isdigit((unsigned char) *p) ||
                                (p > text && (isalnum((unsigned char) p[-1]) || p[-1] == '.')))
                        continue;
                while (isdigit((unsigned char) p[n]) ||
                                (p[n] == '.' && isdigit((unsigned char) p[n + 1])))
                        dots += p[n++] == '.';
                if (dots > 0)
                        return strndup(p, n);
        }
        /* OpenSSH_9.2p1: nothing stands alone there. */
        for (const char *p = text; *p; p++)
                if (p[0] == '_' && isdigit((unsigned char) p[1]))
                        return strndup(p + 1, strcspn(p + 1, " ,\n"));
        return NULL;
}

/* The program's version, NULL where it has none to tell; -EIO where it does not run. */
static int program_version(const char *name, const char *option, char **ret) {
        const SpawnOptions options = { .timeout_usec = 20 * USEC_PER_SEC };
        _cleanup_free_ char *output = NULL;
        int status;

        if (!option)
                return 0;
        if (spawn_capture(&options, ARGV(name, option), &output, &status) < 0 || status != 0)
                return -EIO;
        *ret = doctor_find_version(output);
        return 0;
}

static int add_missing(DoctorReport *r, size_t i, const char *found, const char *remedy) {
        if (!found || !remedy)
                return -ENOMEM;
        return doctor_add(r, programs[i].program, programs[i].verbs, DOCTOR_MISSING, found, remedy);
}

static int check_program(DoctorReport *r, size_t i) {
        const char *name = programs[i].program, *package = programs[i].package,
                   *minimum = programs[i].minimum;
        _cleanup_free_ char *version = NULL, *found = NULL, *remedy = NULL;

        if (!program_find(name, NULL)) {
                remedy = strf("apt install %s", package);
                return add_missing(r, i, "not installed", remedy);
        }

        if (program_version(name, programs[i].version_option, &version) < 0) {
                remedy = strf("apt install --reinstall %s", package);
                return add_missing(r, i, "does not run", remedy);
        }

        if (minimum && version && version_compare(version, minimum) < 0) {
                found = strf("%s, too old", version);
                remedy = strf("%s %s or newer: a newer distribution, or its backports", package,
                                minimum);
                return add_missing(r, i, found, remedy);
        }

        return doctor_add(r, name, programs[i].verbs, DOCTOR_OK, version ? version : "there", NULL);
}

int doctor_check_programs(DoctorReport *r, char *const *verbs) {
        for (size_t i = 0; i < ELEMENTSOF(programs); i++) {
                int k;

                if (!doctor_needed_by(programs[i].verbs, verbs))
                        continue;
                k = check_program(r, i);
                if (k < 0)
                        return k;
        }
        return 0;
}
