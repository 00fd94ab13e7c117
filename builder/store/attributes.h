/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Extended attributes of what lies in a layer, as its digest and its archive have them. */

#include "shared/macro.h"

typedef struct TreeAttribute {
        char *name;
        void *value;
        size_t size;
} TreeAttribute;

typedef enum AttributeSet {
        ATTRIBUTES_OWN,      /* all but labels of the host's security modules */
        ATTRIBUTES_PORTABLE, /* of overlayfs' own only that a folder is opaque, named as root's */
        ATTRIBUTES_LABELLED, /* the same, and labels */
} AttributeSet;

typedef struct TreeAttributes {
        TreeAttribute *list; /* sorted by name */
        size_t n;
} TreeAttributes;

/* Of `name` in the folder, itself where it is a link. 0 or negative errno. */
int tree_attributes_read(int folder, const char *name, AttributeSet set, TreeAttributes *ret);
void tree_attributes_done(TreeAttributes *a);
#define _cleanup_tree_attributes_ _cleanup_(tree_attributes_done)
