/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What 'imgbuild export' made of a build's image, and whether that image is still the one. */

#include "shared/strv.h"

/* Notes beside `output` of which build it is: OUTPUT.from.json. An image that is no build's gets no
 * note, and an older one goes. -errno. */
int exported_note(const char *image, const char *output);

/* The files of `folder`, that of a build, whose note names another build than the manifest does
 * now; none where there is no manifest. -errno. */
int exported_stale(const char *folder, char ***ret);
