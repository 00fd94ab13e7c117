/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/shape/detect.h"
#include "shared/file-util.h"
#include "contract/paths.h"

#include <dirent.h>

void shape_detected_done(ShapeDetected *d) {
        shapes_done(&d->table);
        free(d->why);
        free(d->gpu_model);
        *d = (ShapeDetected) {};
}

static char *read_attribute(const char *folder, const char *name) {
        _cleanup_free_ char *path = fb_pathf("%s/%s", folder, name);
        char *text = NULL;

        return path && read_line_file(path, &text) >= 0 ? text : NULL;
}

int gpus_on_pci(void) {
        _cleanup_strv_free_ char **devices = NULL;
        int n = 0, r = fb_list("/sys/bus/pci/devices", &devices);

        if (r < 0)
                return r;
        STRV_FOREACH (device, devices) {
                _cleanup_free_ char *folder = strf("/sys/bus/pci/devices/%s", *device),
                                    *vendor = folder ? read_attribute(folder, "vendor") : NULL,
                                    *class = folder ? read_attribute(folder, "class") : NULL;

                if (streq_ptr(vendor, "0x10de") && class &&
                                (startswith(class, "0x0300") || startswith(class, "0x0302")))
                        n++;
        }
        return n;
}

/* The model that all GPUs have, from lines "Model: NVIDIA H100 80GB HBM3"; NULL where they differ,
 * or the driver is not loaded. */
static char *model_of_driver(void) {
        _cleanup_free_ char *path = fb_path("/proc/driver/nvidia/gpus"), *model = NULL;
        bool same = true;

        DIR *d = path ? opendir(path) : NULL;
        if (!d)
                return NULL;
        for (struct dirent *e; (e = readdir(d));) {
                _cleanup_free_ char *folder = NULL, *text = NULL;

                if (e->d_name[0] == '.')
                        continue;
                folder = strf("/proc/driver/nvidia/gpus/%s", e->d_name);
                text = folder ? read_attribute(folder, "information") : NULL;
                const char *line = text ? startswith(text, "Model:") : NULL;
                if (!line) {
                        same = false;
                        continue;
                }
                line += strspn(line, " \t");
                _cleanup_free_ char *one = strndup(line, strcspn(line, "\n"));
                if (!model)
                        model = TAKE_PTR(one);
                else
                        same = same && streq_ptr(model, one);
        }
        closedir(d);
        return same ? TAKE_PTR(model) : NULL;
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
                *buffer = read_attribute("/sys/class/dmi/id", firmware[i].file);
                if (streq_ptr(*buffer, firmware[i].text))
                        return firmware[i].provider;
        }
        return NULL;
}

int shape_detect(StepContext *c, const ShapeGpus *gpus, ShapeDetected *ret) {
        _cleanup_(shape_detected_done) ShapeDetected d = {};
        _cleanup_free_ char *error = NULL, *buffer = NULL, *product = NULL;
        json_object *figure;
        int r;

        r = shapes_load(&d.table, &error);
        if (r == -EINVAL)
                return step_fail(c, "shape.invalid", "%s", strempty(error));
        if (r < 0)
                return r;
        product = read_attribute("/sys/class/dmi/id", "product_name");
        if (gpus) {
                d.gpus = gpus->count;
                if (gpus->model && !(d.gpu_model = strdup(gpus->model)))
                        return -ENOMEM;
        } else {
                r = gpus_on_pci();
                if (r < 0)
                        return r;
                d.gpus = (unsigned) r;
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
        };
        d.shape = shape_find(&d.table, &f, &d.by, &d.why);
        if (!d.shape && !d.why)
                return -ENOMEM;
        figure = json_object_new_object();
        (void) json_set_string(figure, "name", d.shape ? d.shape->name : "unknown");
        if (d.shape)
                (void) json_set_string(figure, "found_by", shape_source_name(d.by));
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
