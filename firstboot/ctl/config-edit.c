/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl config set, unset: a value of this node's own, in a file of conf.d that nobody else
 * writes. It is checked as firstbootd will, before it is written, and what newly goes wrong refuses
 * it: faults that are there already are not its. */

#include "contract/config-layer.h"
#include "contract/config-schema.h"
#include "contract/config.h"
#include "contract/graph.h"
#include "contract/paths.h"
#include "contract/zone.h"
#include "ctl/ctl.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/file.h>

#define OWN_FILE "90-firstbootctl.json"

/* One file's object; {} where it is not there. -EINVAL: it is faulty (logged). */
static int read_layer(const char *name, json_object **ret) {
        JsonError e = {};
        int r;

        r = config_layer_load(name, &e, ret);
        if (r == -ENOENT) {
                *ret = json_object_new_object();
                return *ret ? 0 : log_oom();
        }
        if (r == -EACCES)
                return log_error_errno(r, "%s: run firstbootctl as root", name);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0 && e.line == 0)
                return log_error_return(-EINVAL, "%s: %s", name, e.message);
        if (r < 0)
                return log_error_return(-EINVAL, "%s:%u:%u: %s; correct it first", name, e.line,
                                e.column, e.message);
        if (!json_object_is_type(*ret, json_type_object)) {
                json_putp(ret);
                return log_error_return(
                                -EINVAL, "%s: must be an object { … }; correct it first", name);
        }
        return 0;
}

/* Sections on the way to a key that went, where nothing else is in them. */
static void drop_empty(json_object *o, char *const *parts) {
        json_object *next = json_get(o, parts[0]);

        if (!parts[1] || !json_object_is_type(next, json_type_object))
                return;
        drop_empty(next, parts + 1);
        if (json_object_object_length(next) == 0)
                json_object_object_del(o, parts[0]);
}

/* The file takes the value (NULL: loses it). Sections are made as needed. 1: it had it; 0: it had
 * not. */
static int put(json_object *layer, const char *key, json_object *value) {
        _cleanup_strv_free_ char **parts = strv_split(key, ".");
        size_t n = strv_length(parts);
        json_object *o = layer;
        bool had;

        for (size_t i = 0; i + 1 < n; i++) {
                json_object *next = json_get(o, parts[i]);

                if (!json_object_is_type(next, json_type_object)) {
                        if (!value)
                                return 0;
                        next = json_object_new_object();
                        if (json_set(o, parts[i], next) < 0)
                                return -ENOMEM;
                }
                o = next;
        }
        if (n == 0)
                return -EINVAL;
        had = json_object_object_get_ex(o, parts[n - 1], NULL);
        if (!value) {
                json_object_object_del(o, parts[n - 1]);
                drop_empty(layer, parts);
                return had;
        }
        return json_set(o, parts[n - 1], json_object_get(value)) < 0 ? -ENOMEM : had;
}

/* As the key's type has it: 3, true, ["a"], "text", and text without quotes. */
static json_object *value_from_text(const char *key, const char *text) {
        const ConfigKey *row = config_key_find(key);
        json_object *value = NULL, *list;
        JsonError e;

        if (row && row->type == CONFIG_STRING && text[0] != '"')
                return json_object_new_string(text);
        if (json_parse(text, strlen(text), &e, &value) < 0)
                value = json_object_new_string(text);
        if (!row || row->type != CONFIG_STRINGS || !json_object_is_type(value, json_type_string))
                return value;

        list = json_object_new_array();
        if (!list) {
                json_object_put(value);
                return NULL;
        }
        if (json_append(list, value) < 0) {
                json_object_put(list);
                return NULL;
        }
        return list;
}

/* What the running configuration has from other layers, as far as we may read it. */
static int merge_running(Config *c) {
        _cleanup_json_ json_object *document = NULL;
        json_object *values;
        JsonError e;
        int r;

        r = config_layer_load(PATH_RUN_CONFIG, &e, &document);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;
        values = json_get(document, "config");
        return values ? config_merge(c, values, "the running configuration") : 0;
}

static int finish(Config *c) {
        _cleanup_strv_free_ char **sections = NULL;
        _cleanup_graph_ Graph *g = NULL;
        int r;

        r = graph_load(c->values, &g);
        if (r < 0)
                return r;
        for (size_t i = 0; i < g->n; i++) {
                r = strv_extend(&sections, g->steps[i].name);
                if (r < 0)
                        return r;
        }
        return config_finish(c, sections);
}

/* The node's tzdata knows which zones there are; where it has none, nothing is said. */
static int check_zone(Config *c) {
        _cleanup_free_ char *folder = fb_path(ZONES), *hint = NULL;
        const char *zone;
        int r;

        r = zone_look_up(c, folder, &zone, &hint);
        if (r != 0)
                return r == -ENOMEM ? r : 0;
        return strv_extendf(
                        &c->errors, "host.timezone: there is no time zone \"%s\"%s", zone, hint);
}

/* The faults of the configuration with our file as `layer`. 0 or -ENOMEM. */
static int faults_with(json_object *layer, char ***ret) {
        _cleanup_config_ Config *c = config_new();
        int r;

        if (!c)
                return -ENOMEM;
        r = merge_running(c);
        if (r < 0)
                return r;
        r = config_merge(c, layer, PATH_CONFIG_DROPINS "/" OWN_FILE);
        if (r < 0)
                return r;
        r = finish(c);
        if (r < 0)
                return r;
        r = check_zone(c);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c->errors);
        return 0;
}

/* Logs what is wrong with the new file and was not with the old one. 0; -EINVAL; -ENOMEM. */
static int refuse_faults(json_object *old, json_object *new) {
        _cleanup_strv_free_ char **before = NULL, **after = NULL;
        int r;

        if (faults_with(old, &before) < 0 || faults_with(new, &after) < 0)
                return log_oom();
        r = 0;
        STRV_FOREACH (fault, after)
                if (!strv_contains(before, *fault)) {
                        const char *text =
                                        startswith(*fault, PATH_CONFIG_DROPINS "/" OWN_FILE ": ");

                        log_error("%s", text ? text : *fault);
                        r = -EINVAL;
                }
        if (r < 0)
                log_error("Nothing was written");
        return r;
}

static int save(json_object *layer) {
        _cleanup_free_ char *path = fb_path(PATH_CONFIG_DROPINS "/" OWN_FILE);
        const char *text = json_object_to_json_string_ext(
                        layer, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                               JSON_C_TO_STRING_NOSLASHESCAPE);
        _cleanup_free_ char *line = text ? strf("%s\n", text) : NULL;
        int r;

        if (!path || !line)
                return log_oom();
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return log_error_errno(r, "Cannot make the folder of %s", path);
        r = write_file_durable(path, line, strlen(line), 0600);
        return r < 0 ? log_error_errno(r, "Cannot write %s", path) : 0;
}

/* Tells what keeps our file from counting: one of conf.d that is read after it and has the key that
 * was set, and any that is faulty. */
static void warn_of_others(const char *key, bool set) {
        _cleanup_strv_free_ char **names = NULL;
        bool faulty = false;

        if (fb_list(PATH_CONFIG_DROPINS, &names) < 0)
                return;
        STRV_FOREACH (name, names) {
                _cleanup_json_ json_object *layer = NULL;
                _cleanup_free_ char *path = strf(PATH_CONFIG_DROPINS "/%s", *name);

                if (!path || streq(*name, OWN_FILE) || !endswith(*name, ".json"))
                        continue;
                if (read_layer(path, &layer) < 0)
                        faulty = true;
                else if (set && strcmp(*name, OWN_FILE) > 0 && put(layer, key, NULL) > 0)
                        log_warning("%s has %s too, and is read later: its value counts", path,
                                        key);
        }
        if (faulty)
                log_warning("The node's configuration fails until that is corrected");
}

static int apply(Ctl *c) {
        int r;

        if (c->no_rerun) {
                log_info("Written; 'firstbootctl rerun config' makes it count, or the next boot");
                return EXIT_SUCCESS;
        }
        if (ctl_bus(c) < 0) {
                log_info("Written; firstbootd is not to be reached, it takes it when it starts");
                return EXIT_SUCCESS;
        }
        r = verb_rerun(c, 1, (char **) ARGV(RERUN_CHANGES));
        if (r == EXIT_FAILURE)
                log_error("It is written; 'firstbootctl rerun config' makes it count, or the next boot");
        return r;
}

/* One edit after the other: what is read is what is written back. A file of root's alone, for who
 * may open a file may lock it. */
static int lock_edits(void) {
        _cleanup_free_ char *path = fb_path(PATH_RUN "/config-edit.lock");
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!path)
                return log_oom();
        r = mkdir_parents(path, 0755);
        if (r == -EACCES || r == -EPERM)
                return log_error_return(r, "Changing the configuration needs root");
        if (r < 0)
                return log_error_errno(r, "Cannot make the folder of %s", path);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && (errno == EACCES || errno == EPERM))
                return log_error_return(-errno, "Changing the configuration needs root");
        if (fd < 0)
                return log_error_errno(-errno, "Cannot open %s", path);
        if (flock(fd, LOCK_EX) < 0)
                return log_error_errno(-errno, "Cannot lock %s", path);
        return TAKE_FD(fd);
}

/* value NULL: the key goes. */
static int write_edit(const char *key, json_object *value) {
        _cleanup_json_ json_object *old = NULL, *new = NULL;
        _cleanup_close_ int lock = lock_edits();
        int r;

        if (lock < 0)
                return EXIT_FAILURE;
        if (read_layer(PATH_CONFIG_DROPINS "/" OWN_FILE, &old) < 0 ||
                        read_layer(PATH_CONFIG_DROPINS "/" OWN_FILE, &new) < 0)
                return EXIT_FAILURE;
        r = put(new, key, value);
        if (r == -ENOMEM)
                return log_oom(), EXIT_FAILURE;
        if (!value && r <= 0) {
                log_error("%s is not set in " PATH_CONFIG_DROPINS "/" OWN_FILE
                          "; 'firstbootctl config' shows which layer gives it",
                                key);
                return EXIT_FAILURE;
        }
        return refuse_faults(old, new) < 0 || save(new) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int edit(Ctl *c, const char *key, json_object *value) {
        if (write_edit(key, value) != EXIT_SUCCESS)
                return EXIT_FAILURE;
        warn_of_others(key, value);
        return apply(c);
}

/* "a.b": parts that are not empty. */
static bool is_key(const char *key) {
        return key[0] && key[0] != '.' && !endswith(key, ".") && !strstr(key, "..");
}

int config_set_value(Ctl *c, const char *key, const char *text) {
        _cleanup_json_ json_object *value = is_key(key) ? value_from_text(key, text) : NULL;

        if (!is_key(key))
                return EXIT_USAGE;
        if (!value) { /* null, or no memory */
                log_error("%s: null is no value; 'firstbootctl config unset %s' takes one back",
                                key, key);
                return EXIT_FAILURE;
        }
        return edit(c, key, value);
}

int config_unset_value(Ctl *c, const char *key) {
        return is_key(key) ? edit(c, key, NULL) : EXIT_USAGE;
}
