/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a site's file of shapes: refused with a sentence, or a table whose numbers are
 * within their limits and in which every shape is found again. */

#include "steps/shape/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-shapes: %s\n", what);
        abort();
}

static void check_shape(const Shapes *all, const Shape *s) {
        _cleanup_free_ char *why = NULL;
        ShapeSource by;

        expect(s->name && *s->name && s->file, "a shape without name or file");
        expect(shape_find(all, &(ShapeFacts) { .name = s->name }, &by, &why) == s,
                        "not found by name");
        expect(s->gpus >= -1 && s->gpus <= 1024 && s->nvlinks >= -1 && s->nvlinks <= 1024 &&
                                        s->nvme_disks >= -1 && s->nvme_disks <= 1024,
                        "a number beyond its limits");
        expect(s->rdma_ports >= -1 && s->rdma_ports <= 1024 && s->rdma_rate_gbps >= -1 &&
                                        s->rdma_rate_gbps <= 100000 && s->nvlink_gbps >= 0,
                        "a number beyond its limits");
        STRV_FOREACH (e, s->nccl_env)
                expect(startswith(*e, "NCCL_") && strchr(*e, '=') && !strchr(*e, '\n'),
                                "an environment of another kind");
        for (size_t i = 0; i < s->n_busbw; i++)
                expect(s->busbw[i].bytes >= 8 && s->busbw[i].bytes <= UINT64_C(1) << 40 &&
                                                s->busbw[i].gbps > 0 && s->busbw[i].source,
                                "a bandwidth beyond its limits");
        for (int nodes = 1; nodes <= 2; nodes++) {
                const ShapeBusbw *b = shape_busbw(s, nodes, false, UINT64_C(1) << 33);

                expect(!b || (b->nodes == nodes && !b->nvls && b->bytes <= UINT64_C(1) << 33),
                                "a bandwidth that was not asked for");
        }
        if (s->gpus > 0 && s->gpu_models) {
                ShapeFacts f = { .gpu_model = s->gpu_models[0],
                        .gpus = (unsigned) s->gpus,
                        .provider = s->provider };
                _cleanup_free_ char *reason = NULL;
                const Shape *found = shape_find(all, &f, &by, &reason);

                expect(found || reason, "neither a shape nor a reason");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_(shapes_done) Shapes s = {};
        _cleanup_free_ char *error = NULL;
        JsonError e = {};

        if (json_parse((const char *) data, size, &e, &o) < 0)
                return 0;
        int r = shapes_add(&s, o, "site.json", &error);
        if (r < 0) {
                expect(r == -EINVAL && error && startswith(error, "site.json: ") && s.n == 0,
                                "a refusal without its sentence");
                return 0;
        }
        expect(!error, "an error of a good file");
        for (size_t i = 0; i < s.n; i++)
                check_shape(&s, &s.items[i]);
        size_t n = s.n;
        expect(shapes_add(&s, o, "again.json", &error) == 0 && s.n == n,
                        "the same file again adds or fails");
        return 0;
}
