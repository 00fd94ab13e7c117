/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens the libraries and looks their functions up. */

#include "ncclbench/gpu-api.h"
#include "shared/strv.h"

#include <dlfcn.h>
#include <link.h>

typedef struct Symbol {
        const char *name;
        size_t offset;
        bool optional;
} Symbol;

static const Symbol cuda_symbols[] = {
#define CUDA_SYMBOL(name, symbol, arguments) { symbol, offsetof(CudaApi, name), false },
        CUDA_FUNCTIONS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
#define CUDA_SYMBOL(name, symbol, arguments) { symbol, offsetof(CudaApi, name), true },
                        CUDA_LATER_FUNCTIONS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
};

static const Symbol nccl_symbols[] = {
#define NCCL_SYMBOL(name, symbol, since, result, arguments) \
        { symbol, offsetof(NcclApi, name), (since) != 0 },
        NCCL_FUNCTIONS(NCCL_SYMBOL)
#undef NCCL_SYMBOL
};

static int load(const char *library, const Symbol *symbols, size_t n, void *api, void **ret_handle,
                char **ret_error) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);

        if (!handle) {
                *ret_error = strf("%s", dlerror());
                return -ENOENT;
        }
        for (size_t i = 0; i < n; i++) {
                void *function = dlsym(handle, symbols[i].name);

                if (!function && !symbols[i].optional) {
                        *ret_error = strf("%s has no %s", library, symbols[i].name);
                        dlclose(handle);
                        return -ENOSYS;
                }
                memcpy((char *) api + symbols[i].offset, &function, sizeof(function));
        }
        *ret_handle = handle;
        return 0;
}

int cuda_api_load(const char *library, CudaApi *ret, char **ret_error) {
        CudaApi api = {};
        int r;

        r = load(library, cuda_symbols, ELEMENTSOF(cuda_symbols), &api, &api.handle, ret_error);
        if (r < 0)
                return r;
        if (api.DriverGetVersion(&api.version) != CUDA_SUCCESS)
                api.version = 0;
        *ret = api;
        return 0;
}

int nccl_api_load(const char *library, NcclApi *ret, char **ret_error) {
        struct link_map *map = NULL;
        NcclApi api = {};
        int r;

        r = load(library, nccl_symbols, ELEMENTSOF(nccl_symbols), &api, &api.handle, ret_error);
        if (r < 0)
                return r;
        if (api.GetVersion(&api.version) != ncclSuccess)
                api.version = 0;
        api.path = strdup(dlinfo(api.handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name
                                                                                : library);
        if (!api.path) {
                dlclose(api.handle);
                return -ENOMEM;
        }
        *ret = api;
        return 0;
}

char *cuda_error_text(const CudaApi *cuda, CUresult error) {
        const char *name = NULL, *text = NULL;

        cuda->GetErrorName(error, &name);
        cuda->GetErrorString(error, &text);
        return strf("%s (%d): %s", name ? name : "CUDA error", error,
                        text ? text : "no description");
}
