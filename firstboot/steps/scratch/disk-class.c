/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A disk is blank only if nothing at all was found on it, or the configuration names its serial;
 * whatever is not known to be ours is somebody's. */

#include "steps/scratch/disk-class.h"

void disk_facts_done(DiskFacts *f) {
        free(f->labelled);
        free(f->vg);
        free(f->vg_tags);
        free(f->vg_uuid);
        free(f->holder);
}

bool vg_has_tag(const char *tags, const char *tag) {
        _cleanup_strv_free_ char **l = strv_split(strempty(tags), ",");

        return strv_contains(l, tag);
}

/* Nothing but remains of something whose beginning is lost. */
static bool remains_only(const DiskFacts *f) {
        for (int i = 0; i < f->n_signatures; i++)
                if (!f->signatures[i].remains)
                        return false;
        return f->n_signatures > 0;
}

/* Power went while LVM wrote to a disk that had been found empty: its label is not there yet, or
 * the group that the label speaks of is on no disk yet. */
static bool is_half_made(const DiskFacts *f, const ScratchRecord *record) {
        return record->unfinished && strv_contains(record->serials, f->disk->serial) &&
               f->n_signatures == 1 && (f->signatures[0].remains || f->vg_lost) &&
               streq(f->signatures[0].type, "LVM2_member");
}

/* Of a disk that holds nothing of ours and that nobody uses. */
static DiskClass classify_unused(
                const DiskFacts *f, const ScratchRecord *record, const ScratchWish *wish) {
        bool nameless = f->n_signatures == 0 || remains_only(f);

        if (nameless && strv_contains(wish->claim, f->disk->serial))
                return DISK_BLANK;
        if (is_half_made(f, record))
                return DISK_BLANK;
        if (f->n_signatures > 0)
                return DISK_FOREIGN;
        return f->has_data ? DISK_DATA : DISK_BLANK;
}

DiskClass disk_classify(const DiskFacts *f, const ScratchRecord *record, const ScratchWish *wish) {
        bool lvm_only = f->n_signatures == 1 && streq(f->signatures[0].type, "LVM2_member") &&
                        !f->signatures[0].remains;

        if (f->probe_error < 0)
                return DISK_UNREADABLE;
        if (f->disk->twice)
                return DISK_TWICE;
        if (lvm_only && f->vg && vg_has_tag(f->vg_tags, TAG_OURS))
                return DISK_OURS;
        if (f->labelled)
                return DISK_LABELLED;
        if (f->busy)
                return DISK_IN_USE;
        if (lvm_only && f->orphan && !f->holder && strv_contains(record->serials, f->disk->serial))
                return DISK_ORPHAN;
        if (f->n_signatures == 0 && f->holder)
                return DISK_IN_USE;
        return classify_unused(f, record, wish);
}

bool disk_class_is_bad(DiskClass k) {
        return k >= DISK_FOREIGN;
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
                                quote, s->label, quote,
                                f->vg_lost ? " of a volume group that no disk knows"
                                : member   ? " of volume group "
                                           : "",
                                member ? f->vg : "");
                if (r < 0)
                        return NULL;
        }
        return strv_join(l, " and ");
}

/* By whom, and what he uses; NULL on out of memory. */
static char *describe_use(const DiskFacts *f) {
        const char *by = f->holder ? f->holder : "a file system or a program";
        _cleanup_free_ char *what = describe_signatures(f);

        if (!what)
                return NULL;
        return what[0] ? strf("%s, in use by %s", what, by) : strf("in use by %s", by);
}

/* What the class says of it; NULL on out of memory. */
static char *describe_content(const DiskFacts *f, DiskClass k) {
        switch (k) {
        case DISK_UNREADABLE:
                return strf("cannot be read: %s", strerror(-f->probe_error));
        case DISK_IN_USE:
                return describe_use(f);
        case DISK_TWICE:
                return strf("another disk has the same identity, %s", f->disk->wwid);
        case DISK_DATA:
                return strf("no signature, but data at byte %llu", (unsigned long long) f->data_at);
        default:
                return describe_signatures(f);
        }
}

char *disk_describe(const DiskFacts *f, DiskClass k) {
        _cleanup_free_ char *what = describe_content(f, k);

        return what ? strf("%s (serial %s, %.1f GB): %s", f->disk->path, f->disk->serial,
                                      (double) f->disk->bytes / 1e9, what)
                    : NULL;
}
