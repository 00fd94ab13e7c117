/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What an image is made of, read from the manifest: one list for all documents, in an order that is
 * the same each time. */

#include "shared/json-util.h"

typedef enum PartKind {
        PART_PACKAGE,
        PART_IMAGE_PACKAGE, /* came installed with a vendor's image: nobody has its file's sum */
        PART_BUILD_PACKAGE, /* was only there to compile, or to install wheels */
        PART_ARTIFACT,
        PART_WHEEL,
        PART_MODULE, /* a kernel module that was compiled here */
        PART_FILE,   /* any other file that was */
} PartKind;

typedef struct Part {
        PartKind kind;
        char id[32];         /* "package-17" */
        const char *name;    /* this and what follows is the manifest's */
        const char *version; /* NULL: unknown */
        /* May be NULL; sha256 is of all but packages of a vendor's image. */
        const char *sha256, *stage, *url, *licence, *path;
        char *purl; /* https://github.com/package-url/purl-spec; NULL for what has none */
} Part;

typedef struct Parts {
        Part *parts;
        size_t n;
} Parts;

/* 0 or -ENOMEM. What has no name, or no valid sum where it must have one, is left out, as a damaged
 * manifest has it. */
int parts_read(json_object *manifest, Parts *ret);
void parts_done(Parts *p);
#define _cleanup_parts_ _cleanup_(parts_done)

static inline bool part_in_image(const Part *p) {
        return p->kind != PART_BUILD_PACKAGE;
}

/* Of the build: "2026-10-29T21:22:25Z", the lock's epoch; and a UUID of its own, from the first
 * image's sum. */
void parts_time(json_object *manifest, char ret[32]);
void parts_uuid(json_object *manifest, char ret[37]);

/* The documents. 0 or -ENOMEM. */
int spdx_make(json_object *manifest, const Parts *p, json_object **ret);
int cyclonedx_make(json_object *manifest, const Parts *p, json_object **ret);
int provenance_make(json_object *manifest, const Parts *p, json_object **ret);
