/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who of sssd's users may log in, by the tools that PAM's stacks belong to. */

#include "steps/common/step.h"

/* Users of sssd's may log in and, with `mkhomedir`, find a home folder: by authselect where the
 * system has it, which then has NSS's order too, so that this goes before whatever is written to
 * nsswitch.conf; else by pam-auth-update, for homes alone. Negative, with the step's verdict set,
 * where the tool does not do it. */
int identity_pam(StepContext *c, bool mkhomedir);
