/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a lock's values may look like: they become paths, URLs and arguments of programs. */

#include "lock/internal.h"

static bool only(const char *s, const char *also) {
        for (; *s; s++)
                if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                                    (*s >= '0' && *s <= '9') || strchr(also, *s)))
                        return false;
        return true;
}

/* Names become parts of file names and of apt's command line: no slash, nothing that looks like an
 * option. */
bool lock_name_valid(const char *s) {
        return s[0] && only((char[]) { s[0], 0 }, "") && only(s, "+._-");
}

bool lock_version_valid(const char *s) {
        return s[0] && s[0] != '-' && only(s, "+.:~^_-"); /* the last two: rpm's */
}

bool lock_id_valid(const char *s) {
        return s[0] && only((char[]) { s[0], 0 }, "") && only(s, "+._-:/");
}

bool lock_text_valid(const char *s) {
        for (const char *p = s; *p; p++)
                if ((unsigned char) *p <= ' ' || *p == 0x7f)
                        return false;
        return s[0] != '\0';
}

/* A path that leads out of the mirror would fetch anything the same host serves. */
bool lock_path_valid(const char *s) {
        if (!lock_text_valid(s) || s[0] == '/')
                return false;
        for (const char *p = s; p; p = strchr(p, '/')) {
                p += *p == '/';
                if (startswith(p, "../") || streq(p, ".."))
                        return false;
        }
        return true;
}

bool lock_url_valid(const char *s) {
        return lock_text_valid(s) && strchr(s, ':');
}

bool lock_base64_valid(const char *s) {
        size_t n = strlen(s), digits = n;

        while (digits > 0 && n - digits < 2 && s[digits - 1] == '=')
                digits--;
        for (size_t i = 0; i < digits; i++)
                if (!only((char[]) { s[i], 0 }, "+/"))
                        return false;
        return n > 0 && n % 4 == 0;
}

bool lock_environment_valid(const char *s) {
        return startswith(s, "/opt/") && lock_path_valid(s + 1) && only(s, "._-/");
}

/* A file name that pip reads name, version and platform from. */
bool lock_wheel_valid(const char *s) {
        return endswith(s, ".whl") && only((char[]) { s[0], 0 }, "") && only(s, "+._-!~");
}

bool lock_pep440_valid(const char *s) {
        return only((char[]) { s[0], 0 }, "") && s[0] && only(s, "+.!_-");
}

bool lock_line_valid(const char *s) {
        for (const char *p = s; *p; p++)
                if ((unsigned char) *p < ' ' || *p == 0x7f)
                        return false;
        return s[0] != '\0';
}

bool lock_role_valid(const char *s) {
        return streq(s, "installer");
}
