/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The key comes from a secret or a file, and is put in place before munged starts. */

#include "steps/slurm/munge.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/common/secret-file.h"
#include "steps/common/unit.h"

#include <pwd.h>
#include <resolv.h>
#include <sys/stat.h>

#define KEY_FILE "/etc/munge/munge.key"
/* munge(7): MUNGE_MINIMUM_SECRET_KEY_LENGTH and _MAXIMUM_. */
#define KEY_MIN 32
#define KEY_MAX 1024
#define UNIT_USEC (60 * USEC_PER_SEC)

static int decode_key(StepContext *c, const char *base64, unsigned char **ret, size_t *ret_size) {
        size_t room = strlen(base64) + 4;
        _cleanup_free_ unsigned char *key = malloc(room);
        int r;

        if (!key)
                return -ENOMEM;
        r = b64_pton(base64, key, room);
        if (r < KEY_MIN || r > KEY_MAX)
                return step_fail(c, "slurm.munge-key",
                                "slurm.munge_key is no base64 of %d to %d bytes", KEY_MIN, KEY_MAX);
        *ret = TAKE_PTR(key);
        *ret_size = (size_t) r;
        return 1;
}

/* 1 with the key (caller frees), 0 where the configuration gives none. */
static int find_key(StepContext *c, unsigned char **ret, size_t *ret_size) {
        const char *base64 = json_get_string(c->section, "munge_key"),
                   *file = json_get_string(c->section, "munge_key_file");
        _cleanup_free_ char *path = NULL, *in_place = NULL, *key = NULL;
        size_t size = 0;
        int r;

        if (base64)
                return decode_key(c, base64, ret, ret_size);
        if (!file)
                return 0;

        path = fb_path(file);
        in_place = fb_path(KEY_FILE);
        if (!path || !in_place)
                return -ENOMEM;
        r = secret_file_read(path, KEY_MAX, &key, &size);
        if (r < 0 && access(in_place, R_OK) >= 0) {
                /* So a node whose file server is away can still say so, as a drained node. */
                log_warning("%s: %s; the key of an earlier run is used", file, strerror(-r));
                return 0;
        }
        if (r < 0)
                return step_fail_later(c, "slurm.munge-key", "%s: %s", file, strerror(-r));
        if (size < KEY_MIN)
                return step_fail(c, "slurm.munge-key",
                                "%s holds %zu bytes; a munge key has %d at least", file, size,
                                KEY_MIN);
        *ret = (unsigned char *) TAKE_PTR(key);
        *ret_size = size;
        return 1;
}

static bool is_in_place(const char *path, const unsigned char *key, size_t size,
                const struct passwd *munge) {
        _cleanup_free_ char *old = NULL;
        struct stat st;
        size_t old_size;

        return read_file(path, KEY_MAX, &old, &old_size) >= 0 && old_size == size &&
               memcmp(old, key, size) == 0 && stat(path, &st) >= 0 &&
               (st.st_mode & 07777) == 0400 && (!munge || st.st_uid == munge->pw_uid);
}

static int write_key(const char *path, const unsigned char *key, size_t size,
                const struct passwd *munge) {
        int r;

        r = mkdir_parents(path, 0700);
        if (r < 0)
                return r;
        r = write_file_durable(path, key, size, 0400);
        if (r < 0)
                return r;
        return munge && chown(path, munge->pw_uid, munge->pw_gid) < 0 ? -errno : 0;
}

/* 0400 from its first moment on: a file beside it is renamed over it. 1 where it changed. */
static int put_key(StepContext *c, const unsigned char *key, size_t size) {
        _cleanup_free_ char *path = fb_path(KEY_FILE);
        const struct passwd *munge = getpwnam("munge");
        int r;

        if (!path)
                return -ENOMEM;
        if (is_in_place(path, key, size, munge))
                return 0;
        r = write_key(path, key, size, munge);
        if (r < 0)
                return step_fail_later(
                                c, "slurm.munge-key", "%s not written: %s", KEY_FILE, strerror(-r));
        return 1;
}

int munge_prepare(StepContext *c) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ unsigned char *key = NULL;
        _cleanup_free_ char *result = NULL, *path = fb_path(KEY_FILE);
        size_t size = 0;
        int changed = 0, r;

        if (!path)
                return -ENOMEM;
        r = find_key(c, &key, &size);
        if (r < 0)
                return r;
        if (r > 0) {
                changed = put_key(c, key, size);
                explicit_bzero(key, size);
                if (changed < 0)
                        return changed;
        } else if (access(path, R_OK) < 0)
                return step_fail_later(c, "slurm.munge-key",
                                "neither credential nor file nor metadata gives a munge key");

        r = unit_bus(&bus);
        if (r < 0)
                return unit_fail_no_bus(c, "slurm.munge", r);
        r = unit_job(bus, changed ? "RestartUnit" : "StartUnit", "munge.service", UNIT_USEC,
                        &result);
        if (r < 0)
                return step_fail_later(c, "slurm.munge", "munge.service did not start: %s",
                                unit_job_words(r, result));
        return 0;
}
