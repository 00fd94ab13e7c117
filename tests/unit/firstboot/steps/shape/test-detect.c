/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which shape a machine is, by a sysfs of our own making. */

#include "steps/shape/detect.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *root;
static StepContext context;
static ShapeDetected detected;

static void put(const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(root, name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, text, strlen(text), 0644), 0);
}

/* A machine with the shipped table and nothing else. */
static int setup(void **state) {
        _cleanup_free_ char *table = strf("%s/firstboot/steps/shape/shapes.json",
                                            getenv("TOP") ? getenv("TOP") : "."),
                            *text = NULL;
        char template[] = "/tmp/test-shape-detect.XXXXXX";

        (void) state;
        assert_non_null(mkdtemp(template));
        root = strdup(template);
        setenv("FIRSTBOOT_ROOT", root, 1);
        assert_return_code(read_file(table, 1024 * 1024, &text, NULL), 0);
        put("usr/lib/firstboot/shapes.json", text);
        context = (StepContext) { .name = "test",
                .config = json_object_new_object(),
                .instance = json_object_new_object(),
                .result = json_object_new_object() };
        return 0;
}

static int teardown(void **state) {
        (void) state;
        shape_detected_done(&detected);
        json_object_put(context.config);
        json_object_put(context.instance);
        json_object_put(context.result);
        rm_rf(root);
        free(root);
        return 0;
}

static void add_pci(unsigned n, const char *vendor, const char *class) {
        _cleanup_free_ char *v = strf("sys/bus/pci/devices/0000:%02x:00.0/vendor", n),
                            *c = strf("sys/bus/pci/devices/0000:%02x:00.0/class", n);

        put(v, vendor);
        put(c, class);
}

static void add_gpu(unsigned n, const char *model) {
        _cleanup_free_ char *info = strf("proc/driver/nvidia/gpus/0000:%02x:00.0/information", n),
                            *text = strf("Model: \t\t %s\nIRQ:   \t\t 16\n", model);

        add_pci(n, "0x10de\n", "0x030200\n");
        put(info, text);
}

static void assert_shape(const char *name) {
        assert_return_code(shape_detect(&context, NULL, &detected), 0);
        if (!detected.shape)
                fail_msg("%s", detected.why);
        assert_string_equal(detected.shape->name, name);
        assert_string_equal(json_get_string(json_get(json_get(context.result, "figures"), "shape"),
                                            "name"),
                        name);
}

static void only_nvidia_gpus_are_counted(void **state) {
        (void) state;
        assert_int_equal(gpus_on_pci(), 0);
        add_gpu(1, "NVIDIA H200");
        add_pci(2, "0x10de\n", "0x030000\n");
        add_pci(3, "0x10de\n", "0x068000\n"); /* an NVSwitch */
        add_pci(4, "0x10de\n", "0x040300\n"); /* a GPU's sound */
        add_pci(5, "0x1002\n", "0x030200\n");
        assert_int_equal(gpus_on_pci(), 2);
}

static void gpus_of_the_driver_name_the_shape(void **state) {
        (void) state;
        add_gpu(1, "NVIDIA H200");
        add_gpu(2, "NVIDIA H200");
        assert_shape("2xH200");
        assert_int_equal(detected.by, SHAPE_BY_GPUS);
        assert_int_equal(detected.gpus, 2);
}

/* The GPU at this address, below a bridge; without it the bridge alone. */
static void add_slot(unsigned n, bool gpu) {
        _cleanup_free_ char *bridge = strf("%s/sys/devices/pci0000:00/0000:00:%02x.0", root, n),
                            *vendor = strf("%s/vendor", bridge), *class = strf("%s/class", bridge),
                            *width = strf("%s/max_link_width", bridge),
                            *device = strf("%s/device", bridge),
                            *below = strf("%s/0000:%02x:00.0", bridge, n + 64),
                            *link = strf("%s/sys/bus/pci/devices/0000:00:%02x.0", root, n),
                            *gpu_link = strf("%s/sys/bus/pci/devices/0000:%02x:00.0", root, n + 64);
        const struct {
                const char *path, *text;
        } files[] = { { vendor, "0x1000\n" }, { class, "0x060400\n" }, { device, "0xc030\n" },
                { width, "16\n" } };

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                put(files[i].path + strlen(root) + 1, files[i].text);
        put("sys/bus/pci/devices/x/none", "");
        assert_return_code(symlink(bridge, link), errno);
        if (!gpu)
                return;
        _cleanup_free_ char *v = strf("%s/vendor", below), *c = strf("%s/class", below),
                            *info = strf("proc/driver/nvidia/gpus/0000:%02x:00.0/information",
                                            n + 64);
        put(v + strlen(root) + 1, "0x10de\n");
        put(c + strlen(root) + 1, "0x030200\n");
        put(info, "Model: \t\t NVIDIA H200\n");
        assert_return_code(symlink(below, gpu_link), errno);
}

static void an_empty_slot_is_a_gpu_that_may_be_missing(void **state) {
        (void) state;
        add_slot(1, true);
        add_slot(2, true);
        assert_shape("2xH200");
        shape_detected_done(&detected);
        add_slot(3, false);
        assert_return_code(shape_detect(&context, NULL, &detected), 0);
        assert_null(detected.shape);
        assert_non_null(strstr(detected.why, "1 empty slots like those of the GPUs"));
}

static void nvswitches_tell_of_gpus_that_are_missing(void **state) {
        (void) state;
        for (unsigned i = 1; i <= 4; i++)
                add_gpu(i, "NVIDIA H100 80GB HBM3");
        for (unsigned i = 16; i < 20; i++)
                add_pci(i, "0x10de\n", "0x068000\n");
        assert_shape("8xH100");
        assert_int_equal(detected.by, SHAPE_BY_SWITCHES);
}

static void different_models_are_no_model(void **state) {
        (void) state;
        add_gpu(1, "NVIDIA H200");
        add_gpu(2, "NVIDIA H100 80GB HBM3");
        assert_return_code(shape_detect(&context, NULL, &detected), 0);
        assert_null(detected.shape);
        assert_non_null(strstr(detected.why, "2 × GPU of unknown model"));
}

static void a_gpu_that_the_driver_does_not_have_counts(void **state) {
        (void) state;
        for (unsigned i = 1; i <= 3; i++)
                add_gpu(i, "NVIDIA H200");
        add_pci(4, "0x10de\n", "0x030200\n");
        assert_shape("4xH200");
}

static void a_caller_may_know_the_gpus_better(void **state) {
        const ShapeGpus gpus = { .model = "NVIDIA H200", .count = 4, .nvlinks = 18 };

        (void) state;
        add_gpu(1, "NVIDIA H200");
        assert_return_code(shape_detect(&context, &gpus, &detected), 0);
        assert_string_equal(detected.shape->name, "4xH200");
}

static void the_firmware_names_the_provider(void **state) {
        (void) state;
        for (unsigned i = 1; i <= 8; i++)
                add_gpu(i, "NVIDIA H100 80GB HBM3");
        put("sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
        put("sys/class/dmi/id/product_name", "Virtual Machine\n");
        assert_shape("ND96isr_H100_v5");
}

static void metadata_names_the_provider_first(void **state) {
        (void) state;
        for (unsigned i = 1; i <= 8; i++)
                add_gpu(i, "NVIDIA H100 80GB HBM3");
        put("sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
        json_set_string(context.instance, "cloud", "oracle");
        assert_shape("BM.GPU.H100.8");
}

static void a_machine_of_aws_tells_by_its_product_name(void **state) {
        (void) state;
        put("sys/class/dmi/id/product_name", "p5en.48xlarge\n");
        assert_shape("p5en.48xlarge");
        assert_int_equal(detected.by, SHAPE_BY_DMI);
}

static void a_faulty_table_is_the_verdict(void **state) {
        (void) state;
        put("etc/firstboot/shapes.d/a.json", "{\"shapes\":[{\"nane\":\"x\"}]}");
        assert_int_equal(shape_detect(&context, NULL, &detected), -EPROTO);
        assert_string_equal(json_get_string(context.result, "code"), "shape.invalid");
        assert_non_null(strstr(json_get_string(context.result, "message"), "unknown key \"nane\""));
}

static void an_unknown_shape_is_what_the_configuration_makes_it(void **state) {
        json_object *section = json_object_new_object();

        (void) state;
        json_set(context.config, "shape", section);
        assert_return_code(shape_detect(&context, NULL, &detected), 0);
        json_set_string(section, "unknown", "warn");
        assert_int_equal(shape_unknown(&context, &detected), 0);
        assert_string_equal(json_get_string(context.result, "status"), "degraded");
        json_set_string(section, "unknown", "fail");
        assert_int_equal(shape_unknown(&context, &detected), -EPROTO);
        assert_string_equal(json_get_string(context.result, "status"), "failed");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(only_nvidia_gpus_are_counted),
                T(gpus_of_the_driver_name_the_shape),
                T(an_empty_slot_is_a_gpu_that_may_be_missing),
                T(nvswitches_tell_of_gpus_that_are_missing),
                T(different_models_are_no_model),
                T(a_gpu_that_the_driver_does_not_have_counts),
                T(a_caller_may_know_the_gpus_better),
                T(the_firmware_names_the_provider),
                T(metadata_names_the_provider_first),
                T(a_machine_of_aws_tells_by_its_product_name),
                T(a_faulty_table_is_the_verdict),
                T(an_unknown_shape_is_what_the_configuration_makes_it),
#undef T
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
