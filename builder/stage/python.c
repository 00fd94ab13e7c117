/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A Python environment: the image's own Python makes a virtual environment, the locked pip, run
 * from its wheel, installs the locked wheels into it, without network, index or dependencies to
 * look for, and everything is byte-compiled once. The wheels are seen from outside; nothing of pip
 * stays. A wheel may bring code that any Python of the environment runs when it starts (a .pth
 * file), so what the stage changed is looked at before it is kept (stray.c). What a wheel would
 * become, and that out of all proportion, its own list says: the zip reader takes no more of an
 * entry than that. */

#include "stage/internal.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#define INSIDE_WHEELS INSIDE "/wheels"

/* Byte code says by the source's hash, not by its time, what it was made of, and Python need not
 * look: the same bytes in every build, and a start-up without a stat() and read of each source.
 * Files that are no Python of this version (templates, tests for others) stay as they are, as with
 * pip. */
static const char program[] =
                "import os, py_compile, subprocess, sys, venv, zipfile\n"
                "target, wheels, pip, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]\n"
                "sys.dont_write_bytecode = True\n"
                "for name in sorted(os.listdir(wheels)):\n"
                "    packed = os.path.getsize(os.path.join(wheels, name))\n"
                "    try:\n"
                "        with zipfile.ZipFile(os.path.join(wheels, name)) as z:\n"
                "            size = sum(entry.file_size + 4096 for entry in z.infolist())\n"
                "    except (zipfile.BadZipFile, NotImplementedError, EOFError):\n"
                "        continue  # pip says what is wrong with it\n"
                "    if size > 256 << 20 and size // 200 > packed:\n"
                "        sys.exit(f'{name} is a decompression bomb: its {packed} bytes would become {size}')\n"
                "venv.create(target, symlinks=True, with_pip=False)\n"
                "programs = os.path.join(target, 'bin')\n"
                "own = {name: os.lstat(os.path.join(programs, name)).st_ctime_ns for name in os.listdir(programs)}\n"
                "python = os.path.join(programs, 'python')\n"
                "def run_pip(*arguments):\n"
                "    code = subprocess.run([python, '-I', '-B', os.path.join(wheels, pip, 'pip'),\n"
                "                           '--disable-pip-version-check', '--no-color', *arguments]).returncode\n"
                "    if code:\n"
                "        sys.exit(code)  # it said why\n"
                "if names:\n"
                "    run_pip('install', '--no-index', '--no-deps', '--no-compile', '--no-cache-dir', '--no-input',\n"
                "            '--progress-bar=off', '--no-warn-script-location', '--root-user-action=ignore',\n"
                "            '--find-links', wheels, *names)\n"
                "    for name in own:\n"
                "        if os.lstat(os.path.join(programs, name)).st_ctime_ns != own[name]:\n"
                "            sys.exit(f'one of its wheels has a program called {name}, which is the name of the environment\\'s own')\n"
                "    run_pip('check')\n"
                "for folder, folders, files in os.walk(target):\n"
                "    folders.sort()\n"
                "    for name in sorted(files):\n"
                "        path = os.path.join(folder, name)\n"
                "        if not name.endswith('.py') or os.path.islink(path) or not os.path.isfile(path):\n"
                "            continue\n"
                "        try:\n"
                "            py_compile.compile(path, doraise=True, quiet=2,\n"
                "                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\n"
                "        except (py_compile.PyCompileError, ValueError, RecursionError):\n"
                "            pass\n";

/* What was installed from; the lock says to what. */
static int link_wheels(StageBuild *b, const LockedEnvironment *e, char **ret_folder) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;

        for (size_t i = 0; i < e->n_wheels; i++)
                if (strv_push(&blobs, store_blob_path(b->ctx->store, e->wheels[i].sha256)) < 0 ||
                                strv_extend(&names, e->wheels[i].file) < 0)
                        return log_oom();
        return stage_link_debs(b, blobs, names, ret_folder);
}

static int make_argv(const LockedEnvironment *e, const char *interpreter, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        const LockedWheel *installer = NULL;
        int r;

        for (size_t i = 0; i < e->n_wheels; i++)
                if (e->wheels[i].role)
                        installer = e->wheels + i;
        if (!installer)
                return -ESTALE;
        r = strv_extend_many(&argv, interpreter, "-I", "-B", "-c", program, e->path, INSIDE_WHEELS,
                        installer->file, NULL);
        if (r < 0)
                return r;
        for (size_t i = 0; i < e->n_wheels; i++) {
                if (e->wheels[i].role)
                        continue;
                r = strv_extendf(&argv, "%s==%s", e->wheels[i].name, e->wheels[i].version);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(argv);
        return 0;
}

static int run(StageBuild *b, const LockedEnvironment *e, const char *folder) {
        const SandboxBind binds[] = { { folder, INSIDE_WHEELS, false } };
        _cleanup_strv_free_ char **argv = NULL;
        Sandbox s = b->sandbox;
        int r;

        r = make_argv(e, recipe_interpreter(b->plan->recipe, e->path), &argv);
        if (r == -ESTALE)
                return log_error_errno(r,
                                "Stage %s: the lock names no pip, which installs its wheels: restore it from git, or 'imgbuild lock %s --update' makes it anew",
                                b->stage->id, b->plan->recipe->path);
        if (r < 0)
                return log_oom();
        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        s.env = ARGV("PYTHONHASHSEED=0", "PIP_CONFIG_FILE=/dev/null");
        return stage_command(b, &s, argv);
}

static int refuse_strays(const StageBuild *b, const LockedEnvironment *e) {
        _cleanup_free_ char *stray = NULL;
        int r;

        r = stage_find_stray(b->sandbox.upper, e->path, &stray);
        if (r < 0)
                return log_error_errno(r, "Stage %s: its layer cannot be read", b->stage->id);
        if (stray)
                return log_error_return(-EIO,
                                "Stage %s: one of its wheels changed %s, and none may change anything but %s. What that is to be, an overlay's files or run scripts can do",
                                b->stage->id, stray, e->path);
        return stage_parents_unchanged(b, e->path);
}

int stage_python(StageBuild *b) {
        const LockedEnvironment *e =
                        lock_find_environment(b->plan->lock, b->stage->overlay->python.environment);
        _cleanup_free_ char *folder = NULL;
        int r;

        if (!e)
                return log_error_return(-ESTALE,
                                "Stage %s: the lock does not have it: 'imgbuild lock %s' adds it",
                                b->stage->id, b->plan->recipe->path);
        r = link_wheels(b, e, &folder);
        if (r < 0)
                return r;
        r = run(b, e, folder);
        (void) rm_rf(folder);
        return r < 0 ? r : refuse_strays(b, e);
}
