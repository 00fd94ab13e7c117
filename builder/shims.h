/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Small programs in front of PATH while packages are installed: nothing is started, and what every package would do
 * again (initramfs, module lists, the manual's index) waits for the stage that does it once. */

#include "store.h"

/* Writes them to a new scratch folder. */
int shims_write(Store *s, char **ret_folder);
