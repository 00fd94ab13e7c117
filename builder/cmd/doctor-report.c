/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The report that the doctor's parts write into. */

#include "cmd/doctor-report.h"

int doctor_add(DoctorReport *r, const char *what, const char *verbs, DoctorState state,
                const char *found, const char *remedy) {
        DoctorItem *grown = reallocarray(r->items, r->n + 1, sizeof(*grown)), *i;

        if (!grown)
                return -ENOMEM;

        r->items = grown;
        i = r->items + r->n;
        *i = (DoctorItem) {
                .what = strdup(what),
                .verbs = verbs,
                .state = state,
                .found = found ? strdup(found) : NULL,
                .remedy = remedy ? strdup(remedy) : NULL,
        };
        r->n++;
        return i->what && (i->found || !found) && (i->remedy || !remedy) ? 0 : -ENOMEM;
}

static void item_done(DoctorItem *i) {
        free(i->what);
        free(i->found);
        free(i->remedy);
}

bool doctor_needed_by(const char *needed_by, char *const *verbs) {
        _cleanup_strv_free_ char **l = strv_split(needed_by, " ");

        if (!verbs || !verbs[0])
                return true;
        STRV_FOREACH (v, verbs)
                if (strv_contains(l, *v))
                        return true;
        return false;
}

void doctor_keep(DoctorReport *r, char *const *verbs) {
        size_t kept = 0;

        for (size_t i = 0; i < r->n; i++) {
                if (doctor_needed_by(r->items[i].verbs, verbs))
                        r->items[kept++] = r->items[i];
                else
                        item_done(r->items + i);
        }
        r->n = kept;
}

void doctor_report_done(DoctorReport *r) {
        for (size_t i = 0; i < r->n; i++)
                item_done(r->items + i);
        free(r->items);
        *r = (DoctorReport) {};
}

bool doctor_lacks_something(const DoctorReport *r) {
        for (size_t i = 0; i < r->n; i++)
                if (r->items[i].state == DOCTOR_MISSING)
                        return true;
        return false;
}
