/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "only_if": the configuration's sections and switches, and what PCI shows. */

#include "contract/condition.h"
#include "contract/paths.h"
#include "shared/file-util.h"

#define PCI_DEVICES "/sys/bus/pci/devices"

/* VENDOR of "pci:VENDOR", else NULL. */
static const char *pci_vendor(const char *word) {
        const char *vendor = startswith(word, "pci:");

        if (!vendor || strlen(vendor) != 4 || strspn(vendor, "0123456789abcdef") != 4)
                return NULL;
        return vendor;
}

bool condition_is_valid(const char *word) {
        return streq(word, "configured") || streq(word, "enabled") || pci_vendor(word);
}

/* 1, 0, or -errno where sysfs does not tell. */
static int is_of_vendor(const char *device, const char *vendor) {
        _cleanup_free_ char *path = fb_pathf("%s/%s/vendor", PCI_DEVICES, device), *text = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_line_file(path, &text);
        if (r < 0)
                return r;
        return streq_ptr(startswith(text, "0x"), vendor);
}

/* The same for all devices; the first that fits, or that cannot be read, decides. */
static int pci_has(const char *vendor) {
        _cleanup_strv_free_ char **devices = NULL;
        int r;

        r = fb_list(PCI_DEVICES, &devices);
        if (r < 0)
                return r;
        STRV_FOREACH (device, devices) {
                r = is_of_vendor(*device, vendor);
                if (r != 0)
                        return r;
        }
        return 0;
}

static bool holds(const Step *s, json_object *config, const char *word) {
        const char *vendor = pci_vendor(word);
        json_object *section = json_get(config, s->name);

        if (vendor)
                return pci_has(vendor) != 0;
        return streq(word, "enabled") ? json_get_bool(section, "enabled", false) : section != NULL;
}

/* Why a word does not hold; NULL on out of memory. */
static char *reason(const Step *s, const char *word) {
        const char *vendor = pci_vendor(word);

        if (vendor)
                return strf("PCI shows no device of vendor %s", vendor);
        if (streq(word, "enabled"))
                return strf("%s.enabled is not set", s->name);
        return strf("no %s section in the configuration", s->name);
}

int condition_holds(const Step *s, json_object *config, char **ret_why) {
        _cleanup_strv_free_ char **why = NULL;
        int r;

        STRV_FOREACH (word, s->only_if) {
                _cleanup_free_ char *text = NULL;

                if (holds(s, config, *word))
                        return 1;
                text = reason(s, *word);
                r = text ? strv_extend(&why, text) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        if (!why)
                return 1;

        *ret_why = strv_join(why, ", ");
        return *ret_why ? 0 : -ENOMEM;
}
