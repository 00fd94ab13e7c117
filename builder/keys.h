/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The tables of the two file formats, recipe and overlay.json: every key, what its value may be.
 * docs/recipe.md and docs/overlay.md describe each (a test compares them). */

#include "recipe.h"
#include "schema.h"

extern const Schema recipe_keys[];
extern const Schema overlay_keys[];

typedef struct Distro {
        const char *name;
        Family family;
} Distro;
extern const Distro distros[]; /* ends with a NULL name */

/* "8G", "20480M", "1T" (binary units) to bytes; false where it is none, or is no size for a disk.
 */
bool parse_disk_size(const char *text, uint64_t *ret);

/* "0644" and the like: three to five octal digits. */
bool parse_mode(const char *text, mode_t *ret);

/* Checks as schema.h wants them, for what depends on more than the table. */
const char *check_debian_package(const char *name);
const char *check_overlay_name(const char *name);
const char *check_url(const char *url);
const char *check_key_reference(const char *key); /* URL or path inside the overlay */
