/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Asks an LDAP server itself for the users it is there for: sssd's answer may be years old. */

#include "shared/json-util.h"

/* Connects to uri as the identity section says (TLS, bind), and looks for identity.probe_user and
 * probe_group as sssd would. Prints one JSON object: kind, text, and of a user found uid and gid,
 * where the directory has them. kind is one of
 *
 *   ok                               both are there
 *   no-user, no-group                the directory answers, and has no such entry
 *   bind, search                     it answers, and refuses the bind or the search
 *   unreachable, timeout, certificate, ca-file, protocol    as tls_probe()
 *
 * Returns 0 for ok, 1 otherwise. Servers it is referred to are asked as well, never in the clear
 * where the first was not. */
int directory_probe(json_object *identity, const char *uri);
