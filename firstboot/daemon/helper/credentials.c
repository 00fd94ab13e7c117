/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* They stay in this process, which root alone can look into, and go where all of the configuration
 * goes. */

#include "daemon/helper/credentials.h"
#include "daemon/helper/cluster-ca.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#define PREFIX "firstboot."
#define DMI_TABLE "/sys/firmware/dmi/tables/DMI"
#define DMI_MAX (1024 * 1024)
#define DMI_OEM_STRINGS 11
#define FW_CFG "/sys/firmware/qemu_fw_cfg/by_name/opt/io.systemd.credentials"

typedef struct Found {
        json_object *values;
        char ***errors;
} Found;

/* As a file of it is read: without the white space at its end. */
static int add(const Found *f, const char *name, const char *text, size_t size) {
        json_object *value;

        if (!startswith(name, PREFIX) || json_get(f->values, name))
                return 0;
        while (size > 0 && strchr("\n\r \t", text[size - 1]))
                size--;
        if (memchr(text, '\0', size))
                return strv_extendf(f->errors, "credential %s: a NUL byte in it", name);
        value = json_object_new_string_len(text, (int) size);
        return value && json_object_object_add(f->values, name, value) == 0 ? 0 : -ENOMEM;
}

static int add_file(const Found *f, const char *name, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r = read_line_file(path, &text);

        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return strv_extendf(f->errors, "credential %s: %s", name, strerror(-r));
        return add(f, name, text, strlen(text));
}

/* `below`: of a folder NAME the file that has the value; NULL where NAME is the file. */
static int add_folder(const Found *f, const char *folder, const char *below, bool must_be) {
        _cleanup_strv_free_ char **names = NULL;
        int r = folder_list(folder, &names);

        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return r == -ENOENT && !must_be
                                       ? 0
                                       : strv_extendf(f->errors, "%s: %s", folder, strerror(-r));
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path =
                                strf("%s/%s%s%s", folder, *name, below ? "/" : "", strempty(below));

                if (!path)
                        return -ENOMEM;
                if (!startswith(*name, PREFIX) || json_get(f->values, *name))
                        continue;
                r = add_file(f, *name, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_place(const Found *f, const char *place, const char *below) {
        _cleanup_free_ char *folder = fb_path(place);

        return folder ? add_folder(f, folder, below, false) : -ENOMEM;
}

/* "io.systemd.credential:NAME=TEXT", and with base64 instead of the text. */
static int add_oem_string(const Found *f, const char *string) {
        const char *plain = startswith(string, "io.systemd.credential:"),
                   *binary = startswith(string, "io.systemd.credential.binary:"),
                   *value = plain || binary ? strchr(plain ? plain : binary, '=') : NULL;
        _cleanup_free_ char *name = NULL, *text = NULL;
        int r;

        if (!value)
                return 0;
        name = strndup(plain ? plain : binary, (size_t) (value - (plain ? plain : binary)));
        if (!name)
                return -ENOMEM;
        if (plain)
                return add(f, name, value + 1, strlen(value + 1));
        if (!startswith(name, PREFIX))
                return 0;
        r = base64_text(value + 1, &text);
        if (r == -ENOMEM)
                return r;
        return r < 0 ? strv_extendf(f->errors, "credential %s: it is no base64", name)
                     : add(f, name, text, strlen(text));
}

/* Structures of type, length and handle, then of each its strings, of which the last is empty. */
static int add_dmi(const Found *f, const char *table, size_t size) {
        for (size_t at = 0; at + 4 <= size;) {
                uint8_t type = (uint8_t) table[at], length = (uint8_t) table[at + 1];
                size_t p = at + length;

                if (length < 4 || p > size)
                        return 0;
                if (p < size && table[p] == '\0')
                        p++; /* it has no strings */
                while (p < size && table[p] != '\0') {
                        size_t n = strnlen(table + p, size - p);
                        int r = 0;

                        if (p + n == size)
                                return 0;
                        if (type == DMI_OEM_STRINGS)
                                r = add_oem_string(f, table + p);
                        if (r < 0)
                                return r;
                        p += n + 1;
                }
                at = p + 1;
        }
        return 0;
}

/* systemd from 251 on is told so on the kernel's command line; the last word counts. */
static bool is_refused(const char *cmdline) {
        static const char name[] = "systemd.import_credentials=";
        const char *no[] = { "0", "no", "n", "false", "f", "off" }, *last = NULL;
        size_t n;

        for (const char *word = cmdline; *(word += strspn(word, " \n"));
                        word += strcspn(word, " \n"))
                if (startswith(word, name))
                        last = word + strlen(name);
        n = last ? strcspn(last, " \n") : 0;
        for (size_t i = 0; i < ELEMENTSOF(no) && last; i++)
                if (strlen(no[i]) == n && strncasecmp(last, no[i], n) == 0)
                        return true;
        return false;
}

static int add_firmware(const Found *f) {
        static const char *const guests[] = { "/dev/sev-guest", "/dev/tdx_guest" };
        _cleanup_free_ char *path = fb_path(DMI_TABLE), *table = NULL,
                            *words = fb_path("/proc/cmdline"), *cmdline = NULL;
        size_t size;
        int r;

        if (!path || !words)
                return -ENOMEM;
        if (read_file(words, 64 * 1024, &cmdline, NULL) >= 0 && is_refused(cmdline))
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(guests); i++) {
                _cleanup_free_ char *device = fb_path(guests[i]);

                if (!device)
                        return -ENOMEM;
                if (access(device, F_OK) == 0)
                        return 0;
        }
        r = read_file(path, DMI_MAX, &table, &size);
        if (r == -ENOMEM)
                return r;
        r = r < 0 ? 0 : add_dmi(f, table, size);
        return r < 0 ? r : add_place(f, FW_CFG, "raw");
}

/* Where an older systemd is. */
static int look_for_them(const Found *f) {
        static const char *const stores[] = { "/etc/credstore", "/run/credstore",
                "/usr/local/lib/credstore", "/usr/lib/credstore" };
        int r;

        r = add_place(f, "/run/credentials/@system", NULL);
        if (r < 0)
                return r;
        r = add_firmware(f);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(stores); i++) {
                r = add_place(f, stores[i], NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

int credentials_read(json_object **ret, char ***errors) {
        _cleanup_json_ json_object *values = json_object_new_object();
        const char *given = secure_getenv("CREDENTIALS_DIRECTORY");
        const Found f = { values, errors };
        int r = 0;

        if (!values)
                return -ENOMEM;
        if (given)
                r = add_folder(&f, given, NULL, true);
        else if (secure_getenv("FIRSTBOOT_FIND_CREDENTIALS"))
                r = look_for_them(&f);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(values);
        return 0;
}
