/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Step files: found in the folders of the site and the package, read, and checked. */

#include "contract/step-file.h"
#include "contract/condition.h"
#include "contract/paths.h"
#include "contract/quantity.h"
#include "contract/step-codes.h"
#include "shared/suggest.h"

#include <sys/stat.h>

#define STEP_FILE_MAX (64 * 1024)
#define RETRIES_MAX 1000

void step_clear(Step *s) {
        free(s->name);
        free(s->description);
        free(s->file);
        strv_free(s->exec);
        strv_free(s->requires);
        strv_free(s->after);
        strv_free(s->only_if);
        strv_free(s->reads);
        json_object_put(s->codes);
}

RetryPlan step_retry_plan(const Step *s) {
        return (RetryPlan) { s->spread_usec, s->delay_usec, s->delay_max_usec, s->retries,
                s->slow_usec };
}

bool step_name_is_valid(const char *name) {
        size_t n = strlen(name);

        if (n == 0 || n > 32 || name[0] < 'a' || name[0] > 'z')
                return false;
        return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* Step names found in a folder of step files; an absent folder has none. */
static int list_folder(const char *folder, char ***names) {
        _cleanup_strv_free_ char **files = NULL;
        int r;

        r = fb_list(folder, &files);
        if (r < 0)
                return r;

        STRV_FOREACH (file, files) {
                _cleanup_free_ char *name = NULL;

                if (!endswith(*file, ".json"))
                        continue;
                name = strndup(*file, strlen(*file) - strlen(".json"));
                if (!name)
                        return -ENOMEM;
                if (strv_contains(*names, name))
                        continue;
                r = strv_push(names, TAKE_PTR(name));
                if (r < 0)
                        return r;
        }
        return 0;
}

int step_list(char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = list_folder(PATH_STEPS, &names);
        if (r < 0)
                return r;
        r = list_folder(PATH_SITE_STEPS, &names);
        if (r < 0)
                return r;

        if (names)
                strv_sort(names);
        *ret_names = TAKE_PTR(names);
        return 0;
}

static int take_strings(const Step *s, json_object *o, const char *key, char ***l, char ***errors) {
        json_object *list = json_get(o, key);
        int r;

        if (!list)
                return 0;
        if (!json_object_is_type(list, json_type_array))
                return strv_extendf(errors, "%s: \"%s\" must be a list of strings", s->file, key);

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);

                if (json_object_is_type(item, json_type_string))
                        r = strv_extend(l, json_object_get_string(item));
                else
                        r = strv_extendf(errors, "%s: \"%s\" must be a list of strings", s->file,
                                        key);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_duration(
                const Step *s, json_object *o, const char *key, uint64_t *usec, char ***errors) {
        json_object *v = json_get(o, key);

        if (!v || parse_duration(v, usec) >= 0)
                return 0;
        return strv_extendf(errors, "%s: \"%s\" must be a time such as 30 (seconds) or \"5min\"",
                        s->file, key);
}

/* true, or the path of a boolean in the configuration that decides. */
static bool decide(json_object *config, json_object *v) {
        _cleanup_strv_free_ char **parts = NULL;

        if (json_object_is_type(v, json_type_boolean))
                return json_object_get_boolean(v);
        if (!json_object_is_type(v, json_type_string))
                return false;

        parts = strv_split(json_object_get_string(v), ".");
        STRV_FOREACH (p, parts)
                config = json_get(config, *p);
        return json_object_is_type(config, json_type_boolean) && json_object_get_boolean(config);
}

static int check_keys(const Step *s, json_object *o, char ***errors) {
        char *const *known = ARGV("description", "requires", "after", "when", "timeout", "retries",
                        "retry_delay", "retry_delay_max", "required", "run_on_failure", "exec",
                        "only_if", "check", "spread", "slow_retry", "codes", "reads");
        int r;

        json_object_object_foreach (o, key, value) {
                _cleanup_free_ char *meant = NULL;

                (void) value;
                if (strv_contains(known, key))
                        continue;
                meant = suggest_text(key, known);
                r = strv_extendf(errors, "%s: unknown key \"%s\"%s", s->file, key, strempty(meant));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_conditions(const Step *s, char ***errors) {
        int r;

        STRV_FOREACH (word, s->only_if) {
                if (condition_is_valid(*word))
                        continue;
                r = strv_extendf(errors,
                                "%s: \"only_if\" knows \"configured\", \"enabled\" and \"pci:VENDOR\" (four hexadecimal digits), not \"%s\"",
                                s->file, *word);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_lists(Step *s, json_object *o, char ***errors) {
        const struct {
                const char *key;
                char ***list;
        } lists[] = {
                { "exec", &s->exec },
                { "requires", &s->requires },
                { "after", &s->after },
                { "only_if", &s->only_if },
                { "reads", &s->reads },
        };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                r = take_strings(s, o, lists[i].key, lists[i].list, errors);
                if (r < 0)
                        return r;
        }

        s->requires_all = strv_contains(s->requires, "*");
        s->reads_all = s->exec && !json_get(o, "reads");
        return check_conditions(s, errors);
}

static int take_when(Step *s, json_object *o, char ***errors) {
        const char *when = json_get_string(o, "when");

        if (when && !streq(when, "first-boot") && !streq(when, "every-boot"))
                return strv_extendf(errors, "%s: \"when\" must be \"first-boot\" or \"every-boot\"",
                                s->file);

        s->first_boot_only = streq_ptr(when, "first-boot");
        return 0;
}

/* Time limit, attempts and the pauses between them; the configuration may have others. */
static int take_limits(Step *s, json_object *o, json_object *overrides, char ***errors) {
        const struct {
                json_object *from;
                const char *key;
                uint64_t *usec;
        } times[] = {
                { o, "timeout", &s->timeout_usec },
                { o, "retry_delay", &s->delay_usec },
                { o, "retry_delay_max", &s->delay_max_usec },
                { overrides, "timeout", &s->timeout_usec },
        };
        int64_t retries = json_get_int(overrides, "retries", json_get_int(o, "retries", 0));
        int r;

        s->timeout_usec = 10 * 60 * USEC_PER_SEC;
        s->delay_usec = 2 * USEC_PER_SEC;
        s->delay_max_usec = 60 * USEC_PER_SEC;
        for (size_t i = 0; i < ELEMENTSOF(times); i++) {
                r = take_duration(s, times[i].from, times[i].key, times[i].usec, errors);
                if (r < 0)
                        return r;
        }

        if (retries < 0 || retries > RETRIES_MAX || s->timeout_usec == 0)
                return strv_extendf(errors,
                                "%s: \"retries\" must be from 0 to %d and \"timeout\" above 0",
                                s->file, RETRIES_MAX);
        s->retries = (unsigned) retries;
        return 0;
}

/* What keeps a fleet from asking at the same time. A step that is not required is not tried for
 * ever: the node is ready without it, and a job that runs there is not to be disturbed. */
static int take_fleet(Step *s, json_object *o, json_object *config, char ***errors) {
        json_object *overrides = json_get(json_get(config, "steps"), s->name),
                    *retry = json_get(config, "retry");
        bool slow = json_get_bool(overrides, "slow_retry", json_get_bool(o, "slow_retry", true));

        s->slow_usec = slow && s->required ? config_duration(retry, "slow", RETRY_SLOW_USEC) : 0;
        s->spread_usec = config_duration(retry, "spread", RETRY_SPREAD_USEC);
        return take_duration(s, o, "spread", &s->spread_usec, errors);
}

static int fill_step(Step *s, json_object *o, json_object *config, char ***errors) {
        const char *description = json_get_string(o, "description");
        json_object *overrides = json_get(json_get(config, "steps"), s->name);
        int r;

        s->description = strdup(description ? description : s->name);
        if (!s->description)
                return -ENOMEM;
        s->run_on_failure = decide(config, json_get(o, "run_on_failure"));
        s->check = json_get_bool(o, "check", false);
        s->required = json_get_bool(overrides, "required", json_get_bool(o, "required", true));

        r = check_keys(s, o, errors);
        if (r < 0)
                return r;
        r = take_lists(s, o, errors);
        if (r < 0)
                return r;
        s->codes = json_object_get(json_get(o, "codes"));
        r = step_codes_check(s, s->codes, errors);
        if (r < 0)
                return r;
        r = take_when(s, o, errors);
        if (r < 0)
                return r;
        r = take_limits(s, o, overrides, errors);
        if (r < 0)
                return r;
        return take_fleet(s, o, config, errors);
}

/* The file of the site, else the shipped one, as it is called without the test root. 1; 0: there
 * is none, or the site's is empty; -ENOMEM. */
static int find_file(const char *name, bool *ret_site, char **ret_file) {
        static const char *const folders[] = { PATH_SITE_STEPS, PATH_STEPS };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = fb_pathf("%s/%s.json", folders[i], name);
                bool site = i == 0;
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (stat(path, &st) < 0 && errno == ENOENT)
                        continue;
                if (site && !S_ISDIR(st.st_mode) && st.st_size == 0)
                        return 0;

                *ret_site = site;
                *ret_file = strf("%s/%s.json", folders[i], name);
                return *ret_file ? 1 : -ENOMEM;
        }
        return 0;
}

/* path: of the file; file: what it is called in *errors. 1: *ret is the object in it; 0: it is
 * faulty, and *errors say how; -ENOMEM. */
static int read_object(const char *path, const char *file, json_object **ret, char ***errors) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        r = json_load(path, STEP_FILE_MAX, &e, &o);
        if (r == -ENOMEM)
                return r;
        if (r < 0 && e.line == 0)
                return strv_extendf(errors, "%s: %s", file, e.message);
        if (r < 0)
                return strv_extendf(errors, "%s:%u:%u: %s", file, e.line, e.column, e.message);
        if (!json_object_is_type(o, json_type_object))
                return strv_extendf(errors, "%s: must be an object { … }", file);

        *ret = TAKE_PTR(o);
        return 1;
}

/* From the file at `path`, which is called s->file. As step_load(). */
static int load_from(const char *path, const char *name, bool site, json_object *config, Step *s,
                char ***errors) {
        _cleanup_json_ json_object *o = NULL;
        int r;

        if (!step_name_is_valid(name))
                return strv_extendf(errors,
                                "%s: a step's name is made of a-z, 0-9 and '-', at most 32",
                                s->file);
        r = read_object(path, s->file, &o, errors);
        if (r <= 0)
                return r;

        s->name = strdup(name);
        if (!s->name)
                return -ENOMEM;
        r = fill_step(s, o, config, errors);
        if (r < 0)
                return r;
        if (site && strv_length(s->exec) == 0)
                return strv_extendf(errors, "%s: \"exec\" is missing: the program to run", s->file);
        return 1;
}

int step_load(const char *name, json_object *config, Step *s, char ***errors) {
        _cleanup_free_ char *path = NULL;
        bool site = false;
        int r;

        r = find_file(name, &site, &s->file);
        if (r <= 0)
                return r;
        path = fb_path(s->file);
        return path ? load_from(path, name, site, config, s, errors) : -ENOMEM;
}

int step_file_check(
                const char *path, const char *name, const char *shown, Step *ret, char ***errors) {
        ret->file = strdup(shown);
        return ret->file ? load_from(path, name, true, NULL, ret, errors) : -ENOMEM;
}
