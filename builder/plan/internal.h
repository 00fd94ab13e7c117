/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the files of this room share. */

#include "plan/plan.h"

/* Relative to the image's root; NULL-terminated. */
extern const char *const plan_early_prefixes[];

/* Whether the overlay's files/ has anything for the early copy, or for the other one. 1, 0 or
 * negative errno. */
int plan_has_files(const Overlay *o, bool early);

/* dpkg's own configuration that the recipe's overlays bring (files/etc/dpkg/dpkg.cfg.d/) is in
 * effect while the image is made, not only in the image: documentation that it excludes is never
 * unpacked. The options in dpkg's order (by file name, then line), in the form of its command
 * line: "--path-exclude=/usr/share/man/\*". Errors are logged. */
int dpkg_options_load(const Recipe *recipe, char ***ret);

/* Reads whose mmdebstrap makes the base from the lock of the tools, where there is one. */
int plan_find_maker(Context *ctx, const char *recipe_path, Plan *p);

/* Lists the stages, without digests. */
int plan_add_stages(Plan *p);

/* In a stage's inputs: "package NAME" → "VERSION SHA256". */
#define PLAN_PACKAGE "package "

/* Fills digest, inputs and locked of every stage; -ESTALE as plan_new(). */
int plan_digest_stages(Plan *p);
