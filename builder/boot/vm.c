/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The machine of a boot as the command line asks for it: disks, forwards, credentials. From here
 * on all of it is known to be sound; qemu.c writes QEMU's command line for it. */

#include "boot/vm.h"

#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/strv.h"

#include <ctype.h>

/* What goes into an Identify field: printable ASCII, no comma (QEMU's separator), no leading
 * space. */
static bool identify_text_valid(const char *text, size_t max) {
        size_t n = strlen(text);

        if (n == 0 || n > max || text[0] == ' ')
                return false;
        for (size_t i = 0; i < n; i++)
                if (text[i] < ' ' || text[i] > '~' || text[i] == ',')
                        return false;
        return true;
}

static bool serial_taken(const VmConfig *c, const char *serial) {
        for (size_t i = 0; i < c->n_nvme; i++)
                if (streq(c->nvme[i].serial, serial))
                        return true;
        return false;
}

/* "size=4G,serial=S,…": strings stay in the text that was split. */
typedef struct NvmeOrder {
        uint64_t size;
        unsigned long count;
        const char *serial, *model;
} NvmeOrder;

static void nvme_done(VmNvme *d) {
        free(d->serial);
        free(d->model);
        *d = (VmNvme) {};
}

/* The i-th disk of an order. */
static int add_disk(VmConfig *c, const NvmeOrder *o, unsigned long i, const char **ret_problem) {
        _cleanup_(nvme_done) VmNvme disk = { .size = o->size };

        if (!o->serial)
                disk.serial = strf("imgbuild%zu", c->n_nvme);
        else
                disk.serial = o->count > 1 ? strf("%s-%lu", o->serial, i) : strdup(o->serial);
        disk.model = o->model ? strdup(o->model) : NULL;
        if (!disk.serial || (o->model && !disk.model))
                return -ENOMEM;

        if (serial_taken(c, disk.serial)) {
                *ret_problem = "two disks with the same serial";
                return -EINVAL;
        }
        if (strlen(disk.serial) > VM_NVME_SERIAL_MAX) {
                *ret_problem = "serial: at most 20 characters";
                return -EINVAL;
        }

        c->nvme[c->n_nvme++] = disk;
        disk = (VmNvme) {};
        return 0;
}

static int add_disks(VmConfig *c, const NvmeOrder *o, const char **ret_problem) {
        if (o->count < 1 || o->count > VM_NVME_MAX || c->n_nvme + o->count > VM_NVME_MAX) {
                *ret_problem = "from 1 to 16 disks in all";
                return -EINVAL;
        }

        for (unsigned long i = 0; i < o->count; i++) {
                int r = add_disk(c, o, i, ret_problem);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_nvme_part(NvmeOrder *o, const char *part, const char **ret_problem) {
        const char *value;
        char *end;

        value = startswith(part, "size=");
        if (value) {
                *ret_problem = "size: at least 1M, such as 4G";
                return parse_bytes(value, &o->size) < 0 || o->size < 1 << 20 || o->size % 512 != 0
                                       ? -EINVAL
                                       : 0;
        }

        value = startswith(part, "serial=");
        if (value) {
                *ret_problem = "serial: 1 to 20 printable characters";
                o->serial = value;
                return identify_text_valid(value, VM_NVME_SERIAL_MAX) ? 0 : -EINVAL;
        }

        value = startswith(part, "model=");
        if (value) {
                *ret_problem = "model: 1 to 40 printable characters";
                o->model = value;
                return identify_text_valid(value, VM_NVME_MODEL_MAX) ? 0 : -EINVAL;
        }

        value = startswith(part, "count=");
        if (value) {
                *ret_problem = "count: from 1 to 16";
                o->count = strtoul(value, &end, 10);
                return isdigit((unsigned char) value[0]) && !*end ? 0 : -EINVAL;
        }

        *ret_problem = "known are size=, serial=, model= and count=";
        return -EINVAL;
}

int vm_add_nvme(VmConfig *c, const char *text, const char **ret_problem) {
        static const char either[] = "a number of disks, or size=4G,serial=S,model=M,count=N";
        NvmeOrder order = { .size = UINT64_C(4) << 30, .count = 1 };
        _cleanup_strv_free_ char **parts = NULL;
        char *end;

        if (isdigit((unsigned char) text[0])) {
                order.count = strtoul(text, &end, 10);
                if (*end) {
                        *ret_problem = either;
                        return -EINVAL;
                }
                return order.count == 0 ? 0 : add_disks(c, &order, ret_problem);
        }

        parts = strv_split(text, ",");
        if (!parts)
                return -ENOMEM;
        if (!parts[0]) {
                *ret_problem = either;
                return -EINVAL;
        }
        STRV_FOREACH (part, parts) {
                int r = take_nvme_part(&order, *part, ret_problem);

                if (r < 0)
                        return r;
        }
        return add_disks(c, &order, ret_problem);
}

static bool parse_port(const char *text, size_t length, bool zero, uint16_t *ret) {
        unsigned n = 0;

        if (length == 0 || length > 5)
                return false;
        for (size_t i = 0; i < length; i++) {
                if (!isdigit((unsigned char) text[i]))
                        return false;
                n = n * 10 + (unsigned) (text[i] - '0');
        }
        if (n > 65535 || (n == 0 && !zero))
                return false;
        *ret = (uint16_t) n;
        return true;
}

int vm_add_forward(VmConfig *c, const char *text, const char **ret_problem) {
        const char *colon = strchr(text, ':');
        VmForward f;

        if (c->n_forwards == VM_FORWARD_MAX) {
                *ret_problem = "at most 16 forwards";
                return -EINVAL;
        }
        if (!colon || !parse_port(text, (size_t) (colon - text), true, &f.host) ||
                        !parse_port(colon + 1, strlen(colon + 1), false, &f.guest)) {
                *ret_problem = "HOST-PORT:GUEST-PORT, such as 2222:22 (host port 0: a free one)";
                return -EINVAL;
        }
        c->forwards[c->n_forwards++] = f;
        return 0;
}

int vm_load_credential(VmConfig *c, const char *text, const char **ret_problem) {
        const char *colon = strchr(text, ':');
        _cleanup_free_ char *name = colon ? strndup(text, (size_t) (colon - text)) : NULL,
                            *value = NULL;
        size_t size;
        int r;

        /* systemd's credential_name_valid(): a file name. */
        if (!colon || !colon[1] || isempty(name) ||
                        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~@") !=
                                        strlen(name)) {
                *ret_problem = "NAME:FILE, such as firstboot.slurm.munge_key:key.txt";
                return -EINVAL;
        }
        *ret_problem = colon + 1;
        r = read_file(colon + 1, VM_CREDENTIAL_MAX, &value, &size);
        if (r < 0)
                return r;
        if (strlen(value) != size) {
                *ret_problem = "a text; a NUL byte is in it";
                return -EINVAL;
        }
        return strv_extend_many(&c->credentials, name, value, NULL);
}

void vm_config_done(VmConfig *c) {
        strv_free(TAKE_PTR(c->credentials));
        for (size_t i = 0; i < c->n_nvme; i++)
                nvme_done(c->nvme + i);
        c->n_nvme = 0;
        vm_links_done(c);
}
