/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What moved between two locks. */

#include "lock/internal.h"

/* One thing that a lock pins, whatever kind it is. */
typedef struct Pin {
        const char *stage, *name, *version, *sha256;
        bool artifact;
        bool met;
} Pin;

static int pins_of(const Lock *l, Pin **ret, size_t *ret_n) {
        size_t total = l ? l->n_artifacts : 0, n = 0;
        Pin *pins;

        for (size_t i = 0; l && i < l->n_stages; i++)
                total += l->stages[i].n_packages;
        for (size_t i = 0; l && i < l->n_environments; i++)
                total += l->environments[i].n_wheels;
        pins = calloc(total + 2, sizeof(*pins));
        if (!pins)
                return -ENOMEM;
        if (l && l->image.name)
                pins[n++] = (Pin) { "base", "image", l->image.sha256, l->image.sha256, false,
                        false };
        for (size_t i = 0; l && i < l->n_stages; i++)
                for (size_t k = 0; k < l->stages[i].n_packages; k++) {
                        const LockedPackage *p = l->stages[i].packages + k;

                        pins[n++] = (Pin) { l->stages[i].id, p->name, p->version, p->sha256, false,
                                false };
                }
        for (size_t i = 0; l && i < l->n_artifacts; i++) {
                const LockedArtifact *a = l->artifacts + i;

                pins[n++] = (Pin) { a->overlay, a->name, strempty(a->version), a->sha256, true,
                        false };
        }
        for (size_t i = 0; l && i < l->n_environments; i++)
                for (size_t k = 0; k < l->environments[i].n_wheels; k++) {
                        const LockedWheel *w = l->environments[i].wheels + k;

                        pins[n++] = (Pin) { l->environments[i].path, w->name, w->version, w->sha256,
                                false, false };
                }
        *ret = pins;
        *ret_n = n;
        return 0;
}

/* The best partner in `pins`: the same in the same stage, else the same in another one. */
static Pin *partner(Pin *pins, size_t n, const Pin *of) {
        Pin *found = NULL;

        for (size_t i = 0; i < n; i++) {
                Pin *p = pins + i;

                if (p->met || p->artifact != of->artifact || !streq(p->name, of->name))
                        continue;
                if (streq(p->stage, of->stage))
                        return p;
                if (!found)
                        found = p;
        }
        return found;
}

static int compare(const void *a, const void *b) {
        const LockChange *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r != 0 ? r : strcmp(x->stage, y->stage);
}

int lock_diff(const Lock *before, const Lock *after, LockDiff *ret) {
        _cleanup_lock_diff_ LockDiff d = {};
        _cleanup_free_ Pin *old = NULL, *new = NULL;
        size_t n_old, n_new;

        if (pins_of(before, &old, &n_old) < 0 || pins_of(after, &new, &n_new) < 0)
                return -ENOMEM;
        d.changes = calloc(n_old + n_new + 1, sizeof(*d.changes));
        if (!d.changes)
                return -ENOMEM;
        /* Same stages first, so that a package which another stage has too is not paired with the
         * wrong one. */
        for (int pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < n_new; i++) {
                        Pin *p = new + i, *q;

                        if (p->met || !(q = partner(old, n_old, p)) ||
                                        (pass == 0 && !streq(q->stage, p->stage)))
                                continue;
                        p->met = q->met = true;
                        if (streq(p->version, q->version) && streq(p->sha256, q->sha256))
                                continue;
                        d.moved++;
                        d.changes[d.n++] = (LockChange) { p->stage, p->name, q->version, p->version,
                                streq(p->version, q->version), p->artifact };
                }
        for (size_t i = 0; i < n_new; i++)
                if (!new[i].met) {
                        d.added++;
                        d.changes[d.n++] = (LockChange) { new[i].stage, new[i].name, NULL,
                                new[i].version, false, new[i].artifact };
                }
        for (size_t i = 0; i < n_old; i++)
                if (!old[i].met) {
                        d.removed++;
                        d.changes[d.n++] = (LockChange) { old[i].stage, old[i].name, old[i].version,
                                NULL, false, old[i].artifact };
                }
        qsort(d.changes, d.n, sizeof(*d.changes), compare);
        *ret = d;
        d = (LockDiff) {};
        return 0;
}

void lock_diff_done(LockDiff *d) {
        free(d->changes);
        *d = (LockDiff) {};
}

void lock_diff_print(const LockDiff *d, FILE *f) {
        int name = 0, before = 0, after = 0;

        for (size_t i = 0; i < d->n; i++) {
                const LockChange *c = d->changes + i;

                name = MAX(name, (int) strlen(c->name));
                before = MAX(before, (int) strlen(strempty(c->before)));
                after = MAX(after, (int) strlen(strempty(c->after)));
        }
        for (size_t i = 0; i < d->n; i++) {
                const LockChange *c = d->changes + i;
                const char *how = !c->before ? "+" : !c->after ? "-" : "→";

                fprintf(f, "  %-*s  %-*s %s %-*s  %s%s\n", name, c->name, before,
                                strempty(c->before), how, after, strempty(c->after), c->stage,
                                c->content ? " (same version, other content)" : "");
        }
}

int lock_diff_to_json(const LockDiff *d, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array();

        for (size_t i = 0; list && i < d->n; i++) {
                const LockChange *c = d->changes + i;
                json_object *o;
                int r;

                r = json_append_object(list, &o);
                if (r < 0)
                        return r;
                if (json_set_string(o, "name", c->name) < 0 ||
                                json_set_string(o, c->artifact ? "overlay" : "stage", c->stage) <
                                                0 ||
                                json_set_string(o, "before", c->before) < 0 ||
                                json_set_string(o, "after", c->after) < 0)
                        return -ENOMEM;
        }
        if (!list)
                return -ENOMEM;
        *ret = TAKE_PTR(list);
        return 0;
}
