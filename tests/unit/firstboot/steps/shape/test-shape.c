/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of shapes: what it may say, and what it says of a machine. */

#include "steps/shape/shape.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static Shapes shapes;
static char *folder;

static void put(const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(folder, name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, text, strlen(text), 0644), 0);
}

/* A root with the table that is shipped. */
static int setup(void **state) {
        _cleanup_free_ char *top = strf("%s/firstboot/steps/shape/shapes.json",
                                            getenv("TOP") ? getenv("TOP") : "."),
                            *text = NULL;
        char template[] = "/tmp/test-shape.XXXXXX";

        (void) state;
        assert_non_null(mkdtemp(template));
        folder = strdup(template);
        setenv("FIRSTBOOT_ROOT", folder, 1);
        assert_return_code(read_file(top, 1024 * 1024, &text, NULL), 0);
        put("usr/lib/firstboot/shapes.json", text);
        return 0;
}

static int teardown(void **state) {
        (void) state;
        shapes_done(&shapes);
        rm_rf(folder);
        free(folder);
        return 0;
}

static void load(void) {
        _cleanup_free_ char *error = NULL;
        int r = shapes_load(&shapes, &error);

        if (r < 0)
                fail_msg("%s", error ? error : strerror(-r));
}

static const Shape *find(const ShapeFacts *f, ShapeSource by) {
        _cleanup_free_ char *why = NULL;
        ShapeSource found_by;
        const Shape *s = shape_find(&shapes, f, &found_by, &why);

        if (!s)
                fail_msg("%s", why);
        assert_int_equal(found_by, by);
        return s;
}

static void assert_unknown(const ShapeFacts *f, const char *text) {
        _cleanup_free_ char *why = NULL;
        ShapeSource by;

        assert_null(shape_find(&shapes, f, &by, &why));
        if (!strstr(why, text))
                fail_msg("\"%s\" is not in \"%s\"", text, why);
}

static void assert_wrong(const char *text, const char *expected) {
        _cleanup_free_ char *error = NULL;
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_return_code(json_parse(text, strlen(text), &e, &o), 0);
        assert_int_equal(shapes_add(&shapes, o, "site.json", &error), -EINVAL);
        if (!strstr(error, expected))
                fail_msg("\"%s\" is not in \"%s\"", expected, error);
        assert_int_equal(shapes.n, 0);
}

static void the_shipped_table_has_what_the_docs_list(void **state) {
        _cleanup_free_ char *path = strf("%s/docs/shapes.md", getenv("TOP") ? getenv("TOP") : "."),
                            *text = NULL;

        (void) state;
        load();
        assert_true(shapes.n >= 20);
        assert_return_code(read_file(path, 1024 * 1024, &text, NULL), 0);
        for (size_t i = 0; i < shapes.n; i++) {
                _cleanup_free_ char *row = strf("| `%s` |", shapes.items[i].name);

                if (!strstr(text, row))
                        fail_msg("docs/shapes.md lacks %s", shapes.items[i].name);
        }
}

static void metadata_names_the_shape(void **state) {
        (void) state;
        load();
        const Shape *s = find(&(ShapeFacts) { .instance = "BM.GPU.H100.8" }, SHAPE_BY_METADATA);
        assert_int_equal(s->gpus, 8);
        assert_int_equal(s->nvlinks, 18);
        assert_int_equal(s->rdma_ports, 16);
        assert_int_equal(s->rdma_rate_gbps, 200);
        assert_int_equal(strv_length(s->rdma_devices), 16);
        assert_true(strv_contains(s->nccl_env, "NCCL_IB_TC=41"));
        s = find(&(ShapeFacts) { .instance = "Standard_ND96asr_v4" }, SHAPE_BY_METADATA);
        assert_string_equal(s->rdma_link_layer, "InfiniBand");
}

static void firmware_names_the_shape(void **state) {
        (void) state;
        load();
        const Shape *s = find(&(ShapeFacts) { .product = "p5.48xlarge" }, SHAPE_BY_DMI);
        assert_int_equal(s->rdma_ports, 32);
        assert_int_equal(s->rdma_rate_gbps, SHAPE_NOT_SAID);
}

static void gpus_name_the_shape(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H200", .gpus = 4, .nvlinks = 18 };

        (void) state;
        load();
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "4xH200");
        f.nvlinks = 0; /* not known */
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "4xH200");
        f.nvlinks = 17;
        assert_unknown(&f, "4 × NVIDIA H200");
        f = (ShapeFacts) { .gpu_model = "NVIDIA H200", .gpus = 3 };
        assert_unknown(&f, "3 × NVIDIA H200");
}

static void the_provider_decides_between_equal_gpus(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H100 80GB HBM3", .gpus = 8, .provider = "azure" };

        (void) state;
        load();
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "ND96isr_H100_v5");
        f.provider = "oci";
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "BM.GPU.H100.8");
        f.provider = NULL;
        f.nvswitches = 4;
        assert_string_equal(find(&f, SHAPE_BY_SWITCHES)->name, "8xH100");
        f = (ShapeFacts) { .gpu_model = "NVIDIA A100-SXM4-40GB", .gpus = 8, .provider = "oci" };
        assert_unknown(&f, "may be BM.GPU4.8 or BM.GPU.B4.8");
}

/* NVSwitches stay when GPUs are lost. */
static void four_of_eight_gpus_are_no_shape_of_four(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H100 80GB HBM3", .gpus = 4, .nvswitches = 4 };

        (void) state;
        load();
        assert_int_equal(find(&f, SHAPE_BY_SWITCHES)->gpus, 8);
        f.virtual_machine = true;
        assert_int_equal(find(&f, SHAPE_BY_SWITCHES)->gpus, 8);
        f.nvswitches = 3; /* one of these is lost too */
        assert_unknown(&f, "PCI shows 3 NVSwitches");
        f = (ShapeFacts) { .gpu_model = "NVIDIA H100 80GB HBM3", .gpus = 8, .nvswitches = 3 };
        assert_unknown(&f, "PCI shows 3 NVSwitches, and 8xH100 has 4");
        f.nvswitches = 0;
        assert_unknown(&f, "PCI shows 0 NVSwitches, and 8xH100 has 4");
        f.virtual_machine = true; /* its switches are the host's */
        assert_int_equal(find(&f, SHAPE_BY_GPUS)->gpus, 8);
}

static void links_tell_of_gpus_that_are_lost(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H100 80GB HBM3", .gpus = 4 };

        (void) state;
        load();
        f.links = SHAPE_LINKS_CLOSED;
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "4xH100");
        f.links = SHAPE_LINKS_OPEN;
        assert_unknown(&f, "NVLinks are down or lead to GPUs that are not there");
        f.links = SHAPE_LINKS_SWITCHED;
        assert_unknown(&f, "its NVLinks lead to NVSwitches");
        f.virtual_machine = true; /* it was given four of the board's */
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "4xH100");
}

static void an_empty_slot_tells_of_a_gpu_that_is_lost(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H200", .gpus = 1, .empty_slots = 1 };

        (void) state;
        load();
        assert_unknown(&f, "PCI shows 1 empty slots");
        f.gpus = 4;
        f.links = SHAPE_LINKS_CLOSED; /* the slot is for something else */
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "4xH200");
}

static void a_provider_s_machine_does_not_shrink(void **state) {
        ShapeFacts f = { .gpu_model = "NVIDIA H100 80GB HBM3", .gpus = 4, .provider = "azure" };

        (void) state;
        load();
        assert_unknown(&f, "may be ND96isr_H100_v5 with 4 GPUs missing");
        f = (ShapeFacts) { .gpu_model = "NVIDIA H100 NVL", .gpus = 1, .provider = "azure" };
        assert_unknown(&f, "may be NC80adis_H100_v5 with 1 GPUs missing, or NC40ads_H100_v5");
        f.instance = "Standard_new"; /* then it is none of the table */
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "NC40ads_H100_v5");
}

static void a_configured_name_is_final(void **state) {
        ShapeFacts f = { .name = "2xH200", .instance = "BM.GPU.H100.8" };

        (void) state;
        load();
        assert_string_equal(find(&f, SHAPE_BY_NAME)->name, "2xH200");
        f.name = "2xH20";
        assert_unknown(&f, "no shape is called \"2xH20\"");
}

static void an_unknown_instance_is_found_by_its_gpus(void **state) {
        ShapeFacts f = { .instance = "new.type", .gpu_model = "NVIDIA H200", .gpus = 2 };

        (void) state;
        load();
        assert_string_equal(find(&f, SHAPE_BY_GPUS)->name, "2xH200");
}

static void a_gate_counts_before_a_measurement(void **state) {
        (void) state;
        load();
        const Shape *s = find(&(ShapeFacts) { .instance = "BM.GPU4.8" }, SHAPE_BY_METADATA);
        const ShapeBusbw *b = shape_busbw(s, 1, true, 0);
        assert_true(b->gate);
        assert_true(b->bytes == UINT64_C(8) << 30);
        b = shape_busbw(s, 2, true, 0);
        assert_false(b->gate);
        assert_true(b->gbps == 164);
        assert_null(shape_busbw(s, 1, true, 1 << 30));
}

static void what_needs_multicast_does_not_hold_without(void **state) {
        (void) state;
        load();
        const Shape *s = find(&(ShapeFacts) { .instance = "BM.GPU.H100.8" }, SHAPE_BY_METADATA);
        assert_non_null(shape_busbw(s, 1, true, 0));
        assert_null(shape_busbw(s, 1, false, 0));
        s = find(&(ShapeFacts) { .name = "4xH200" }, SHAPE_BY_NAME);
        assert_true(shape_busbw(s, 1, false, 0)->gbps == 365.0);
}

static void a_site_adds_and_replaces(void **state) {
        (void) state;
        put("etc/firstboot/shapes.d/10-ours.json",
                        "// comment\n{\"sources\":{\"us\":\"our acceptance run\"},\"shapes\":["
                        "{\"name\":\"box\",\"dmi\":[\"ACME*\"],\"gpus\":{\"count\":3}},"
                        "{\"name\":\"4xH200\",\"busbw\":[{\"nodes\":1,\"size\":\"1G\",\"gbps\":300,"
                        "\"kind\":\"gate\",\"source\":\"us\"}]}]}");
        load();
        assert_int_equal(find(&(ShapeFacts) { .product = "ACME 7" }, SHAPE_BY_DMI)->gpus, 3);
        const Shape *s = find(&(ShapeFacts) { .name = "4xH200" }, SHAPE_BY_NAME);
        assert_int_equal(s->gpus, SHAPE_NOT_SAID);
        assert_true(shape_busbw(s, 1, false, 0)->gbps == 300);
        assert_string_equal(s->file, "/etc/firstboot/shapes.d/10-ours.json");
}

static void a_faulty_file_of_the_site_is_an_error(void **state) {
        _cleanup_free_ char *error = NULL;

        (void) state;
        put("etc/firstboot/shapes.d/a.json", "{\n  \"shapes\": [ }");
        assert_int_equal(shapes_load(&shapes, &error), -EINVAL);
        assert_non_null(strstr(error, "/etc/firstboot/shapes.d/a.json:2:"));
}

static void a_missing_table_is_an_error(void **state) {
        _cleanup_free_ char *error = NULL, *path = path_join(folder, "usr");

        (void) state;
        rm_rf(path);
        assert_int_equal(shapes_load(&shapes, &error), -EINVAL);
        assert_non_null(strstr(error, "/usr/lib/firstboot/shapes.json"));
}

static void a_number_without_a_source_is_refused(void **state) {
        (void) state;
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"nvme\":{\"disks\":4}}]}",
                        "site.json: a: nvme: \"source\" is missing");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"provider\":\"x\",\"gpus\":{\"count\":4}}]}",
                        "gpus: \"source\" is missing");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"busbw\":[{\"size\":\"8G\",\"gbps\":1,"
                     "\"kind\":\"gate\",\"source\":\"nowhere\"}]}]}",
                        "source \"nowhere\" is not among");
}

static void faults_name_shape_and_key(void **state) {
        (void) state;
        assert_wrong("[]", "must be an object");
        assert_wrong("{}", "shapes: must be a list");
        assert_wrong("{\"shapes\":[{}]}", "shapes[0]: \"name\" is missing");
        assert_wrong("{\"shapes\":[null]}", "shapes[0]: must be an object");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"gpu\":{}}]}", "unknown key \"gpu\"");
        assert_wrong("{\"shapes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "a: is there twice");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"gpus\":{\"count\":-1}}]}", "from 0 to 1024");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"gpus\":{\"count\":\"8\"}}]}",
                        "must be a whole number");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"rdma\":{\"link_layer\":\"ib\"}}]}",
                        "must be \"Ethernet\" or");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"nccl\":{\"env\":{\"LD_PRELOAD\":\"x\"}}}]}",
                        "is no name such as");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"nccl\":{\"env\":{\"NCCL_X\":\"x\\ny\"}}}]}",
                        "must be a text of one line");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"busbw\":[{\"size\":\"9999999999999999G\"}]}]}",
                        "must be a size");
        assert_wrong("{\"shapes\":[{\"name\":\"a\",\"busbw\":[{\"size\":\"1G\",\"gbps\":0}]}]}",
                        "must be a number above 0");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(the_shipped_table_has_what_the_docs_list),
                T(metadata_names_the_shape),
                T(firmware_names_the_shape),
                T(gpus_name_the_shape),
                T(the_provider_decides_between_equal_gpus),
                T(four_of_eight_gpus_are_no_shape_of_four),
                T(links_tell_of_gpus_that_are_lost),
                T(an_empty_slot_tells_of_a_gpu_that_is_lost),
                T(a_provider_s_machine_does_not_shrink),
                T(a_configured_name_is_final),
                T(an_unknown_instance_is_found_by_its_gpus),
                T(a_gate_counts_before_a_measurement),
                T(what_needs_multicast_does_not_hold_without),
                T(a_site_adds_and_replaces),
                T(a_faulty_file_of_the_site_is_an_error),
                T(a_missing_table_is_an_error),
                T(a_number_without_a_source_is_refused),
                T(faults_name_shape_and_key),
#undef T
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
