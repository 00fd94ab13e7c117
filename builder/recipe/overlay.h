/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One overlay: its overlay.json, the files it names, its files/ tree. */

#include "recipe/problems.h"
#include "recipe/recipe.h"

/* What of the recipe an overlay's content depends on. */
typedef struct OverlayContext {
        char *const *dirs; /* searched in order, named as messages should show them */
        Family family;
        const char *arch;
} OverlayContext;

/* Reads overlay `name`, adding whatever is wrong with it to p. *ret is as complete as the file
 * allows, so that ordering can go on; *ret_file is its overlay.json as messages show it. Returns 0;
 * -ENOENT where no folder has it (not reported: the caller knows who asked for it); -EINVAL where
 * nothing of it can be used; -ENOMEM. */
int overlay_load(Problems *p, const OverlayContext *ctx, const char *name, Overlay **ret,
                char **ret_file);

/* Names of all overlays that could have been meant, sorted. */
int overlay_names(char *const *dirs, char ***ret);

/* The array of them goes too. */
void overlays_free(Overlay **overlays, size_t n);
Overlay *overlay_free(Overlay *o);
DEFINE_CLEANUP(Overlay *, overlay_free);
#define _cleanup_overlay_free_ _cleanup_(overlay_freep)
