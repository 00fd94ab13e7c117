/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* support.json read, and versions held against it. */

#include "common/support.h"
#include "common/version.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ctype.h>
#include <time.h>

#define SUPPORT_SIZE_MAX (1024 * 1024)
#define NAME "support.json"

/* Of a program that was not installed: build/imgbuild. */
static char *beside_program(void) {
        char program[4096];
        ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        _cleanup_free_ char *folder = NULL;

        if (n < 0)
                return strdup("");
        program[n] = '\0';
        folder = path_folder(program);
        return folder ? strf("%s/../builder/common/" NAME, folder) : NULL;
}

static int find_data(char **ret) {
        _cleanup_free_ char *own = beside_program();
        const char *const paths[] = { getenv("IMGBUILD_SUPPORT"), own, DATADIR "/" NAME };

        if (!own)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                if (isempty(paths[i]) || (i > 0 && access(paths[i], F_OK) < 0))
                        continue;
                *ret = strdup(paths[i]);
                return *ret ? 0 : -ENOMEM;
        }
        return -ENOENT;
}

static int unreadable(const char *path, const char *why) {
        log_error("%s: not data on supported versions that could be read: %s", path, why);
        return -EINVAL;
}

int support_load(json_object **ret) {
        _cleanup_free_ char *path = NULL;
        _cleanup_json_ json_object *o = NULL;
        JsonError error = {};
        int r;

        r = find_data(&path);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return r;
        r = json_load(path, SUPPORT_SIZE_MAX, &error, &o);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return unreadable(path, error.message);
        if (!json_object_is_type(json_get(o, "products"), json_type_array))
                return unreadable(path, "there is no list \"products\"");
        *ret = TAKE_PTR(o);
        return 0;
}

const char *support_today(char ret[static TODAY_MAX]) {
        time_t now = time(NULL);
        struct tm tm;

        if (!gmtime_r(&now, &tm) || strftime(ret, TODAY_MAX, "%Y-%m-%d", &tm) == 0)
                ret[0] = '\0';
        return ret;
}

static json_object *find_product(json_object *support, const char *name) {
        json_object *list = json_get(support, "products");

        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *p = json_object_array_get_idx(list, i);

                if (streq_ptr(json_get_string(p, "product"), name))
                        return p;
        }
        return NULL;
}

/* "550" is that of "550.163.01", and not of "5501.1". */
static json_object *find_branch(json_object *product, const char *version) {
        json_object *list = json_get(product, "branches");

        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *b = json_object_array_get_idx(list, i);
                const char *rest = startswith(version, strempty(json_get_string(b, "branch")));

                if (rest && !isdigit((unsigned char) *rest))
                        return b;
        }
        return NULL;
}

/* Upstream's part of a package's version: "1.1.5" of "1.1.5+ds1-1+deb12u1", "1.19.1" of "1.19.1-1".
 * *ret_packaged: whether there was more. */
static char *upstream_version(const char *version, bool *ret_packaged) {
        const char *start = strchr(version, ':');
        size_t n;

        start = start ? start + 1 : version;
        n = strcspn(start, "+-");
        *ret_packaged = start[n] != '\0';
        return strndup(start, n);
}

static const char *unless_confirmed(json_object *branch, const char *key) {
        return json_get_bool(branch, key, false) ? "" : ", not confirmed";
}

static int judge_floor(json_object *b, const char *label, const char *version, const char *upstream,
                bool packaged, char ***says) {
        const char *floor = json_get_string(b, "floor");

        if (!floor || version_compare(upstream, floor) >= 0)
                return 0;
        return strv_extendf(says,
                        "%s %s is below %s, the first of its branch with all known fixes (%s, %s%s)%s",
                        label, version, floor, strempty(json_get_string(b, "floor_source")),
                        strempty(json_get_string(b, "floor_date")),
                        unless_confirmed(b, "floor_confirmed"),
                        packaged ? ". Its distribution may have put the fixes into this package: its security tracker knows"
                                 : "");
}

/* "2026-06" is over from July on. */
static int judge_end(json_object *b, const char *label, const char *version, const char *today,
                char ***says) {
        const char *end = json_get_string(b, "end"), *note = json_get_string(b, "note");

        if (!end || strncmp(today, end, strlen(end)) <= 0)
                return 0;
        return strv_extendf(says, "%s %s: support of branch %s has ended in %s (%s, %s%s)%s%s",
                        label, version, strempty(json_get_string(b, "branch")), end,
                        strempty(json_get_string(b, "end_source")),
                        strempty(json_get_string(b, "end_date")),
                        unless_confirmed(b, "end_confirmed"), note ? "; " : "", strempty(note));
}

int support_judge(json_object *support, const char *product, const char *version, const char *today,
                char ***ret) {
        _cleanup_strv_free_ char **says = NULL;
        json_object *p = find_product(support, product), *b;
        _cleanup_free_ char *upstream = NULL;
        const char *label = json_get_string(p, "label");
        bool packaged;
        int r;

        *ret = NULL;
        if (!p)
                return 0;
        upstream = upstream_version(version, &packaged);
        if (!upstream)
                return -ENOMEM;
        if (!isdigit((unsigned char) *upstream))
                return 0; /* "unknown" */
        label = label ? label : product;
        b = find_branch(p, upstream);
        if (!b) {
                r = strv_extendf(&says,
                                "%s %s: nothing is known of this branch's support (data of %s)",
                                label, version, strempty(json_get_string(support, "checked")));
                if (r < 0)
                        return r;
                *ret = TAKE_PTR(says);
                return 0;
        }

        r = judge_floor(b, label, version, upstream, packaged, &says);
        if (r < 0)
                return r;
        r = judge_end(b, label, version, today, &says);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(says);
        return 0;
}
