/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stranger's image must be all that is read. The header of a qcow2 or VMDK may name further
 * files, which QEMU opens on the host with our rights: /etc/shadow as a backing file would become a
 * disk of the appliance, and its text a file of the layer. VHD has no such names, and QEMU opens no
 * VHDX or VDI that has a parent. */

#include "appliance/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <endian.h>
#include <fcntl.h>

#define SECTOR 512
#define DESCRIPTOR_MAX (1024 * 1024)    /* bytes of a VMDK's; QEMU reads 10 KiB */
#define DESCRIPTOR_PLACE 1              /* sector where QEMU looks for a parent */
#define CHECK_USEC (600 * USEC_PER_SEC) /* qemu-img's, of a large image on a slow disk */
#define NO_CHECK 63                     /* qemu-img's exit code: the format has none */
#define LEAKS_ONLY 3                    /* space that nothing uses: no damage */

static uint32_t be32(const uint8_t *p) {
        uint32_t v;

        memcpy(&v, p, sizeof(v));
        return be32toh(v);
}

static uint64_t be64(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        return be64toh(v);
}

static uint64_t le64(const uint8_t *p) {
        uint64_t v;

        memcpy(&v, p, sizeof(v));
        return le64toh(v);
}

/* What is wrong with it, NULL: nothing. */
static const char *judge_qcow2(int fd) {
        uint8_t h[104] = {};
        ssize_t n = pread(fd, h, sizeof(h), 0);

        if (n < 72)
                return "ends within its header";
        if (be64(h + 8) != 0)
                return "has a backing file, which is another file of this host: flatten it first (qemu-img convert)";
        if (be32(h + 32) != 0)
                return "is encrypted; decrypt it first (qemu-img convert)";
        if (be32(h + 4) >= 3 && be64(h + 72) & (UINT64_C(1) << 2))
                return "keeps its data in another file: flatten it first (qemu-img convert)";
        return NULL;
}

/* A disk that is the difference to another one says which in its descriptor. */
static bool has_parent(int fd, uint64_t sector, uint64_t sectors) {
        size_t size = MIN(sectors * SECTOR, (uint64_t) DESCRIPTOR_MAX);
        _cleanup_free_ char *text = calloc(1, size + 1);

        if (!text || sectors > DESCRIPTOR_MAX / SECTOR || sector > INT64_MAX / SECTOR)
                return true;
        if (pread(fd, text, size, (off_t) (sector * SECTOR)) < 0)
                return true;
        for (char *end = text + size, *p = text; p < end; p++) /* words between any bytes */
                if (*p == '\0')
                        *p = '\n';
        return strcasestr(text, "parentFileNameHint");
}

static const char *judge_vmdk(int fd) {
        static const char elsewhere[] =
                        "is a VMDK of several files: convert it to one first (qemu-img convert)";
        uint8_t h[SECTOR] = {};

        if (pread(fd, h, sizeof(h), 0) != sizeof(h) || memcmp(h, "KDMV", 4) != 0)
                return elsewhere; /* a descriptor alone, or the old format of ESX */
        if (le64(h + 12) == 0)
                return elsewhere; /* QEMU takes the extents that its descriptor names */
        if (has_parent(fd, DESCRIPTOR_PLACE, 20) || has_parent(fd, le64(h + 28), le64(h + 36)))
                return "is the difference to another VMDK: convert it to one first (qemu-img convert)";
        return NULL;
}

static int judge_header(const char *path, const char *format) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        const char *wrong = NULL;

        if (fd < 0)
                return log_error_errno(-errno, "Cannot read %s", path);
        if (streq(format, "qcow2"))
                wrong = judge_qcow2(fd);
        else if (streq(format, "vmdk"))
                wrong = judge_vmdk(fd);
        return wrong ? log_error_return(-EPERM, "%s %s", path, wrong) : 0;
}

/* QEMU reads what lies behind the end of a file as zeros: a download that was cut off would become
 * files of zeros. */
static int check_content(const char *path, const char *format) {
        const SpawnOptions options = { .timeout_usec = CHECK_USEC };
        _cleanup_free_ char *output = NULL;
        int status, r;

        if (streq(format, "raw") || streq(format, "vpc"))
                return 0;
        r = spawn_capture(&options, ARGV("qemu-img", "check", "-q", "-f", format, path), &output,
                        &status);
        if (r == -ENOENT)
                return log_error_return(-ENOPKG,
                                "qemu-img is not installed, by which images are checked: apt install qemu-utils");
        if (r < 0)
                return r == -ECANCELED ? r : log_error_errno(r, "qemu-img cannot check %s", path);
        if (status == 0 || status == NO_CHECK || status == LEAKS_ONLY)
                return 0;
        output[strcspn(output, "\n")] = '\0';
        return log_error_return(-EBADMSG,
                        "%s is damaged or was cut off: get it again. qemu-img says: %s", path,
                        output);
}

int image_require_whole(const char *path, const char *format) {
        int r = judge_header(path, format);

        return r < 0 ? r : check_content(path, format);
}
