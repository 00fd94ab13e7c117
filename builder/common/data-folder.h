/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The folder that holds the shipped images/ and overlays/: that of a checkout whose program this is
 * (build/imgbuild), share/imgbuild beside the program's bin/, else where `make install` was told to
 * put it. The caller frees it; NULL on out of memory. */
char *data_folder(void);
