/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Standard input, output and error, as whoever started a program left them. */

/* Puts something harmless where one of the three is closed, or the next file that is opened would
 * be it, and what is printed would land there. Reading from what was closed finds nothing, writing
 * to what was closed as output fails. First thing in main(). 0 or -errno. */
int streams_hold(void);

/* Writes out what was printed. Returns `code`, or where not all could be written, which it logs, a
 * code that is not 0. Last thing in main(). */
int streams_finish(int code);
