/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A question is an argument of firstboot-helper's, a body its standard input; the answer is a
 * line. */

#include "steps/kubernetes/api.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/mman.h>

/* The helper has limits of its own, which tell more. */
#define ASK_USEC (30 * USEC_PER_SEC)
#define MERGE_PATCH "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"

void api_answer_done(ApiAnswer *a) {
        json_putp(&a->document);
        *a = (ApiAnswer) {};
}

int api_answer_parse(const char *said, ApiAnswer *ret) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};
        int r;

        r = json_parse(said, strlen(said), &e, &o);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || !json_get_string(o, "kind")) {
                *ret = (ApiAnswer) {
                        .kind = "helper",
                        .text = "it could not be asked: firstboot-helper says nothing of use",
                };
                return 0;
        }
        *ret = (ApiAnswer) {
                .document = o,
                .kind = json_get_string(o, "kind"),
                .text = strempty(json_get_string(o, "text")),
                .server = json_get_string(o, "server"),
                .status = (int) json_get_int(o, "status", 0),
                .body = json_get(o, "body"),
                .date = json_get_int(o, "date", 0),
        };
        o = NULL;
        return 0;
}

/* words: what follows "kubernetes". */
static int ask(char *const words[], const char *body_path, ApiAnswer *ret) {
        _cleanup_free_ char *helper = fb_path(PATH_HELPER), *output = NULL;
        _cleanup_strv_free_ char **argv = NULL;
        SpawnOptions o = { .stdin_path = body_path, .timeout_usec = ASK_USEC };
        int r, status;

        if (!helper || strv_extend_many(&argv, helper, "kubernetes", NULL) < 0 ||
                        strv_extend_strv(&argv, words) < 0)
                return -ENOMEM;
        r = spawn_capture(&o, argv, &output, &status);
        if (r == -ENOMEM || r == -ECANCELED)
                return r;
        return api_answer_parse(r < 0 ? "" : output, ret);
}

int api_identity(const char *node, ApiAnswer *ret) {
        return ask(ARGV("identity", node), NULL, ret);
}

int api_discover(const char *token_id, ApiAnswer *ret) {
        return ask(ARGV("discover", token_id), NULL, ret);
}

int api_get_node(const char *node, ApiAnswer *ret) {
        _cleanup_free_ char *path = strf("/api/v1/nodes/%s", node);

        return path ? ask(ARGV("kubelet", "GET", path), NULL, ret) : -ENOMEM;
}

/* The body goes over by memory that the child opens anew. */
static int patch(const char *who, const char *path, const char *type, json_object *o,
                ApiAnswer *ret) {
        const char *text = json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        _cleanup_close_ int fd = memfd_create("kubernetes-patch", MFD_CLOEXEC);
        _cleanup_free_ char *body = NULL;
        int r;

        if (!text)
                return -ENOMEM;
        if (fd < 0)
                return -errno;
        r = write_all(fd, text, strlen(text));
        if (r < 0)
                return r;
        body = strf("/proc/%ld/fd/%d", (long) getpid(), fd);
        return body ? ask(ARGV(who, "PATCH", path, type), body, ret) : -ENOMEM;
}

int api_patch_node(const char *node, bool as_verdict, json_object *o, ApiAnswer *ret) {
        _cleanup_free_ char *path = strf("/api/v1/nodes/%s", node);

        if (!path)
                return -ENOMEM;
        return patch(as_verdict ? "verdict" : "kubelet", path, MERGE_PATCH, o, ret);
}

int api_patch_status(const char *node, json_object *o, ApiAnswer *ret) {
        _cleanup_free_ char *path = strf("/api/v1/nodes/%s/status", node);

        return path ? patch("kubelet", path, STRATEGIC_PATCH, o, ret) : -ENOMEM;
}

const char *api_words(const ApiAnswer *a) {
        const char *message = json_get_string(a->body, "message");

        return isempty(message) ? a->text : message;
}
