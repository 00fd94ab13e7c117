/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* RPMs that overlays bring as artifacts: no index has them, so whether they go onto what is locked
 * is asked at the end, of all of them together. */

#include "lock/dnf.h"
#include "lock/rpm-header.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "store/store.h"

static int require_package(const Dnf *d, const LockedArtifact *locked) {
        _cleanup_free_ char *blob = store_blob_path(d->ctx->store, locked->sha256);
        _cleanup_rpm_header_ RpmHeader h = {};
        int r;

        r = blob ? rpm_header_read(blob, &h) : -ENOMEM;
        if (r == -EBADMSG) {
                log_error("Artifact %s of overlay %s is no RPM package: see what %s serves",
                                locked->name, locked->overlay, locked->url);
                return -EINVAL;
        }
        return r < 0 ? log_error_errno(r, "Artifact %s of overlay %s cannot be read", locked->name,
                                       locked->overlay)
                     : 0;
}

/* Adds to `files` what dnf is to see, and to *brought_by the overlays' names. */
static int show_artifacts(const Dnf *d, const Lock *l, json_object *files, char ***brought_by) {
        for (size_t i = 0; i < l->n_artifacts; i++) {
                const LockedArtifact *locked = l->artifacts + i;
                _cleanup_free_ char *path = dnf_rpm_inside(locked->sha256);
                int r;

                if (!path)
                        return log_oom();
                if (!artifact_package(d->ctx, d->recipe, locked))
                        continue;
                r = require_package(d, locked);
                if (r < 0)
                        return r;
                r = dnf_show_rpm(d, locked->sha256);
                if (r < 0)
                        return log_error_errno(r, "Cannot show dnf an artifact");
                if (json_append(files, json_object_new_string(path)) < 0 ||
                                (!strv_contains(*brought_by, locked->overlay) &&
                                                strv_extend(brought_by, locked->overlay) < 0))
                        return log_oom();
        }
        return 0;
}

int dnf_check_artifacts(Dnf *d, const Lock *l) {
        _cleanup_json_ json_object *question = NULL, *answer = NULL;
        _cleanup_strv_free_ char **brought_by = NULL, **missing = NULL;
        _cleanup_free_ char *about = NULL, *overlays = NULL;
        json_object *files, *list;
        int r;

        if (dnf_question(d, NULL, &question) < 0 || json_add_array(question, "files", &files) < 0)
                return log_oom();
        r = show_artifacts(d, l, files, &brought_by);
        if (r < 0 || json_array_length(files) == 0)
                return r;
        overlays = strv_join(brought_by, ", ");
        about = strf("The packages that overlays bring as artifacts (%s)", strempty(overlays));
        if (!about)
                return log_oom();
        r = dnf_ask(d, about, "artifacts", TAKE_PTR(question), &answer);
        if (r < 0)
                return r;
        list = json_get(answer, "missing");
        for (size_t i = 0; i < json_array_length(list); i++)
                if (strv_extend(&missing, strempty(json_object_get_string(
                                                          json_object_array_get_idx(list, i)))) < 0)
                        return log_oom();
        return artifacts_find_missing(brought_by, missing);
}
