/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The LDAP servers, asked by firstboot-helper: one process each, so that a library that hangs with
 * one of them keeps nobody from asking the next. */

#include "steps/identity/directory.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"

/* The helper has a limit of its own, which tells more. */
#define ASK_USEC (30 * USEC_PER_SEC)

void directory_answer_done(DirectoryAnswer *a) {
        free(a->text);
        free(a->uid);
        *a = (DirectoryAnswer) {};
}

static void directory_answer_move(DirectoryAnswer *to, DirectoryAnswer *from) {
        directory_answer_done(to);
        *to = *from;
        *from = (DirectoryAnswer) {};
}

int directory_answer_parse(const char *said, DirectoryAnswer *ret) {
        static const struct {
                const char *kind, *code;
                bool answered;
        } kinds[] = {
                { "ok", NULL, false },
                { "no-user", "identity.no-user", true },
                { "no-group", "identity.no-group", true },
                { "bind", "identity.bind", false },
                { "search", "identity.search", false },
                { "unreachable", "identity.unreachable", false },
                { "timeout", "identity.unreachable", false },
                { "certificate", "identity.certificate", false },
                { "ca-file", "identity.ca-file", false },
                { "protocol", "identity.protocol", false },
        };
        _cleanup_directory_answer_ DirectoryAnswer a = { .code = "identity.search" };
        _cleanup_json_ json_object *o = NULL;
        const char *kind, *uid;
        JsonError error;

        if (json_parse(said, strlen(said), &error, &o) == -ENOMEM)
                return -ENOMEM;
        kind = strempty(json_get_string(o, "kind"));
        uid = json_get_string(o, "uid");
        a.text = strdup(strempty(json_get_string(o, "text")));
        a.uid = uid ? strdup(uid) : NULL;
        if (!a.text || (uid && !a.uid))
                return -ENOMEM;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (streq(kind, kinds[i].kind)) {
                        a.code = kinds[i].code;
                        a.answered = kinds[i].answered;
                        *ret = a;
                        a = (DirectoryAnswer) {};
                        return 0;
                }

        free(a.text);
        a.text = strdup("it could not be asked: firstboot-helper says nothing of use");
        if (!a.text)
                return -ENOMEM;
        *ret = a;
        a = (DirectoryAnswer) {};
        return 0;
}

static int ask_server(const char *helper, const char *uri, DirectoryAnswer *ret) {
        _cleanup_free_ char *output = NULL;
        SpawnOptions o = { .timeout_usec = ASK_USEC };
        int r, status;

        r = spawn_capture(&o, ARGV(helper, "directory", uri), &output, &status);
        if (r == -ENOMEM || r == -ECANCELED)
                return r;
        r = directory_answer_parse(r < 0 ? "" : output, ret);
        if (r < 0)
                return r;
        ret->uri = uri;
        return 0;
}

int directory_ask(json_object *identity, DirectoryAnswer *ret) {
        _cleanup_directory_answer_ DirectoryAnswer best = {};
        _cleanup_free_ char *helper = fb_path(PATH_HELPER);
        json_object *uris = json_get(identity, "uri");
        int r;

        if (!helper)
                return -ENOMEM;
        for (size_t i = 0; uris && i < json_object_array_length(uris); i++) {
                _cleanup_directory_answer_ DirectoryAnswer a = {};

                r = ask_server(helper, json_object_get_string(json_object_array_get_idx(uris, i)),
                                &a);
                if (r < 0)
                        return r;
                if (a.code)
                        log_warning("%s: %s", a.uri, a.text);
                if (!best.uri || !a.code || (a.answered && !best.answered))
                        directory_answer_move(&best, &a);
                if (!best.code)
                        break;
        }

        if (!best.uri)
                return -EINVAL;
        *ret = best;
        best = (DirectoryAnswer) {};
        return 0;
}
