/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records speak of source packages, but for some distributions of RPMs. What is installed of each
 * is looked up once, and only records of that are parsed: the tracker's file has some 100 MB. */

#include "inspect/vulnerabilities.h"
#include "common/deb-version.h"
#include "common/json-each.h"
#include "common/rpm-version.h"
#include "inspect/osv-zip.h"
#include "inspect/osv.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#define FILE_MAX_BYTES ((size_t) 1 << 30)
#define SIGNED "linux-signed-" /* the kernel's images, whose source is only the signatures */

typedef struct Search {
        json_object *installed; /* source: [{version, binaries}] */
        json_object *found, *known;
        const char *codename;
        const OsvKind *kind;
        char *ecosystem; /* of OSV */
        bool release_known;
        int fixable;
} Search;

static void search_done(Search *s) {
        json_object_put(s->installed);
        json_object_put(s->found);
        json_object_put(s->known);
        free(s->ecosystem);
}

/* --- what is installed ------------------------------------------------------------------------ */

/* The entry of that version in a list of a source's; made where there is none. */
static int find_version(
                json_object *versions, const char *version, const char *module, json_object **ret) {
        for (size_t i = 0; i < json_array_length(versions); i++) {
                *ret = json_object_array_get_idx(versions, i);
                if (streq_ptr(json_get_string(*ret, "version"), version))
                        return 0;
        }
        if (json_append_object(versions, ret) < 0)
                return -ENOMEM;
        return json_set_fields(*ret, JSON_STRING("version", version), JSON_STRING("module", module),
                        JSON_TAKE("binaries", json_object_new_array()));
}

/* What records call an installed package, and which version they mean. */
static void find_source(const Search *s, json_object *package, const char **ret_source,
                const char **ret_version) {
        const char *source = json_get_string(package, "source"),
                   *version = json_get_string(package, "source_version");

        if (!s->kind->by_source || !source) {
                source = strempty(json_get_string(package, "name"));
                version = s->kind->by_source ? version : NULL;
        }
        if (startswith(source, SIGNED)) {
                source = "linux";
                version = NULL;
        }
        *ret_source = source;
        *ret_version = version ? version : strempty(json_get_string(package, "version"));
        if (s->kind->by_source && s->kind->rpm)
                *ret_version = rpm_version_bare(*ret_version);
}

static int add_installed(Search *s, json_object *package) {
        const char *source, *version;
        json_object *versions, *entry = NULL;

        find_source(s, package, &source, &version);
        versions = json_get(s->installed, source);
        if (!versions && json_add_array(s->installed, source, &versions) < 0)
                return -ENOMEM;
        if (find_version(versions, version, json_get_string(package, "module"), &entry) < 0)
                return -ENOMEM;
        return json_append(json_get(entry, "binaries"),
                        json_object_new_string(strempty(json_get_string(package, "name"))));
}

static int list_installed(json_object *packages, Search *s) {
        s->installed = json_object_new_object();
        s->found = json_object_new_array();
        s->known = json_object_new_object();
        if (!s->installed || !s->found || !s->known)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(packages); i++)
                if (add_installed(s, json_object_array_get_idx(packages, i)) < 0)
                        return -ENOMEM;
        return 0;
}

/* --- what is found ---------------------------------------------------------------------------- */

typedef struct Finding {
        const char *id, *package, *fixed, *urgency,
                        *summary; /* all but the first two may be NULL */
} Finding;

/* Once, however many records say it. `entry`: of Search.installed. */
static int add_finding(Search *s, const Finding *f, json_object *entry) {
        const char *version = json_get_string(entry, "version");
        _cleanup_free_ char *key = strf("%s %s %s", f->id, f->package, version);
        json_object *o = NULL;

        if (!key)
                return -ENOMEM;
        if (json_get(s->known, key))
                return 0;
        if (json_set(s->known, key, json_object_new_boolean(true)) < 0 ||
                        json_append_object(s->found, &o) < 0)
                return -ENOMEM;
        if (f->fixed)
                s->fixable++;
        return json_set_fields(o, JSON_STRING("id", f->id), JSON_STRING("package", f->package),
                        JSON_STRING("version", version), JSON_STRING("fixed", f->fixed),
                        JSON_STRING("urgency", f->urgency), JSON_STRING("summary", f->summary),
                        JSON_TAKE("binaries", json_object_get(json_get(entry, "binaries"))));
}

static int by_package(const void *a, const void *b) {
        json_object *const *x = a, *const *y = b;
        int r = strcmp(strempty(json_get_string(*x, "package")),
                        strempty(json_get_string(*y, "package")));

        return r != 0 ? r
                      : deb_version_compare(strempty(json_get_string(*x, "id")),
                                        strempty(json_get_string(*y, "id")));
}

/* --- Debian's tracker ------------------------------------------------------------------------- */

/* One vulnerability of a source: {"releases": {"trixie": {"status", "fixed_version",
 * "urgency"}}}. */
static int look_at_issue(Search *s, const char *source, const char *id, json_object *issue) {
        json_object *release = json_get(json_get(issue, "releases"), s->codename),
                    *versions = json_get(s->installed, source);
        const char *status = json_get_string(release, "status"),
                   *fixed = json_get_string(release, "fixed_version");
        bool resolved = streq_ptr(status, "resolved");
        int r;

        if (!release || (!resolved && !streq_ptr(status, "open")))
                return 0;
        if (resolved && (!fixed || streq(fixed, "0"))) /* "0": it never was there */
                return 0;
        for (size_t i = 0; i < json_array_length(versions); i++) {
                json_object *entry = json_object_array_get_idx(versions, i);

                if (resolved && deb_version_compare(json_get_string(entry, "version"), fixed) >= 0)
                        continue;
                r = add_finding(s,
                                &(Finding) { id, source, resolved ? fixed : NULL,
                                                json_get_string(release, "urgency"),
                                                json_get_string(issue, "description") },
                                entry);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int look_at_source(const JsonSlice *key, const JsonSlice *value, void *userdata) {
        _cleanup_free_ char *source = strndup(key->text, key->size), *release = NULL;
        _cleanup_json_ json_object *issues = NULL;
        Search *s = userdata;
        JsonError error;
        int r;

        release = strf("\"%s\"", s->codename);
        if (!source || !release)
                return -ENOMEM;
        if (!s->release_known && streq(s->kind->distro, "debian") &&
                        memmem(value->text, value->size, release, strlen(release)))
                s->release_known = true;
        if (!json_get(s->installed, source))
                return 0;
        r = json_parse(value->text, value->size, &error, &issues);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        if (!json_object_is_type(issues, json_type_object))
                return -EBADMSG;
        json_object_object_foreach (issues, id, issue) {
                r = look_at_issue(s, source, id, issue);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- OSV -------------------------------------------------------------------------------------- */

static int look_at_affected(Search *s, json_object *record, json_object *affected) {
        const char *name = json_get_string(json_get(affected, "package"), "name");
        json_object *versions;
        int r;

        if (!name || !osv_is_of(affected, s->ecosystem))
                return 0;
        s->release_known = true;
        versions = json_get(s->installed, name);
        for (size_t i = 0; i < json_array_length(versions); i++) {
                json_object *entry = json_object_array_get_idx(versions, i);
                const char *fixed = NULL;

                if (!osv_is_of_module(record, affected, json_get_string(entry, "version"),
                                    json_get_string(entry, "module")) ||
                                !osv_affects(s->kind, affected, json_get_string(entry, "version"),
                                                &fixed))
                        continue;
                r = add_finding(s,
                                &(Finding) { json_get_string(record, "id"), name, fixed,
                                                osv_urgency(record, affected),
                                                json_get_string(record, "summary") },
                                entry);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int look_at_record(const JsonSlice *key _unused_, const JsonSlice *value, void *userdata) {
        _cleanup_json_ json_object *record = NULL;
        Search *s = userdata;
        json_object *affected;
        JsonError error;
        int r;

        r = json_parse(value->text, value->size, &error, &record);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        if (!json_get_string(record, "id"))
                return -EBADMSG;
        if (json_get(record, "withdrawn"))
                return 0;
        affected = json_get(record, "affected");
        for (size_t i = 0; i < json_array_length(affected); i++) {
                r = look_at_affected(s, record, json_object_array_get_idx(affected, i));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

typedef struct Outline {
        bool is_list, is_record;
        JsonSlice vulns; /* text NULL: none */
} Outline;

static int outline(const JsonSlice *key, const JsonSlice *value, void *userdata) {
        Outline *o = userdata;

        if (!key) {
                o->is_list = true;
                return 1;
        }
        if (key->size == 5 && memcmp(key->text, "vulns", 5) == 0)
                o->vulns = *value;
        if (key->size == 8 && memcmp(key->text, "affected", 8) == 0 && *value->text == '[')
                o->is_record = true;
        return 0;
}

static int look_at_file(const char *text, size_t size, void *userdata) {
        return look_at_record(NULL, &(JsonSlice) { text, size }, userdata);
}

static int search(Search *s, const char *text, size_t size) {
        Outline o = {};
        int r;

        if (osv_is_zip(text, size))
                return osv_zip_each(text, size, look_at_file, s);
        r = json_each(text, size, outline, &o);
        if (r < 0)
                return r;
        if (o.is_list)
                return json_each(text, size, look_at_record, s);
        if (o.vulns.text)
                return json_each(o.vulns.text, o.vulns.size, look_at_record, s);
        if (o.is_record)
                return look_at_file(text, size, s);
        return json_each(text, size, look_at_source, s);
}

static int search_file(Search *s, const char *path) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_file(path, FILE_MAX_BYTES, &text, &size);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path), r == -EACCES ? r : -EINVAL;
        r = search(s, text, size);
        if (r == -EBADMSG)
                return log_error_return(-EINVAL,
                                "%s is neither the file of Debian's security tracker nor records of OSV, or is cut",
                                path);
        if (r < 0)
                return log_oom();
        if (!s->release_known)
                return log_error_return(-EINVAL,
                                "%s says nothing of %s (%s), which the image is: get another one",
                                path, s->ecosystem, strempty(s->codename));
        return 0;
}

/* As rpm itself lists them. */
static int read_rpm(json_object *inspection, const RpmDatabase *rpm) {
        json_object *packages = NULL;
        int r;

        if (!rpm->name)
                return log_error_return(-EINVAL,
                                "The image's rpm database is of a kind that cannot be read here: leave --vulnerabilities out, and let a scanner for its distribution read what imgbuild sbom writes");
        r = rpm_database_read(rpm, &packages);
        if (r < 0)
                return r;
        return json_set(inspection, "packages", packages) < 0 ? log_oom() : 0;
}

int inspect_vulnerabilities(json_object *inspection, const char *path, const RpmDatabase *rpm) {
        _cleanup_(search_done) Search s = {};
        json_object *os = json_get(inspection, "os");
        int r;

        s.codename = json_get_string(os, "codename");
        s.kind = osv_kind(os);
        if (!s.kind)
                return log_error_return(-EINVAL,
                                "--vulnerabilities is for images of Debian, Ubuntu, Rocky Linux, AlmaLinux and RHEL, of which there are records, and this one is none: leave it out, and let a scanner for its distribution read what imgbuild sbom writes");
        if (rpm && s.kind->rpm) {
                r = read_rpm(inspection, rpm);
                if (r < 0)
                        return r;
        }
        /* None is none known to be safe. */
        if (json_array_length(json_get(inspection, "packages")) == 0)
                return log_error_return(-EINVAL,
                                "No packages could be read of the image, so nothing is known of their vulnerabilities");
        s.ecosystem = osv_ecosystem(s.kind, os);
        if (!s.ecosystem || list_installed(json_get(inspection, "packages"), &s) < 0)
                return log_oom();
        if (!s.codename)
                s.codename = "";
        r = search_file(&s, path);
        if (r < 0)
                return r;
        json_object_array_sort(s.found, by_package);
        if (json_set(inspection, "vulnerabilities", json_object_get(s.found)) < 0)
                return log_oom();
        return s.fixable;
}
