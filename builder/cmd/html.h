/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A stranger's words as text of a page. */

#include "shared/macro.h"

/* What is no UTF-8, controls, and characters that turn the direction of what follows become U+FFFD;
 * markup is escaped. For text and for attributes in double quotes. */
void html_text(FILE *f, const char *text);
