/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library opened, its functions found by name, and what its words mean. */

#include "steps/gpu/nvml.h"

#include <ctype.h>
#include <dlfcn.h>

typedef struct Symbol {
        const char *name;
        size_t offset;
        bool must;
} Symbol;

static const Symbol symbols[] = {
#define NVML_SYMBOL(name, symbol, must, arguments) { symbol, offsetof(NvmlApi, name), must },
        NVML_FUNCTIONS(NVML_SYMBOL)
#undef NVML_SYMBOL
};

int nvml_api_load(const char *library, NvmlApi *ret, char *error, size_t error_size) {
        NvmlApi api = {};

        api.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!api.handle) {
                snprintf(error, error_size, "%s", dlerror());
                return -ENOENT;
        }
        for (size_t i = 0; i < ELEMENTSOF(symbols); i++) {
                void *function = dlsym(api.handle, symbols[i].name);

                if (!function && symbols[i].must) {
                        snprintf(error, error_size, "%s has no %s", library, symbols[i].name);
                        dlclose(api.handle);
                        return -ENOSYS;
                }
                memcpy((char *) &api + symbols[i].offset, &function, sizeof(function));
        }
        *ret = api;
        return 0;
}

const char *nvml_error_text(nvmlReturn_t error) {
        /* nvmlErrorString() would do, but the reader of the facts has no library at hand. */
        static const struct {
                nvmlReturn_t error;
                const char *text;
        } texts[] = {
                { 0, "success" },
                { 1, "uninitialized" },
                { 2, "invalid argument" },
                { 3, "not supported" },
                { 4, "no permission" },
                { 6, "not found" },
                { 7, "insufficient size" },
                { 8, "insufficient external power" },
                { 9, "driver not loaded" },
                { 10, "timeout" },
                { 11, "interrupt request issue" },
                { 12, "library not found" },
                { 13, "function not found" },
                { 14, "corrupted infoROM" },
                { 15, "GPU is lost" },
                { 16, "GPU requires reset" },
                { 17, "blocked by the operating system" },
                { 18, "driver/library version mismatch" },
                { 19, "in use" },
                { 20, "insufficient memory" },
                { 21, "no data" },
                { 25, "argument version mismatch" },
                { 26, "deprecated" },
                { 27, "not ready" },
                { 28, "GPU not found" },
                { 29, "invalid state" },
                { 999, "unknown error" },
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (texts[i].error == error)
                        return texts[i].text;
        return "error";
}

nvmlReturn_t (*nvml_clock_reasons(const NvmlApi *api))(nvmlDevice_t, unsigned long long *) {
        /* The second is the name up to R530 (CUDA 12.1). */
        return api->DeviceGetCurrentClocksEventReasons ? api->DeviceGetCurrentClocksEventReasons
                                                       : api->DeviceGetCurrentClocksThrottleReasons;
}

void nvml_pci_address(const char *bus_id, char *ret, size_t size) {
        const char *p = bus_id;
        size_t n = 0;

        /* NVML writes the domain with eight digits, sysfs with at least four. */
        if (strcspn(p, ":") == 8 && strncmp(p, "0000", 4) == 0)
                p += 4;
        for (; *p && n + 1 < size; p++)
                ret[n++] = (char) tolower((unsigned char) *p);
        ret[n] = '\0';
}
