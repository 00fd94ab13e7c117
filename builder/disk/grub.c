/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GRUB's core image, by grub-mkimage: it carries all the modules it needs and finds root by its
 * UUID; its configuration lies on root, where a kernel's update would look for it. */

#include "disk/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/stat.h>

/* What both GRUBs can do: read the disk, find root, show the menu, load Linux. */
static const char *const grub_modules[] = {
        "part_gpt",
        "part_msdos",
        "fat",
        "ext2",
        "xfs",
        "normal",
        "configfile",
        "search",
        "search_fs_uuid",
        "linux",
        "echo",
        "test",
        "minicmd",
        "ls",
        "cat",
        "serial",
        "terminal",
        "gzio",
        "reboot",
        "halt",
        "all_video",
        NULL,
};

static int core_command(const char *format, const char *output, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(&argv, ARGV("grub-mkimage", "-O", format, "-p", "/boot/grub", "-c",
                                                    "/work/early.cfg", "-o", output));
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, (char *const *) grub_modules);
        if (r < 0)
                return r;
        r = strv_extend(&argv, streq(format, "i386-pc") ? "biosdisk" : "efi_gop");
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

int grub_make_core(Disk *d, const char *format, const char *output) {
        _cleanup_free_ char *early = layout_grub_early(&d->layout),
                            *path = path_join(d->work, "early.cfg"),
                            *inside = path_join("/work", output);
        const struct timespec times[2] = { { .tv_sec = d->plan->lock->epoch },
                { .tv_sec = d->plan->lock->epoch } };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_close_ int made = -EBADF;
        int r;

        if (!early || !path || !inside)
                return log_oom();
        r = write_file_atomic(path, early, strlen(early), 0644);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write it", path);
        r = core_command(format, inside, &argv);
        if (r < 0)
                return log_oom();
        r = disk_tool(d, NULL, NULL, argv);
        if (r < 0)
                return r;

        made = inside_open_output(d->work, output, ESP_SIZE);
        if (made < 0 || futimens(made, times) < 0)
                return log_error_errno(made < 0 ? made : errno, "%s/%s: cannot set its time",
                                d->work, output);
        return 0;
}
