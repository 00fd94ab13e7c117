/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The file that an image is written to beside the one that it is to become. */

#include "store/digest.h"

typedef struct ImageDraft {
        char *path;
        int fd;
} ImageDraft;

/* Of what was not put in place, nothing stays. */
void image_draft_done(ImageDraft *d);
#define _cleanup_image_draft_ _cleanup_(image_draft_done)

/* As readable for others as `like`, the image that it is made from. Errors are logged. */
int image_draft_open(const char *folder, const char *like, ImageDraft *ret);

/* What a sandbox left under the draft's name: an fd. */
int image_draft_reopen(const ImageDraft *d, const char *folder);

/* It becomes `target`; with a digest only where it has that, else -EBADMSG, not logged. Other
 * errors are. */
int image_draft_put(ImageDraft *d, const char *folder, const char *target, const char *sha256);
