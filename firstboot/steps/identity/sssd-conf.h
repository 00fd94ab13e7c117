/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The text files of the identity step, as pure functions of configuration and former content. */

#include "shared/json-util.h"

/* sssd.conf for an "identity" section; NULL on out of memory. The caller frees it. sockets:
 * responders are started by systemd's sockets; sssd then must not be told to start them. */
char *sssd_conf(json_object *identity, bool sockets);

/* nsswitch.conf with "sss" as last source of passwd, group and shadow where it is not among them;
 * the rest stays byte for byte. NULL on out of memory. The caller frees it. */
char *nsswitch_with_sss(const char *old);
