/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The treemap of a comparison. */

#include "inspect/byte-tree.h"

/* Draws where the new image's bytes are as an SVG in a page. -ENOMEM. */
int diff_map(FILE *f, const ByteTree *bytes);
