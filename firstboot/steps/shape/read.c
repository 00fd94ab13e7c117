/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading one document of shapes: everything is checked, and nothing is taken from a faulty one. */

#include "shared/size.h"
#include "shared/strv.h"
#include "steps/shape/shape.h"

#include <stdarg.h>

static void shape_done(Shape *s) {
        for (size_t i = 0; i < s->n_busbw; i++)
                free(s->busbw[i].source);
        free(s->busbw);
        free(s->name);
        free(s->provider);
        strv_free(s->instance);
        strv_free(s->dmi);
        strv_free(s->gpu_models);
        free(s->rdma_link_layer);
        strv_free(s->rdma_devices);
        strv_free(s->nccl_env);
        free(s->file);
        *s = (Shape) {};
}

void shapes_done(Shapes *s) {
        for (size_t i = 0; i < s->n; i++)
                shape_done(&s->items[i]);
        free(s->items);
        *s = (Shapes) {};
}

/* One document while it is read. */
typedef struct Reader {
        const char *file, *shape;
        json_object *sources;
        char **error;
} Reader;

static int wrong(Reader *r, const char *path, const char *format, ...) _printf_(3, 4);
static int wrong(Reader *r, const char *path, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (!text)
                return -ENOMEM;
        char *error = strf("%s: %s%s%s: %s", r->file, strempty(r->shape), r->shape ? ": " : "",
                        path, text);
        if (!error)
                return -ENOMEM;
        free(*r->error);
        *r->error = error;
        return -EINVAL;
}

/* All keys of o must be among the names given. */
static int check_keys(Reader *r, json_object *o, const char *path, const char *names) {
        _cleanup_strv_free_ char **l = strv_split(names, " ");

        if (!l)
                return -ENOMEM;
        if (!json_object_is_type(o, json_type_object))
                return wrong(r, path, "must be an object { … }");
        json_object_object_foreach (o, key, value) {
                (void) value;
                if (!strv_contains(l, key))
                        return wrong(r, path, "unknown key \"%s\"; there are: %s", key, names);
        }
        return 0;
}

static bool plain_text(const char *s) {
        for (const char *p = s; *p; p++)
                if ((unsigned char) *p < 0x20 || *p == 0x7f)
                        return false;
        return !isempty(s);
}

static int read_string(Reader *r, json_object *o, const char *path, const char *key, char **ret) {
        json_object *v = json_get(o, key);

        if (!json_object_object_get_ex(o, key, NULL))
                return 0;
        if (!json_object_is_type(v, json_type_string) || !plain_text(json_object_get_string(v)))
                return wrong(r, path, "\"%s\" must be a text of one line", key);
        *ret = strdup(json_object_get_string(v));
        return *ret ? 0 : -ENOMEM;
}

static int read_strings(Reader *r, json_object *o, const char *path, const char *key, char ***ret) {
        json_object *v = json_get(o, key);

        if (!json_object_object_get_ex(o, key, NULL))
                return 0;
        if (!json_object_is_type(v, json_type_array) || json_object_array_length(v) == 0)
                return wrong(r, path, "\"%s\" must be a list of texts", key);
        for (size_t i = 0; i < json_object_array_length(v); i++) {
                json_object *item = json_object_array_get_idx(v, i);

                if (!json_object_is_type(item, json_type_string) ||
                                !plain_text(json_object_get_string(item)))
                        return wrong(r, path, "\"%s\" must be a list of texts", key);
                int k = strv_extend(ret, json_object_get_string(item));
                if (k < 0)
                        return k;
        }
        return 0;
}

static int read_int(Reader *r, json_object *o, const char *path, const char *key, int min, int max,
                int *ret) {
        json_object *v = json_get(o, key);

        if (!json_object_object_get_ex(o, key, NULL))
                return 0;
        if (!json_object_is_type(v, json_type_int) || json_object_get_int64(v) < min ||
                        json_object_get_int64(v) > max)
                return wrong(r, path, "\"%s\" must be a whole number from %d to %d", key, min, max);
        *ret = (int) json_object_get_int64(v);
        return 0;
}

static int read_gbps(Reader *r, json_object *o, const char *path, double *ret) {
        json_object *v = json_get(o, "gbps");
        double d = v ? json_object_get_double(v) : 0;

        if (!(json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)) ||
                        !(d > 0 && d <= 100000))
                return wrong(r, path, "\"gbps\" must be a number above 0 and at most 100000");
        *ret = d;
        return 0;
}

/* A number without a source is no number. */
static int check_source(Reader *r, json_object *o, const char *path) {
        const char *source = json_get_string(o, "source");

        if (!source)
                return wrong(r, path,
                                "\"source\" is missing: where do the numbers come from, by a key of \"sources\"?");
        if (isempty(json_get_string(r->sources, source)))
                return wrong(r, path, "source \"%s\" is not among \"sources\"", source);
        return 0;
}

static int read_gpus(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "gpus", "count models nvswitches source");
        if (k < 0)
                return k;
        k = read_int(r, o, "gpus", "count", 0, 1024, &s->gpus);
        if (k < 0)
                return k;
        k = read_strings(r, o, "gpus", "models", &s->gpu_models);
        if (k < 0)
                return k;

        k = read_int(r, o, "gpus", "nvswitches", 0, 1024, &s->nvswitches);
        if (k < 0)
                return k;

        /* The number of GPUs of a host of no provider is what the shape is called after. */
        if (!s->provider && !json_get(o, "source") && s->nvswitches == SHAPE_NOT_SAID)
                return 0;
        return check_source(r, o, "gpus");
}

static int read_nvme(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "nvme", "disks source");
        if (k < 0)
                return k;
        k = read_int(r, o, "nvme", "disks", 0, 1024, &s->nvme_disks);
        return k < 0 ? k : check_source(r, o, "nvme");
}

static int read_nvlink(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "nvlink", "links gbps source");
        if (k < 0)
                return k;
        k = read_int(r, o, "nvlink", "links", 0, 1024, &s->nvlinks);
        if (k < 0)
                return k;
        if (json_get(o, "gbps")) {
                k = read_gbps(r, o, "nvlink", &s->nvlink_gbps);
                if (k < 0)
                        return k;
        }
        return check_source(r, o, "nvlink");
}

static int read_rdma(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "rdma", "ports rate_gbps link_layer devices source");
        if (k < 0)
                return k;
        k = read_int(r, o, "rdma", "ports", 0, 1024, &s->rdma_ports);
        if (k < 0)
                return k;
        k = read_int(r, o, "rdma", "rate_gbps", 1, 100000, &s->rdma_rate_gbps);
        if (k < 0)
                return k;
        k = read_string(r, o, "rdma", "link_layer", &s->rdma_link_layer);
        if (k < 0)
                return k;
        if (s->rdma_link_layer && !streq(s->rdma_link_layer, "Ethernet") &&
                        !streq(s->rdma_link_layer, "InfiniBand"))
                return wrong(r, "rdma", "\"link_layer\" must be \"Ethernet\" or \"InfiniBand\"");
        k = read_strings(r, o, "rdma", "devices", &s->rdma_devices);
        return k < 0 ? k : check_source(r, o, "rdma");
}

static bool env_name(const char *s) {
        return startswith(s, "NCCL_") && s[5] &&
               strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(s);
}

static int read_nccl(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "nccl", "env source");
        if (k < 0)
                return k;
        if (!json_object_is_type(json_get(o, "env"), json_type_object))
                return wrong(r, "nccl", "\"env\" must be an object of names and texts");
        json_object_object_foreach (json_get(o, "env"), key, value) {
                if (!env_name(key))
                        return wrong(r, "nccl.env", "\"%s\" is no name such as \"NCCL_IB_TC\"",
                                        key);
                if (!json_object_is_type(value, json_type_string) ||
                                !plain_text(json_object_get_string(value)))
                        return wrong(r, "nccl.env", "\"%s\" must be a text of one line", key);
                k = strv_extendf(&s->nccl_env, "%s=%s", key, json_object_get_string(value));
                if (k < 0)
                        return k;
        }
        return check_source(r, o, "nccl");
}

/* 0, or -EINVAL for what is no size from 8 bytes to 1 TiB, written as nccl-tests has it: "8G". */
static int read_size(const char *s, uint64_t *ret) {
        uint64_t bytes;

        if (!s || *s < '1' || *s > '9')
                return -EINVAL;
        const char *unit = s + strspn(s, "0123456789");
        if (*unit && (!strchr("KMGT", *unit) || unit[1]))
                return -EINVAL;
        if (parse_bytes(s, &bytes) < 0 || bytes < 8 || bytes > UINT64_C(1) << 40)
                return -EINVAL;
        *ret = bytes;
        return 0;
}

/* One published number. */
static int read_number(Reader *r, json_object *o, const char *path, ShapeBusbw *b) {
        const char *kind = json_get_string(o, "kind");
        json_object *nvls = json_get(o, "nvls");
        int k;

        k = check_keys(r, o, path, "nodes size gbps kind nvls source");
        if (k < 0)
                return k;
        b->nodes = 1;
        k = read_int(r, o, path, "nodes", 1, 2, &b->nodes);
        if (k < 0)
                return k;
        if (read_size(json_get_string(o, "size"), &b->bytes) < 0)
                return wrong(r, path, "\"size\" must be a size such as \"8G\", up to \"1T\"");
        k = read_gbps(r, o, path, &b->gbps);
        if (k < 0)
                return k;

        if (!streq_ptr(kind, "gate") && !streq_ptr(kind, "measured"))
                return wrong(r, path, "\"kind\" must be \"gate\" or \"measured\"");
        b->gate = streq_ptr(kind, "gate");
        if (nvls && !json_object_is_type(nvls, json_type_boolean))
                return wrong(r, path, "\"nvls\" must be true or false");
        b->nvls = json_get_bool(o, "nvls", false);

        k = check_source(r, o, path);
        if (k < 0)
                return k;
        b->source = strdup(json_get_string(o, "source"));
        return b->source ? 0 : -ENOMEM;
}

static int read_busbw(Reader *r, json_object *list, Shape *s) {
        int k;

        if (!list)
                return 0;
        if (!json_object_is_type(list, json_type_array))
                return wrong(r, "busbw", "must be a list [ … ] of objects");
        s->busbw = calloc(json_object_array_length(list) + 1, sizeof(ShapeBusbw));
        if (!s->busbw)
                return -ENOMEM;

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                _cleanup_free_ char *path = strf("busbw[%zu]", i);

                if (!path)
                        return -ENOMEM;
                s->n_busbw = i + 1;
                k = read_number(r, json_object_array_get_idx(list, i), path, &s->busbw[i]);
                if (k < 0)
                        return k;
        }
        return 0;
}

/* The parts of a shape whose name is known. */
static int read_parts(Reader *r, json_object *o, const char *path, Shape *s) {
        static const struct {
                const char *key;
                int (*read)(Reader *r, json_object *o, Shape *s);
        } parts[] = {
                { "gpus", read_gpus },
                { "nvme", read_nvme },
                { "nvlink", read_nvlink },
                { "rdma", read_rdma },
                { "nccl", read_nccl },
                { "busbw", read_busbw },
        };
        int k;

        k = read_string(r, o, path, "provider", &s->provider);
        if (k < 0)
                return k;
        k = read_strings(r, o, path, "instance", &s->instance);
        if (k < 0)
                return k;
        k = read_strings(r, o, path, "dmi", &s->dmi);
        if (k < 0)
                return k;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                k = parts[i].read(r, json_get(o, parts[i].key), s);
                if (k < 0)
                        return k;
        }
        return 0;
}

static int read_shape(Reader *r, json_object *o, size_t index, Shape *s) {
        _cleanup_free_ char *path = strf("shapes[%zu]", index);
        int k;

        *s = (Shape) {
                .gpus = SHAPE_NOT_SAID,
                .nvswitches = SHAPE_NOT_SAID,
                .nvme_disks = SHAPE_NOT_SAID,
                .nvlinks = SHAPE_NOT_SAID,
                .rdma_ports = SHAPE_NOT_SAID,
                .rdma_rate_gbps = SHAPE_NOT_SAID,
                .file = strdup(r->file),
        };
        if (!path || !s->file)
                return -ENOMEM;
        k = check_keys(r, o, path,
                        "name provider instance dmi gpus nvme nvlink rdma nccl busbw note");
        if (k < 0)
                return k;
        k = read_string(r, o, path, "name", &s->name);
        if (k < 0)
                return k;
        if (!s->name)
                return wrong(r, path, "\"name\" is missing");

        r->shape = s->name;
        k = read_parts(r, o, path, s);
        r->shape = NULL;
        return k;
}

/* The shape of this name among those, or NULL. */
static Shape *find(const Shapes *s, const char *name) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->items[i].name, name))
                        return &s->items[i];
        return NULL;
}

/* Adds the shape, or puts it in the place of the one that has its name. */
static int put(Shapes *s, Shape *taken) {
        Shape *old = find(s, taken->name);

        if (old) {
                shape_done(old);
                *old = *taken;
                *taken = (Shape) {};
                return 0;
        }
        Shape *grown = reallocarray(s->items, s->n + 1, sizeof(Shape));
        if (!grown)
                return -ENOMEM;
        s->items = grown;
        s->items[s->n++] = *taken;
        *taken = (Shape) {};
        return 0;
}

static int read_document(Reader *r, json_object *document, Shapes *found) {
        json_object *list = json_get(document, "shapes");
        int k;

        k = check_keys(r, document, "the document", "sources shapes");
        if (k < 0)
                return k;
        if (!json_object_is_type(list, json_type_array))
                return wrong(r, "shapes", "must be a list [ … ] of objects");
        r->sources = json_get(document, "sources");
        if (r->sources && !json_object_is_type(r->sources, json_type_object))
                return wrong(r, "sources", "must be an object of names and texts");

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                _cleanup_(shape_done) Shape shape = {};

                k = read_shape(r, json_object_array_get_idx(list, i), i, &shape);
                if (k < 0)
                        return k;
                if (find(found, shape.name))
                        return wrong(r, shape.name, "is there twice");
                k = put(found, &shape);
                if (k < 0)
                        return k;
        }
        return 0;
}

int shapes_add(Shapes *s, json_object *document, const char *file, char **ret_error) {
        _cleanup_free_ char *error = NULL;
        Reader reader = { .file = file, .error = &error };
        _cleanup_(shapes_done) Shapes found = {};
        int r;

        r = read_document(&reader, document, &found);
        if (r == -EINVAL)
                *ret_error = TAKE_PTR(error);
        if (r < 0)
                return r;
        for (size_t i = 0; i < found.n; i++) {
                r = put(s, &found.items[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
