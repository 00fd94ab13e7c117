/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether /dev/kvm really runs guests, found out by running one. Never hangs. */

#include "shared/macro.h"

/* 1: usable. 0: not usable, *ret_why (the caller frees it) says why and, where something can be
 * done, what. Negative errno where the question could not be answered; treat it as not usable.
 * Costs up to 15 s once, then the answer is kept until the next boot of this machine. ret_why may
 * be NULL. */
int kvm_probe(char **ret_why);

/* A guest that the probe had called good did not run after all: every later probe until the next
 * boot says so. */
void kvm_distrust(const char *why);

/* The kept answer, for tests: its text's, where it is of the boot `boot_id`; -ESTALE where not. */
int kvm_answer_parse(const char *text, const char *boot_id, bool *ret_usable, char **ret_why);
