/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of the machine is put together here; shape.c decides. */

#include "steps/shape/detect.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "steps/common/sysfs.h"

#define DMI "/sys/class/dmi/id"
#define DRIVER_GPUS "/proc/driver/nvidia/gpus"
#define CPUINFO_MAX (16 * 1024 * 1024) /* a thousand processors */

void shape_detected_done(ShapeDetected *d) {
        shapes_done(&d->table);
        free(d->why);
        free(d->gpu_model);
        *d = (ShapeDetected) {};
}

/* The model of one GPU, from the line "Model: NVIDIA H100 80GB HBM3"; NULL where there is none. */
static char *model_of(const char *gpu) {
        _cleanup_free_ char *folder = strf(DRIVER_GPUS "/%s", gpu),
                            *text = folder ? sysfs_string(folder, "information") : NULL;
        const char *line = text ? startswith(text, "Model:") : NULL;

        if (!line)
                return NULL;
        line += strspn(line, " \t");
        return strndup(line, strcspn(line, "\n"));
}

/* The model that all GPUs have; NULL where they differ, or the driver is not loaded. */
static char *model_of_driver(void) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *model = NULL;

        if (fb_list(DRIVER_GPUS, &names) < 0)
                return NULL;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *one = model_of(*name);

                if (!one || (model && !streq(model, one)))
                        return NULL;
                if (!model)
                        model = TAKE_PTR(one);
        }
        return TAKE_PTR(model);
}

/* The provider in the words of the table: by metadata or cloud-init, else by the firmware. */
static const char *provider_of(StepContext *c, char **buffer) {
        static const struct {
                const char *file, *text, *provider;
        } firmware[] = {
                { "chassis_asset_tag", "OracleCloud.com", "oci" },
                { "sys_vendor", "Amazon EC2", "aws" },
                { "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure" },
                { "product_name", "Google Compute Engine", "gcp" },
        };
        const char *cloud = json_get_string(c->instance, "cloud");

        if (streq_ptr(cloud, "oracle"))
                return "oci";
        if (streq_ptr(cloud, "gce"))
                return "gcp";
        if (cloud && !streq(cloud, "nocloud") && !streq(cloud, "none") && !streq(cloud, "unknown"))
                return cloud;
        for (size_t i = 0; i < ELEMENTSOF(firmware); i++) {
                free(*buffer);
                *buffer = sysfs_string(DMI, firmware[i].file);
                if (streq_ptr(*buffer, firmware[i].text))
                        return firmware[i].provider;
        }
        return NULL;
}

/* x86 processors tell that there is a hypervisor below; elsewhere QEMU's firmware does. */
static bool is_virtual_machine(void) {
        _cleanup_free_ char *path = fb_path("/proc/cpuinfo"), *text = NULL,
                            *vendor = sysfs_string(DMI, "sys_vendor");

        if (streq_ptr(vendor, "QEMU"))
                return true;
        if (!path || read_file(path, CPUINFO_MAX, &text, NULL) < 0)
                return false;
        const char *flags = strstr(text, "\nflags");
        if (!flags)
                return false;
        const char *end = strchrnul(flags + 1, '\n'), *found = strstr(flags, " hypervisor");
        return found && found < end;
}

int shape_detect(StepContext *c, const ShapeGpus *gpus, ShapeDetected *ret) {
        _cleanup_(shape_detected_done) ShapeDetected d = {};
        _cleanup_free_ char *error = NULL, *buffer = NULL, *product = NULL;
        unsigned on_pci, nvswitches, empty_slots;
        json_object *figure;
        int r;

        r = shapes_load(&d.table, &error);
        if (r == -EINVAL)
                return step_fail(c, "shape.invalid", "%s", strempty(error));
        if (r < 0)
                return r;

        product = sysfs_string(DMI, "product_name");
        r = shape_read_pci(&on_pci, &nvswitches, &empty_slots);
        if (r < 0)
                return r;
        if (gpus) {
                d.gpus = gpus->count;
                if (gpus->model && !(d.gpu_model = strdup(gpus->model)))
                        return -ENOMEM;
        } else {
                d.gpus = on_pci;
                d.gpu_model = model_of_driver();
        }

        ShapeFacts f = {
                .name = json_get_string(json_get(c->config, "shape"), "name"),
                .instance = json_get_string(c->instance, "shape"),
                .provider = provider_of(c, &buffer),
                .product = product,
                .gpu_model = d.gpu_model,
                .gpus = d.gpus,
                .nvlinks = gpus ? gpus->nvlinks : 0,
                .links = gpus ? gpus->links : SHAPE_LINKS_UNKNOWN,
                .nvswitches = nvswitches,
                .empty_slots = empty_slots,
                .virtual_machine = is_virtual_machine(),
        };
        d.shape = shape_find(&d.table, &f, &d.by, &d.why);
        if (!d.shape && !d.why)
                return -ENOMEM;

        figure = json_object_new_object();
        (void) json_set_fields(figure, JSON_STRING("name", d.shape ? d.shape->name : "unknown"),
                        JSON_STRING("found_by", d.shape ? shape_source_name(d.by) : NULL));
        step_figure(c, "shape", figure);
        *ret = d;
        d = (ShapeDetected) {};
        return 0;
}

int shape_unknown(StepContext *c, const ShapeDetected *d) {
        const char *how = json_get_string(json_get(c->config, "shape"), "unknown");

        if (streq_ptr(how, "warn"))
                return step_degrade(c, "shape.unknown", "%s", d->why);
        return step_fail(c, "shape.unknown", "%s", d->why);
}
