/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Archives by libarchive, zstd by its own library. No time, owner or name of the host goes in. */

#include "disk/pack-archive.h"

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "store/digest.h"

#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/stat.h>
#include <zstd.h>

#define PIECE (1024 * 1024)
#define GCE_UNIT (UINT64_C(1) << 30)
#define GZIP_OPTIONS "gzip:compression-level=3,gzip:!timestamp"

static void archive_freep(struct archive **a) {
        if (*a)
                archive_write_free(*a);
}
static void entry_freep(struct archive_entry **e) {
        archive_entry_free(*e);
}
static void cctx_freep(ZSTD_CCtx **c) {
        ZSTD_freeCCtx(*c);
}
#define _cleanup_archive_ _cleanup_(archive_freep)
#define _cleanup_entry_ _cleanup_(entry_freep)
#define _cleanup_cctx_ _cleanup_(cctx_freep)

static int archive_error(struct archive *a) {
        int e = archive_errno(a);

        return e > 0 ? -e : -EIO;
}

/* Up to a piece: its size, 0 at the end. */
static ssize_t read_piece(int fd, char *buffer) {
        ssize_t n;

        if (interrupt_signal())
                return -ECANCELED;
        do
                n = read(fd, buffer, PIECE);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

/* --- tar -------------------------------------------------------------------------------------- */

/* format: of libarchive's. */
static int open_tar(int to, int (*format)(struct archive *), bool gzip, struct archive **ret) {
        _cleanup_archive_ struct archive *a = archive_write_new();

        if (!a)
                return -ENOMEM;
        if (format(a) != ARCHIVE_OK)
                return archive_error(a);
        if (gzip && (archive_write_add_filter_gzip(a) != ARCHIVE_OK ||
                                    archive_write_set_options(a, GZIP_OPTIONS) != ARCHIVE_OK))
                return archive_error(a);
        if (archive_write_open_fd(a, to) != ARCHIVE_OK)
                return archive_error(a);
        *ret = TAKE_PTR(a);
        return 0;
}

static int begin_member(struct archive *a, const char *name, uint64_t size) {
        _cleanup_entry_ struct archive_entry *e = archive_entry_new();

        if (!e)
                return -ENOMEM;
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, (int64_t) size);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_mtime(e, 0, 0);
        return archive_write_header(a, e) == ARCHIVE_OK ? 0 : archive_error(a);
}

static int write_member(struct archive *a, const void *data, size_t size) {
        return archive_write_data(a, data, size) == (la_ssize_t) size ? 0 : archive_error(a);
}

/* The file, and zeros behind it up to `size`. */
static int add_file(struct archive *a, const char *name, int from, uint64_t size) {
        _cleanup_free_ char *buffer = malloc(PIECE);
        uint64_t done = 0;
        int r;

        if (!buffer)
                return -ENOMEM;
        r = begin_member(a, name, size);
        if (r < 0)
                return r;
        while (done < size) {
                ssize_t n = read_piece(from, buffer);

                if (n < 0)
                        return (int) n;
                if (n == 0) {
                        n = (ssize_t) MIN((uint64_t) PIECE, size - done);
                        memset(buffer, 0, (size_t) n);
                }
                r = write_member(a, buffer, (size_t) n);
                if (r < 0)
                        return r;
                done += (uint64_t) n;
        }
        return 0;
}

static int add_text(struct archive *a, const char *name, const char *text) {
        int r = begin_member(a, name, strlen(text));

        return r < 0 ? r : write_member(a, text, strlen(text));
}

static int close_tar(struct archive *a) {
        return archive_write_close(a) == ARCHIVE_OK ? 0 : archive_error(a);
}

int gce_pack(int from, int to) {
        _cleanup_archive_ struct archive *a = NULL;
        struct stat st;
        uint64_t size;
        int r;

        if (fstat(from, &st) < 0)
                return -errno;
        size = ((uint64_t) st.st_size + GCE_UNIT - 1) / GCE_UNIT * GCE_UNIT;
        /* The tar that Google asks for: --format=oldgnu. Sizes beyond 8 GiB fit, too. */
        r = open_tar(to, archive_write_set_format_gnutar, true, &a);
        if (r < 0)
                return r;
        r = add_file(a, "disk.raw", from, size);
        if (r < 0)
                return r;
        return close_tar(a);
}

static const char oci_metadata[] = "{\n"
                                   "  \"version\": 2,\n"
                                   "  \"externalLaunchOptions\": {\n"
                                   "    \"firmware\": \"%s\",\n"
                                   "    \"networkType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"bootVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"remoteDataVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"localDataVolumeType\": \"PARAVIRTUALIZED\",\n"
                                   "    \"launchOptionsSource\": \"PARAVIRTUALIZED\",\n"
                                   "    \"pvAttachmentVersion\": 2,\n"
                                   "    \"pvEncryptionInTransitEnabled\": false,\n"
                                   "    \"consistentVolumeNamingEnabled\": true\n"
                                   "  },\n"
                                   "  \"imageCapabilityData\": null,\n"
                                   "  \"imageCapsFormatVersion\": null,\n"
                                   "  \"operatingSystem\": \"Linux\",\n"
                                   "  \"operatingSystemVersion\": \"\"\n"
                                   "}\n";

int oci_pack(int from, int to, bool uefi) {
        _cleanup_free_ char *metadata = strf(oci_metadata, uefi ? "UEFI_64" : "BIOS");
        _cleanup_archive_ struct archive *a = NULL;
        struct stat st;
        int r;

        if (!metadata)
                return -ENOMEM;
        if (fstat(from, &st) < 0)
                return -errno;
        r = open_tar(to, archive_write_set_format_gnutar, false, &a);
        if (r < 0)
                return r;
        r = add_text(a, "image_metadata.json", metadata);
        if (r < 0)
                return r;
        r = add_file(a, "output.QCOW2", from, (uint64_t) st.st_size);
        if (r < 0)
                return r;
        return close_tar(a);
}

static int digest_text(const char *text, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r = hash_new(&h);

        if (r < 0)
                return r;
        hash_bytes(h, text, strlen(text));
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

/* --- a machine for hypervisors ---------------------------------------------------------------- */

#define OVF_NAME "image.ovf"
#define OVF_DISK "image-disk1.vmdk"
#define USTAR_MAX (UINT64_C(1) << 33) /* a member's size has eleven octal digits */
#define VMDK_CAPACITY 12              /* where its header has the disk's size in sectors */

/* The numbers of ResourceType are CIM's: 3 processors, 4 memory, 20 and 17 a disk's controller and
 * the disk, 10 a network card. */
static const char ovf[] =
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<Envelope xmlns=\"http://schemas.dmtf.org/ovf/envelope/1\""
                " xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\""
                " xmlns:rasd=\"http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData\""
                " xmlns:vssd=\"http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData\""
                " xmlns:vmw=\"http://www.vmware.com/schema/ovf\">\n"
                "  <References>\n"
                "    <File ovf:href=\"" OVF_DISK "\" ovf:id=\"file1\" ovf:size=\"%" PRIu64 "\"/>\n"
                "  </References>\n"
                "  <DiskSection>\n"
                "    <Info>The disk</Info>\n"
                "    <Disk ovf:capacity=\"%" PRIu64
                "\" ovf:capacityAllocationUnits=\"byte\" ovf:diskId=\"disk1\" ovf:fileRef=\"file1\""
                " ovf:format=\"http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized\"/>\n"
                "  </DiskSection>\n"
                "  <NetworkSection>\n"
                "    <Info>The networks</Info>\n"
                "    <Network ovf:name=\"network\"><Description>The node's network</Description></Network>\n"
                "  </NetworkSection>\n"
                "  <VirtualSystem ovf:id=\"image\">\n"
                "    <Info>A node</Info>\n"
                "    <OperatingSystemSection ovf:id=\"101\" vmw:osType=\"otherLinux64Guest\"><Info>Linux, 64 bits</Info></OperatingSystemSection>\n"
                "    <VirtualHardwareSection>\n"
                "      <Info>What the node has</Info>\n"
                "      <System><vssd:ElementName>Virtual Hardware Family</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID>"
                "<vssd:VirtualSystemIdentifier>image</vssd:VirtualSystemIdentifier><vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType></System>\n"
                "      <Item><rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits><rasd:ElementName>4 processors</rasd:ElementName>"
                "<rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>4</rasd:VirtualQuantity></Item>\n"
                "      <Item><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>8 GiB of memory</rasd:ElementName>"
                "<rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>8192</rasd:VirtualQuantity></Item>\n"
                "      <Item><rasd:Address>0</rasd:Address><rasd:ElementName>SATA controller</rasd:ElementName>"
                "<rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>AHCI</rasd:ResourceSubType><rasd:ResourceType>20</rasd:ResourceType></Item>\n"
                "      <Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>Disk</rasd:ElementName>"
                "<rasd:HostResource>ovf:/disk/disk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent>"
                "<rasd:ResourceType>17</rasd:ResourceType></Item>\n"
                "      <Item><rasd:AddressOnParent>1</rasd:AddressOnParent><rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>"
                "<rasd:Connection>network</rasd:Connection><rasd:ElementName>Network card</rasd:ElementName><rasd:InstanceID>5</rasd:InstanceID>"
                "<rasd:ResourceSubType>VmxNet3</rasd:ResourceSubType><rasd:ResourceType>10</rasd:ResourceType></Item>\n"
                "      <vmw:Config ovf:required=\"false\" vmw:key=\"firmware\" vmw:value=\"%s\"/>\n"
                "    </VirtualHardwareSection>\n"
                "  </VirtualSystem>\n"
                "</Envelope>\n";

/* bytes */
static int vmdk_capacity(int fd, uint64_t *ret) {
        uint64_t sectors;
        ssize_t n = pread(fd, &sectors, sizeof(sectors), VMDK_CAPACITY);

        if (n != sizeof(sectors))
                return n < 0 ? -errno : -EIO;
        *ret = le64toh(sectors) * 512;
        return 0;
}

static int add_ova(struct archive *a, int from, bool uefi) {
        _cleanup_free_ char *descriptor = NULL, *sums = NULL;
        uint64_t size, capacity = 0;
        Digest disk, digest;
        int r;

        r = digest_fd(from, disk, &size);
        if (r < 0)
                return r;
        if (size >= USTAR_MAX)
                return -EFBIG;
        r = vmdk_capacity(from, &capacity);
        if (r < 0)
                return r;
        if (lseek(from, 0, SEEK_SET) < 0)
                return -errno;
        descriptor = strf(ovf, size, capacity, uefi ? "efi" : "bios");
        if (!descriptor)
                return -ENOMEM;
        r = digest_text(descriptor, digest);
        if (r < 0)
                return r;
        sums = strf("SHA256(" OVF_NAME ")= %s\nSHA256(" OVF_DISK ")= %s\n", digest, disk);
        if (!sums)
                return -ENOMEM;

        r = add_text(a, OVF_NAME, descriptor);
        if (r < 0)
                return r;
        r = add_text(a, "image.mf", sums);
        if (r < 0)
                return r;
        return add_file(a, OVF_DISK, from, size);
}

int ova_pack(int from, int to, bool uefi) {
        _cleanup_archive_ struct archive *a = NULL;
        int r;

        r = open_tar(to, archive_write_set_format_ustar, false, &a);
        if (r < 0)
                return r;
        r = add_ova(a, from, uefi);
        return r < 0 ? r : close_tar(a);
}

/* --- an artifact for registries --------------------------------------------------------------- */

#define EMPTY "{}" /* the config that an artifact has in place of one */

/* Named by its digest, which is written to `ret`. */
static int add_text_blob(struct archive *a, const char *text, Digest ret) {
        char name[sizeof("blobs/sha256/") + DIGEST_HEX];
        int r;

        r = digest_text(text, ret);
        if (r < 0)
                return r;
        snprintf(name, sizeof(name), "blobs/sha256/%s", ret);
        return add_text(a, name, text);
}

static int add_disk_blob(struct archive *a, int from, Digest ret, uint64_t *ret_size) {
        char name[sizeof("blobs/sha256/") + DIGEST_HEX];
        int r;

        r = digest_fd(from, ret, ret_size);
        if (r < 0)
                return r;
        if (lseek(from, 0, SEEK_SET) < 0)
                return -errno;
        snprintf(name, sizeof(name), "blobs/sha256/%s", ret);
        return add_file(a, name, from, *ret_size);
}

static char *artifact_manifest(const Digest config, const Digest disk, uint64_t size) {
        return strf("{ \"schemaVersion\": 2, \"mediaType\": \"application/vnd.oci.image.manifest.v1+json\",\n"
                    "  \"artifactType\": \"application/vnd.imgbuild.disk.v1\",\n"
                    "  \"config\": { \"mediaType\": \"application/vnd.oci.empty.v1+json\", \"digest\": \"sha256:%s\", \"size\": %zu },\n"
                    "  \"layers\": [{ \"mediaType\": \"application/x-qemu-disk\", \"digest\": \"sha256:%s\", \"size\": %" PRIu64
                    ",\n"
                    "    \"annotations\": { \"org.opencontainers.image.title\": \"disk.qcow2\" } }] }\n",
                        config, strlen(EMPTY), disk, size);
}

static char *artifact_index(const Digest manifest, size_t size) {
        return strf("{ \"schemaVersion\": 2, \"mediaType\": \"application/vnd.oci.image.index.v1+json\",\n"
                    "  \"manifests\": [{ \"mediaType\": \"application/vnd.oci.image.manifest.v1+json\",\n"
                    "    \"artifactType\": \"application/vnd.imgbuild.disk.v1\", \"digest\": \"sha256:%s\", \"size\": %zu,\n"
                    "    \"annotations\": { \"org.opencontainers.image.ref.name\": \"latest\" } }] }\n",
                        manifest, size);
}

static int add_artifact(struct archive *a, int from) {
        _cleanup_free_ char *manifest = NULL, *list = NULL;
        Digest config, disk, digest;
        uint64_t size;
        int r;

        r = add_text(a, "oci-layout", "{ \"imageLayoutVersion\": \"1.0.0\" }\n");
        if (r < 0)
                return r;
        r = add_text_blob(a, EMPTY, config);
        if (r < 0)
                return r;
        r = add_disk_blob(a, from, disk, &size);
        if (r < 0)
                return r;
        manifest = artifact_manifest(config, disk, size);
        if (!manifest)
                return -ENOMEM;
        r = add_text_blob(a, manifest, digest);
        if (r < 0)
                return r;
        list = artifact_index(digest, strlen(manifest));
        return list ? add_text(a, "index.json", list) : -ENOMEM;
}

int artifact_pack(int from, int to) {
        _cleanup_archive_ struct archive *a = NULL;
        int r;

        r = open_tar(to, archive_write_set_format_gnutar, false, &a);
        if (r < 0)
                return r;
        r = add_artifact(a, from);
        return r < 0 ? r : close_tar(a);
}

/* --- zstd ------------------------------------------------------------------------------------- */

/* With workers the bytes do not depend on how many there are, but differ from those of none. */
static ZSTD_CCtx *zstd_context(void) {
        _cleanup_cctx_ ZSTD_CCtx *c = ZSTD_createCCtx();
        cpu_set_t set;
        int workers = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);

        if (!c || ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)) ||
                        ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_nbWorkers, workers)))
                return NULL;
        return TAKE_PTR(c);
}

static int compress_piece(ZSTD_CCtx *c, ZSTD_inBuffer *in, bool last, int to, char *out) {
        size_t left;

        do {
                ZSTD_outBuffer o = { out, PIECE, 0 };
                int r;

                left = ZSTD_compressStream2(c, &o, in, last ? ZSTD_e_end : ZSTD_e_continue);
                if (ZSTD_isError(left))
                        return -EIO;
                r = write_all(to, out, o.pos);
                if (r < 0)
                        return r;
        } while (last ? left > 0 : in->pos < in->size);
        return 0;
}

int zstd_pack(int from, int to) {
        _cleanup_free_ char *buffer = malloc(PIECE), *out = malloc(PIECE);
        _cleanup_cctx_ ZSTD_CCtx *c = zstd_context();
        ssize_t n;

        if (!buffer || !out || !c)
                return -ENOMEM;
        do {
                ZSTD_inBuffer in = { buffer, 0, 0 };
                int r;

                n = read_piece(from, buffer);
                if (n < 0)
                        return (int) n;
                in.size = (size_t) n;
                r = compress_piece(c, &in, n == 0, to, out);
                if (r < 0)
                        return r;
        } while (n > 0);
        return 0;
}
