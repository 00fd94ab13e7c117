/* SPDX-License-Identifier: LGPL-2.1-or-later */
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
        DISK_LABELLED, /* carries a file system with our label, with or without anything in between */
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

/* "/dev/nvme1n1 (serial S2, 1.9 TB): ext4 filesystem \"data\"" */
static char *describe(const DiskFacts *f, DiskClass k) {
        _cleanup_free_ char *what = NULL;

        if (k == DISK_UNREADABLE)
                what = strf("cannot be read: %s", strerror(-f->probe_error));
        else if (k == DISK_IN_USE)
                what = strf("in use by %s", f->holder);
        else {
                _cleanup_strv_free_ char **l = NULL;

                for (int i = 0; i < f->n_signatures; i++) {
                        const Signature *s = &f->signatures[i];

                        if (strv_extendf(&l, "%s %s%s%s%s%s%s", s->type, s->usage,
                                            s->label[0] ? " \"" : "", s->label,
                                            s->label[0] ? "\"" : "",
                                            f->vg && streq(s->type, "LVM2_member")
                                                            ? " of volume group "
                                                            : "",
                                            f->vg && streq(s->type, "LVM2_member") ? f->vg : "") <
                                        0)
                                return NULL;
                }
                what = strv_join(l, " and ");
        }
        return what ? strf("%s (serial %s, %.1f GB): %s", f->disk->path, f->disk->serial,
                                      (double) f->disk->bytes / 1e9, what)
                    : NULL;
}

static char *describe_bad(
                const DiskFacts *facts, const DiskClass *classes, size_t n, DiskClass only) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < n; i++)
                if (classes[i] == only && strv_push(&l, describe(&facts[i], classes[i])) < 0)
                        return NULL;
        return strv_join(l, "; ");
}

/* Recorded serials that no disk has now: "S1, S2", or "" where all are there. */
static char *absent_serials(const DiskFacts *facts, size_t n, const ScratchRecord *record) {
        _cleanup_strv_free_ char **l = NULL;

        STRV_FOREACH (serial, record->serials) {
                bool there = false;

                for (size_t i = 0; i < n; i++)
                        there = there || streq(facts[i].disk->serial, *serial);
                if (!there && strv_extend(&l, *serial) < 0)
                        return NULL;
        }
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

static int plan_ours(const DiskFacts *facts, size_t n, const DiskClass *classes,
                const ScratchRecord *record, const ScratchWish *wish, ScratchPlan *p) {
        const DiskFacts *ours = NULL;
        _cleanup_free_ char *absent = absent_serials(facts, n, record);
        size_t members = 0;
        int r;

        if (!absent)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_use; i++) {
                const DiskFacts *f = &facts[p->use[i]];

                if (classes[p->use[i]] != DISK_OURS)
                        continue;
                if (ours && !streq(ours->vg, f->vg))
                        return fail(p, "scratch.foreign-signature",
                                        strf("local disks belong to two volume groups with tag " TAG_OURS
                                             ": %s and %s",
                                                        ours->vg, f->vg));
                ours = f;
                members++;
        }
        p->vg = strdup(ours->vg);
        if (!p->vg)
                return -ENOMEM;
        if (has_tag(ours->vg_tags, TAG_INCOMPLETE) || ours->vg_empty) {
                p->action = SCRATCH_REBUILD;
                p->vg_missing = ours->vg_missing > 0;
                return 0;
        }
        if (ours->vg_missing == 0) {
                if (members < p->n_use) {
                        r = lacking(p, wish, "scratch.disk-missing",
                                        strf("volume group %s lies on %zu of %zu local disks; it holds data and was not touched",
                                                        p->vg, members, p->n_use));
                        if (r != 0)
                                return r < 0 ? r : 0;
                }
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

int scratch_plan(const DiskFacts *facts, size_t n, const ScratchRecord *record,
                const ScratchWish *wish, ScratchPlan *ret) {
        _cleanup_free_ DiskClass *classes = calloc(n + 1, sizeof(DiskClass));
        _cleanup_(scratch_plan_done) ScratchPlan p = { .use = calloc(n + 1, sizeof(size_t)) };
        bool labelled = false, ours = false;
        int r;

        if (!classes || !p.use)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                classes[i] = classify(&facts[i], record);
                if (!is_bad(classes[i]))
                        p.use[p.n_use++] = i;
                labelled = labelled || classes[i] == DISK_LABELLED;
                ours = ours || classes[i] == DISK_OURS;
        }

        r = weigh_bad(facts, classes, n, wish, &p);
        if (r == 0)
                r = weigh_count(facts, n, record, wish, &p);
        if (r == 0 && p.n_use == 0) {
                if (wish->required || n > 0)
                        r = fail(&p,
                                        n > 0 && p.message ? "scratch.foreign-signature"
                                                           : "scratch.no-disks",
                                        p.message ? strf("no usable local disk is left; %s",
                                                                    p.message)
                                                  : strf("no local NVMe disk was found"));
                else
                        p.action = SCRATCH_NOTHING;
        } else if (r == 0 && labelled && ours)
                r = fail(&p, "scratch.foreign-signature",
                                strf("some disks carry a file system labelled %s, others our volume group",
                                                wish->label));
        else if (r == 0 && labelled)
                r = plan_labelled(facts, classes, wish, &p);
        else if (r == 0 && ours)
                r = plan_ours(facts, n, classes, record, wish, &p);
        else if (r == 0)
                p.action = SCRATCH_CREATE;
        if (r < 0)
                return r;
        *ret = p;
        p = (ScratchPlan) {};
        return 0;
}
