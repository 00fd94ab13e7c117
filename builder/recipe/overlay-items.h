/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The parts of overlay.json that are lists of objects. */

#include "recipe/overlay.h"

/* What the functions that read one overlay share. */
typedef struct OverlayLoading {
        Problems *problems;
        const OverlayContext *ctx;
        const char *family; /* key of the family's lists: "debian", "el" */
        const char *dir;    /* of ctx->dirs, where the overlay was found */
        const char *file;   /* overlay.json as messages show it */
        Overlay *overlay;
} OverlayLoading;

/* The parts of overlay.json that are lists of objects. Each reads its part into l->overlay; what
 * is wrong is added to l->problems. 0 or -ENOMEM. */
int overlay_load_repositories(const OverlayLoading *l, json_object *o);
int overlay_load_artifacts(const OverlayLoading *l, json_object *o);
int overlay_load_compile(const OverlayLoading *l, json_object *o);
int overlay_load_run(const OverlayLoading *l, json_object *o);
int overlay_load_python(const OverlayLoading *l, json_object *o);

/* The steps of the node whose files have no faults. */
int overlay_load_steps(const OverlayLoading *l, json_object *o);

char *overlay_load_script(const OverlayLoading *l, const char *path, const char *relative);
int overlay_load_string(json_object *o, const char *key, char **ret);
