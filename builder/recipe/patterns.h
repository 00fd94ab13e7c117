/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What single strings in recipes and overlays may look like: each function returns NULL, or the
 * end of the sentence `"VALUE" …`. What passes needs no more looking at: names lead nowhere else,
 * and nothing has control characters. */

#include "shared/macro.h"

#include <sys/types.h>

/* "extends": what comes behind it is the name of a recipe that imgbuild brings. */
#define SHIPPED_PREFIX "imgbuild:"

/* A fingerprint that passed value_fingerprint(), as programs print it: upper case, no spaces. */
void fingerprint_normalize(char *s);

const char *value_recipe_name(const char *s);
const char *value_host_name(const char *s);
const char *value_overlay_name(const char *s);
const char *value_secret_name(const char *s);
const char *value_extends(const char *s);
const char *value_text(const char *s);   /* one line */
const char *value_image(const char *s);  /* a disk image: a path of the host's, or a URL */
const char *value_device(const char *s); /* as libguestfs names a system's: /dev/sda2 */
const char *value_release(const char *s);
const char *value_component(const char *s);
const char *value_suite(const char *s);
const char *value_url(const char *s);
const char *value_image_path(const char *s);
const char *value_image_folder(const char *s);  /* an image path, or "/" */
const char *value_inside(const char *s);        /* a path inside the overlay */
const char *value_key_reference(const char *s); /* URL or path inside the overlay */
const char *value_source(const char *s);  /* path inside the overlay or "imgbuild:firstboot" */
const char *value_package(const char *s); /* of either family */
const char *value_debian_package(const char *s);
const char *value_kernel_package(const char *s);
const char *value_base_package(const char *s);
const char *value_el_package(const char *s);
const char *value_version(const char *s);
const char *value_environment(const char *s); /* a folder below /opt */
const char *value_interpreter(const char *s); /* a Python's program: python3, python3.12 */
const char *value_requirement(const char *s); /* as pip takes it; no option, no URL, no path */
const char *value_file_name(const char *s);
const char *value_sha256(const char *s);
const char *value_fingerprint(const char *s);
const char *value_module(const char *s);
const char *value_mode(const char *s);
const char *value_size(const char *s);
const char *value_cmdline(const char *s);
const char *value_kernel_option(const char *s);
const char *value_unit(const char *s);

/* "8G", "20480M", "1T" (binary units) to bytes; false where it is none, or is no size for a
 * disk. */
bool parse_disk_size(const char *text, uint64_t *ret);

/* "0644" and the like: three to five octal digits. */
bool parse_mode(const char *text, mode_t *ret);
