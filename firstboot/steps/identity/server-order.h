/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which LDAP server is asked first. */

#include "shared/json-util.h"

/* Puts identity.uri into the order of the node with that seed, unless identity.server_order says
 * otherwise. All orders are equally likely, so that the clients of a server that fails fall evenly
 * on the others. */
void servers_order(json_object *identity, uint64_t seed);
