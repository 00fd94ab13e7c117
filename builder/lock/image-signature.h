/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A vendor's signature (OpenPGP) of a base image. */

#include "common/context.h"
#include "recipe/recipe.h"
#include "store/digest.h"

/* Whether the key that the recipe pins signed what lies in `path`, whose digest is `sha256`: the
 * image itself, or a list of checksums that has this digest for the image's name. Nothing of the
 * image is looked at for that. Errors are logged: -EBADMSG where it did not. Where the recipe asks
 * for no signature all is well. */
int image_signature_check(
                Context *ctx, const Recipe *recipe, const char *path, const Digest sha256);
