/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The two tables: recipe keys and overlay keys, with the words and patterns that they allow. */

#include "recipe/formats.h"
#include "recipe/limits.h"
#include "recipe/patterns.h"

const Distro distros[] = {
        { "debian", FAMILY_DEBIAN },
        { "ubuntu", FAMILY_DEBIAN },
        { "oracle", FAMILY_EL },
        { "rhel", FAMILY_EL },
        { "rocky", FAMILY_EL },
        { "alma", FAMILY_EL },
        {},
};

static const char *const recipe_kinds[] = { "disk", "tree", NULL };
static const char *const distro_names[] = { "debian", "ubuntu", "oracle", "rhel", "rocky", "alma",
        NULL };
static const char *const architectures[] = { "amd64", NULL };
static const char *const filesystems[] = { "ext4", "xfs", NULL };
static const char *const layouts[] = { "new", "keep", NULL };
static const char *const firmwares[] = { "uefi", "bios", NULL };
static const char *const formats[] = { "qcow2", "raw", NULL };

#define STRING SCHEMA_STRING
#define LIST SCHEMA_LIST
#define OBJECT SCHEMA_OBJECT
#define REQUIRED SCHEMA_REQUIRED

static const Schema secret_name = { .flags = STRING, .check = value_secret_name };
static const Schema overlay_name = { .flags = STRING, .check = value_overlay_name };
static const Schema package = { .flags = STRING, .check = value_package };
static const Schema debian_package = { .flags = STRING, .check = value_debian_package };
static const Schema base_package = { .flags = STRING, .check = value_base_package };
static const Schema el_package = { .flags = STRING, .check = value_el_package };
static const Schema component = { .flags = STRING, .check = value_component };
static const Schema firmware = { .flags = STRING, .choices = firmwares };
static const Schema format = { .flags = STRING, .choices = formats };
static const Schema script = { .flags = STRING, .check = value_inside };
static const Schema kernel_option = { .flags = STRING, .check = value_kernel_option };
static const Schema module = { .flags = STRING, .check = value_module };
static const Schema unit = { .flags = STRING, .check = value_unit };
static const Schema mode = { .flags = STRING, .check = value_mode };

static const Schema base_repository_keys[] = {
        { "uri", STRING, .check = value_url, .meaning = "Where its repodata/ lies." },
        { "key", STRING, .check = value_image,
                        .meaning = "The key that signs it: a URL, or a path relative to the recipe." },
        { "fingerprint", STRING, .check = value_fingerprint,
                        .meaning = "The whole fingerprint of that key." },
        { .key = "keep",
                        .flags = SCHEMA_BOOL,
                        .meaning = "Whether the image keeps the repository as a source of updates." },
        { "modules", LIST, .item = &module,
                        .meaning = "Streams of its modules instead of its defaults, as nodejs:20; nodejs:20/common installs a profile." },
        {},
};
static const Schema base_repository = { .flags = OBJECT, .keys = base_repository_keys };

static const Schema signature_keys[] = {
        { "file", STRING, .check = value_image,
                        .meaning = "The signature: of the image, of checksums, or of the list that it has itself." },
        { "checksums", STRING, .check = value_image,
                        .meaning = "The list that the signature is of, with SHA256 or SHA512 of the image." },
        { "key", STRING, .check = value_image,
                        .meaning = "The vendor's key: a URL, or a path relative to the recipe." },
        { "fingerprint", STRING, .check = value_fingerprint,
                        .meaning = "The whole fingerprint of that key." },
        {},
};

static const Schema base_keys[] = {
        { "distro", STRING, .choices = distro_names,
                        .meaning = "The distribution; oracle, rhel, rocky and alma are family el." },
        { "release", STRING, .check = value_release,
                        .meaning = "Its code name, as trixie or noble; of family el the number, as 9." },
        { "arch", STRING, .choices = architectures,
                        .meaning = "The architecture; amd64 unless given." },
        { "components", LIST | SCHEMA_REMOVABLE, .item = &component,
                        .meaning = "Components of its repository, as main and non-free-firmware; main unless given." },
        { "mirror", STRING, .check = value_url,
                        .meaning = "Where its packages come from; else this host's own mirror." },
        { .key = "repositories",
                        .flags = OBJECT | SCHEMA_MAP,
                        .check_key = value_file_name,
                        .item = &base_repository,
                        .meaning = "Of family el: the repositories that it is made from, by name." },
        { "packages", LIST | SCHEMA_REMOVABLE, .item = &base_package,
                        .meaning = "Part of the base stage, besides the essential ones." },
        { "image", STRING, .check = value_image,
                        .meaning = "A vendor's disk image instead of distro and release: a path relative to the recipe, or a URL." },
        { "sha256", STRING, .check = value_sha256,
                        .meaning = "Of that image; else the lock keeps that of the first." },
        { "signature", OBJECT, .keys = signature_keys,
                        .meaning = "The vendor's, without which that image is none." },
        { "root", STRING, .check = value_device,
                        .meaning = "Of an image with several systems, the device of the one that is meant, as /dev/sda2." },
        {},
};

static const Schema kernel_keys[] = {
        { "package", STRING, .check = value_kernel_package,
                        .meaning = "As linux-image-amd64; its release is what ${kernel} means in overlays." },
        { "cmdline", STRING, .check = value_cmdline,
                        .meaning = "What follows root= on the kernel's command line." },
        { "options", LIST | SCHEMA_REMOVABLE, .item = &kernel_option,
                        .meaning = "What the kernel must have been configured with, built in or as a module, as PCI_P2PDMA." },
        {},
};

static const Schema disk_keys[] = {
        { "size", STRING, .check = value_size,
                        .meaning = "As 8G or 20480M (binary units, 256M to 64T); else what the tree needs and a quarter more." },
        { "layout", STRING, .choices = layouts,
                        .meaning = "new: a disk of imgbuild's own, unless given; keep: that of base.image, its partitions and boot loader." },
        { "filesystem", STRING, .choices = filesystems,
                        .meaning = "Of the root; ext4 unless given." },
        { "firmware", LIST | SCHEMA_REMOVABLE, .item = &firmware,
                        .meaning = "What the disk boots by; uefi unless given." },
        { "formats", LIST | SCHEMA_REMOVABLE, .item = &format,
                        .meaning = "What is written; qcow2 unless given." },
        {},
};

static const char *const support_words[] = { "warn", "fail", NULL };
static const Schema limits_keys[] = {
        { "time", STRING, .check = value_time_limit,
                        .meaning = "How long a command may run, as 30min or 4h; 2h unless given." },
        { "memory", STRING, .check = value_memory_limit,
                        .meaning = "What its processes may have in memory, as 8G; 4/5 of what is available unless given." },
        { "processes", SCHEMA_INT, .max = 1 << 20,
                        .meaning = "How many processes and threads it may have at once; 4096 unless given." },
        {},
};

const Schema recipe_keys[] = {
        { "name", STRING | REQUIRED, .check = value_recipe_name,
                        .meaning = "The file's name without .json; the output goes to out/NAME/." },
        { "extends", STRING, .check = value_extends,
                        .meaning = "The recipe this one is laid over: a name in the same folder, or a relative path." },
        { "kind", STRING, .choices = recipe_kinds,
                        .meaning = "disk unless given; a tree is a folder of programs, without kernel and disk." },
        { "base", OBJECT, .keys = base_keys, .meaning = "What the image starts from." },
        { "kernel", OBJECT, .keys = kernel_keys, .meaning = "The kernel of the image." },
        { "overlays", LIST | SCHEMA_REMOVABLE, .item = &overlay_name,
                        .meaning = "Features, in this order; what one requires comes in by itself." },
        { "packages", LIST | SCHEMA_REMOVABLE, .item = &package,
                        .meaning = "The recipe's own packages, installed after the overlays'." },
        { "disk", OBJECT, .keys = disk_keys, .meaning = "How the disk is made." },
        { .key = "secrets",
                        .flags = OBJECT | SCHEMA_MAP,
                        .check_key = value_secret_name,
                        .item = &overlay_name,
                        .meaning = "Which overlay's script gets which secret; its file is named by imgbuild build --secret." },
        { "support", STRING, .choices = support_words,
                        .meaning = "What check does about versions out of support or with known flaws; warn unless given." },
        { "limits", OBJECT, .keys = limits_keys, .meaning = "What a command of a stage may take." },
        { .key = "node",
                        .flags = OBJECT | SCHEMA_FREE,
                        .meaning = "Node configuration, baked into /etc/firstboot/node.json; `imgbuild schema node` describes it." },
        {},
};

static const Schema debian_repository_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name,
                        .meaning = "Of its file in /etc/apt/sources.list.d." },
        { "uri", STRING, .check = value_url,
                        .meaning = "Where the repository is; without it, below the distribution's own archive." },
        { "suite", STRING | REQUIRED, .check = value_suite,
                        .meaning = "As stable, or ./ for a flat repository." },
        { "components", LIST, .item = &component,
                        .meaning = "As main; none for a flat repository." },
        { "key", STRING | REQUIRED, .check = value_key_reference,
                        .meaning = "The key that signs it: a URL, or a path inside the overlay." },
        { "fingerprint", STRING | REQUIRED, .check = value_fingerprint,
                        .meaning = "The whole fingerprint of that key." },
        { .key = "keep",
                        .flags = SCHEMA_BOOL,
                        .meaning = "Whether the image keeps the repository as a source of updates." },
        {},
};
static const Schema debian_repository = { .flags = OBJECT, .keys = debian_repository_keys };

static const Schema el_repository_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name,
                        .meaning = "Of its file in /etc/yum.repos.d." },
        { "uri", STRING | REQUIRED, .check = value_url, .meaning = "Where the repository is." },
        { "key", STRING | REQUIRED, .check = value_key_reference,
                        .meaning = "The key that signs it: a URL, or a path inside the overlay." },
        { "fingerprint", STRING | REQUIRED, .check = value_fingerprint,
                        .meaning = "The whole fingerprint of that key." },
        { .key = "keep",
                        .flags = SCHEMA_BOOL,
                        .meaning = "Whether the image keeps the repository as a source of updates." },
        { "modules", LIST, .item = &module,
                        .meaning = "Streams of its modules instead of its defaults, as nodejs:20; nodejs:20/common installs a profile." },
        {},
};
static const Schema el_repository = { .flags = OBJECT, .keys = el_repository_keys };

static const Schema repositories_keys[] = {
        { "debian", LIST, .item = &debian_repository, .meaning = "For Debian and Ubuntu." },
        { "el", LIST, .item = &el_repository,
                        .meaning = "For Oracle Linux, RHEL, Rocky and Alma." },
        {},
};

static const Schema packages_keys[] = {
        { "debian", LIST, .item = &debian_package, .meaning = "For Debian and Ubuntu." },
        { "el", LIST, .item = &el_package, .meaning = "For Oracle Linux, RHEL, Rocky and Alma." },
        {},
};

static const Schema family_url_keys[] = {
        { "debian", STRING | SCHEMA_BOOL, .check = value_text,
                        .meaning = "For Debian and Ubuntu; false: none, for it needs none." },
        { "el", STRING | SCHEMA_BOOL, .check = value_text,
                        .meaning = "For Oracle Linux, RHEL, Rocky and Alma; false: none, for it needs none." },
        {},
};
static const Schema family_digest_keys[] = {
        { "debian", STRING, .check = value_sha256, .meaning = "For Debian and Ubuntu." },
        { "el", STRING, .check = value_sha256,
                        .meaning = "For Oracle Linux, RHEL, Rocky and Alma." },
        {},
};

static const char *const install_words[] = { "package", NULL };
static const Schema install_keys[] = {
        { "path", STRING, .check = value_image_path,
                        .meaning = "Where the file goes in the image." },
        { "mode", STRING, .check = value_mode, .meaning = "Its access mode, octal." },
        { "unpack", STRING, .check = value_image_folder,
                        .meaning = "The folder of the image that the archive is unpacked into." },
        { "strip", SCHEMA_INT, .max = 100, .meaning = "How many leading folders of its paths go." },
        {},
};

static const Schema artifact_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name,
                        .meaning = "For messages, the lock and the manifest." },
        { "version", STRING | REQUIRED, .check = value_version,
                        .meaning = "What ${version} in url stands for." },
        { "url", STRING | OBJECT | REQUIRED, .check = value_text, .keys = family_url_keys,
                        .meaning = "Where it is downloaded; ${version} and ${arch} are filled in." },
        { "sha256", STRING | OBJECT, .check = value_sha256, .keys = family_digest_keys,
                        .meaning = "Pinned digest; else the lock pins what the URL serves." },
        { "install", STRING | OBJECT | REQUIRED, .choices = install_words, .keys = install_keys,
                        .meaning = "\"package\", or where the file or the archive's content goes." },
        {},
};
static const Schema artifact = { .flags = OBJECT, .keys = artifact_keys };

static const Schema source_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name,
                        .meaning = "Of its folder below $ARTIFACTS; one of its own within the overlay." },
        { "version", STRING | REQUIRED, .check = value_version,
                        .meaning = "What ${version} in url stands for." },
        { "url", STRING | REQUIRED, .check = value_text,
                        .meaning = "Where it is downloaded; ${version} and ${arch} are filled in." },
        { "sha256", STRING, .check = value_sha256,
                        .meaning = "Pinned digest; else the lock pins what the URL serves." },
        { "strip", SCHEMA_INT, .max = 100,
                        .meaning = "How many leading folders of its paths go; 1 unless said." },
        {},
};
static const Schema source = { .flags = OBJECT, .keys = source_keys };

static const char *const compile_places[] = { "packages", "base", "python", NULL };
static const Schema family_place_keys[] = {
        { "debian", STRING, .choices = compile_places, .meaning = "For Debian and Ubuntu." },
        { "el", STRING, .choices = compile_places, .meaning = "For Oracle, RHEL, Rocky and Alma." },
        {},
};
static const Schema compile_keys[] = {
        { "packages", OBJECT, .keys = packages_keys,
                        .meaning = "What the build needs; none of it is in the image." },
        { "without", OBJECT, .keys = packages_keys,
                        .meaning = "Packages that others depend on and the build can do without." },
        { "source", STRING, .check = value_source,
                        .meaning = "A folder inside the overlay, or imgbuild:firstboot." },
        { "artifacts", LIST, .item = &source,
                        .meaning = "Source archives, unpacked for the script below $ARTIFACTS." },
        { "on", STRING | OBJECT, .choices = compile_places, .keys = family_place_keys,
                        .meaning = "What is there: packages up to the overlay's own (packages, unless said), the base alone (base), or those packages and the overlay's Python environments (python)." },
        { "script", STRING | REQUIRED, .check = value_inside,
                        .meaning = "Builds in a throw-away layer and installs into $DESTDIR." },
        {},
};
static const Schema compile = { .flags = OBJECT, .keys = compile_keys };

static const Schema requirement = { .flags = STRING, .check = value_requirement };
static const Schema family_interpreter_keys[] = {
        { "debian", STRING, .check = value_interpreter, .meaning = "For Debian and Ubuntu." },
        { "el", STRING, .check = value_interpreter,
                        .meaning = "For Oracle, RHEL, Rocky and Alma." },
        {},
};
static const Schema family_requirement_keys[] = {
        { "debian", LIST, .item = &requirement, .meaning = "For Debian and Ubuntu." },
        { "el", LIST, .item = &requirement, .meaning = "For Oracle, RHEL, Rocky and Alma." },
        {},
};
static const Schema python_keys[] = {
        { "environment", STRING | REQUIRED, .check = value_environment,
                        .meaning = "Its folder in the image, below /opt; overlays that name the same one fill it together." },
        { "interpreter", STRING | OBJECT, .check = value_interpreter,
                        .keys = family_interpreter_keys,
                        .meaning = "The image's Python that it is made with: python3, unless said." },
        { "requirements", LIST | OBJECT | REQUIRED, .item = &requirement,
                        .keys = family_requirement_keys,
                        .meaning = "What is installed, as pip takes it: \"torch==2.6.0\"." },
        { "constraints", LIST, .item = &requirement,
                        .meaning = "Versions of what comes along, should it come." },
        { "index", STRING, .check = value_url,
                        .meaning = "Where the wheels come from; the host's own pip configuration unless given." },
        {},
};

static const Schema run_keys[] = {
        { "script", STRING | REQUIRED, .check = value_inside,
                        .meaning = "A script inside the overlay, run in the tree." },
        { .key = "early", .flags = SCHEMA_BOOL, .meaning = "Before the initramfs is made." },
        { .key = "network",
                        .flags = SCHEMA_BOOL,
                        .meaning = "With the network; such a stage is not reproducible." },
        { "secrets", LIST, .item = &secret_name,
                        .meaning = "Secrets that the recipe gives to this overlay: files below $SECRETS." },
        {},
};
static const Schema run = { .flags = STRING | OBJECT, .check = value_inside, .keys = run_keys };

#define SERVICES_KEYS                                                                        \
        { "enable", LIST, .item = &unit, .meaning = "Units that start at boot." },           \
                        { "disable", LIST, .item = &unit, .meaning = "Units that do not." }, \
                        { "mask", LIST, .item = &unit,                                       \
                                .meaning = "Units that nothing can start." }
static const Schema family_services_keys[] = { SERVICES_KEYS, {} };
static const Schema services_keys[] = {
        SERVICES_KEYS,
        { "debian", OBJECT, .keys = family_services_keys,
                        .meaning = "Units that only Debian and Ubuntu have by this name." },
        { "el", OBJECT, .keys = family_services_keys,
                        .meaning = "Units that only Oracle Linux, RHEL, Rocky and Alma do." },
        {},
};

const Schema overlay_keys[] = {
        { "description", STRING | REQUIRED, .check = value_text,
                        .meaning = "One line: what the overlay brings." },
        { "requires", LIST, .item = &overlay_name,
                        .meaning = "Overlays that come in with this one, before it." },
        { "conflicts", LIST, .item = &overlay_name,
                        .meaning = "Overlays that cannot be in the same recipe." },
        { "repositories", OBJECT, .keys = repositories_keys,
                        .meaning = "Where its packages come from, besides the distribution." },
        { "packages", OBJECT, .keys = packages_keys, .meaning = "What is installed." },
        { "artifacts", LIST, .item = &artifact,
                        .meaning = "Single files, archives and packages from elsewhere." },
        { "compile", LIST, .item = &compile,
                        .meaning = "Programs and modules built for exactly this image." },
        { "python", OBJECT, .keys = python_keys,
                        .meaning = "Wheels, locked and installed into an environment of their own." },
        { "modes", OBJECT | SCHEMA_MAP, .check_key = value_inside, .item = &mode,
                        .meaning = "Access modes of paths below files/, octal." },
        { "run", LIST, .item = &run, .meaning = "Scripts run in the tree." },
        { "limits", OBJECT, .keys = limits_keys,
                        .meaning = "What a command of its stages may take, instead of the recipe's." },
        { "services", OBJECT, .keys = services_keys,
                        .meaning = "Units enabled, disabled, masked." },
        { .key = "node",
                        .flags = OBJECT | SCHEMA_FREE,
                        .meaning = "Defaults of node configuration; `imgbuild schema node` describes it." },
        { "checks", LIST, .item = &script, .meaning = "Scripts that prove the finished tree." },
        {},
};

static const Schema cluster_text = { .flags = STRING, .check = value_text };
static const Schema machine_keys[] = {
        { "name", STRING | REQUIRED, .check = value_host_name,
                        .meaning = "Its host name; with count, numbers from 1 on are added." },
        { .key = "count",
                        .flags = SCHEMA_INT,
                        .max = CLUSTER_MACHINES_MAX,
                        .meaning = "How many of them; one, without a number, unless given." },
        { "image", STRING | REQUIRED, .check = value_text,
                        .meaning = "What it boots: a recipe's name, or the path of a disk image." },
        { "until", STRING, .check = value_text,
                        .meaning = "What it is waited for, as `imgbuild boot --until` takes it; ready unless given." },
        { "user_data", STRING, .check = value_text,
                        .meaning = "Its user data for cloud-init, a path beside the file." },
        { .key = "cpus", .flags = SCHEMA_INT, .max = 255, .meaning = "1 unless given." },
        { "memory", STRING, .check = value_text, .meaning = "As 2G; 2G unless given." },
        { "disk_size", STRING, .check = value_text,
                        .meaning = "The size of its root disk; as large as the image unless given." },
        { "nvme", LIST, .item = &cluster_text,
                        .meaning = "NVMe disks, as `imgbuild boot --nvme` takes them." },
        { "links", LIST, .item = &cluster_text,
                        .meaning = "Further private networks, as `imgbuild boot --link` takes them." },
        {},
};
static const Schema machine = { .flags = OBJECT, .keys = machine_keys };

const Schema cluster_keys[] = {
        { "name", STRING | REQUIRED, .check = value_recipe_name, .meaning = "The cluster's name." },
        { "network", STRING | REQUIRED, .check = value_text,
                        .meaning = "The private network that all machines are on, as 10.77.0.0/24: they have its addresses in their order." },
        { "machines", LIST | REQUIRED, .item = &machine,
                        .meaning = "The machines; the first one is where a command runs." },
        {},
};
