/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each disk falls into one class; bad ones and too few fail the plan unless the configuration lets
 * them pass; what is left is adopted where it holds our data, and made only where it holds none.
 * Data goes in two cases alone: the configuration names the disk's serial or the group's UUID. */

#include "steps/scratch/disk-class.h"

void scratch_plan_done(ScratchPlan *p) {
        free(p->message);
        free(p->device);
        free(p->use);
        free(p->vg);
}

/* Whether the group says that another machine made it. */
static bool of_another_machine(const DiskFacts *f, const ScratchWish *wish) {
        _cleanup_strv_free_ char **l = strv_split(strempty(f->vg_tags), ",");

        STRV_FOREACH (tag, l) {
                const char *machine = startswith(*tag, TAG_MACHINE);

                if (machine && wish->machine && !streq(machine, wish->machine))
                        return true;
        }
        return false;
}

static bool names_machine(const DiskFacts *f) {
        return f->vg_tags && strstr(f->vg_tags, TAG_MACHINE);
}

static char *describe_bad(
                const DiskFacts *facts, const DiskClass *classes, size_t n, DiskClass only) {
        _cleanup_strv_free_ char **l = NULL;

        for (size_t i = 0; i < n; i++)
                if (classes[i] == only && strv_push(&l, disk_describe(&facts[i], classes[i])) < 0)
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
        if (!p->passed)
                p->passed = code;
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
                { DISK_IN_USE, "scratch.in-use" },
                { DISK_TWICE, "scratch.same-disk" },
                { DISK_FOREIGN, "scratch.foreign-signature" },
                { DISK_DATA, "scratch.unknown-data" },
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
                        strf("%zu local disks of %zu%s%s%s%s%s%s", n, expected,
                                        wish->expected_by ? "; " : "", strempty(wish->expected_by),
                                        absent[0] ? "; missing serial " : "", absent,
                                        wish->left_out ? "; left alone, as scratch.models does not name the model: "
                                                       : "",
                                        strempty(wish->left_out)));
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

        if (on_it < p->n_use && !wish->users_choice) {
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

/* The group's data is whole: it is adopted, wherever it was made. */
static int plan_whole(
                const DiskFacts *ours, size_t members, const ScratchWish *wish, ScratchPlan *p) {
        if (members != p->n_use) {
                int r = lacking(p, wish, "scratch.disk-missing",
                                strf("volume group %s lies on %zu of %zu local disks; it holds data and was not touched",
                                                p->vg, members, p->n_use));
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        p->action = SCRATCH_ADOPT_VG;
        p->untagged = !names_machine(ours);
        return 0;
}

/* Stripes are away, or the group was begun on another machine. Its disks may meet again, and then
 * the data is back: only the configuration may give it up. */
static int plan_partial(const DiskFacts *ours, const char *absent, bool foreign,
                const ScratchWish *wish, ScratchPlan *p) {
        _cleanup_free_ char *lack = NULL;

        if (ours->vg_uuid && strv_contains(wish->discard_partial, ours->vg_uuid)) {
                p->action = SCRATCH_REBUILD;
                p->vg_missing = ours->vg_missing > 0;
                p->discard = true;
                return 0;
        }
        lack = ours->vg_missing > 0 ? strf("lacks %u of its disks", ours->vg_missing)
               : foreign            ? strdup("is not finished")
                                    : strf("is not finished, but has %u volumes", ours->vg_volumes);
        if (!lack)
                return -ENOMEM;
        return fail(p, "scratch.partial-volume",
                        strf("volume group %s (UUID %s)%s %s%s%s; it may hold data and was not touched",
                                        p->vg, strempty(ours->vg_uuid),
                                        foreign ? ", made on another machine," : "", lack,
                                        absent[0] ? "; missing serial " : "", absent));
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

        bool unfinished = vg_has_tag(ours->vg_tags, TAG_INCOMPLETE) || ours->vg_volumes == 0,
             foreign = of_another_machine(ours, wish);
        if (unfinished && !foreign && ours->vg_volumes <= 1) {
                p->action = SCRATCH_REBUILD;
                p->vg_missing = ours->vg_missing > 0;
                return 0;
        }
        if (unfinished || ours->vg_missing > 0)
                return plan_partial(ours, absent, foreign, wish, p);
        return plan_whole(ours, members, wish, p);
}

/* No disk is left to work with. */
static int plan_nothing(size_t n, const ScratchWish *wish, ScratchPlan *p) {
        if (!wish->required && n == 0) {
                p->action = SCRATCH_NOTHING;
                return 0;
        }
        if (!p->message)
                return fail(p, "scratch.no-disks",
                                strf("no local NVMe disk was found%s%s",
                                                wish->left_out ? "; left alone, as scratch.models does not name the model: "
                                                               : "",
                                                strempty(wish->left_out)));
        return fail(p, n > 0 ? p->passed : "scratch.no-disks",
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
                classes[i] = disk_classify(&facts[i], record, wish);
                if (!disk_class_is_bad(classes[i]))
                        p.use[p.n_use++] = i;
        }

        r = plan_usable(facts, n, classes, record, wish, &p);
        if (r < 0)
                return r;
        *ret = p;
        p = (ScratchPlan) {};
        return 0;
}
