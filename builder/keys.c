/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keys.h"
#include "strv.h"

#include <ctype.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define WORD LOWER UPPER DIGITS

const Distro distros[] = {
                {"debian", FAMILY_DEBIAN},
                {"ubuntu", FAMILY_DEBIAN},
                {"oracle", FAMILY_EL},
                {"rhel", FAMILY_EL},
                {"rocky", FAMILY_EL},
                {"alma", FAMILY_EL},
                {},
};

/* Whether s is one byte of `first`, then any of `rest`, at most 200 in all: no name here is longer.
 */
static bool is_word(const char *s, const char *first, const char *rest) {
        return *s && strchr(first, *s) && s[strspn(s, rest)] == '\0' && strlen(s) <= 200;
}

static bool has_control(const char *s) {
        for (; *s; s++)
                if ((unsigned char) *s < ' ' || *s == 0x7f)
                        return true;
        return false;
}

static const char *check_recipe_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-") && !endswith(s, ".lock")
                               ? NULL
                               : "is not a name (lower-case letters, digits, dot and minus)";
}

const char *check_overlay_name(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-") ? NULL
                                                           : "is not an overlay's name (lower-case "
                                                             "letters, digits, dot and minus)";
}

static const char *check_extends(const char *s) {
        return *s && *s != '/' && !has_control(s) ? NULL
                                                  : "is neither the name of a recipe in this "
                                                    "folder nor a relative path to one";
}

static const char *check_text(const char *s) {
        return *s && !has_control(s) ? NULL : "is not one line of text";
}

static const char *check_release(const char *s) {
        return is_word(s, LOWER DIGITS, LOWER DIGITS ".-")
                               ? NULL
                               : "is not a release (as trixie, noble or 9)";
}

static const char *check_component(const char *s) {
        return is_word(s, WORD, WORD "+.-/_") && !strstr(s, "..")
                               ? NULL
                               : "is not a component of a repository (as main or "
                                 "non-free-firmware)";
}

static const char *check_suite(const char *s) {
        return is_word(s, WORD ".", WORD "+.-/_~") && !strstr(s, "..")
                               ? NULL
                               : "is not a suite (as trixie, or ./ for a flat repository)";
}

const char *check_url(const char *s) {
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

static const char *check_image_path(const char *s) {
        return *s == '/' && plain_parts(s + 1)
                               ? NULL
                               : "is not an absolute path in the image (as /usr/local/bin/x)";
}

static const char *check_image_folder(const char *s) {
        return streq(s, "/") ? NULL : check_image_path(s);
}

static const char *check_inside(const char *s) {
        return plain_parts(s) ? NULL
                              : "is not a path inside the overlay (relative, without \"..\")";
}

const char *check_key_reference(const char *s) {
        return strstr(s, "://") ? check_url(s) : check_inside(s);
}

static const char *check_source(const char *s) {
        if (startswith(s, "imgbuild:"))
                return streq(s, "imgbuild:firstboot") ? NULL
                                                      : "is not a source of imgbuild's own; there "
                                                        "is \"imgbuild:firstboot\"";
        return check_inside(s);
}

/* [a-z0-9][a-z0-9+.-]+, then :arch and =version where given; "${kernel}" stands for a release like
 * 6.12.57+deb13-amd64 anywhere in the name. */
const char *check_debian_package(const char *s) {
        static const char wrong[] = "is not a package (lower-case letters, digits, + . -; then "
                                    ":arch or =version)";
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

static const char *check_kernel_package(const char *s) {
        return strchr(s, '$') ? "is not a kernel's package (as linux-image-amd64)"
                              : check_debian_package(s);
}

static const char *check_el_package(const char *s) {
        return is_word(s, WORD, WORD "+._:~^-") && strlen(s) >= 2
                               ? NULL
                               : "is not a package (letters, digits, + . _ : -)";
}

static const char *check_version(const char *s) {
        return is_word(s, WORD, WORD ".+~_:-") ? NULL
                                               : "is not a version (letters, digits, . + ~ _ : -)";
}

static const char *check_file_name(const char *s) {
        return is_word(s, WORD, WORD "+._-") ? NULL : "is not a name (letters, digits, + . _ -)";
}

static const char *check_sha256(const char *s) {
        return strlen(s) == 64 && strspn(s, DIGITS "abcdef") == 64
                               ? NULL
                               : "is not a SHA-256 (64 lower-case hexadecimal digits)";
}

static const char *check_fingerprint(const char *s) {
        size_t digits = 0;

        for (; *s; s++)
                if (strchr(HEX, *s))
                        digits++;
                else if (*s != ' ')
                        break;
        return *s == '\0' && (digits == 40 || digits == 64) ? NULL
                                                            : "is not the full fingerprint of a "
                                                              "key (40 or 64 hexadecimal digits; "
                                                              "gpg --show-keys prints it)";
}

static const char *check_mode(const char *s) {
        mode_t mode;
        return parse_mode(s, &mode) ? NULL : "is not a file mode (octal, as \"0600\")";
}

static const char *check_size(const char *s) {
        uint64_t size;
        return parse_disk_size(s, &size) ? NULL
                                         : "is not a disk size (from 256M to 64T, as \"8G\" or "
                                           "\"20480M\"; binary units)";
}

/* The boot loader's configuration is a script of its own; what means something there stays out. */
static const char *check_cmdline(const char *s) {
        return !has_control(s) && !strpbrk(s, "'\"\\$`;&|<>{}#") && strlen(s) <= 1500
                               ? NULL
                               : "is not a kernel command line (one line of words without quotes "
                                 "and ; & | < > { } $ # \\)";
}

static const char *check_unit(const char *s) {
        static const char *const types[] = {".service", ".socket", ".target", ".timer", ".path",
                        ".mount", ".automount", ".swap", ".slice"};

        if (is_word(s, WORD "-_", WORD ":-_.\\@"))
                for (size_t i = 0; i < ELEMENTSOF(types); i++)
                        if (endswith(s, types[i]) && strlen(s) > strlen(types[i]))
                                return NULL;
        return "is not a unit's full name (as ssh.service)";
}

bool parse_disk_size(const char *s, uint64_t *ret) {
        static const char units[] = "MGT";
        size_t digits = strspn(s, DIGITS);
        const char *unit = strchr(units, s[digits]);
        uint64_t size;

        if (digits == 0 || digits > 9 || !s[digits] || !unit || s[digits + 1])
                return false;
        size = strtoull(s, NULL, 10) << (20 + 10 * (unit - units));
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

static const char *const recipe_kinds[] = {"disk", "tree", NULL};
static const char *const distro_names[] = {
                "debian", "ubuntu", "oracle", "rhel", "rocky", "alma", NULL};
static const char *const architectures[] = {"amd64", NULL};
static const char *const filesystems[] = {"ext4", "xfs", NULL};
static const char *const firmwares[] = {"uefi", "bios", NULL};
static const char *const formats[] = {"qcow2", "raw", NULL};

#define STRING SCHEMA_STRING
#define LIST SCHEMA_LIST
#define OBJECT SCHEMA_OBJECT
#define REQUIRED SCHEMA_REQUIRED

static const Schema overlay_name = {.flags = STRING, .check = check_overlay_name};
static const Schema debian_package = {.flags = STRING, .check = check_debian_package};
static const Schema el_package = {.flags = STRING, .check = check_el_package};
static const Schema component = {.flags = STRING, .check = check_component};
static const Schema firmware = {.flags = STRING, .choices = firmwares};
static const Schema format = {.flags = STRING, .choices = formats};
static const Schema script = {.flags = STRING, .check = check_inside};
static const Schema unit = {.flags = STRING, .check = check_unit};
static const Schema mode = {.flags = STRING, .check = check_mode};

static const Schema base_keys[] = {
                {"distro", STRING, .choices = distro_names},
                {"release", STRING, .check = check_release},
                {"arch", STRING, .choices = architectures},
                {"components", LIST | SCHEMA_REMOVABLE, .item = &component},
                {"mirror", STRING, .check = check_url},
                {"packages", LIST | SCHEMA_REMOVABLE, .item = &debian_package},
                {"image", STRING, .check = check_text},
                {"sha256", STRING, .check = check_sha256},
                {"signature", STRING, .check = check_text},
                {},
};

static const Schema kernel_keys[] = {
                {"package", STRING, .check = check_kernel_package},
                {"cmdline", STRING, .check = check_cmdline},
                {},
};

static const Schema disk_keys[] = {
                {"size", STRING, .check = check_size},
                {"filesystem", STRING, .choices = filesystems},
                {"firmware", LIST | SCHEMA_REMOVABLE, .item = &firmware},
                {"formats", LIST | SCHEMA_REMOVABLE, .item = &format},
                {},
};

const Schema recipe_keys[] = {
                {"name", STRING | REQUIRED, .check = check_recipe_name},
                {"extends", STRING, .check = check_extends},
                {"kind", STRING, .choices = recipe_kinds},
                {"base", OBJECT, .keys = base_keys},
                {"kernel", OBJECT, .keys = kernel_keys},
                {"overlays", LIST | SCHEMA_REMOVABLE, .item = &overlay_name},
                {"packages", LIST | SCHEMA_REMOVABLE, .item = &debian_package},
                {"disk", OBJECT, .keys = disk_keys},
                {.key = "node", .flags = OBJECT | SCHEMA_FREE},
                {},
};

static const Schema debian_repository_keys[] = {
                {"name", STRING | REQUIRED, .check = check_file_name},
                {"uri", STRING | REQUIRED, .check = check_url},
                {"suite", STRING | REQUIRED, .check = check_suite},
                {"components", LIST, .item = &component},
                {"key", STRING | REQUIRED, .check = check_key_reference},
                {"fingerprint", STRING | REQUIRED, .check = check_fingerprint},
                {.key = "keep", .flags = SCHEMA_BOOL},
                {},
};
static const Schema debian_repository = {.flags = OBJECT, .keys = debian_repository_keys};

static const Schema el_repository_keys[] = {
                {"name", STRING | REQUIRED, .check = check_file_name},
                {"uri", STRING | REQUIRED, .check = check_url},
                {"key", STRING | REQUIRED, .check = check_key_reference},
                {"fingerprint", STRING | REQUIRED, .check = check_fingerprint},
                {.key = "keep", .flags = SCHEMA_BOOL},
                {},
};
static const Schema el_repository = {.flags = OBJECT, .keys = el_repository_keys};

static const Schema repositories_keys[] = {
                {"debian", LIST, .item = &debian_repository},
                {"el", LIST, .item = &el_repository},
                {},
};

static const Schema packages_keys[] = {
                {"debian", LIST, .item = &debian_package},
                {"el", LIST, .item = &el_package},
                {},
};

static const char *const install_words[] = {"package", NULL};
static const Schema install_keys[] = {
                {"path", STRING, .check = check_image_path},
                {"mode", STRING, .check = check_mode},
                {"unpack", STRING, .check = check_image_folder},
                {"strip", SCHEMA_INT, .max = 100},
                {},
};

static const Schema artifact_keys[] = {
                {"name", STRING | REQUIRED, .check = check_file_name},
                {"version", STRING | REQUIRED, .check = check_version},
                {"url", STRING | REQUIRED, .check = check_text},
                {"sha256", STRING, .check = check_sha256},
                {"install", STRING | OBJECT | REQUIRED, .choices = install_words,
                                .keys = install_keys},
                {},
};
static const Schema artifact = {.flags = OBJECT, .keys = artifact_keys};

static const Schema compile_keys[] = {
                {"packages", OBJECT, .keys = packages_keys},
                {"source", STRING, .check = check_source},
                {"script", STRING | REQUIRED, .check = check_inside},
                {},
};
static const Schema compile = {.flags = OBJECT, .keys = compile_keys};

static const Schema run_keys[] = {
                {"script", STRING | REQUIRED, .check = check_inside},
                {.key = "early", .flags = SCHEMA_BOOL},
                {.key = "network", .flags = SCHEMA_BOOL},
                {},
};
static const Schema run = {.flags = STRING | OBJECT, .check = check_inside, .keys = run_keys};

static const Schema services_keys[] = {
                {"enable", LIST, .item = &unit},
                {"disable", LIST, .item = &unit},
                {"mask", LIST, .item = &unit},
                {},
};

const Schema overlay_keys[] = {
                {"description", STRING | REQUIRED, .check = check_text},
                {"requires", LIST, .item = &overlay_name},
                {"conflicts", LIST, .item = &overlay_name},
                {"repositories", OBJECT, .keys = repositories_keys},
                {"packages", OBJECT, .keys = packages_keys},
                {"artifacts", LIST, .item = &artifact},
                {"compile", LIST, .item = &compile},
                {"modes", OBJECT | SCHEMA_MAP, .check_key = check_inside, .item = &mode},
                {"run", LIST, .item = &run},
                {"services", OBJECT, .keys = services_keys},
                {.key = "node", .flags = OBJECT | SCHEMA_FREE},
                {"checks", LIST, .item = &script},
                {},
};
