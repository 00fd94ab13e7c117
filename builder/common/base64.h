/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Keys and signatures in letters, by OpenSSL. */

#include "shared/macro.h"

#define BASE64_MAX 256 /* bytes of text, with its NUL */

/* At most 190 bytes. */
void base64_encode(const void *data, size_t size, char ret[BASE64_MAX]);

/* Decodes exactly `size` bytes, of which there is one spelling only; -EBADMSG. */
int base64_decode(const char *text, void *ret, size_t size);
