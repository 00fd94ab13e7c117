/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Patterns of single strings: names, paths, URLs, versions, sizes, modes. */

#include "recipe/patterns.h"
#include "shared/size.h"

#include <ctype.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define WORD LOWER UPPER DIGITS

/* Whether s is one byte of `first`, then any of `rest`, at most 200 in all: no name here is
 * longer. */
static bool is_word(const char *s, const char *first, const char *rest) {
        return *s && strchr(first, *s) && s[strspn(s, rest)] == '\0' && strlen(s) <= 200;
}

static bool has_control(const char *s) {
        for (; *s; s++)
                if ((unsigned char) *s < ' ' || *s == 0x7f)
                        return true;
        return false;
}

const char *value_recipe_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-") && !endswith(s, ".lock")
                               ? NULL
                               : "is not a name (lower-case letters, digits, dot and minus)";
}

const char *value_host_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS "-") && !endswith(s, "-") && strlen(s) <= 50
                               ? NULL
                               : "is not a host name (lower-case letters, digits and minus)";
}

const char *value_secret_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-_")
                               ? NULL
                               : "is not a secret's name (lower-case letters, digits, dot, minus and underscore)";
}

const char *value_overlay_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-")
                               ? NULL
                               : "is not an overlay's name (lower-case letters, digits, dot and minus)";
}

const char *value_extends(const char *s) {
        const char *shipped = startswith(s, SHIPPED_PREFIX);

        if (shipped)
                return value_recipe_name(shipped)
                                       ? "names no recipe of imgbuild's own; write \"imgbuild:debian-13-cpu\", say"
                                       : NULL;
        return *s && *s != '/' && !has_control(s)
                               ? NULL
                               : "is neither the name of a recipe in this folder nor a relative path to one";
}

const char *value_text(const char *s) {
        return *s && !has_control(s) ? NULL : "is not one line of text";
}

const char *value_release(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-")
                               ? NULL
                               : "is not a release (as trixie, noble or 9)";
}

const char *value_component(const char *s) {
        return is_word(s, WORD, WORD "+.-/_") && !strstr(s, "..")
                               ? NULL
                               : "is not a component of a repository (as main or non-free-firmware)";
}

const char *value_suite(const char *s) {
        return is_word(s, WORD ".", WORD "+.-/_~") && !strstr(s, "..")
                               ? NULL
                               : "is not a suite (as trixie, or ./ for a flat repository)";
}

const char *value_url(const char *s) {
        const char *rest = startswith(s, "https://"), *slash;

        if (!rest)
                rest = startswith(s, "http://");
        if (!rest)
                rest = startswith(s, "file://");
        if (!rest || !*rest || has_control(s) || strpbrk(s, " \"'<>\\`|^"))
                return "is not a URL (https://…, http://… or file:///…)";
        slash = rest + strcspn(rest, "/");
        if (memchr(rest, '@', (size_t) (slash - rest)))
                return "holds a user or password; what it holds ends up in locks and manifests";
        return NULL;
}

/* Whether a path of the image or of an overlay has only plain parts, none of them "." or "..". */
static bool plain_parts(const char *s) {
        if (!*s || has_control(s) || strlen(s) > 4000)
                return false;
        for (;;) {
                size_t n = strcspn(s, "/");
                if (n == 0 || n > 255 || (n == 1 && *s == '.') ||
                                (n == 2 && s[0] == '.' && s[1] == '.'))
                        return false;
                if (!s[n])
                        return true;
                s += n + 1;
        }
}

const char *value_image_path(const char *s) {
        return *s == '/' && plain_parts(s + 1)
                               ? NULL
                               : "is not an absolute path in the image (as /usr/local/bin/x)";
}

const char *value_image_folder(const char *s) {
        return streq(s, "/") ? NULL : value_image_path(s);
}

const char *value_inside(const char *s) {
        return plain_parts(s) ? NULL
                              : "is not a path inside the overlay (relative, without \"..\")";
}

const char *value_key_reference(const char *s) {
        return strstr(s, "://") ? value_url(s) : value_inside(s);
}

const char *value_source(const char *s) {
        if (startswith(s, "imgbuild:"))
                return streq(s, "imgbuild:firstboot")
                                       ? NULL
                                       : "is not a source of imgbuild's own; there is \"imgbuild:firstboot\"";
        return value_inside(s);
}

const char *value_image(const char *s) {
        if (strstr(s, "://"))
                return value_url(s);
        return *s && !has_control(s) && !strchr(s, ':')
                               ? NULL
                               : "is neither a path (without a colon) nor a URL";
}

const char *value_device(const char *s) {
        const char *bare = startswith(s, "btrfsvol:"), *name = startswith(bare ? bare : s, "/dev/");

        return name && strlen(s) <= 200 && is_word(name, WORD, WORD "._+/@-")
                               ? NULL
                               : "is not a device (as /dev/sda2, the first disk's second partition)";
}

/* [a-z0-9][a-z0-9+.-]+, then :arch and =version where given; "${kernel}" stands for a release like
 * 6.12.57+deb13-amd64 anywhere in the name. */
const char *value_debian_package(const char *s) {
        static const char wrong[] =
                        "is not a package (lower-case letters, digits, + . -; then :arch or =version)";
        size_t n = 0;

        if (strlen(s) > 200)
                return wrong;
        for (;;) {
                const char *kernel = startswith(s, "${kernel}");

                if (kernel && n > 0) {
                        s = kernel;
                        n++;
                        continue;
                }
                if (!*s || !strchr(n == 0 ? LOWER DIGITS : LOWER DIGITS "+.-", *s))
                        break;
                s++;
                n++;
        }
        if (n < 2)
                return wrong;
        if (*s == ':') {
                n = strspn(s + 1, LOWER DIGITS "-");
                if (n == 0)
                        return wrong;
                s += n + 1;
        }
        if (*s == '=') {
                n = strspn(s + 1, WORD ".+~:-");
                if (n == 0)
                        return wrong;
                s += n + 1;
        }
        return *s ? wrong : NULL;
}

/* Letters, digits and what versions have; "${kernel}" as above. Returns what comes behind it, NULL
 * where there is nothing of it. */
static const char *skip_el_word(const char *s) {
        const char *p = s;

        if (!*p || !strchr(WORD "$", *p))
                return NULL;
        for (;;) {
                const char *kernel;

                p += strspn(p, WORD "+._:~^-");
                kernel = startswith(p, "${kernel}");
                if (!kernel)
                        return p > s ? p : NULL;
                p = kernel;
        }
}

/* As dnf takes them: a name with what belongs to it, or what packages provide, with its version:
 * "kernel-devel-uname-r = ${kernel}". */
const char *value_el_package(const char *s) {
        static const char wrong[] =
                        "is not a package (letters, digits, + . _ : -; or NAME = VERSION)";
        const char *p = skip_el_word(s);

        if (!p || *s == '$' || p < s + 2 || strlen(s) > 200)
                return wrong;
        p = startswith(p, " = ") ? skip_el_word(p + strlen(" = ")) : p;
        return p && !*p ? NULL : wrong;
}

const char *value_package(const char *s) {
        return value_el_package(s) ? value_debian_package(s) : NULL;
}

const char *value_kernel_package(const char *s) {
        return strchr(s, '$') ? "is not a kernel's package (as linux-image-amd64 or kernel-core)"
                              : value_package(s);
}

const char *value_base_package(const char *s) {
        return strchr(s, '$') ? "depends on the kernel, which comes after the base"
                              : value_package(s);
}

const char *value_version(const char *s) {
        return is_word(s, WORD, WORD ".+~_:-") ? NULL
                                               : "is not a version (letters, digits, . + ~ _ : -)";
}

/* It stands in the first line of scripts, whose length the kernel limits. */
const char *value_environment(const char *s) {
        const char *rest = startswith(s, "/opt/");

        return rest && !value_image_path(s) && rest[strspn(rest, WORD "._-/")] == '\0' &&
                                               strlen(s) <= 80
                               ? NULL
                               : "is not a folder below /opt (as /opt/ml/torch: letters, digits, . _ -)";
}

const char *value_interpreter(const char *s) {
        const char *rest = startswith(s, "python3"), *minor = rest ? startswith(rest, ".") : NULL;

        return rest && (*rest == '\0' || (minor && *minor && strlen(minor) <= 3 &&
                                                         minor[strspn(minor, DIGITS)] == '\0'))
                               ? NULL
                               : "is no Python of the image (python3, or python3.12 and the like)";
}

const char *value_requirement(const char *s) {
        static const char *const archives[] = { ".whl", ".zip", ".gz", ".bz2", ".tgz", ".xz" };

        for (size_t i = 0; i < ELEMENTSOF(archives); i++)
                if (endswith(s, archives[i]))
                        return "is a file; name a package and its version, which come from an index";
        return is_word(s, WORD, WORD "._-[],<>=!~*+ ;()'\"")
                               ? NULL
                               : "is not a requirement (as torch==2.6.0 or numpy>=2,<3; no URL, path or option)";
}

const char *value_file_name(const char *s) {
        return is_word(s, WORD, WORD "+._-") ? NULL : "is not a name (letters, digits, + . _ -)";
}

const char *value_sha256(const char *s) {
        return strlen(s) == 64 && strspn(s, DIGITS "abcdef") == 64
                               ? NULL
                               : "is not a SHA-256 (64 lower-case hexadecimal digits)";
}

void fingerprint_normalize(char *s) {
        char *write = s;

        for (const char *c = s; *c; c++)
                if (*c != ' ')
                        *write++ = (char) toupper((unsigned char) *c);
        *write = '\0';
}

const char *value_fingerprint(const char *s) {
        size_t digits = 0;

        for (; *s; s++)
                if (strchr(HEX, *s))
                        digits++;
                else if (*s != ' ')
                        break;
        return *s == '\0' && (digits == 40 || digits == 64)
                               ? NULL
                               : "is not the full fingerprint of a key (40 or 64 hexadecimal digits; gpg --show-keys prints it)";
}

const char *value_mode(const char *s) {
        mode_t mode;
        return parse_mode(s, &mode) ? NULL : "is not a file mode (octal, as \"0600\")";
}

const char *value_size(const char *s) {
        uint64_t size;
        return parse_disk_size(s, &size)
                               ? NULL
                               : "is not a disk size (from 256M to 64T, as \"8G\" or \"20480M\"; binary units)";
}

/* The boot loader's configuration is a script of its own; what means something there stays out. */
const char *value_cmdline(const char *s) {
        return !has_control(s) && !strpbrk(s, "'\"\\$`;&|<>{}#") && strlen(s) <= 1500
                               ? NULL
                               : "is not a kernel command line (one line of words without quotes and ; & | < > { } $ # \\)";
}

const char *value_kernel_option(const char *s) {
        return is_word(s, UPPER DIGITS, UPPER LOWER DIGITS "_") && !startswith(s, "CONFIG_")
                               ? NULL
                               : "is not a kernel option (as PCI_P2PDMA, without CONFIG_)";
}

/* Neither version nor context: dnf finds those. */
const char *value_module(const char *s) {
        const char *colon = strchr(s, ':'), *slash = colon ? strchr(colon, '/') : NULL;
        _cleanup_free_ char *name = colon ? strndup(s, (size_t) (colon - s)) : NULL,
                            *stream = slash ? strndup(colon + 1, (size_t) (slash - colon - 1))
                                            : NULL;
        const char *last = slash ? slash + 1 : colon ? colon + 1 : NULL;

        return name && (!slash || stream) && is_word(name, WORD, WORD "+._-") &&
                                               (!stream || is_word(stream, WORD, WORD "+._-")) &&
                                               is_word(last, WORD, WORD "+._-")
                               ? NULL
                               : "is not NAME:STREAM of a module, or NAME:STREAM/PROFILE (as nodejs:20/common)";
}

const char *value_unit(const char *s) {
        static const char *const types[] = { ".service", ".socket", ".target", ".timer", ".path",
                ".mount", ".automount", ".swap", ".slice" };

        if (is_word(s, WORD "-_", WORD ":-_.\\@"))
                for (size_t i = 0; i < ELEMENTSOF(types); i++)
                        if (endswith(s, types[i]) && strlen(s) > strlen(types[i]))
                                return NULL;
        return "is not a unit's full name (as ssh.service)";
}

bool parse_disk_size(const char *s, uint64_t *ret) {
        size_t digits = strspn(s, DIGITS);
        uint64_t size;

        /* Stricter than parse_bytes(): a disk's size has one of three units, written in one way. */
        if (digits > 9 || !s[digits] || !strchr("MGT", s[digits]) || s[digits + 1])
                return false;
        if (parse_bytes(s, &size) < 0)
                return false;
        if (size < UINT64_C(256) << 20 || size > UINT64_C(64) << 40)
                return false;

        *ret = size;
        return true;
}

bool parse_mode(const char *s, mode_t *ret) {
        size_t n = strspn(s, "01234567");
        unsigned long mode;

        if (n < 3 || n > 5 || s[n])
                return false;
        mode = strtoul(s, NULL, 8);
        if (mode > 07777)
                return false;
        *ret = (mode_t) mode;
        return true;
}
