/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild inspect: says what is in an image. inspect.c finds out; this file prints. */

#include "inspect/inspect.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "cmd/verb.h"

#define PACKAGES_SHOWN 10

enum { OPT_JSON = OPT_VERB, OPT_PACKAGES, OPT_VULNERABILITIES };

typedef struct InspectOptions {
        const char *vulnerabilities; /* a file; NULL: none is looked at */
        bool json;
        unsigned shown; /* packages */
} InspectOptions;

static void print_size(const char *label, json_object *o, const char *key) {
        char text[FORMAT_BYTES_MAX];

        if (!json_get(o, key))
                return;
        format_bytes(text, (uint64_t) json_get_int(o, key, 0));
        printf("%s%s", label, text);
}

/* Partition types by the names that people know. */
static const char *type_name(const char *type) {
        static const struct {
                const char *type, *name;
        } names[] = {
                { "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "EFI system" },
                { "21686148-6449-6E6F-744E-656564454649", "BIOS boot" },
                { "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "root (x86-64)" },
                { "B921B045-1DF0-41C3-AF44-4C6F280D3FAE", "root (arm64)" },
                { "0FC63DAF-8483-4772-8E79-3D69D8477DE4", "Linux" },
                { "BC13C2FF-59E6-4262-A352-B275FD6F7172", "extended boot" },
                { "E6D6D379-F507-44C2-A23C-238F2A3DF928", "LVM" },
                { "A19D880F-05FC-4D3B-A006-743F0F84911E", "RAID" },
                { "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "swap" },
                { "0x83", "Linux" },
                { "0x8e", "LVM" },
                { "0x82", "swap" },
                { "0xef", "EFI system" },
                { "0xee", "GPT" },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq_ptr(type, names[i].type))
                        return names[i].name;
        return strempty(type);
}

static void print_disk(json_object *o) {
        json_object *partitions = json_get(o, "partitions"),
                    *filesystems = json_get(o, "filesystems");

        printf("disk          %s", strempty(json_get_string(o, "format")));
        print_size(", ", o, "virtual_size");
        print_size(", on this host ", o, "bytes_on_host");
        printf("%s%s\n", json_get(o, "partition_table") ? ", " : "",
                        strempty(json_get_string(o, "partition_table")));
        for (size_t i = 0; partitions && i < json_object_array_length(partitions); i++) {
                json_object *p = json_object_array_get_idx(partitions, i);
                printf("partition     %lld", (long long) json_get_int(p, "number", 0));
                print_size("  ", p, "size");
                printf("  %s  %s\n", type_name(json_get_string(p, "type")),
                                strempty(json_get_string(p, "name")));
        }
        for (size_t i = 0; filesystems && i < json_object_array_length(filesystems); i++) {
                json_object *f = json_object_array_get_idx(filesystems, i);
                const char *label = json_get_string(f, "label"),
                           *at = json_get_string(f, "mounted_at");
                int64_t size = json_get_int(f, "size", 0), used = json_get_int(f, "used", 0);

                printf("file system   %s  %s", json_get_string(f, "device"),
                                json_get_string(f, "type"));
                if (label)
                        printf("  %s", label);
                if (at)
                        printf("  at %s", at);
                print_size("  ", f, "used");
                print_size(" of ", f, "size");
                if (size > 0)
                        printf(" (%lld %%)", (long long) (used * 100 / size));
                printf("\n");
        }
}

static int by_size(const void *a, const void *b) {
        json_object *const *x = a, *const *y = b;
        int64_t n = json_get_int(*x, "size", -1), m = json_get_int(*y, "size", -1);

        return n > m ? -1 : n < m;
}

static void print_packages(json_object *o, size_t shown) {
        json_object *packages = json_get(o, "packages");
        size_t n = json_array_length(packages);
        int64_t total = 0;
        char text[FORMAT_BYTES_MAX];

        if (n == 0)
                return;
        for (size_t i = 0; i < n; i++)
                total += json_get_int(json_object_array_get_idx(packages, i), "size", 0);
        printf("packages      %zu", n);
        if (total > 0) {
                format_bytes(text, (uint64_t) total);
                printf(", %s installed; the largest:", text);
        }
        printf("\n");
        json_object_array_sort(packages, by_size);
        for (size_t i = 0; total > 0 && i < n && i < shown; i++) {
                json_object *p = json_object_array_get_idx(packages, i);

                format_bytes(text, (uint64_t) json_get_int(p, "size", 0));
                printf("              %10s  %s %s\n", text, json_get_string(p, "name"),
                                json_get_string(p, "version"));
        }
}

/* An image that says nothing of it may be anybody's. */
static void print_network_stages(json_object *o) {
        json_object *stages = json_get(o, "network_stages");

        for (size_t i = 0; stages && i < json_object_array_length(stages); i++)
                printf("%s  %s\n",
                                i == 0 ? "reproducible  no: its build used the network in stage"
                                       : "                                            ",
                                json_object_get_string(json_object_array_get_idx(stages, i)));
}

static void print_support(json_object *o) {
        json_object *texts = json_get(o, "support");

        for (size_t i = 0; texts && i < json_object_array_length(texts); i++)
                printf("support       %s\n",
                                json_object_get_string(json_object_array_get_idx(texts, i)));
}

/* Each for which there is a fix; of the others how many a package has. */
static void print_vulnerabilities(json_object *o) {
        json_object *found = json_get(o, "vulnerabilities");
        size_t n = json_array_length(found), unfixed = 0;

        if (found)
                printf("vulnerable    %zu known\n", n);
        for (size_t i = 0; i < n; i++) {
                json_object *v = json_object_array_get_idx(found, i),
                            *next = i + 1 < n ? json_object_array_get_idx(found, i + 1) : NULL;
                const char *package = json_get_string(v, "package"),
                           *version = json_get_string(v, "version"),
                           *fixed = json_get_string(v, "fixed"),
                           *urgency = json_get_string(v, "urgency");

                if (fixed)
                        printf("              %s %s: %s%s%s%s, fixed in %s\n", package, version,
                                        json_get_string(v, "id"), urgency ? " (" : "",
                                        strempty(urgency), urgency ? ")" : "", fixed);
                else
                        unfixed++;
                if (unfixed > 0 &&
                                (!next || !streq_ptr(json_get_string(next, "package"), package))) {
                        printf("              %s %s: %zu without a fix so far\n", package, version,
                                        unfixed);
                        unfixed = 0;
                }
        }
}

static void print(json_object *o, size_t shown) {
        json_object *os = json_get(o, "os"), *kernels = json_get(o, "kernels"),
                    *found = json_get(o, "software"), *problems = json_get(o, "problems");

        (void) json_disarm(o, false); /* an image's own words */
        printf("image         %s\n", json_get_string(o, "image"));
        if (os)
                printf("system        %s  (%s)\n", strempty(json_get_string(os, "name")),
                                strempty(json_get_string(os, "arch")));
        else
                printf("system        none found\n");
        for (size_t i = 0; kernels && i < json_object_array_length(kernels); i++) {
                json_object *k = json_object_array_get_idx(kernels, i);
                const char *nvidia = json_get_string(k, "nvidia");

                printf("kernel        %s%s%s%s\n", json_get_string(k, "release"),
                                nvidia ? ", NVIDIA driver " : "", strempty(nvidia),
                                json_get_bool(k, "bootable", false) ? "" : " (modules only)");
        }
        if (found) {
                json_object_object_foreach (found, key, s) {
                        (void) key;
                        printf("software      %s %s\n", json_get_string(s, "label"),
                                        json_get_string(s, "version"));
                }
        }
        print_support(o);
        print_network_stages(o);
        print_disk(o);
        print_packages(o, shown);
        print_vulnerabilities(o);
        for (size_t i = 0; i < json_object_array_length(problems); i++)
                printf("problem       %s\n",
                                json_object_get_string(json_object_array_get_idx(problems, i)));
}

typedef struct Inspection {
        const char *image, *format;
        bool sources; /* of RPMs are wanted too */
        json_object *found;
        RpmDatabase rpm;
} Inspection;

static void inspection_done(Inspection *i) {
        json_object_put(i->found);
        rpm_database_done(&i->rpm);
}

static int look(guestfs_h *g, void *userdata) {
        Inspection *i = userdata;
        int r;

        json_object_put(i->found);
        i->found = NULL;
        r = inspect_image(g, i->image, i->format, &i->found);
        if (r < 0 || !i->sources ||
                        !streq_ptr(json_get_string(json_get(i->found, "os"), "package_format"),
                                        "rpm"))
                return r;
        r = rpm_database_take(g, &i->rpm);
        if (r < 0 && r != -ENOENT)
                return log_error_errno(r, "%s: cannot copy its rpm database", i->image);
        return 0;
}

static int inspect(const char *image, const InspectOptions *how) {
        _cleanup_(inspection_done) Inspection i = {
                .image = image, .sources = how->vulnerabilities, .rpm = RPM_DATABASE_NONE
        };
        int r, fixable = 0;

        r = image_format_log(image, &i.format);
        if (r < 0)
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
        log_info("Starting libguestfs' appliance to look into %s", image);
        r = guestfs_use_readonly(image, i.format, look, &i);
        if (r < 0)
                return r;
        if (how->vulnerabilities) {
                fixable = inspect_vulnerabilities(i.found, how->vulnerabilities, &i.rpm);
                if (fixable < 0)
                        return fixable;
        }

        if (how->json)
                json_print(i.found, 0);
        else
                print(i.found, how->shown);
        return fixable > 0 ? EXIT_FAILED : EXIT_OK;
}

static const OptionSpec options[] = {
        { "json", OPT_JSON, NULL, "everything, as one JSON object" },
        { "packages", OPT_PACKAGES, "N", "show the N largest packages (default: 10, 0: none)" },
        { "vulnerabilities", OPT_VULNERABILITIES, "FILE",
                        "those known to FILE: of Debian's security tracker, or of OSV",
                        COMPLETE_FILE },
        {},
};

static int take(void *values, int id, const char *value) {
        InspectOptions *o = values;

        if (id == OPT_JSON) {
                o->json = true;
                return 0;
        }
        if (id == OPT_VULNERABILITIES) {
                o->vulnerabilities = value;
                return 0;
        }

        return option_number("packages", value, 0, 1000000, &o->shown);
}

static int check(VerbCall *call) {
        const InspectOptions *o = call->options;
        int r;

        if (call->n_arguments != 1) {
                log_error("Which image? 'imgbuild inspect IMAGE'");
                return EXIT_USAGE;
        }
        if (o->vulnerabilities && access(o->vulnerabilities, R_OK) < 0) {
                r = log_error_errno(errno, "Cannot read %s", o->vulnerabilities);
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
        }
        return 0;
}

static int run(VerbCall *call) {
        return inspect(call->arguments[0], call->options);
}

const Verb verb_inspect = {
        .spec = { "inspect", "say what is in an image, anybody's", options, "IMAGE",
                        COMPLETE_FILE },
        .usage = "IMAGE [OPTION…]",
        .about = "Says what is in a disk image, anybody's, without changing or running anything of it.",
        .options_size = sizeof(InspectOptions),
        .defaults = &(const InspectOptions) { .shown = PACKAGES_SHOWN },
        .take = take,
        .check = check,
        .run = run,
};
