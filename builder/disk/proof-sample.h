/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the tree has, for comparing with what a disk has: a sample of its files, the
 * same on every host. */

#include "plan/plan.h"
#include "sandbox/sandbox.h"

#define PROOF_SAMPLE 200 /* files; besides these, all that carry rights and all that boots */

typedef struct Sample {
        char *path;              /* absolute, in the image */
        uint32_t mode, uid, gid; /* mode with the file type */
        int64_t mtime;           /* seconds since 1970, at most the lock's epoch */
        uint64_t size;
        char *target; /* of a symbolic link */
        char *rights; /* its file capabilities and access lists, by sample_add_right(); NULL: none */
        Digest sha256; /* of a regular file's content */
} Sample;

typedef struct Samples {
        Sample *samples;
        size_t n;
} Samples;
void samples_done(Samples *s);
#define _cleanup_samples_ _cleanup_(samples_done)

/* Takes the sample of the merged tree of `layers`; `left_out`: paths that the disk has and the
 * layers do not. Errors are logged. */
int samples_take(Store *store, const Plan *plan, char *const *layers, char *const *left_out,
                Samples *ret);

/* The attributes that give rights, as far as the disk's file system is made with them; ends with
 * NULL. */
const char *const *sample_rights(const Recipe *recipe);

/* Puts "NAME=VALUE " behind *text, which may be NULL, the value in hex. 0 or -ENOMEM. */
int sample_add_right(char **text, const char *name, const void *value, size_t size);

/* Rank of a path among all: the files with the smallest ranks are the sample. */
uint64_t sample_rank(const char *path);
