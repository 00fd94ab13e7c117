/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The two tables: recipe keys and overlay keys, with the words and patterns that they allow. */

#include "recipe/formats.h"
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
static const char *const firmwares[] = { "uefi", "bios", NULL };
static const char *const formats[] = { "qcow2", "raw", NULL };

#define STRING SCHEMA_STRING
#define LIST SCHEMA_LIST
#define OBJECT SCHEMA_OBJECT
#define REQUIRED SCHEMA_REQUIRED

static const Schema overlay_name = { .flags = STRING, .check = value_overlay_name };
static const Schema debian_package = { .flags = STRING, .check = value_debian_package };
static const Schema base_package = { .flags = STRING, .check = value_base_package };
static const Schema el_package = { .flags = STRING, .check = value_el_package };
static const Schema component = { .flags = STRING, .check = value_component };
static const Schema firmware = { .flags = STRING, .choices = firmwares };
static const Schema format = { .flags = STRING, .choices = formats };
static const Schema script = { .flags = STRING, .check = value_inside };
static const Schema unit = { .flags = STRING, .check = value_unit };
static const Schema mode = { .flags = STRING, .check = value_mode };

static const Schema base_keys[] = {
        { "distro", STRING, .choices = distro_names },
        { "release", STRING, .check = value_release },
        { "arch", STRING, .choices = architectures },
        { "components", LIST | SCHEMA_REMOVABLE, .item = &component },
        { "mirror", STRING, .check = value_url },
        { "packages", LIST | SCHEMA_REMOVABLE, .item = &base_package },
        { "image", STRING, .check = value_text },
        { "sha256", STRING, .check = value_sha256 },
        { "signature", STRING, .check = value_text },
        {},
};

static const Schema kernel_keys[] = {
        { "package", STRING, .check = value_kernel_package },
        { "cmdline", STRING, .check = value_cmdline },
        {},
};

static const Schema disk_keys[] = {
        { "size", STRING, .check = value_size },
        { "filesystem", STRING, .choices = filesystems },
        { "firmware", LIST | SCHEMA_REMOVABLE, .item = &firmware },
        { "formats", LIST | SCHEMA_REMOVABLE, .item = &format },
        {},
};

const Schema recipe_keys[] = {
        { "name", STRING | REQUIRED, .check = value_recipe_name },
        { "extends", STRING, .check = value_extends },
        { "kind", STRING, .choices = recipe_kinds },
        { "base", OBJECT, .keys = base_keys },
        { "kernel", OBJECT, .keys = kernel_keys },
        { "overlays", LIST | SCHEMA_REMOVABLE, .item = &overlay_name },
        { "packages", LIST | SCHEMA_REMOVABLE, .item = &debian_package },
        { "disk", OBJECT, .keys = disk_keys },
        { .key = "node", .flags = OBJECT | SCHEMA_FREE },
        {},
};

static const Schema debian_repository_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name },
        { "uri", STRING | REQUIRED, .check = value_url },
        { "suite", STRING | REQUIRED, .check = value_suite },
        { "components", LIST, .item = &component },
        { "key", STRING | REQUIRED, .check = value_key_reference },
        { "fingerprint", STRING | REQUIRED, .check = value_fingerprint },
        { .key = "keep", .flags = SCHEMA_BOOL },
        {},
};
static const Schema debian_repository = { .flags = OBJECT, .keys = debian_repository_keys };

static const Schema el_repository_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name },
        { "uri", STRING | REQUIRED, .check = value_url },
        { "key", STRING | REQUIRED, .check = value_key_reference },
        { "fingerprint", STRING | REQUIRED, .check = value_fingerprint },
        { .key = "keep", .flags = SCHEMA_BOOL },
        {},
};
static const Schema el_repository = { .flags = OBJECT, .keys = el_repository_keys };

static const Schema repositories_keys[] = {
        { "debian", LIST, .item = &debian_repository },
        { "el", LIST, .item = &el_repository },
        {},
};

static const Schema packages_keys[] = {
        { "debian", LIST, .item = &debian_package },
        { "el", LIST, .item = &el_package },
        {},
};

static const char *const install_words[] = { "package", NULL };
static const Schema install_keys[] = {
        { "path", STRING, .check = value_image_path },
        { "mode", STRING, .check = value_mode },
        { "unpack", STRING, .check = value_image_folder },
        { "strip", SCHEMA_INT, .max = 100 },
        {},
};

static const Schema artifact_keys[] = {
        { "name", STRING | REQUIRED, .check = value_file_name },
        { "version", STRING | REQUIRED, .check = value_version },
        { "url", STRING | REQUIRED, .check = value_text },
        { "sha256", STRING, .check = value_sha256 },
        { "install", STRING | OBJECT | REQUIRED, .choices = install_words, .keys = install_keys },
        {},
};
static const Schema artifact = { .flags = OBJECT, .keys = artifact_keys };

static const Schema compile_keys[] = {
        { "packages", OBJECT, .keys = packages_keys },
        { "without", OBJECT, .keys = packages_keys },
        { "source", STRING, .check = value_source },
        { "script", STRING | REQUIRED, .check = value_inside },
        {},
};
static const Schema compile = { .flags = OBJECT, .keys = compile_keys };

static const Schema run_keys[] = {
        { "script", STRING | REQUIRED, .check = value_inside },
        { .key = "early", .flags = SCHEMA_BOOL },
        { .key = "network", .flags = SCHEMA_BOOL },
        {},
};
static const Schema run = { .flags = STRING | OBJECT, .check = value_inside, .keys = run_keys };

static const Schema services_keys[] = {
        { "enable", LIST, .item = &unit },
        { "disable", LIST, .item = &unit },
        { "mask", LIST, .item = &unit },
        {},
};

const Schema overlay_keys[] = {
        { "description", STRING | REQUIRED, .check = value_text },
        { "requires", LIST, .item = &overlay_name },
        { "conflicts", LIST, .item = &overlay_name },
        { "repositories", OBJECT, .keys = repositories_keys },
        { "packages", OBJECT, .keys = packages_keys },
        { "artifacts", LIST, .item = &artifact },
        { "compile", LIST, .item = &compile },
        { "modes", OBJECT | SCHEMA_MAP, .check_key = value_inside, .item = &mode },
        { "run", LIST, .item = &run },
        { "services", OBJECT, .keys = services_keys },
        { .key = "node", .flags = OBJECT | SCHEMA_FREE },
        { "checks", LIST, .item = &script },
        {},
};
