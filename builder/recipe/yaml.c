/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* YAML becomes JSON objects: scalars that are not quoted get the types that YAML 1.1 has for them,
 * so that "yes" is true and 0755 is octal, as on the node. */

#include "recipe/yaml.h"

#include <regex.h>
#include <yaml.h>

#define DEPTH_MAX 64
#define VALUES_MAX 100000
#define TEXT_MAX (16 * 1024 * 1024) /* bytes of keys and values: each alias copies what it names */

typedef struct Reader {
        yaml_document_t document;
        JsonError *error;
        size_t values, bytes;
} Reader;

static int complain(Reader *r, yaml_mark_t mark, const char *what) {
        r->error->line = (unsigned) mark.line + 1;
        r->error->column = (unsigned) mark.column + 1;
        snprintf(r->error->message, sizeof(r->error->message), "%s", what);
        return -EINVAL;
}

static bool matches(const char *text, const char *pattern) {
        regex_t re;
        bool yes;

        if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return false;
        yes = regexec(&re, text, 0, NULL, 0) == 0;
        regfree(&re);
        return yes;
}

/* "1_000": without its underscores. */
static void drop_underscores(char *text) {
        char *to = text;

        for (const char *from = text; *from; from++)
                if (*from != '_')
                        *to++ = *from;
        *to = '\0';
}

/* "1:30:00", digits to the base of sixty. */
static int64_t sexagesimal(const char *digits) {
        int64_t n = 0;

        for (;;) {
                char *end;

                if (__builtin_mul_overflow(n, 60, &n) ||
                                __builtin_add_overflow(n, strtoll(digits, &end, 10), &n))
                        return INT64_MAX; /* as strtoll() has it */
                if (*end != ':')
                        return n;
                digits = end + 1;
        }
}

/* Text of a form that `matches` an integer's. */
static json_object *integer(char *text) {
        const char *digits = text + strspn(text, "+-");
        int64_t n;

        drop_underscores(text);
        if (strchr(digits, ':'))
                n = sexagesimal(digits);
        else if (digits[0] == '0' && digits[1] == 'b')
                n = strtoll(digits + 2, NULL, 2);
        else
                n = strtoll(digits, NULL, 0);
        return json_object_new_int64(text[0] == '-' ? -n : n);
}

/* What a scalar without quotes is (yaml.org/type). NULL without memory; a null is *ret_null. */
static json_object *plain(const char *text, bool *ret_null) {
        _cleanup_free_ char *copy = strdup(text);

        if (!copy)
                return NULL;
        if (matches(text, "^(~|null|Null|NULL|)$")) {
                *ret_null = true;
                return NULL;
        }
        if (matches(text, "^(yes|Yes|YES|true|True|TRUE|on|On|ON)$"))
                return json_object_new_boolean(true);
        if (matches(text, "^(no|No|NO|false|False|FALSE|off|Off|OFF)$"))
                return json_object_new_boolean(false);
        if (matches(text, "^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)$"))
                return integer(copy);
        if (matches(text, "^[-+]?([0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|\\.[0-9][0-9_]*([eE][-+][0-9]+)?)$")) {
                drop_underscores(copy);
                return json_object_new_double(strtod(copy, NULL));
        }
        return json_object_new_string(text);
}

static int convert(Reader *r, int index, unsigned depth, json_object **ret);

static int count_text(Reader *r, const yaml_node_t *n) {
        r->bytes += n->data.scalar.length;
        return r->bytes > TEXT_MAX ? complain(r, n->start_mark,
                                                     "its aliases make more than 16 MiB of text")
                                   : 0;
}

static int convert_scalar(Reader *r, const yaml_node_t *n, json_object **ret) {
        const char *text = (const char *) n->data.scalar.value;
        bool null = false;
        json_object *o;
        int e;

        e = count_text(r, n);
        if (e < 0)
                return e;
        o = n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                            ? plain(text, &null)
                            : json_object_new_string_len(text, (int) n->data.scalar.length);
        if (!o && !null)
                return -ENOMEM;
        *ret = o;
        return 0;
}

static int convert_sequence(Reader *r, const yaml_node_t *n, unsigned depth, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array();
        int e;

        if (!list)
                return -ENOMEM;
        for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
                        i++) {
                json_object *item = NULL;

                e = convert(r, *i, depth + 1, &item);
                if (e < 0)
                        return e;
                if (json_object_array_add(list, item) < 0) {
                        json_object_put(item);
                        return -ENOMEM;
                }
        }
        *ret = TAKE_PTR(list);
        return 0;
}

/* "<<": an object, or a list of them, of which the first counts; what o has itself wins. */
static int merge_into(json_object *o, json_object *from) {
        if (json_object_is_type(from, json_type_array)) {
                for (size_t i = 0; i < json_object_array_length(from); i++)
                        if (merge_into(o, json_object_array_get_idx(from, i)) < 0)
                                return -ENOMEM;
                return 0;
        }
        if (!json_object_is_type(from, json_type_object))
                return 0;
        json_object_object_foreach (from, key, value)
                if (!json_object_object_get_ex(o, key, NULL) &&
                                json_object_object_add(o, key, json_object_get(value)) < 0)
                        return -ENOMEM;
        return 0;
}

static int convert_mapping(Reader *r, const yaml_node_t *n, unsigned depth, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object(), *merged = NULL;
        int e;

        if (!o)
                return -ENOMEM;
        for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
                        p++) {
                const yaml_node_t *k = yaml_document_get_node(&r->document, p->key);
                json_object *value = NULL;
                const char *key;

                if (k->type != YAML_SCALAR_NODE)
                        return complain(r, k->start_mark, "a key must be plain text");
                key = (const char *) k->data.scalar.value;
                e = count_text(r, k);
                if (e < 0)
                        return e;
                e = convert(r, p->value, depth + 1, &value);
                if (e < 0)
                        return e;
                if (streq(key, "<<") && k->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
                        json_putp(&merged);
                        merged = value;
                        continue;
                }
                if (json_object_object_add(o, key, value) < 0) {
                        json_object_put(value);
                        return -ENOMEM;
                }
        }
        e = merge_into(o, merged);
        if (e < 0)
                return e;
        *ret = TAKE_PTR(o);
        return 0;
}

static int convert(Reader *r, int index, unsigned depth, json_object **ret) {
        const yaml_node_t *n = yaml_document_get_node(&r->document, index);

        if (depth > DEPTH_MAX)
                return complain(r, n->start_mark, "nested too deeply");
        if (++r->values > VALUES_MAX)
                return complain(r, n->start_mark, "its aliases make more than 100,000 values");

        switch (n->type) {
        case YAML_SEQUENCE_NODE:
                return convert_sequence(r, n, depth, ret);
        case YAML_MAPPING_NODE:
                return convert_mapping(r, n, depth, ret);
        default:
                return convert_scalar(r, n, ret);
        }
}

static int read_document(yaml_parser_t *parser, Reader *r, json_object **ret) {
        int e;

        if (!yaml_parser_load(parser, &r->document)) {
                if (parser->error == YAML_MEMORY_ERROR)
                        return -ENOMEM;
                return complain(r, parser->problem_mark,
                                parser->problem ? parser->problem : "is no YAML");
        }
        if (!yaml_document_get_root_node(&r->document)) {
                yaml_document_delete(&r->document);
                *ret = NULL;
                return 0;
        }
        e = convert(r, 1, 0, ret);
        yaml_document_delete(&r->document);
        return e;
}

/* How one event changes the depth. */
static int step(const yaml_event_t *event) {
        switch (event->type) {
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
                return 1;
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT:
                return -1;
        default:
                return 0;
        }
}

/* Before a document is made of it: a megabyte of "[" would take libyaml minutes and gigabytes. What
 * else is wrong with it is told when it is read. */
static int check_depth(yaml_parser_t *parser, Reader *r) {
        yaml_mark_t mark = {};
        int depth = 0;
        bool end = false;

        while (!end && depth <= DEPTH_MAX) {
                yaml_event_t event;

                if (!yaml_parser_parse(parser, &event))
                        return parser->error == YAML_MEMORY_ERROR ? -ENOMEM : 0;
                depth += step(&event);
                mark = event.start_mark;
                end = event.type == YAML_STREAM_END_EVENT;
                yaml_event_delete(&event);
        }
        return end ? 0 : complain(r, mark, "nested too deeply");
}

static int with_parser(const char *text, size_t size, Reader *r, json_object **ret) {
        yaml_parser_t parser;
        int e;

        if (!yaml_parser_initialize(&parser))
                return -ENOMEM;
        yaml_parser_set_input_string(&parser, (const unsigned char *) text, size);
        e = ret ? read_document(&parser, r, ret) : check_depth(&parser, r);
        yaml_parser_delete(&parser);
        return e;
}

int yaml_parse(const char *text, size_t size, JsonError *ret_error, json_object **ret) {
        Reader r = { .error = ret_error };
        int e;

        e = with_parser(text, size, &r, NULL);
        return e < 0 ? e : with_parser(text, size, &r, ret);
}
