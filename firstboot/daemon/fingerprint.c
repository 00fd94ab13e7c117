/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From sysfs, where drivers keep what they were told once: nothing here asks hardware. The GPUs'
 * video BIOS is what the gpu step was told. */

#include "daemon/fingerprint.h"
#include "contract/paths.h"
#include "shared/crc32.h"
#include "shared/file-util.h"

#include <sys/utsname.h>

#define OS_RELEASE_MAX (64 * 1024)

/* A file's words, joined by one blank each; NULL where it cannot be read or is empty. */
static char *words_of(const char *folder, const char *const *files) {
        _cleanup_strv_free_ char **l = NULL;

        for (; *files; files++) {
                _cleanup_free_ char *path = fb_pathf("%s/%s", folder, *files), *text = NULL;
                _cleanup_strv_free_ char **words = NULL;

                if (!path || read_line_file(path, &text) < 0)
                        continue;
                words = strv_split(text, " \t");
                if (strv_extend_strv(&l, words) < 0)
                        return NULL;
        }
        return l ? strv_join(l, " ") : NULL;
}

/* "28.39.1002 (8), 28.37.1014" of a sorted list; NULL for an empty one. */
static char *count_equals(char **l) {
        _cleanup_strv_free_ char **counted = NULL;

        if (!l)
                return NULL;
        strv_sort(l);
        for (char **s = l; *s;) {
                size_t n = 1;

                while (s[n] && streq(s[n], *s))
                        n++;
                if ((n > 1 ? strv_extendf(&counted, "%s (%zu)", *s, n)
                           : strv_extend(&counted, *s)) < 0)
                        return NULL;
                s += n;
        }
        return strv_join(counted, ", ");
}

/* The same files of every device of a class. */
static char *of_class(const char *class, const char *const *files) {
        _cleanup_strv_free_ char **devices = NULL, **l = NULL;

        if (fb_list(class, &devices) < 0)
                return NULL;
        STRV_FOREACH (device, devices) {
                _cleanup_free_ char *folder = strf("%s/%s", class, *device);
                char *words = folder ? words_of(folder, files) : NULL;

                if (words && strv_push(&l, words) < 0)
                        return NULL;
        }
        return count_equals(l);
}

/* The first of these keys that os-release has: an image's own name and version before the
 * distribution's. */
static char *os_release(const char *text, const char *key) {
        size_t n = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, n) != 0 || line[n] != '=')
                        continue;
                line += n + 1;
                line += strspn(line, "\"'");
                return strndup(line, strcspn(line, "\"'\n"));
        }
        return NULL;
}

static char *image(void) {
        _cleanup_free_ char *path = fb_path("/etc/os-release"), *text = NULL, *id = NULL,
                            *version = NULL;

        if (!path || read_file(path, OS_RELEASE_MAX, &text, NULL) < 0)
                return NULL;
        id = os_release(text, "IMAGE_ID");
        version = os_release(text, id ? "IMAGE_VERSION" : "BUILD_ID");
        if (!id)
                id = os_release(text, "PRETTY_NAME");
        return id ? strf("%s%s%s", id, version ? " " : "", strempty(version)) : NULL;
}

static char *video_bios(const Node *n) {
        const Job *gpu = node_find_job(n, "gpu");
        json_object *list =
                        gpu ? json_get(json_get(job_run(gpu)->result, "figures"), "gpus") : NULL;
        size_t count = json_array_length(list);
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < count; i++) {
                const char *vbios = json_get_string(json_object_array_get_idx(list, i), "vbios");

                if (vbios && strv_extend(&l, vbios) < 0)
                        return NULL;
        }
        return count_equals(l);
}

json_object *fingerprint_read(const Node *n) {
        static const char *const bios[] = { "bios_version", "bios_date", NULL },
                                 *const nic[] = { "board_id", "fw_ver", NULL },
                                 *const nvme[] = { "model", "firmware_rev", NULL },
                                 *const version[] = { "version", NULL };
        _cleanup_json_ json_object *o = json_object_new_object();
        struct utsname name = {};
        char id[16];
        int r;

        (void) uname(&name);
        _cleanup_free_ char *of_bios = words_of("/sys/class/dmi/id", bios),
                            *driver = words_of("/sys/module/nvidia", version),
                            *nics = of_class("/sys/class/infiniband", nic),
                            *disks = of_class("/sys/class/nvme", nvme), *from = image(),
                            *vbios = video_bios(n);
        r = json_set_fields(o, JSON_STRING("kernel", name.release), JSON_STRING("image", from),
                        JSON_STRING("bios", of_bios), JSON_STRING("driver", driver),
                        JSON_STRING("vbios", vbios), JSON_STRING("nic", nics),
                        JSON_STRING("nvme", disks));
        if (r < 0)
                return NULL;
        const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (!text)
                return NULL;
        snprintf(id, sizeof(id), "%08x", crc32_sum(0, text, strlen(text)));
        r = json_set_string(o, "id", id);
        return r < 0 ? NULL : TAKE_PTR(o);
}
