/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From the overlays that a recipe names to all it needs, each after what it requires. */

#include "recipe/overlay.h"

/* An overlay's name and where it is written. */
typedef struct OverlayRef {
        const char *name;
        const char *file; /* as messages show it */
        char *path;       /* "$.overlays[2]" */
} OverlayRef;

/* Loads the named overlays and, transitively, what they require. Order: as named, but whatever one
 * requires comes right before it unless it came already; so naming one more at the end moves
 * nothing. `removed`: overlays that the recipe took away from what it extends, which nothing may
 * bring back. Missing overlays, cycles and conflicts are added to p. 0 or -ENOMEM. */
int order_overlays(Problems *p, const OverlayContext *ctx, const OverlayRef *named, size_t n_named,
                char *const *removed, Overlay ***ret, size_t *ret_n);
