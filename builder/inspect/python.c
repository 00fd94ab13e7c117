/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parts that machine learning installs with pip or conda, outside of the system's packages: each
 * leaves a folder (or file) NAME-VERSION.dist-info or .egg-info beside its modules. */

#include "inspect/internal.h"

#include "shared/file-util.h"

static const char *const folders[] = {
        "/usr/lib/python3*/dist-packages",
        "/usr/lib/python3*/site-packages",
        "/usr/lib64/python3*/site-packages",
        "/usr/local/lib/python3*/dist-packages",
        "/usr/local/lib/python3*/site-packages",
        "/opt/*/lib/python3*/site-packages",
        "/opt/*/*/lib/python3*/site-packages", /* an overlay's key "python" */
        "/opt/*/envs/*/lib/python3*/site-packages",
};

/* In the order they are shown; names as pip writes them. */
static const struct {
        const char *key, *label, *name;
} parts[] = {
        { "torch", "PyTorch", "torch" },
        { "tensorflow", "TensorFlow", "tensorflow" },
        { "jax", "JAX", "jax" },
        { "triton", "Triton", "triton" },
        { "flash_attn", "FlashAttention", "flash_attn" },
        { "transformer_engine", "Transformer Engine", "transformer_engine" },
        { "deepspeed", "DeepSpeed", "deepspeed" },
        { "megatron_core", "Megatron Core", "megatron_core" },
        { "vllm", "vLLM", "vllm" },
        { "horovod", "Horovod", "horovod" },
        { "ray", "Ray", "ray" },
        { "submitit", "Submitit", "submitit" },
        { "mpi4py", "mpi4py", "mpi4py" },
        { "numpy", "NumPy", "numpy" },
};

char *inspect_python_version(const char *path, const char *name) {
        const char *rest = startswith(path_basename(path), name), *end;

        if (!rest || rest[0] != '-' || rest[1] < '0' || rest[1] > '9')
                return NULL;
        end = strstr(++rest, ".dist-info");
        if (!end)
                end = strstr(rest, ".egg-info");
        return end ? strndup(rest, (size_t) (end - rest)) : NULL;
}

/* All versions that are there, once each: two environments may have two. */
static char *find_versions(char *const *paths, const char *name) {
        _cleanup_strv_free_ char **versions = NULL;

        STRV_FOREACH (path, paths) {
                _cleanup_free_ char *version = inspect_python_version(*path, name);

                if (version && !strv_contains(versions, version) &&
                                strv_extend(&versions, version) < 0)
                        return NULL;
        }
        return versions ? strv_join(versions, ", ") : NULL;
}

int inspect_python(guestfs_h *g, json_object *list) {
        _cleanup_strv_free_ char **paths = NULL;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *pattern = strf("%s/*-info", folders[i]);
                _cleanup_strv_free_ char **found = NULL;

                if (!pattern)
                        return -ENOMEM;
                found = guestfs_glob_expand_opts(
                                g, pattern, GUESTFS_GLOB_EXPAND_OPTS_DIRECTORYSLASH, 0, -1);
                r = strv_extend_strv(&paths, found);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                _cleanup_free_ char *version = find_versions(paths, parts[i].name);

                if (!version)
                        continue;
                r = inspect_add_software(list, parts[i].key, parts[i].label, version);
                if (r < 0)
                        return r;
        }
        return 0;
}
