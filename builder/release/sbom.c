/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The documents about an image are made of its manifest and of nothing else. So whether one is
 * right is asked by making it again. */

#include "release/internal.h"
#include "release/parts.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"

#define DOCUMENT_MAX (64 * 1024 * 1024)

static const struct {
        const char *name;
        int (*make)(json_object *manifest, const Parts *p, json_object **ret);
} documents[] = {
        { RELEASE_SPDX, spdx_make },
        { RELEASE_CYCLONEDX, cyclonedx_make },
        { RELEASE_PROVENANCE, provenance_make },
};

static int write_document(const Release *r, const Parts *p, size_t i) {
        _cleanup_free_ char *path = path_join(r->folder, documents[i].name);
        _cleanup_json_ json_object *d = NULL;
        int k;

        k = path ? documents[i].make(r->manifest, p, &d) : -ENOMEM;
        if (k < 0)
                return log_oom();
        k = json_save(path, d, 0644);
        return k < 0 ? log_error_errno(k, "%s: cannot write it", path) : 0;
}

int release_write_sbom(const char *folder) {
        _cleanup_release_ Release r = { .folder = folder };
        _cleanup_parts_ Parts p = {};
        int k;

        k = release_open(&r);
        if (k != 0)
                return k;
        if (!json_get(r.manifest, "compiled"))
                log_warning("%s is of an imgbuild that did not list what it compiled: 'imgbuild build --force' names that, too",
                                folder);
        if (parts_read(r.manifest, &p) < 0)
                return log_oom();
        for (size_t i = 0; i < ELEMENTSOF(documents); i++) {
                k = write_document(&r, &p, i);
                if (k < 0)
                        return k;
        }
        log_info("Wrote " RELEASE_SPDX ", " RELEASE_CYCLONEDX " and " RELEASE_PROVENANCE
                 " to %s: %zu parts",
                        folder, p.n);
        return 0;
}

static int check_document(Release *r, const Parts *p, size_t i) {
        _cleanup_json_ json_object *wanted = NULL, *found = NULL;
        const char *name = documents[i].name;
        _cleanup_free_ char *text = NULL;
        JsonError error;
        size_t size;
        int k;

        k = inside_read_output(r->folder, name, DOCUMENT_MAX, &text, &size);
        if (k < 0) {
                release_fault(r, "%s: %s", name, strerror(-k));
                return 0;
        }
        k = documents[i].make(r->manifest, p, &wanted);
        if (k < 0)
                return k;
        k = json_parse(text, size, &error, &found);
        if (k == -ENOMEM)
                return k;
        if (k < 0 || !json_object_equal(wanted, found))
                release_fault(r,
                                "%s does not say what " MANIFEST
                                " says, or is another imgbuild's: 'imgbuild sbom' writes it again",
                                name);
        return 0;
}

int release_check_sbom(Release *r) {
        _cleanup_parts_ Parts p = {};
        int k;

        k = parts_read(r->manifest, &p);
        for (size_t i = 0; i < ELEMENTSOF(documents) && k == 0; i++)
                if (release_has(r, documents[i].name))
                        k = check_document(r, &p, i);
        return k;
}
