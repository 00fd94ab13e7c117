/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Credentials "firstboot.PATH". systemd from 254 on hands them over, whichever way they came into
 * the machine, in the folder $CREDENTIALS_DIRECTORY. An older one (EL 8 and 9) knows no
 * ImportCredential=, and the unit has FIRSTBOOT_FIND_CREDENTIALS=1 there instead: then they are
 * looked for here, where systemd would have found them, first come first served:
 *
 *   /run/credentials/@system                    what systemd from 250 on took of the firmware
 *   DMI's OEM strings                           io.systemd.credential:NAME=TEXT
 *   QEMU's firmware configuration               opt/io.systemd.credentials/NAME
 *   credstore in /etc, /run, /usr/local/lib, /usr/lib
 *
 * Encrypted ones are systemd's alone; so is what the kernel's command line has, which every user of
 * the node can read. A confidential guest does not trust its host, and takes nothing of
 * firmware; nor does a node whose command line has systemd.import_credentials=no. */

#include "shared/json-util.h"

/* *ret: name → text, without the line break at its end; the caller puts it. What cannot be read is
 * told in *errors. -ENOMEM. */
int credentials_read(json_object **ret, char ***errors);
