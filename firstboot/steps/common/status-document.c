/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What firstbootd tells of the node, for steps that depend on how others went. */

#include "steps/common/status-document.h"

json_object *status_document_step(json_object *document, const char *name) {
        json_object *steps = json_get(document, "steps");

        if (!json_object_is_type(steps, json_type_array))
                return NULL;
        for (size_t i = 0; i < json_object_array_length(steps); i++) {
                json_object *step = json_object_array_get_idx(steps, i);

                if (streq_ptr(json_get_string(step, "name"), name))
                        return step;
        }
        return NULL;
}
