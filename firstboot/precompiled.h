/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What most files include of the C library and of json-c, for `make PRECOMPILED=1` to read once
 * instead of for each of them: a tenth of a compiler's time in an image. No file includes
 * it, and each names its own headers: without PRECOMPILED, as everybody else compiles them, one
 * that is missing is missed. */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>
