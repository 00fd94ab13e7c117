/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the rules found: a list that grows, and the facts met on the way. */

#include "check/internal.h"

int finding_add(Findings *f, const char *rule, char *found, char *remedy) {
        Finding *grown = found && remedy ? reallocarray(f->findings, f->n + 1, sizeof(*grown))
                                         : NULL;

        if (!grown) {
                free(found);
                free(remedy);
                return -ENOMEM;
        }

        f->findings = grown;
        f->findings[f->n++] = (Finding) { rule, found, remedy, false };
        return 0;
}

int finding_add_warning(Findings *f, const char *rule, char *found, char *remedy) {
        int r = finding_add(f, rule, found, remedy);

        if (r >= 0)
                f->findings[f->n - 1].warning = true;
        return r;
}

size_t findings_errors(const Findings *f) {
        size_t n = 0;

        for (size_t i = 0; i < f->n; i++)
                n += !f->findings[i].warning;
        return n;
}

int findings_fact(Findings *f, const char *key, const char *value) {
        if (!f->versions)
                f->versions = json_object_new_object();
        if (!f->versions)
                return -ENOMEM;

        return json_set_string(f->versions, key, value);
}

int findings_to_json(const Findings *f, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = NULL;
        int r;

        if (!o)
                return -ENOMEM;
        r = json_add_array(o, "findings", &list);
        if (r < 0)
                return r;

        for (size_t i = 0; i < f->n; i++) {
                const Finding *x = f->findings + i;
                json_object *item = NULL;

                r = json_append_object(list, &item);
                if (r < 0)
                        return r;
                r = json_set_fields(item, JSON_STRING("rule", x->rule),
                                JSON_STRING("level", x->warning ? "warning" : "error"),
                                JSON_STRING("found", x->found), JSON_STRING("remedy", x->remedy));
                if (r < 0)
                        return r;
        }

        r = json_set_fields(o, JSON_TAKE("versions", json_object_get(f->versions)),
                        JSON_TAKE("privileged", json_object_get(f->privileged)),
                        JSON_TAKE("installed", json_object_get(f->installed)));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(o);
        return 0;
}

void findings_done(Findings *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->findings[i].found);
                free(f->findings[i].remedy);
        }
        free(f->findings);
        json_object_put(f->versions);
        json_object_put(f->privileged);
        json_object_put(f->installed);
        *f = (Findings) {};
}
