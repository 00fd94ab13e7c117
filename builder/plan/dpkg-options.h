/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recipe/recipe.h"

/* dpkg's own configuration that the recipe's overlays bring (files/etc/dpkg/dpkg.cfg.d/) is in
 * effect while the image is made, not only in the image: documentation that it excludes is never
 * unpacked. The options in dpkg's order (by file name, then line), in the form of its command
 * line: "--path-exclude=/usr/share/man/\*". Errors are logged. */
int dpkg_options_load(const Recipe *recipe, char ***ret);
