/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each disk falls into one class; bad ones and too few fail the plan unless the configuration lets
 * them pass; what is left is adopted where it holds our data, and made only where it holds none. */

#include "steps/scratch/plan.h"

void disk_facts_done(DiskFacts *f) {
        free(f->labelled);
        free(f->vg);
        free(f->vg_tags);
        free(f->holder);
}

void scratch_plan_done(ScratchPlan *p) {
        free(p->message);
        free(p->device);
        free(p->use);
        free(p->vg);
}

typedef enum DiskClass {
        DISK_BLANK,
        DISK_OURS,     /* physical volume of our group */
        DISK_ORPHAN,   /* physical volume that we were about to use when power went */
        DISK_LABELLED, /* a file system with our label stands on it, directly or not */
        DISK_FOREIGN,
        DISK_IN_USE,
        DISK_UNREADABLE,
} DiskClass;

static bool has_tag(const char *tags, const char *tag) {
        _cleanup_strv_free_ char **l = strv_split(strempty(tags), ",");

        return strv_contains(l, tag);
}

static DiskClass classify(const DiskFacts *f, const ScratchRecord *record) {
        bool lvm_only = f->n_signatures == 1 && streq(f->signatures[0].type, "LVM2_member");

        if (f->probe_error < 0)
                return DISK_UNREADABLE;
        if (lvm_only && f->vg && has_tag(f->vg_tags, TAG_OURS))
                return DISK_OURS;
        if (f->labelled)
                return DISK_LABELLED;
        if (lvm_only && f->orphan && !f->holder && strv_contains(record->serials, f->disk->serial))
                return DISK_ORPHAN;
        if (f->n_signatures > 0)
                return DISK_FOREIGN;
        return f->holder ? DISK_IN_USE : DISK_BLANK;
}

static bool is_bad(DiskClass k) {
        return k == DISK_FOREIGN || k == DISK_IN_USE || k == DISK_UNREADABLE;
}

/* "ext4 filesystem \"data\" and LVM2_member raid of volume group vg0"; NULL on out of memory. */
static char *describe_signatures(const DiskFacts *f) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        for (int i = 0; i < f->n_signatures; i++) {
                const Signature *s = &f->signatures[i];
                const char *quote = s->label[0] ? "\"" : "";
                bool member = f->vg && streq(s->type, "LVM2_member");

                r = strv_extendf(&l, "%s %s%s%s%s%s%s%s", s->type, s->usage, s->label[0] ? " " : "",
                                quote, s->label, quote, member ? " of volume group " : "",
                                member ? f->vg : "");
                if (r < 0)
                        return NULL;
        }
        return strv_join(l, " and ");
}

/* "/dev/nvme1n1 (serial S2, 1920.4 GB): ext4 filesystem \"data\"" */
static char *describe(const DiskFacts *f, DiskClass k) {
        _cleanup_free_ char *what = NULL;

        if (k == DISK_UNREADABLE)
                what = strf("cannot be read: %s", strerror(-f->probe_error));
        else if (k == DISK_IN_USE)
                what = strf("in use by %s", f->holder);
        else
                what = describe_signatures(f);
        if (!what)
                return NULL;
        return strf("%s (serial %s, %.1f GB): %s", f->disk->path, f->disk->serial,
                        (double) f->disk->bytes / 1e9, what);
}

static char *describe_bad(
                const DiskFacts *facts, const DiskClass *classes, size_t n, DiskClass only) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < n; i++)
                if (classes[i] == only && strv_push(&l, describe(&facts[i], classes[i])) < 0)
                        return NULL;
        return strv_join(l, "; ");
}

static bool is_there(const DiskFacts *facts, size_t n, const char *serial) {
        for (size_t i = 0; i < n; i++)
                if (streq(facts[i].disk->serial, serial))
                        return true;
        return false;
}

/* Recorded serials that no disk has now: "S1, S2", or "" where all are there. */
static char *absent_serials(const DiskFacts *facts, size_t n, const ScratchRecord *record) {
        _cleanup_strv_free_ char **l = NULL;

        STRV_FOREACH (serial, record->serials)
                if (!is_there(facts, n, *serial) && strv_extend(&l, *serial) < 0)
                        return NULL;
        return strv_join(l, ", ");
}

static int fail(ScratchPlan *p, const char *code, char *message) {
        free(p->message);
        p->action = SCRATCH_FAIL;
        p->code = code;
        p->message = message;
        return message ? 0 : -ENOMEM;
}

/* A lack that either fails the step or, with allow_fewer, is only noted. Returns 1 where it
 * failed. */
static int lacking(ScratchPlan *p, const ScratchWish *wish, const char *code, char *message) {
        if (!message)
                return -ENOMEM;
        if (!wish->allow_fewer)
                return fail(p, code, message) < 0 ? -ENOMEM : 1;
        free(p->message);
        p->code = "scratch.fewer";
        p->message = message;
        return 0;
}

/* Disks that hold something else, cannot be read or are busy. Returns 1 where they fail the
 * step. */
static int weigh_bad(const DiskFacts *facts, const DiskClass *classes, size_t n,
                const ScratchWish *wish, ScratchPlan *p) {
        static const struct {
                DiskClass class;
                const char *code;
        } kinds[] = {
                { DISK_UNREADABLE, "scratch.probe-failed" },
                { DISK_FOREIGN, "scratch.foreign-signature" },
                { DISK_IN_USE, "scratch.in-use" },
        };

        for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                _cleanup_free_ char *text = describe_bad(facts, classes, n, kinds[k].class);
                int r;

                if (!text)
                        return -ENOMEM;
                if (text[0] == '\0')
                        continue;
                r = lacking(p, wish, kinds[k].code, strf("left untouched: %s", text));
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Returns 1 where too few disks are usable and that fails the step. */
static int weigh_count(const DiskFacts *facts, size_t n, const ScratchRecord *record,
                const ScratchWish *wish, ScratchPlan *p) {
        size_t expected = wish->expected >= 0 ? (size_t) wish->expected
                                              : strv_length(record->serials);
        _cleanup_free_ char *absent = absent_serials(facts, n, record);

        if (!absent)
                return -ENOMEM;
        if (n >= expected || (p->code && wish->allow_fewer))
                return 0;
        return lacking(p, wish, "scratch.disk-missing",
                        strf("%zu local disks of %zu%s%s", n, expected,
                                        absent[0] ? "; missing serial " : "", absent));
}

/* Some disks carry a file system with our label, by whatever means: it is mounted as it is. */
static int plan_labelled(const DiskFacts *facts, const DiskClass *classes, const ScratchWish *wish,
                ScratchPlan *p) {
        const char *device = NULL;
        size_t on_it = 0;
        int r;

        for (size_t i = 0; i < p->n_use; i++) {
                size_t d = p->use[i];

                if (classes[d] != DISK_LABELLED)
                        continue;
                if (device && !streq(device, facts[d].labelled))
                        return fail(p, "scratch.foreign-signature",
                                        strf("two file systems have the label %s: %s and %s",
                                                        wish->label, device, facts[d].labelled));
                device = facts[d].labelled;
                p->use[on_it++] = d;
        }

        if (on_it < p->n_use) {
                r = lacking(p, wish, "scratch.disk-missing",
                                strf("%s with label %s lies on %zu of %zu local disks; it was not touched",
                                                device, wish->label, on_it, p->n_use));
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        p->n_use = on_it;
        p->action = SCRATCH_ADOPT_DEVICE;
        p->device = strdup(device);
        return p->device ? 0 : -ENOMEM;
}

/* The disk that stands for our group, and how many disks are in it. Returns 1 where there are two
 * such groups, which fails the plan. */
static int find_group(const DiskFacts *facts, const DiskClass *classes, ScratchPlan *p,
                const DiskFacts **ret, size_t *ret_members) {
        const DiskFacts *ours = NULL;
        size_t members = 0;

        for (size_t i = 0; i < p->n_use; i++) {
                const DiskFacts *f = &facts[p->use[i]];

                if (classes[p->use[i]] != DISK_OURS)
                        continue;
                if (ours && !streq(ours->vg, f->vg))
                        return fail(p, "scratch.foreign-signature",
                                               strf("local disks belong to two volume groups with tag " TAG_OURS
                                                    ": %s and %s",
                                                               ours->vg, f->vg)) < 0
                                               ? -ENOMEM
                                               : 1;
                ours = f;
                members++;
        }
        *ret = ours;
        *ret_members = members;
        return 0;
}

/* Some disks are in a group of ours: rebuilt where it holds no data, else adopted. */
static int plan_ours(const DiskFacts *facts, size_t n, const DiskClass *classes,
                const ScratchRecord *record, const ScratchWish *wish, ScratchPlan *p) {
        _cleanup_free_ char *absent = absent_serials(facts, n, record);
        const DiskFacts *ours;
        size_t members;
        int r;

        if (!absent)
                return -ENOMEM;
        r = find_group(facts, classes, p, &ours, &members);
        if (r != 0)
                return r < 0 ? r : 0;
        p->vg = strdup(ours->vg);
        if (!p->vg)
                return -ENOMEM;

        if (has_tag(ours->vg_tags, TAG_INCOMPLETE) || ours->vg_empty) {
                p->action = SCRATCH_REBUILD;
                p->vg_missing = ours->vg_missing > 0;
                return 0;
        }

        if (ours->vg_missing == 0) {
                r = members == p->n_use
                                    ? 0
                                    : lacking(p, wish, "scratch.disk-missing",
                                                      strf("volume group %s lies on %zu of %zu local disks; it holds data "
                                                           "and was not touched",
                                                                      p->vg, members, p->n_use));
                if (r != 0)
                        return r < 0 ? r : 0;
                p->action = SCRATCH_ADOPT_VG;
                return 0;
        }

        /* Stripes are gone. If the disk they were on is merely away, it may come back with its
         * data; if all recorded disks are here, some were wiped, as a stop and start does. */
        if (absent[0] || members + ours->vg_missing > p->n_use) {
                r = lacking(p, wish, "scratch.disk-missing",
                                strf("volume group %s lacks %u of its disks%s%s", p->vg,
                                                ours->vg_missing,
                                                absent[0] ? "; missing serial " : "", absent));
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        p->action = SCRATCH_REBUILD;
        p->vg_missing = true;
        return 0;
}

/* No disk is left to work with. */
static int plan_nothing(size_t n, const ScratchWish *wish, ScratchPlan *p) {
        if (!wish->required && n == 0) {
                p->action = SCRATCH_NOTHING;
                return 0;
        }
        if (!p->message)
                return fail(p, "scratch.no-disks", strdup("no local NVMe disk was found"));
        return fail(p, n > 0 ? "scratch.foreign-signature" : "scratch.no-disks",
                        strf("no usable local disk is left; %s", p->message));
}

static int plan_usable(const DiskFacts *facts, size_t n, const DiskClass *classes,
                const ScratchRecord *record, const ScratchWish *wish, ScratchPlan *p) {
        bool labelled = false, ours = false;
        int r;

        for (size_t i = 0; i < n; i++) {
                labelled = labelled || classes[i] == DISK_LABELLED;
                ours = ours || classes[i] == DISK_OURS;
        }

        r = weigh_bad(facts, classes, n, wish, p);
        if (r != 0)
                return r < 0 ? r : 0;
        r = weigh_count(facts, n, record, wish, p);
        if (r != 0)
                return r < 0 ? r : 0;

        if (p->n_use == 0)
                return plan_nothing(n, wish, p);
        if (labelled && ours)
                return fail(p, "scratch.foreign-signature",
                                strf("some disks carry a file system labelled %s, others our volume group",
                                                wish->label));
        if (labelled)
                return plan_labelled(facts, classes, wish, p);
        if (ours)
                return plan_ours(facts, n, classes, record, wish, p);
        p->action = SCRATCH_CREATE;
        return 0;
}

int scratch_plan(const DiskFacts *facts, size_t n, const ScratchRecord *record,
                const ScratchWish *wish, ScratchPlan *ret) {
        _cleanup_free_ DiskClass *classes = calloc(n + 1, sizeof(DiskClass));
        _cleanup_(scratch_plan_done) ScratchPlan p = { .use = calloc(n + 1, sizeof(size_t)) };
        int r;

        if (!classes || !p.use)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                classes[i] = classify(&facts[i], record);
                if (!is_bad(classes[i]))
                        p.use[p.n_use++] = i;
        }

        r = plan_usable(facts, n, classes, record, wish, &p);
        if (r < 0)
                return r;
        *ret = p;
        p = (ScratchPlan) {};
        return 0;
}
