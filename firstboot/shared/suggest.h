/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds what a person most likely meant. */

#include "shared/macro.h"

/* Number of letters added, dropped, changed or swapped with their neighbour that make `b` of `a`,
 * upper and lower case alike. Words of more than 64 bytes are infinitely far (UINT_MAX). */
unsigned suggest_distance(const char *a, const char *b);

/* The candidate nearest to `word`, or NULL where none is near enough to be worth a suggestion (one
 * change in three letters; else a candidate that goes on where the word ends). Borrowed from
 * `candidates`. */
const char *suggest_nearest(const char *word, char *const *candidates);

/* "; did you mean "X"?", or "" where nothing is near. NULL on out of memory. */
char *suggest_text(const char *word, char *const *candidates);
