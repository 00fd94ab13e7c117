/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recognises a file of another kind in the place of a recipe or overlay, so that one message says
 * so instead of one a key. */

#include "recipe/other-file.h"
#include "shared/macro.h"

static const OtherFile files[] = {
        { OTHER_RECIPE, "extends", json_type_string, "a recipe", "'imgbuild plan' checks it" },
        { OTHER_RECIPE, "base", json_type_object, "a recipe", "'imgbuild plan' checks it" },
        { OTHER_LOCK, "stages", json_type_array, "a lock",
                        "'imgbuild plan' checks it with its recipe" },
        { OTHER_CLUSTER, "machines", json_type_array, "a cluster", "'imgbuild cluster' takes it" },
        /* A step may have a description, too. */
        { OTHER_STEP, "exec", json_type_array, "a step of the node",
                        "'imgbuild check RECIPE' checks it in the tree" },
        { OTHER_OVERLAY, "description", json_type_string, "an overlay",
                        "'imgbuild plan' checks it with a recipe that names it" },
};

const OtherFile *other_file_find(json_object *o) {
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (json_object_is_type(json_get(o, files[i].key), files[i].type))
                        return &files[i];
        return NULL;
}
