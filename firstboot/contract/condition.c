/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/condition.h"
#include "shared/file-util.h"
#include "contract/paths.h"

#define PCI_DEVICES "/sys/bus/pci/devices"

/* VENDOR of "pci:VENDOR", else NULL. */
static const char *pci_vendor(const char *word) {
        const char *vendor = startswith(word, "pci:");

        return vendor && strlen(vendor) == 4 && strspn(vendor, "0123456789abcdef") == 4 ? vendor
                                                                                        : NULL;
}

bool condition_is_valid(const char *word) {
        return streq(word, "configured") || pci_vendor(word);
}

/* 1, 0, or -errno where sysfs does not tell. */
static int pci_has(const char *vendor) {
        _cleanup_strv_free_ char **devices = NULL;
        int r = fb_list(PCI_DEVICES, &devices);

        STRV_FOREACH (device, devices) {
                _cleanup_free_ char *path = fb_pathf("%s/%s/vendor", PCI_DEVICES, *device),
                                    *text = NULL;

                r = path ? read_line_file(path, &text) : -ENOMEM;
                if (r >= 0)
                        r = streq_ptr(startswith(text, "0x"), vendor);
                if (r != 0)
                        break;
        }
        return r;
}

int condition_holds(const Step *s, json_object *config, char **ret_why) {
        _cleanup_strv_free_ char **why = NULL;
        int r;

        STRV_FOREACH (word, s->only_if) {
                const char *vendor = pci_vendor(*word);

                if (vendor ? pci_has(vendor) != 0 : json_get(config, s->name) != NULL)
                        return 1;
                r = vendor ? strv_extendf(&why, "PCI shows no device of vendor %s", vendor)
                           : strv_extendf(&why, "no %s section in the configuration", s->name);
                if (r < 0)
                        return r;
        }
        if (!why)
                return 1;
        *ret_why = strv_join(why, ", ");
        return *ret_why ? 0 : -ENOMEM;
}
