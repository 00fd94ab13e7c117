/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is secret in a configuration, kept out of what others read: values masked where the
 * configuration is shown, and taken out of texts that may quote them. */

#include "shared/json-util.h"
#include "shared/strv.h"

/* A deep copy with "***" for whatever a credential gave, for secrets by the table of keys or by the
 * name of a key, and inside of strings as mask_text() does. sources: which layer gave each value.
 * NULL on out of memory; the caller puts it. */
json_object *config_masked(json_object *values, json_object *sources);

/* A copy without what is secret inside: URLs show scheme and host alone, and what follows a word
 * such as "token=" is masked to the end. NULL on out of memory; the caller frees it. */
char *mask_text(const char *text);

/* Whether a key of this name holds a secret, where nothing else tells: "api_token". */
bool name_sounds_secret(const char *name);

/* The secret values themselves, those of at least four characters. A key of the table that is not
 * secret may come from a credential; its value is no secret in a message. 0 or -ENOMEM; the caller
 * frees them. */
int config_secrets(json_object *values, json_object *sources, char ***ret);

/* A copy with "***" for each of the secrets (NULL: none) in it. NULL on out of memory; the caller
 * frees it. */
char *redact_text(const char *text, char *const *secrets);

/* The same in place, for every string (not key) inside of an object or array. 0 or -ENOMEM. */
int redact_json(json_object *o, char *const *secrets);
