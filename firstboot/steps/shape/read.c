/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading one document of shapes: everything is checked, and nothing is taken from a faulty one. */

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
        int n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0) {
                text = NULL;
                return -ENOMEM;
        }
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
        k = check_keys(r, o, "gpus", "count models source");
        if (k >= 0)
                k = read_int(r, o, "gpus", "count", 0, 1024, &s->gpus);
        if (k >= 0)
                k = read_strings(r, o, "gpus", "models", &s->gpu_models);
        /* The number of GPUs of a host of no provider is what the shape is called after. */
        if (k >= 0 && (s->provider || json_get(o, "source")))
                k = check_source(r, o, "gpus");
        return k;
}

static int read_nvme(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "nvme", "disks source");
        if (k >= 0)
                k = read_int(r, o, "nvme", "disks", 0, 1024, &s->nvme_disks);
        return k < 0 ? k : check_source(r, o, "nvme");
}

static int read_nvlink(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "nvlink", "links gbps source");
        if (k >= 0)
                k = read_int(r, o, "nvlink", "links", 0, 1024, &s->nvlinks);
        if (k >= 0 && json_get(o, "gbps"))
                k = read_gbps(r, o, "nvlink", &s->nvlink_gbps);
        return k < 0 ? k : check_source(r, o, "nvlink");
}

static int read_rdma(Reader *r, json_object *o, Shape *s) {
        int k;

        if (!o)
                return 0;
        k = check_keys(r, o, "rdma", "ports rate_gbps link_layer devices source");
        if (k >= 0)
                k = read_int(r, o, "rdma", "ports", 0, 1024, &s->rdma_ports);
        if (k >= 0)
                k = read_int(r, o, "rdma", "rate_gbps", 1, 100000, &s->rdma_rate_gbps);
        if (k >= 0)
                k = read_string(r, o, "rdma", "link_layer", &s->rdma_link_layer);
        if (k >= 0 && s->rdma_link_layer && !streq(s->rdma_link_layer, "Ethernet") &&
                        !streq(s->rdma_link_layer, "InfiniBand"))
                k = wrong(r, "rdma", "\"link_layer\" must be \"Ethernet\" or \"InfiniBand\"");
        if (k >= 0)
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

/* 0, or -EINVAL for what is no size from 8 bytes to 1 TiB. */
static int read_size(const char *s, uint64_t *ret) {
        static const struct {
                const char *suffix;
                unsigned shift;
        } units[] = { { "", 0 }, { "K", 10 }, { "M", 20 }, { "G", 30 }, { "T", 40 } };
        char *end;

        if (!s || *s < '1' || *s > '9')
                return -EINVAL;
        errno = 0;
        unsigned long long n = strtoull(s, &end, 10);
        for (size_t i = 0; errno == 0 && i < ELEMENTSOF(units); i++)
                if (streq(end, units[i].suffix) && n <= (UINT64_C(1) << 40) >> units[i].shift) {
                        *ret = n << units[i].shift;
                        return *ret >= 8 ? 0 : -EINVAL;
                }
        return -EINVAL;
}

static int read_busbw(Reader *r, json_object *list, Shape *s) {
        int k = 0;

        if (!list)
                return 0;
        if (!json_object_is_type(list, json_type_array))
                return wrong(r, "busbw", "must be a list [ … ] of objects");
        s->busbw = calloc(json_object_array_length(list) + 1, sizeof(ShapeBusbw));
        if (!s->busbw)
                return -ENOMEM;
        for (size_t i = 0; k >= 0 && i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);
                _cleanup_free_ char *path = strf("busbw[%zu]", i);
                ShapeBusbw *b = &s->busbw[i];

                if (!path)
                        return -ENOMEM;
                k = check_keys(r, o, path, "nodes size gbps kind nvls source");
                if (k < 0)
                        return k;
                s->n_busbw = i + 1;
                b->nodes = 1;
                k = read_int(r, o, path, "nodes", 1, 2, &b->nodes);
                if (k >= 0 && read_size(json_get_string(o, "size"), &b->bytes) < 0)
                        k = wrong(r, path, "\"size\" must be a size such as \"8G\", up to \"1T\"");
                if (k >= 0)
                        k = read_gbps(r, o, path, &b->gbps);
                const char *kind = json_get_string(o, "kind");
                if (k >= 0 && !streq_ptr(kind, "gate") && !streq_ptr(kind, "measured"))
                        k = wrong(r, path, "\"kind\" must be \"gate\" or \"measured\"");
                b->gate = streq_ptr(kind, "gate");
                json_object *nvls = json_get(o, "nvls");
                if (k >= 0 && nvls && !json_object_is_type(nvls, json_type_boolean))
                        k = wrong(r, path, "\"nvls\" must be true or false");
                b->nvls = json_get_bool(o, "nvls", false);
                if (k >= 0)
                        k = check_source(r, o, path);
                if (k >= 0 && !(b->source = strdup(json_get_string(o, "source"))))
                        k = -ENOMEM;
        }
        return k;
}

static int read_shape(Reader *r, json_object *o, size_t index, Shape *s) {
        _cleanup_free_ char *path = strf("shapes[%zu]", index);
        int k;

        *s = (Shape) { .gpus = SHAPE_NOT_SAID,
                .nvme_disks = SHAPE_NOT_SAID,
                .nvlinks = SHAPE_NOT_SAID,
                .rdma_ports = SHAPE_NOT_SAID,
                .rdma_rate_gbps = SHAPE_NOT_SAID };
        if (!path)
                return -ENOMEM;
        k = check_keys(r, o, path,
                        "name provider instance dmi gpus nvme nvlink rdma nccl busbw note");
        if (k >= 0)
                k = read_string(r, o, path, "name", &s->name);
        if (k >= 0 && !s->name)
                k = wrong(r, path, "\"name\" is missing");
        if (k < 0)
                return k;
        r->shape = s->name;
        k = read_string(r, o, path, "provider", &s->provider);
        if (k >= 0)
                k = read_strings(r, o, path, "instance", &s->instance);
        if (k >= 0)
                k = read_strings(r, o, path, "dmi", &s->dmi);
        if (k >= 0)
                k = read_gpus(r, json_get(o, "gpus"), s);
        if (k >= 0)
                k = read_nvme(r, json_get(o, "nvme"), s);
        if (k >= 0)
                k = read_nvlink(r, json_get(o, "nvlink"), s);
        if (k >= 0)
                k = read_rdma(r, json_get(o, "rdma"), s);
        if (k >= 0)
                k = read_nccl(r, json_get(o, "nccl"), s);
        if (k >= 0)
                k = read_busbw(r, json_get(o, "busbw"), s);
        r->shape = NULL;
        if (k >= 0 && !(s->file = strdup(r->file)))
                k = -ENOMEM;
        return k;
}

static int put(Shapes *s, Shape *taken) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->items[i].name, taken->name)) {
                        shape_done(&s->items[i]);
                        s->items[i] = *taken;
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

int shapes_add(Shapes *s, json_object *document, const char *file, char **ret_error) {
        _cleanup_free_ char *error = NULL;
        Reader reader = { .file = file, .error = &error };
        _cleanup_(shapes_done) Shapes found = {};
        int r;

        r = check_keys(&reader, document, "the document", "sources shapes");
        json_object *list = json_get(document, "shapes");
        reader.sources = json_get(document, "sources");
        if (r >= 0 && !json_object_is_type(list, json_type_array))
                r = wrong(&reader, "shapes", "must be a list [ … ] of objects");
        if (r >= 0 && reader.sources && !json_object_is_type(reader.sources, json_type_object))
                r = wrong(&reader, "sources", "must be an object of names and texts");
        for (size_t i = 0; r >= 0 && i < json_object_array_length(list); i++) {
                _cleanup_(shape_done) Shape shape = {};

                r = read_shape(&reader, json_object_array_get_idx(list, i), i, &shape);
                for (size_t k = 0; r >= 0 && k < found.n; k++)
                        if (streq(found.items[k].name, shape.name))
                                r = wrong(&reader, shape.name, "is there twice");
                if (r >= 0)
                        r = put(&found, &shape);
        }
        for (size_t i = 0; r >= 0 && i < found.n; i++)
                r = put(s, &found.items[i]);
        if (r == -EINVAL)
                *ret_error = TAKE_PTR(error);
        return r;
}
