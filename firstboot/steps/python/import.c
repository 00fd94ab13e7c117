/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Python's own words are logged; what it found comes as one line of JSON behind a mark, for modules
 * print what they like. */

#include "steps/python/import.h"

#include <signal.h>

#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#define MARK "firstboot-python: "

/* torch.cuda.device_count() asks NVML itself (since 2.0), so CUDA's own count is asked for as well,
 * and the smaller one counts. It ends without Python's clean-up: what is proved is the import. */
static const char program[] =
                "import ctypes, importlib, json, os, sys, time\n"
                "found = {}\n"
                "def devices(torch):\n"
                "    if not torch.cuda.device_count():\n"
                "        return 0\n"
                "    count = getattr(torch._C, '_cuda_getDeviceCount', torch.cuda.device_count)\n"
                "    return min(torch.cuda.device_count(), count())\n"
                "def nvml():\n"
                "    library, n = ctypes.CDLL('libnvidia-ml.so.1'), ctypes.c_uint()\n"
                "    for call in (library.nvmlInit_v2, lambda: library.nvmlDeviceGetCount_v2(ctypes.byref(n))):\n"
                "        if (r := call()):\n"
                "            raise OSError(f'NVML answers with error {r}')\n"
                "    return n.value\n"
                "try:\n"
                "    start = time.monotonic()\n"
                "    module = importlib.import_module(sys.argv[1])\n"
                "    found['seconds'] = time.monotonic() - start\n"
                "    found['version'] = str(getattr(module, '__version__', ''))\n"
                "except BaseException as e:\n"
                "    found['error'] = f'{type(e).__name__}: {e}'\n"
                "if 'error' not in found and sys.argv[2] == 'gpus':\n"
                "    for name, count in (('torch', lambda: devices(module)), ('nvml', nvml)):\n"
                "        try:\n"
                "            found[name] = count()\n"
                "        except BaseException as e:\n"
                "            found.setdefault('gpu_error', f'{name}: {type(e).__name__}: {e}')\n"
                "print('\\n" MARK "' + json.dumps(found), flush=True)\n"
                "os._exit(0)\n";

void import_done(Import *i) {
        free(i->text);
        free(i->version);
        free(i->gpu_text);
        *i = (Import) { .torch_devices = -1, .nvml_devices = -1 };
}

/* NULL for what is absent or empty. */
static char *copy_text(json_object *o, const char *key) {
        const char *text = json_get_string(o, key);

        return isempty(text) ? NULL : strndup(text, 500);
}

bool import_parse(const char *line, Import *i) {
        const char *text = startswith(line, MARK);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        json_object *seconds;

        if (!text || json_parse(text, strlen(text), &e, &o) < 0)
                return false;
        import_done(i);
        seconds = json_get(o, "seconds");
        i->end = json_get(o, "error") ? IMPORT_FAILED : IMPORT_OK;
        i->text = copy_text(o, "error");
        i->version = copy_text(o, "version");
        i->gpu_text = copy_text(o, "gpu_error");
        i->seconds = seconds ? json_object_get_double(seconds) : 0;
        i->torch_devices = (int) json_get_int(o, "torch", -1);
        i->nvml_devices = (int) json_get_int(o, "nvml", -1);
        return true;
}

static void on_line(const char *line, void *userdata) {
        Import *i = userdata;

        if (!import_parse(line, i) && line[strspn(line, " \t")])
                log_info("  %s", line);
}

static int end_badly(Import *i, ImportEnd end, char *text) {
        import_done(i);
        i->end = end;
        i->text = text;
        return text ? 0 : -ENOMEM;
}

int python_import(const char *environment, const char *module, bool count_gpus,
                uint64_t timeout_usec, Import *ret) {
        _cleanup_free_ char *python = fb_pathf("%s/bin/python", environment);
        SpawnOptions o = { .on_line = on_line, .line_data = ret, .timeout_usec = timeout_usec };
        int r, status = 0;

        *ret = (Import) { .end = IMPORT_DIED, .torch_devices = -1, .nvml_devices = -1 };
        if (!python)
                return -ENOMEM;
        if (access(python, X_OK) < 0)
                return end_badly(ret, IMPORT_NO_PYTHON,
                                strf("%s/bin/python: %s", environment, strerror(errno)));

        r = spawn_run(&o,
                        ARGV(python, "-I", "-B", "-c", program, module, count_gpus ? "gpus" : "-"),
                        &status);
        if (r == -ETIMEDOUT)
                return end_badly(ret, IMPORT_TIMEOUT, strdup("it did not end in time"));
        if (r < 0)
                return r;
        if (status > 128)
                return end_badly(ret, IMPORT_DIED,
                                strf("its process was killed by signal %d (%s)", status - 128,
                                                strsignal(status - 128)));
        if (status != 0 || ret->end == IMPORT_DIED)
                return end_badly(ret, IMPORT_DIED,
                                strf("its process ended with exit code %d and no word", status));
        return 0;
}
