/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is measured, and what it must reach: by the configuration, the shape's published number, or
 * what the links between the GPUs carry. */

#include "shared/file-util.h"
#include "shared/parse-number.h"
#include "steps/common/status-document.h"
#include "steps/common/sysfs.h"
#include "steps/nccl/conf.h"
#include "steps/nccl/internal.h"

/* Sizes from which the bandwidth is that of the links, not of getting started. */
#define DERIVED_BYTES (UINT64_C(4) << 30)
#define DERIVED_BYTES_MIN (UINT64_C(1) << 30)

/* Share of what NVLinks carry (links x rate, one direction) that a ring must reach. The least that
 * somebody gates on is Azure's 110 of 150 GB/s for V100 (73 %); A100: 228 of 300 (76 %); measured
 * on H200 without multicast: 346.6 and 365 of 450 (77 and 81 %). */
#define NVLINK_PERCENT 70
/* Share of what a GPU's PCIe link carries. Over host memory each byte passes it twice, and
 * processors and sockets in between take their part; nobody has published a number. */
#define PCIE_PERCENT 25

/* Whether NVLink multicast may be used: by the configuration, else by what NCCL will read. */
bool nccl_nvls_allowed(Nccl *s) {
        const char *how = json_get_string(s->context->section, "nvls");
        _cleanup_free_ char *conf = NULL;

        if (streq_ptr(how, "off"))
                s->nvls = "0";
        else if (streq_ptr(how, "on"))
                s->nvls = "1";
        if (s->nvls)
                return !streq(s->nvls, "0");
        conf = nccl_conf_get(s->conf, "NCCL_NVLS_ENABLE");
        const char *shape = shape_env(s->detected.shape, "NCCL_NVLS_ENABLE");
        return conf ? !streq(conf, "0") : !streq_ptr(shape, "0");
}

/* How many GPUs there must be: by the configuration, the shape, or what is there. */
static unsigned choose_gpus(const Nccl *s) {
        const Shape *shape = s->detected.shape;
        int64_t count = json_get_int(json_get(s->context->config, "gpu"), "count", 0);

        if (count != 0)
                return (unsigned) count;
        return shape && shape->gpus > 0 ? (unsigned) shape->gpus : s->detected.gpus;
}

/* GB/s (10⁹) of a GPU's PCIe link in one direction, by the device's own limits; 0: not shown. */
static double pcie_gbps(const char *gpu) {
        _cleanup_free_ char *folder = strf("/sys/bus/pci/devices/%s", gpu),
                            *speed = folder ? sysfs_string(folder, "max_link_speed") : NULL;
        uint64_t width = 0;
        double gts = 0;

        if (!speed || parse_leading_real(speed, &gts) < 0 ||
                        sysfs_number(folder, "max_link_width", 10, &width) < 0)
                return 0;
        /* 8b/10b up to 5 GT/s, 128b/130b from then on: PCI Express Base Specification. */
        return width <= 32 ? gts / 8 * (gts > 5.1 ? 128.0 / 130 : 0.8) * (double) width : 0;
}

/* Of the slowest GPU; 0 where that is not shown. */
static double slowest_pcie(void) {
        _cleanup_strv_free_ char **gpus = NULL;
        double least = 0;

        if (shape_gpu_addresses(&gpus) < 0)
                return 0;
        STRV_FOREACH (gpu, gpus) {
                double gbps = pcie_gbps(*gpu);

                if (gbps <= 0)
                        return 0;
                least = least > 0 && least < gbps ? least : gbps;
        }
        return least;
}

/* What the gpu step of this boot has found between the GPUs: links of each, and their rate. Only
 * where each GPU reaches each other one by NVLink do all links count. */
static bool links_found(int64_t *ret_links, double *ret_gbps) {
        _cleanup_json_ json_object *status = NULL;
        JsonError e = {};

        if (status_file_load(&e, &status, NULL) < 0)
                return false;
        json_object *result = json_get(status_document_step(status, "gpu"), "result"),
                    *o = json_get(json_get(result, "figures"), "nvlink");
        if (!json_get_bool(o, "complete", false))
                return false;
        *ret_links = json_get_int(o, "links", 0);
        *ret_gbps = nccl_number(o, "gbps");
        return *ret_links > 0 && *ret_gbps > 0;
}

/* What the links must carry where no number is published. */
static int derive(Nccl *s) {
        const Shape *shape = s->detected.shape;
        int64_t percent = json_get_int(s->context->section, "derived_percent", NVLINK_PERCENT),
                links = shape && shape->nvlinks > 0 ? shape->nvlinks : 0;
        double gbps = shape ? shape->nvlink_gbps : 0;
        uint64_t bytes = s->bytes ? s->bytes : DERIVED_BYTES;

        if (bytes < DERIVED_BYTES_MIN)
                return 0;
        if ((links > 0 && gbps > 0) || links_found(&links, &gbps)) {
                s->min_gbps = (double) links * gbps * (double) percent / 100;
                s->source = strf("derived: %lld %% of %lld NVLinks x %g GB/s", (long long) percent,
                                (long long) links, gbps);
        } else {
                gbps = slowest_pcie();
                if (gbps <= 0)
                        return 0;
                bytes = s->bytes ? s->bytes : NCCL_PLAIN_BYTES;
                s->min_gbps = gbps * PCIE_PERCENT / 100;
                s->source = strf("derived: %d %% of PCIe's %.1f GB/s", PCIE_PERCENT, gbps);
        }
        s->bytes = bytes;
        return s->source ? 0 : -ENOMEM;
}

int nccl_choose(Nccl *s) {
        json_object *o = s->context->section;
        const ShapeBusbw *busbw = NULL;
        int64_t percent = json_get_int(o, "measured_percent", 95);
        bool nvls = nccl_nvls_allowed(s);
        int r = 0;

        s->gpus = choose_gpus(s);
        s->bytes = config_size(o, "size", 0);
        if (s->detected.shape)
                busbw = shape_busbw(s->detected.shape, 1, nvls, 0);

        /* One GPU moves nothing to another: only its results can be judged. */
        if (s->gpus == 1)
                s->bytes = MIN(s->bytes ? s->bytes : NCCL_PLAIN_BYTES, NCCL_PLAIN_BYTES);
        else if (json_get(o, "min_busbw"))
                s->min_gbps = (double) json_get_int(o, "min_busbw", 0);
        /* A number for another size says nothing about this one. */
        else if (busbw && (s->bytes == 0 || s->bytes == busbw->bytes)) {
                s->bytes = busbw->bytes;
                s->min_gbps = busbw->gate ? busbw->gbps : busbw->gbps * (double) percent / 100;
                s->source = strdup(busbw->source);
                r = s->source ? 0 : -ENOMEM;
        } else
                r = derive(s);
        if (s->bytes == 0)
                s->bytes = NCCL_PLAIN_BYTES;
        return r;
}
