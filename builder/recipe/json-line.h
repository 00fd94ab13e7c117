/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where in a file a person has to look: the line of what a JSON path names. json-c keeps no
 * positions; so the text is gone through again, once something is wrong with it. */

/* The line, from 1, of what the path ("$.node.mounts[0].what", with or without "$.") names in the
 * text, or of the innermost thing around it that is there (a missing key is told where its object
 * begins). 0 where not even its first part is there, or the text is no JSON object or list. Keys
 * may have dots in them. */
unsigned json_line_of(const char *text, const char *path);
