/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* apt's solver on a system that does not exist: private sources, indexes and dpkg status in
 * scratch, the host's own Acquire settings (proxies …), and nothing else of the host. resolve.c
 * drives it stage by stage; apt.c sets it up and fetches indexes, apt-config.c writes its
 * configuration, apt-solve.c asks questions, apt-unsolved.c tells why there is no answer,
 * apt-local.c shows it packages that lie here already. All of these log their errors. */

#include "lock/internal.h"
#include "lock/mirror.h"

typedef struct AptSource {
        const char *origin; /* borrowed from the table of archives or the repository */
        char *uri, *suite;
        char **suites;                /* with `suite` */
        const Repository *repository; /* NULL: the distribution's */
        char *prefix; /* of its packages' URLs, as apt prints them, with a slash at the end */
        char *file;   /* below sources.list.d */
        char *text;
        bool enabled;
} AptSource;

typedef struct AptRecord {
        char *name;
        char *stanza; /* of dpkg's status file */
} AptRecord;

typedef struct Apt {
        Context *ctx;
        const Recipe *recipe;
        char *root;
        char **env;
        AptSource *sources;
        size_t n_sources;
        AptRecord *installed;
        size_t n_installed;
        char **pins;     /* blocks of the preferences file */
        const Lock *old; /* what apt_offer_locked() offers; may be NULL */
} Apt;

int apt_new(Context *ctx, const Recipe *recipe, const Mirrors *mirrors, Apt **ret);
Apt *apt_free(Apt *a);
DEFINE_CLEANUP(Apt *, apt_free);
#define _cleanup_apt_free_ _cleanup_(apt_freep)

/* A repository that an overlay brings; its key is fetched, and refused unless it has the pinned
 * fingerprint. */
int apt_add_repository(Apt *a, const Overlay *overlay, const Repository *repository);

/* Fetches and verifies all indexes. *ret_epoch is the newest date of their Release files.
 * Afterwards only the distribution's sources are enabled. */
int apt_update(Apt *a, int64_t *ret_epoch);

/* From now on packages may come from this repository too. */
int apt_enable_repository(Apt *a, const Repository *repository);

/* Gives each package of the stage, where several suites of one archive are enabled, the origin that
 * has its version. Afterwards the stage may need sorting. */
int apt_settle_suites(const Apt *a, LockedStage *s);

/* Makes apt prefer this version where the indexes still have it. One call a package name. */
int apt_pin(Apt *a, const LockedPackage *package);

/* Makes apt know the versions of `old` that the indexes have no more, as far as the store has
 * their .debs: so that they can stay. `old` must outlive a. */
int apt_offer_locked(Apt *a, const Lock *old);

/* What installing `packages` would add to the system as it is, if it had all of `without` (NULL:
 * none) too. Patterns such as ?essential are allowed. `id` is for messages. Fills s->packages. */
int apt_solve(Apt *a, const char *id, char *const *packages, char *const *without, LockedStage *s);

/* The system has these packages from now on, instead of others of the same names. */
int apt_install(Apt *a, const LockedStage *s, const Lock *lock);

/* The system has all that dpkg's status file `text` calls installed. Changes the text. Errors are
 * logged. */
int apt_install_status(Apt *a, char *text);

/* Packages that overlays bring as artifacts must find all they depend on among what is locked. */
int apt_check_artifacts(Apt *a, const Lock *l);

/* All archives and repositories as the lock names them. A key that `old` has (may be NULL) stays
 * the same bytes. */
int apt_origins(const Apt *a, const Lock *old, Lock *l);

/* apt.conf in a->root, the environment that names it, and files there. */
int apt_write_config(const Apt *a); /* errors are logged */
int apt_make_env(Apt *a);
int apt_write_below(const Apt *a, const char *name, const char *text);

/* What the indexes say of these packages, as one text of stanzas. Versions they lack are simply
 * not there. */
int apt_read_stanzas(const Apt *a, const LockedPackage *const *packages, size_t n, char **ret);
/* Takes the next stanza off a text of them: its end becomes NUL, *p moves on. NULL at the end. */
char *apt_next_stanza(char **p);
/* Asks apt's solver to install `packages`, with those of `without` taken for installed. What a
 * stage adds is all that a layer can hold: a solution that removes something is none. *ret_output:
 * what apt says, an URI a line where *ret_status is 0. */
int apt_ask(const Apt *a, char *const *packages, char *const *without, char **ret_output,
                int *ret_status);

/* The packages that apt says it does not know, each once. 0 or -ENOMEM. */
int apt_unknown_names(const char *output, char ***ret);

/* Logs that a stage cannot have its packages. Returns -EINVAL. */
int apt_log_unsolved(const Apt *a, const char *id, const char *output);

/* The command's output with what apt only says to pass the time left out, for messages. NULL on
 * out of memory. */
char *apt_complaint(const char *output);
int apt_log_no_space(const Apt *a); /* returns -ENOSPC */
