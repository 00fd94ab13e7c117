/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* dnf's solver on a system that does not exist. What repositories have is fetched by us, into the
 * store by digest; dnf and rpm look at it in a sandbox over the tools of family el, without a
 * network (dnf-ask.py). solve.c drives it stage by stage, as it drives apt; dnf.c sets it up and
 * fetches indexes, dnf-solve.c asks questions, dnf-program.c runs the program. All of these log
 * their errors. */

#include "lock/internal.h"

typedef struct DnfRepository {
        const Repository *repository;
        char *keyring;     /* its key, and no other */
        bool signed_index; /* its repomd.xml is signed, and right: it vouches for its packages */
        bool enabled;
        char **modules; /* "NAME:STREAM", "NAME:STREAM/PROFILE": of all that bring it */
} DnfRepository;

typedef struct Dnf {
        Context *ctx;
        const Recipe *recipe;
        char *root; /* scratch: in/ is what the program reads, out/ what it writes */
        DnfRepository *repositories;
        size_t n_repositories;
        json_object *before;  /* array: packages that the system has */
        json_object *pinned;  /* array: versions that are not to move */
        json_object *offered; /* digest → path inside: of the store, where no index has them */
        const Lock *old;      /* whose packages these are; may be NULL */
        bool database;        /* the system was there before: in/rpmdb says what it has */
} Dnf;

int dnf_new(Context *ctx, const Recipe *recipe, Dnf **ret);
Dnf *dnf_free(Dnf *d);
DEFINE_CLEANUP(Dnf *, dnf_free);
#define _cleanup_dnf_free_ _cleanup_(dnf_freep)

/* A repository of the recipe (`overlay` NULL), or one that an overlay brings; its key is fetched,
 * and refused unless it has the pinned fingerprint. */
int dnf_add_repository(Dnf *d, const Overlay *overlay, const Repository *repository);

/* Fetches all indexes, and verifies those that are signed. *ret_epoch is the newest time of the
 * recipe's own. Afterwards only these are enabled. */
int dnf_update(Dnf *d, int64_t *ret_epoch);

/* From now on packages may come from this repository too. */
void dnf_enable_repository(Dnf *d, const Repository *repository);

/* As apt.h has them; `old` must outlive d. `l` has the origins already: packages whose index nobody
 * signed are fetched by it, and must be signed themselves. */
int dnf_pin(Dnf *d, const LockedPackage *package);
int dnf_offer_locked(Dnf *d, const Lock *old);
int dnf_solve(Dnf *d, const PackageRequest *q, char *const *packages, const Lock *l,
                LockedStage *s);
int dnf_install(Dnf *d, const LockedStage *s);

/* The system has all that this database of rpm's, a file of the store, says. */
int dnf_install_database(Dnf *d, const char *path);
int dnf_origins(const Dnf *d, const Lock *old, Lock *l);

/* Packages that overlays bring as artifacts must find all they depend on among what is locked. */
int dnf_check_artifacts(Dnf *d, const Lock *l);

/* NULL: there is none of that name. */
DnfRepository *dnf_find_repository(const Dnf *d, const char *name);

/* What the system has so far and may come from, and what it is asked for besides: what all of
 * dnf-ask.py's verbs that solve want to know. -ENOMEM. */
int dnf_question(const Dnf *d, char *const *packages, json_object **ret);

/* A hard link of the store's blob where the program sees it, at dnf_rpm_inside(). */
int dnf_show_rpm(const Dnf *d, const char *sha256);
char *dnf_rpm_inside(const char *sha256);

/* Where the program sees what lies in d->root/in. */
#define DNF_INSIDE "/run/imgbuild/in"

/* Runs one of dnf-ask.py's verbs. Takes `question`; the caller puts *ret. What it calls an error is
 * logged after `about` ("Stage base"), and -EINVAL returned. */
int dnf_ask(const Dnf *d, const char *about, const char *verb, json_object *question,
                json_object **ret);

/* {"name": …, "version": …, "arch": …, "sha256": …}; NULL on out of memory. */
json_object *dnf_package_json(const LockedPackage *p);
