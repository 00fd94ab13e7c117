/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* OUT/NAME and its neighbours, and how a finished draft takes its place without losing what others
 * keep there: OUT/.NAME.new is the draft, OUT/.NAME.old the image before, until what is not of
 * imgbuild's in it was carried over. All but place_check() want OUT/.NAME.lock held. Errors are
 * logged. */

#include "shared/strv.h"

typedef struct Place {
        char *name, *out, *folder, *draft, *old;
        bool one_step; /* the file system exchanges two folders in one step */
} Place;

int place_open(const char *out, const char *name, Place *ret);
void place_done(Place *p);

/* Whether a killed build left something to settle: the draft or the old image. */
bool place_unsettled(const Place *p);

/* Finishes what a killed build began: afterwards OUT/NAME is one whole image with all foreign
 * files, and neither draft nor old image are there. */
int place_settle(const Place *p);

/* Before the work: whether a build that makes `files` may replace what lies there, and how. Makes
 * OUT where it is missing. -EEXIST, and which file is in the way. */
int place_check(Place *p, char *const *files);

/* The synced draft becomes OUT/NAME. Killed at any moment, place_settle() finishes it. */
int place_put(const Place *p);
