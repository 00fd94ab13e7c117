/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libguestfs, read-only but for a disk that keeps its vendor's layout. Its appliance is a small
 * virtual machine that only sees the images: whatever a stranger's file system holds, the host's
 * kernel never mounts it. */

#include "appliance/internal.h"

#include "common/kvm.h"
#include "common/userns.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "store/store.h"

#include <glob.h>

#define PLACEHOLDER (1024 * 1024) /* bytes */
#define NO_START \
        "libguestfs' appliance does not start; the same command with LIBGUESTFS_DEBUG=1 before it shows why"

static bool any_readable(const char *pattern, bool *ret_exists) {
        glob_t g = {};
        bool readable = false;

        *ret_exists = glob(pattern, 0, NULL, &g) == 0;
        for (size_t i = 0; *ret_exists && i < g.gl_pathc; i++)
                readable = readable || access(g.gl_pathv[i], R_OK) >= 0;
        globfree(&g);
        return readable;
}

char *guestfs_missing(void) {
        bool in_boot, in_modules;

        /* A ready appliance brings its own kernel. */
        if (!isempty(getenv("LIBGUESTFS_PATH")))
                return NULL;
        if (!program_find("supermin", NULL))
                return strdup("supermin, which makes its appliance: apt install supermin");
        if (!program_find("qemu-system-x86_64", NULL))
                return strdup("QEMU, which runs its appliance: apt install qemu-system-x86");

        bool readable_boot = any_readable("/boot/vmlinuz-*", &in_boot);
        if (readable_boot || any_readable("/lib/modules/*/vmlinuz", &in_modules))
                return NULL;
        if (!in_boot && !in_modules)
                return strdup("a distribution kernel in /boot, which its appliance boots: apt install linux-image-cloud-amd64");
        return strdup("to read a kernel in /boot, which its appliance boots: chmod 0644 /boot/vmlinuz-*");
}

typedef struct Launch {
        const char *const *images, *const *formats; /* end with NULL */
        const char *folder;  /* for its files; NULL: libguestfs' own choice */
        const char *monitor; /* where QEMU is to listen; NULL: nowhere */
        const char *port;    /* the file that APPLIANCE_PORT writes to; NULL: no port */
        bool writable;       /* the first image is to be written, the others have names */
        guestfs_h *g;
} Launch;

/* Beside the user's store: what libguestfs would take for user 0 is the host's root's. */
char *appliance_user_cache(void) {
        return strf("%s-appliance", store_default_path());
}

static int choose_cache(guestfs_h *g) {
        _cleanup_free_ char *folder = NULL;

        if (!in_user_namespace() || !isempty(getenv("LIBGUESTFS_CACHEDIR")))
                return 0;
        folder = appliance_user_cache();
        if (!folder)
                return -ENOMEM;
        if (access(folder, W_OK) < 0) {
                log_debug("%s is not there: libguestfs keeps its appliance elsewhere", folder);
                return 0;
        }
        return guestfs_set_cachedir(g, folder) < 0 ? -EIO : 0;
}

/* libguestfs itself hands out 8 KiB at a time, each wrapped and acknowledged. */
static bool add_port(guestfs_h *g, const char *port) {
        _cleanup_free_ char *chardev = port ? strf("file,id=tree,path=%s", port) : NULL;

        if (!port)
                return true;
        return chardev && guestfs_config(g, "-chardev", chardev) >= 0 &&
               guestfs_config(g, "-device",
                               "virtserialport,chardev=tree,name=" APPLIANCE_PORT_NAME) >= 0;
}

static bool prepare(guestfs_h *g, const Launch *l, bool kvm) {
        if (guestfs_set_backend(g, "direct") < 0 ||
                        (!kvm && guestfs_set_backend_setting(g, "force_tcg", "1") < 0))
                return false;
        if (choose_cache(g) < 0)
                return false;
        if (l->folder && guestfs_set_tmpdir(g, l->folder) < 0)
                return false;
        if (!add_port(g, l->port))
                return false;
        if (!l->monitor)
                return true;
        /* It does not start without any disk. */
        return guestfs_add_drive_scratch(g, PLACEHOLDER, -1) >= 0 &&
               guestfs_config(g, "-qmp", l->monitor) >= 0;
}

/* The appliance's programs see disks in the order in which its kernel came upon them. */
static bool add_image(guestfs_h *g, const Launch *l, size_t i) {
        static const char *const beside[] = { NULL, "first", "second" };

        if (!l->writable || i == 0)
                return guestfs_add_drive_opts(g, l->images[i], GUESTFS_ADD_DRIVE_OPTS_READONLY,
                                       !l->writable, GUESTFS_ADD_DRIVE_OPTS_FORMAT, l->formats[i],
                                       -1) >= 0;
        return guestfs_add_drive_opts(g, l->images[i], GUESTFS_ADD_DRIVE_OPTS_READONLY, 1,
                               GUESTFS_ADD_DRIVE_OPTS_FORMAT, l->formats[i],
                               GUESTFS_ADD_DRIVE_OPTS_LABEL, beside[i], -1) >= 0;
}

static int launch(bool kvm, void *userdata) {
        Launch *l = userdata;
        const char *const *images = l->images;
        _cleanup_guestfs_ guestfs_h *g = guestfs_create();

        if (!g)
                return -ENOMEM;
        guestfs_set_error_handler(g, NULL, NULL); /* guestfs_last_error() says it when we want to */
        if (!prepare(g, l, kvm))
                return log_error_return(-EIO,
                                "libguestfs cannot be set up: %s; 'imgbuild doctor inspect' looks for what it lacks",
                                guestfs_last_error(g));
        for (size_t i = 0; images[i]; i++)
                if (!add_image(g, l, i))
                        return log_error_return(-EIO, "libguestfs cannot open %s: %s", images[i],
                                        guestfs_last_error(g));
        if (guestfs_launch(g) < 0) {
                log_debug("libguestfs: %s", strempty(guestfs_last_error(g)));
                return interrupt_signal() ? -ECANCELED : -EAGAIN;
        }
        l->g = TAKE_PTR(g);
        return 0;
}

/* The formats of all images, as given or as found; they are constants or the caller's. */
static int find_formats(const char *const *images, const char *const *formats, const char ***ret) {
        _cleanup_free_ const char **found = NULL;
        size_t n = 0;

        while (images[n])
                n++;
        found = calloc(n + 1, sizeof(*found));
        if (!found)
                return log_oom();
        for (size_t i = 0; i < n; i++) {
                int r;

                if (formats && formats[i]) {
                        found[i] = formats[i];
                        continue;
                }
                r = image_format_log(images[i], found + i);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(found);
        return 0;
}

static int start(Launch *l, guestfs_h **ret) {
        _cleanup_free_ char *missing = guestfs_missing(), *why = NULL;
        bool blame_kvm = false;
        int r;

        if (missing) {
                log_error("libguestfs cannot look into the image: this host lacks %s", missing);
                return -ENOPKG;
        }
        bool kvm = kvm_probe(&why) > 0;
        if (!kvm)
                log_debug("libguestfs runs without KVM: %s", strempty(why));
        r = appliance_launch(launch, kvm, l, &blame_kvm);
        if (blame_kvm)
                kvm_distrust("libguestfs' appliance did not start with it, twice, and did without");
        if (r >= 0)
                *ret = l->g;
        return r;
}

int guestfs_open_readonly(const char *const *images, const char *const *formats, guestfs_h **ret) {
        _cleanup_free_ const char **found = NULL;
        int r;

        r = find_formats(images, formats, &found);
        if (r < 0)
                return r;
        r = start(&(Launch) { .images = images, .formats = found }, ret);
        if (r == -EAGAIN) {
                log_error(NO_START);
                return -ENOPKG;
        }
        return r;
}

int guestfs_open_writable(const char *disk, const char *const beside[2], guestfs_h **ret) {
        const char *const images[] = { disk, beside[0], beside[1], NULL }, *const formats[] = {
                "raw", "raw", "raw", NULL
        };
        int r;

        r = start(&(Launch) { .images = images, .formats = formats, .writable = true }, ret);
        if (r == -EAGAIN) {
                log_error(NO_START);
                return -ENOPKG;
        }
        return r;
}

int guestfs_open_bare(const char *folder, const char *monitor, guestfs_h **ret) {
        static const char *const none[] = { NULL };
        _cleanup_free_ char *listen = strf("unix:%s,server=on,wait=off", monitor);

        if (!listen)
                return -ENOMEM;
        return start(&(Launch) { none, none, .folder = folder, .monitor = listen }, ret);
}

int appliance_open_port(const char *image, const char *format, const char *port, guestfs_h **ret) {
        const char *const images[] = { image, NULL }, *const formats[] = { format, NULL };
        int r = start(&(Launch) { .images = images, .formats = formats, .port = port }, ret);

        if (r == -EAGAIN) {
                log_error(NO_START);
                return -ENOPKG;
        }
        return r;
}

typedef struct Use {
        const char *image, *format;
        ApplianceUse use;
        void *userdata;
} Use;

static int open_image(guestfs_h **ret, void *userdata) {
        const Use *u = userdata;

        return guestfs_open_readonly((const char *const[]) { u->image, NULL },
                        (const char *const[]) { u->format, NULL }, ret);
}

static int use_image(guestfs_h *g, void *userdata) {
        const Use *u = userdata;

        return u->use(g, u->userdata);
}

int guestfs_use_readonly(const char *image, const char *format, ApplianceUse use, void *userdata) {
        Use u = { .image = image, .format = format, .use = use, .userdata = userdata };

        return appliance_use(open_image, use_image, &u);
}
