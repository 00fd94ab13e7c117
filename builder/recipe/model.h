/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recipe and its overlays in memory: plain data that recipe_load() has checked, so that later
 * rooms need not look again. Lists are in the order they apply. */

#include "contract/step-file.h"
#include "sandbox/limits.h"
#include "shared/json-util.h"
#include "shared/strv.h"

typedef struct Repository {
        char *name;  /* file name under /etc/apt/sources.list.d or /etc/yum.repos.d, no suffix */
        char *uri;   /* https://…; NULL: a further suite of the distribution's own archive */
        char *suite; /* apt: suite, or "./" and the like for a flat repository */
        char **components; /* apt: empty for a flat repository */
        char *key; /* path inside the overlay, or URL of the signing key (armoured or binary) */
        char *fingerprint; /* of the primary key, whole: upper-case hex; never NULL */
        bool keep; /* whether the finished image keeps the repository configured (default true) */
        char **modules; /* dnf: "NAME:STREAM" of those streams that are not its defaults */
} Repository;

typedef enum InstallKind {
        INSTALL_PACKAGE, /* "package": a .deb or .rpm, installed with the other packages */
        INSTALL_FILE,    /* {"path": "/usr/bin/x", "mode": "0755"} */
        INSTALL_UNPACK,  /* {"unpack": "/usr/local", "strip": 1}: a tar archive */
        INSTALL_SOURCE,  /* one of compile[].artifacts: for its script alone */
} InstallKind;

typedef struct Artifact {
        char *name, *version;
        char *url;    /* ${version} and ${arch} already expanded */
        char *sha256; /* NULL where the overlay says none: then the lock pins what came first */
        InstallKind kind;
        char *path;  /* INSTALL_FILE and INSTALL_UNPACK: absolute path in the image */
        mode_t mode; /* INSTALL_FILE */
        unsigned strip;
        size_t compile; /* INSTALL_SOURCE: whose it is */
} Artifact;

void artifact_done(Artifact *a);

/* What a compile stage sees besides its build packages. */
typedef enum CompilePlace {
        COMPILE_ON_PACKAGES, /* kernel, and packages up to those of what its overlay requires */
        COMPILE_ON_BASE,     /* the base alone */
        COMPILE_ON_PYTHON,   /* as on packages, and the environments that these overlays fill */
} CompilePlace;

typedef struct Compile {
        char **packages; /* build packages; "${kernel}" stands for the kernel release */
        char **without;  /* taken for installed; NULL: none */
        char *source;    /* absolute host path; the script sees it at $SRCDIR; may be NULL */
        char *script;    /* absolute host path */
        CompilePlace on;
} Compile;

typedef struct Run {
        char *script; /* absolute host path */
        bool early;   /* before the initramfs is made, because it depends on what the script does */
        bool network;
        char **secrets; /* names; the recipe gives them to this overlay */
} Run;

/* Wheels of an environment outside of the system's Python. Overlays that name the same environment
 * fill it together. */
typedef struct Python {
        char *environment;                  /* absolute path in the image, below /opt; NULL: none */
        char *interpreter;                  /* program of the image, "python3.12"; NULL: not said */
        char **requirements, **constraints; /* as pip reads them, one each */
        char *index;                        /* URL; NULL: the host's own pip configuration */
} Python;

typedef struct Services {
        char **enable, **disable, **mask; /* unit names */
} Services;

typedef struct Overlay {
        char *name;
        char *path; /* absolute folder */
        char *file; /* its overlay.json, as the person would write it */
        char *description;
        char **requires, **conflicts;
        char **needs; /* all that it requires, itself or through others */
        Repository *repositories;
        size_t n_repositories;
        char **packages;
        Artifact *artifacts;
        size_t n_artifacts;
        Compile *compile;
        size_t n_compile;
        Python python;
        bool has_files;     /* files/ exists */
        json_object *modes; /* {"etc/x": "0600"}: what git cannot carry; may be NULL */
        Run *run;
        size_t n_run;
        Services services;
        json_object *node; /* defaults for the node config; may be NULL */
        Step *steps;       /* of the node, in files/ */
        size_t n_steps;
        Limits limits;
        char **checks; /* absolute host paths of scripts that run in the finished tree, read-only */
} Overlay;

/* Which overlay gets the secret that `imgbuild build --secret NAME=FILE` names. */
typedef struct SecretGrant {
        char *name, *overlay;
} SecretGrant;

/* A vendor's, of its image: URLs or absolute paths. fingerprint NULL: none is asked for. */
typedef struct ImageSignature {
        char *file;      /* detached, or a list of checksums that is signed itself */
        char *checksums; /* the list that the signature is of; NULL: it is of the image */
        char *key, *fingerprint;
} ImageSignature;

typedef enum Family { FAMILY_DEBIAN, FAMILY_EL } Family;
typedef enum RecipeKind { RECIPE_DISK, RECIPE_TREE } RecipeKind;

typedef struct Recipe {
        char *name;
        char *path;      /* absolute path of the file */
        char *lock_path; /* images/x.lock.json beside it, or where lock_place() says */
        char **sources;  /* all files: the recipe, what it extends, overlay.json of each */
        RecipeKind kind; /* "tree" for images/tools.json: no kernel, no disk */
        Family family;
        struct {
                char *distro, *release, *arch; /* debian, trixie, amd64 */
                char **components;             /* main contrib … */
                char *mirror;                  /* NULL: the host's own, else mmdebstrap's default */
                char **packages;               /* of the base besides the essential ones */
                Repository *repositories;      /* family el: all that it is made from */
                size_t n_repositories;
                /* A vendor's: URL or absolute path; distro and release are then the lock's to fill
                 * in. NULL: the base is made of packages. */
                char *image;
                char *sha256; /* of the image, as the recipe says; NULL: the lock's to say */
                char *root;   /* of its systems the one on this device; NULL: there is one */
                ImageSignature signature; /* of the image */
        } base;
        struct {
                char *package;  /* linux-image-amd64; NULL for a tree */
                char *cmdline;  /* "" where the recipe says nothing */
                char **options; /* that it must have been configured with; NULL: none */
        } kernel;
        Overlay **overlays; /* each after what it requires, else as the recipe names them */
        size_t n_overlays;
        char **packages; /* the recipe's own, after the overlays' */
        struct {
                bool keep;        /* the vendor's disk, grown and written to; else one of ours */
                uint64_t size;    /* bytes; 0: the tree plus 25 %, or the vendor's */
                char *filesystem; /* ext4 or xfs */
                char **firmware;  /* uefi, bios */
                char **formats;   /* qcow2, raw */
        } disk;
        SecretGrant *secrets;
        size_t n_secrets;
        bool support_fail; /* versions out of support are errors, not warnings */
        Limits limits;     /* of each command of its stages */
        json_object *node; /* overlays' defaults, then the recipe's; may be NULL */
} Recipe;
