/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The programs of the host, as a table: which verb calls them, from which version on they do what
 * we ask of them, and how to get them. What is no program is in doctor-host.c. */

#include "cmd/doctor-report.h"
#include "common/version.h"
#include "store/store.h"

#include "shared/spawn.h"

#include <ctype.h>

static const struct {
        const char *program, *verbs, *minimum, *version_option, *package;
} programs[] = {
        /* --perms came with 0.5.0. */
        { "bwrap", "build boot shell check export", "0.5.0", "--version", "bubblewrap" },
        { "mmdebstrap", "build", "1.0.0", "--version", "mmdebstrap" },
        { "apt-get", "build plan lock", "2.0.0", "--version", "apt" },
        { "dpkg-deb", "build lock", NULL, "--version", "dpkg" },
        { "gpg", "build lock", NULL, "--version", "gpg" },
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

int doctor_add(DoctorReport *r, const char *what, const char *verbs, DoctorState state,
                const char *found, const char *remedy) {
        DoctorItem *grown = reallocarray(r->items, r->n + 1, sizeof(*grown)), *i;

        if (!grown)
                return -ENOMEM;
        r->items = grown;
        i = r->items + r->n;
        *i = (DoctorItem) {
                .what = strdup(what),
                .verbs = verbs,
                .state = state,
                .found = found ? strdup(found) : NULL,
                .remedy = remedy ? strdup(remedy) : NULL,
        };
        r->n++;
        return i->what && (i->found || !found) && (i->remedy || !remedy) ? 0 : -ENOMEM;
}

static int check_program(DoctorReport *r, size_t i) {
        _cleanup_free_ char *output = NULL, *version = NULL,
                            *install = strf("apt install %s", programs[i].package), *old = NULL;
        const SpawnOptions options = { .timeout_usec = 20 * USEC_PER_SEC };
        const char *name = programs[i].program;
        int status;

        if (!install)
                return -ENOMEM;
        if (!program_find(name, NULL))
                return doctor_add(r, name, programs[i].verbs, DOCTOR_MISSING, "not installed",
                                install);
        if (programs[i].version_option) {
                char *const argv[] = { (char *) name, (char *) programs[i].version_option, NULL };

                if (spawn_capture(&options, argv, &output, &status) < 0 || status != 0) {
                        old = strf("apt install --reinstall %s", programs[i].package);
                        return old ? doctor_add(r, name, programs[i].verbs, DOCTOR_MISSING,
                                                     "does not run", old)
                                   : -ENOMEM;
                }
                version = doctor_find_version(output);
        }
        if (programs[i].minimum && version && version_compare(version, programs[i].minimum) < 0) {
                old = strf("%s, too old", version);
                free(install);
                install = strf("%s %s or newer: a newer distribution, or its backports",
                                programs[i].package, programs[i].minimum);
                return old && install ? doctor_add(r, name, programs[i].verbs, DOCTOR_MISSING, old,
                                                        install)
                                      : -ENOMEM;
        }
        return doctor_add(r, name, programs[i].verbs, DOCTOR_OK, version ? version : "there", NULL);
}

static bool wanted(const char *needed_by, char *const *verbs) {
        _cleanup_strv_free_ char **l = strv_split(needed_by, " ");

        if (!verbs || !verbs[0])
                return true;
        STRV_FOREACH (v, verbs)
                if (strv_contains(l, *v))
                        return true;
        return false;
}

static void drop_unwanted(DoctorReport *r, char *const *verbs) {
        size_t kept = 0;

        for (size_t i = 0; i < r->n; i++) {
                if (wanted(r->items[i].verbs, verbs)) {
                        r->items[kept++] = r->items[i];
                        continue;
                }
                free(r->items[i].what);
                free(r->items[i].found);
                free(r->items[i].remedy);
        }
        r->n = kept;
}

int doctor_examine(char *const *verbs, const char *store_path, DoctorReport *ret) {
        _cleanup_(doctor_report_done) DoctorReport report = {};
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(programs); i++)
                if (wanted(programs[i].verbs, verbs))
                        r = check_program(&report, i);
        if (r >= 0)
                r = doctor_check_host(&report, store_path);
        if (r < 0)
                return r;
        drop_unwanted(&report, verbs);
        *ret = report;
        report = (DoctorReport) {};
        return 0;
}

void doctor_report_done(DoctorReport *r) {
        for (size_t i = 0; i < r->n; i++) {
                free(r->items[i].what);
                free(r->items[i].found);
                free(r->items[i].remedy);
        }
        free(r->items);
        *r = (DoctorReport) {};
}

bool doctor_lacks_something(const DoctorReport *r) {
        for (size_t i = 0; i < r->n; i++)
                if (r->items[i].state == DOCTOR_MISSING)
                        return true;
        return false;
}
