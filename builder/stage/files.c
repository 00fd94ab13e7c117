/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An overlay's files/, in two parts (see plan.h), and the node configuration that recipe and
 * overlays add up to. */

#include "stage/internal.h"
#include "sandbox/copy-tree.h"

#include "shared/file-util.h"
#include "shared/log.h"

#define NODE_CONFIG "/etc/firstboot/node.json"

static bool wanted(const char *path, void *userdata) {
        const Stage *stage = userdata;

        return plan_path_is_early(path) == stage->early;
}

static int copy_files(const char *root, void *userdata) {
        const StageBuild *b = userdata;
        const Overlay *o = b->stage->overlay;
        _cleanup_free_ char *source = path_join(o->path, "files");
        const CopyOptions options = {
                .what = source,
                .git_modes = true,
                .modes = o->modes,
                .wanted = wanted,
                .userdata = (void *) b->stage,
        };

        return source ? copy_tree(source, root, "/", &options) : log_oom();
}

static int write_node(const char *root, void *userdata) {
        const int format = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                           JSON_C_TO_STRING_NOSLASHESCAPE;
        const StageBuild *b = userdata;
        const char *text = json_object_to_json_string_ext(b->plan->recipe->node, format);

        return text ? copy_text(text, root, NODE_CONFIG, 0644) : log_oom();
}

int stage_files(StageBuild *b) {
        return sandbox_call(&b->sandbox, b->stage->overlay ? copy_files : write_node, b);
}
