/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* OpenPGP public keys (RFC 9580), as far as is needed to say whose they are. */

#include <stddef.h>

/* Fingerprints of all primary keys in `data`, upper-case hex, computed from the keys themselves.
 * What is read must be binary public keys with their user ids, signatures and subkeys from the
 * first byte to the last: -EBADMSG for anything else, armour and secret keys included. */
int openpgp_fingerprints(const void *data, size_t size, char ***ret);
