/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The validator: reads a table of keys and tells all that differs from it. */

#include "recipe/schema.h"
#include "recipe/recipe.h"
#include "shared/suggest.h"

#include <ctype.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (1024 * 1024) /* bytes a recipe or overlay file may have */
typedef struct Validation {
        Problems *problems;
        const char *file;
        const Schema *root;
        bool extends;
} Validation;

static bool validate_value(Validation *v, const char *path, const Schema *s, json_object *value);

static const char *type_name(enum json_type type) {
        switch (type) {
        case json_type_null:
                return "null";
        case json_type_boolean:
                return "true or false";
        case json_type_double:
                return "a number with a fraction";
        case json_type_int:
                return "a number";
        case json_type_object:
                return "an object";
        case json_type_array:
                return "a list";
        case json_type_string:
                break;
        }
        return "a string";
}

static unsigned type_flag(enum json_type type) {
        switch (type) {
        case json_type_boolean:
                return SCHEMA_BOOL;
        case json_type_int:
                return SCHEMA_INT;
        case json_type_object:
                return SCHEMA_OBJECT;
        case json_type_array:
                return SCHEMA_LIST;
        case json_type_string:
                return SCHEMA_STRING;
        default:
                return 0;
        }
}

static char *expected_types(const Schema *s) {
        static const struct {
                unsigned flag;
                const char *name;
        } names[] = {
                { SCHEMA_STRING, "a string" },
                { SCHEMA_BOOL, "true or false" },
                { SCHEMA_INT, "a whole number" },
                { SCHEMA_LIST, "a list" },
                { SCHEMA_OBJECT, "an object" },
        };
        _cleanup_strv_free_ char **words = NULL;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if ((s->flags & names[i].flag) && strv_extend(&words, names[i].name) < 0)
                        return NULL;
        return strv_join(words, " or ");
}

static char *key_list(const Schema *table) {
        _cleanup_strv_free_ char **keys = NULL;

        for (const Schema *s = table; s->key; s++)
                if (strv_extend(&keys, s->key) < 0)
                        return NULL;
        return strv_join(keys, ", ");
}

/* What stands in the place of an object is often the value of one of its keys. */
static void wrong_object(Validation *v, const char *path, const Schema *s, const char *expected,
                enum json_type type) {
        _cleanup_free_ char *keys = key_list(s->keys);

        if (!keys)
                v->problems->oom = true;
        else
                problems_add(v->problems, v->file, path, "must be %s, not %s; its keys are %s",
                                expected, type_name(type), keys);
}

static void wrong_type(Validation *v, const char *path, const Schema *s, json_object *value) {
        _cleanup_free_ char *expected = expected_types(s);
        enum json_type type = json_object_get_type(value);

        if (!expected)
                v->problems->oom = true;
        else if ((s->flags & SCHEMA_LIST) && type == json_type_string)
                problems_add(v->problems, v->file, path,
                                "must be %s, not a string; write [\"%.60s\"]", expected,
                                json_object_get_string(value));
        else if ((s->flags & SCHEMA_TYPES) == SCHEMA_OBJECT && s->keys)
                wrong_object(v, path, s, expected, type);
        else
                problems_add(v->problems, v->file, path, "must be %s, not %s", expected,
                                type_name(type));
}

static const Schema *find_key(const Schema *table, const char *key) {
        for (const Schema *s = table; s && s->key; s++)
                if (streq(s->key, key))
                        return s;
        return NULL;
}

bool schema_has_key(const Schema *table, json_object *o) {
        json_object_object_foreach (o, key, value) {
                (void) value;
                if (find_key(table, key))
                        return true;
        }
        return false;
}

/* Where else in the format a key exists: for "cmdline" beside "kernel" instead of in it. NULL:
 * nowhere. */
static char *find_elsewhere(const Schema *table, const char *key, const char *path) {
        for (const Schema *s = table; s && s->key; s++) {
                _cleanup_free_ char *here = schema_path(path, s->key);

                if (!here)
                        return NULL;
                if (streq(s->key, key))
                        return TAKE_PTR(here);
                if (s->flags & SCHEMA_OBJECT && s->keys) {
                        char *found = find_elsewhere(s->keys, key, here);
                        if (found)
                                return found;
                }
        }
        return NULL;
}

static void unknown_key(Validation *v, const char *path, const Schema *table, const char *key) {
        _cleanup_strv_free_ char **known = NULL;
        _cleanup_free_ char *suggestion = NULL, *elsewhere = NULL, *all = NULL;
        bool full = false;

        if (v->problems->n == PROBLEMS_MAX) { /* it will only be counted */
                v->problems->more++;
                return;
        }
        for (const Schema *s = table; s->key && !full; s++)
                full = strv_extend(&known, s->key) < 0;
        suggestion = suggest_text(key, known);
        all = strv_join(known, ", ");
        if (full || !suggestion || !all) {
                v->problems->oom = true;
                return;
        }
        if (!*suggestion)
                elsewhere = find_elsewhere(v->root, key, "$");
        if (*suggestion)
                problems_add(v->problems, v->file, path, "unknown key%s", suggestion);
        else if (elsewhere)
                problems_add(v->problems, v->file, path, "unknown key here; did you mean %s?",
                                elsewhere);
        else
                problems_add(v->problems, v->file, path, "unknown key; known are %s", all);
}

static bool validate_string(Validation *v, const char *path, const Schema *s, const char *value) {
        const char *wrong;

        if (s->choices && !strv_contains((char *const *) s->choices, value)) {
                _cleanup_free_ char *all = strv_join((char *const *) s->choices, ", ");
                _cleanup_free_ char *suggestion = suggest_text(value, (char *const *) s->choices);

                if (all && suggestion)
                        problems_add(v->problems, v->file, path, "\"%.60s\" is not one of %s%s",
                                        value, all, suggestion);
                else
                        v->problems->oom = true;
                return false;
        }
        wrong = s->check ? s->check(value) : NULL;
        if (wrong)
                problems_add(v->problems, v->file, path, "\"%.60s\" %s", value, wrong);
        return !wrong;
}

/* Its meaning is a sentence, the message is none. */
static void missing_key(Validation *v, const char *path, const Schema *k) {
        const char *meaning = strempty(k->meaning);
        size_t n = strlen(meaning);

        problems_add(v->problems, v->file, path, "missing%s%.*s", n > 0 ? ": " : "",
                        (int) (n > 0 && meaning[n - 1] == '.' ? n - 1 : n), meaning);
}

static bool validate_object(Validation *v, const char *path, const Schema *s, json_object *o) {
        bool complete = true;

        for (const Schema *k = s->keys; k && k->key; k++)
                if (k->flags & SCHEMA_REQUIRED && !json_object_object_get_ex(o, k->key, NULL)) {
                        _cleanup_free_ char *here = schema_path(path, k->key);

                        if (here)
                                missing_key(v, here, k);
                        else
                                v->problems->oom = true;
                        complete = false;
                }
        json_object_object_foreach (o, key, value) {
                const Schema *known = s->flags & SCHEMA_MAP ? s->item : find_key(s->keys, key);
                const char *bad_key =
                                s->flags & SCHEMA_MAP && s->check_key ? s->check_key(key) : NULL;
                _cleanup_free_ char *here = schema_path(path, key);
                bool valid = false;

                if (!here) {
                        v->problems->oom = true;
                        return false;
                }
                if (bad_key)
                        problems_add(v->problems, v->file, here, "\"%.60s\" %s", key, bad_key);
                else if (known)
                        valid = validate_value(v, here, known, value);
                else
                        unknown_key(v, here, s->keys, key);
                if (valid)
                        continue;
                if (known && known->flags & SCHEMA_REQUIRED)
                        complete = false;
                json_object_object_del(o, key); /* json-c allows it of the one we are at */
        }
        return complete;
}

/* Returns what is left to check of a list item that may take something away, NULL where that is
 * wrong here. */
static const char *without_minus(
                Validation *v, const char *path, const Schema *list, const char *text) {
        if (!(list->flags & SCHEMA_REMOVABLE) || *text != '-')
                return text;
        if (v->extends)
                return text + 1;
        problems_add(v->problems, v->file, path,
                        "\"%.60s\" takes something away, but this recipe extends none", text);
        return NULL;
}

static void validate_list(Validation *v, const char *path, const Schema *s, json_object *list) {
        _cleanup_json_ json_object *seen = json_object_new_object();

        size_t n = json_object_array_length(list);

        if (n > SCHEMA_LIST_MAX) {
                problems_add(v->problems, v->file, path,
                                "has %zu items; more than %d are no list that a person keeps", n,
                                SCHEMA_LIST_MAX);
                json_object_array_del_idx(list, SCHEMA_LIST_MAX, n - SCHEMA_LIST_MAX);
        }
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                _cleanup_free_ char *here = strf("%s[%zu]", path, i);
                json_object *item = json_object_array_get_idx(list, i);
                bool valid;

                if (!here || !seen) {
                        v->problems->oom = true;
                        return;
                }
                if (json_object_is_type(item, json_type_string) && s->item->flags & SCHEMA_STRING) {
                        const char *text = json_object_get_string(item);
                        const char *rest = without_minus(v, here, s, text);

                        valid = rest && validate_string(v, here, s->item, rest);
                        if (valid && json_object_object_get_ex(seen, text, NULL)) {
                                problems_add(v->problems, v->file, here, "\"%.60s\" is given twice",
                                                text);
                                valid = false;
                        }
                        json_object_object_add(seen, text, NULL);
                } else
                        valid = validate_value(v, here, s->item, item);
                if (!valid)
                        json_object_array_put_idx(list, i, NULL);
        }
}

static bool validate_value(Validation *v, const char *path, const Schema *s, json_object *value) {
        enum json_type type = json_object_get_type(value);

        if (!(s->flags & type_flag(type) & SCHEMA_TYPES)) {
                wrong_type(v, path, s, value);
                return false;
        }
        switch (type) {
        case json_type_string:
                return validate_string(v, path, s, json_object_get_string(value));
        case json_type_int: {
                int64_t n = json_object_get_int64(value);
                if (n >= 0 && n <= s->max)
                        return true;
                problems_add(v->problems, v->file, path, "must be from 0 to %lld",
                                (long long) s->max);
                return false;
        }
        case json_type_object:
                return s->flags & SCHEMA_FREE || validate_object(v, path, s, value);
        case json_type_array:
                validate_list(v, path, s, value);
                return true;
        default:
                return true;
        }
}

void schema_validate(
                Problems *p, const char *file, const Schema *table, json_object *o, bool extends) {
        const Schema root = { .flags = SCHEMA_OBJECT, .keys = table };
        Validation v = { .problems = p, .file = file, .root = table, .extends = extends };

        validate_object(&v, "$", &root, o);
}

/* By its name: none of our files is called so. */
static bool is_image(const char *file) {
        static const char *const ends[] = { ".qcow2", ".raw", ".img", ".vhd", ".vhdx", ".vmdk" };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                if (endswith(file, ends[i]))
                        return true;
        return false;
}

int schema_load(Problems *p, const char *file, json_object **ret) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error = {};
        struct stat st;
        int r;

        if (stat(file, &st) < 0) {
                if (errno == ENOENT)
                        return -ENOENT;
                problems_add(p, file, NULL, "cannot read it: %s", strerror(errno));
                return -EINVAL;
        }
        /* Opening a FIFO would wait for a writer, a device might never end. */
        if (!S_ISREG(st.st_mode)) {
                problems_add(p, file, NULL, "is %s, not a file",
                                S_ISDIR(st.st_mode) ? "a folder" : "a device, FIFO or socket");
                return -EINVAL;
        }
        if (is_image(file)) {
                problems_add(p, file, NULL,
                                "is a disk image: 'imgbuild inspect' looks into one, 'imgbuild boot' boots it");
                return -EINVAL;
        }
        r = json_load(file, FILE_SIZE_MAX, &error, &o);
        if (r == -ENOMEM) {
                p->oom = true;
                return r;
        }
        if (r < 0) {
                p->denied = p->denied || r == -EACCES;
                problems_add_syntax(p, file, &error);
                return -EINVAL;
        }
        if (!json_object_is_type(o, json_type_object)) {
                problems_add(p, file, NULL, "must be an object, { … }, not %s",
                                type_name(json_object_get_type(o)));
                return -EINVAL;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

char *schema_path(const char *parent, const char *key) {
        bool plain = isalpha((unsigned char) *key) || *key == '_';

        for (const char *c = key; *c; c++)
                if (!isalnum((unsigned char) *c) && !strchr("_-", *c))
                        plain = false;
        return plain ? strf("%s.%.60s", parent, key) : strf("%s[\"%.60s\"]", parent, key);
}

int schema_get_strv(json_object *o, const char *key, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        json_object *list = json_get(o, key);
        size_t n = json_array_length(list);

        for (size_t i = 0; i < n; i++) {
                json_object *item = json_object_array_get_idx(list, i);

                if (json_object_is_type(item, json_type_string) &&
                                strv_extend(&l, json_object_get_string(item)) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(l);
        return 0;
}
