/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Machine id, DMI's UUID and the board's serial number, without the values that mean nothing. */

#include "daemon/identity.h"
#include "contract/dmi.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define MACHINE_ID "/etc/machine-id"
#define ID_DIGITS 32

void identity_done(Identity *i) {
        free(i->cloud_id);
        free(i->machine_id);
        free(i->dmi_uuid);
        free(i->board_serial);
        *i = (Identity) {};
}

/* An id that is only mounted over the file lasts for one boot: systemd could not write it. */
static bool is_for_this_boot(const char *path) {
        _cleanup_free_ char *folder = path_folder(path);
        struct stat file, parent;

        return folder && stat(path, &file) >= 0 && stat(folder, &parent) >= 0 &&
               file.st_dev != parent.st_dev;
}

static int read_machine_id(char **ret) {
        _cleanup_free_ char *path = fb_path(MACHINE_ID), *text = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_line_file(path, &text);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || strlen(text) != ID_DIGITS || strspn(text, "0123456789abcdef") != ID_DIGITS ||
                        is_for_this_boot(path))
                return 0;

        *ret = TAKE_PTR(text);
        return 0;
}

int identity_read(const char *cloud_id, Identity *ret) {
        _cleanup_(identity_done) Identity i = {};
        int r;

        i.cloud_id = cloud_id ? strdup(cloud_id) : NULL;
        if (cloud_id && !i.cloud_id)
                return -ENOMEM;
        r = read_machine_id(&i.machine_id);
        if (r < 0)
                return r;
        r = dmi_read("product_uuid", &i.dmi_uuid);
        if (r < 0)
                return r;
        r = dmi_read("board_serial", &i.board_serial);
        if (r < 0)
                return r;

        *ret = i;
        i = (Identity) {};
        return 0;
}

static bool differs(const char *a, const char *b) {
        return a && b && !streq(a, b);
}

/* The first three fields of a UUID are shown in one byte order or the other, by the version that
 * firmware claims for its tables; an update may change that. */
static bool uuid_differs(const char *a, const char *b) {
        static const unsigned char swapped[] = { 6, 7, 4, 5, 2, 3, 0, 1, 8, 11, 12, 9, 10, 13, 16,
                17, 14, 15 };

        if (!differs(a, b))
                return false;
        if (strlen(a) != 36 || strlen(b) != 36 || !streq(a + 18, b + 18))
                return true;
        for (size_t i = 0; i < ELEMENTSOF(swapped); i++)
                if (a[i] != b[swapped[i]])
                        return true;
        return false;
}

const char *identity_difference(const Identity *a, const Identity *b) {
        if (a->cloud_id && b->cloud_id)
                return streq(a->cloud_id, b->cloud_id) ? NULL : "the cloud's instance id";
        if (uuid_differs(a->dmi_uuid, b->dmi_uuid))
                return "the DMI UUID";
        if (differs(a->board_serial, b->board_serial))
                return "the board's serial number";
        return differs(a->machine_id, b->machine_id) ? "the machine id" : NULL;
}

static int learn(char **record, const char *now) {
        char *copy;

        if (!now)
                return 0;
        copy = strdup(now);
        if (!copy)
                return -ENOMEM;
        free(*record);
        *record = copy;
        return 0;
}

int identity_learn(Identity *record, const Identity *now) {
        int r;

        r = learn(&record->cloud_id, now->cloud_id);
        if (r < 0)
                return r;
        r = learn(&record->machine_id, now->machine_id);
        if (r < 0)
                return r;
        r = learn(&record->dmi_uuid, now->dmi_uuid);
        if (r < 0)
                return r;
        return learn(&record->board_serial, now->board_serial);
}

json_object *identity_to_json(const Identity *i) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = json_set_fields(o, JSON_STRING("cloud_id", i->cloud_id),
                        JSON_STRING("machine_id", i->machine_id),
                        JSON_STRING("dmi_uuid", i->dmi_uuid),
                        JSON_STRING("board_serial", i->board_serial));
        return r < 0 ? NULL : TAKE_PTR(o);
}

int identity_from_json(json_object *o, Identity *ret) {
        const Identity found = {
                .cloud_id = (char *) json_get_string(o, "cloud_id"),
                .machine_id = (char *) json_get_string(o, "machine_id"),
                .dmi_uuid = (char *) json_get_string(o, "dmi_uuid"),
                .board_serial = (char *) json_get_string(o, "board_serial"),
        };

        return identity_learn(ret, &found);
}
