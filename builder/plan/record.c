/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Why a stage runs again. A digest only says that something is another; so the store keeps, for
 * each recipe, what its stages were made of when their layers were last there, and the plan is held
 * against that. */

#include "plan/internal.h"

#include "shared/file-util.h"

#define RECORD_SIZE_MAX (16 * 1024 * 1024)
#define CHANGES_SHOWN 3 /* packages by name; of more, how many */

/* plans/DIGEST.json, by the recipe's absolute path. */
static char *record_path(Store *store, const Plan *p) {
        _cleanup_hash_free_ Hash *h = NULL;
        Digest digest;

        if (hash_new(&h) < 0)
                return NULL;
        hash_field(h, "recipe", p->recipe->path);
        hash_end(h, digest);
        return strf("%s/plans/%.32s.json", store_path(store), digest);
}

int plan_record_read(Store *store, const Plan *p, json_object **ret) {
        _cleanup_free_ char *path = record_path(store, p);
        JsonError error;
        int r;

        if (!path)
                return -ENOMEM;
        r = json_load(path, RECORD_SIZE_MAX, &error, ret);
        if (r == -ENOMEM)
                return r;
        if (r < 0) /* not there, or not whole: a remark is not worth a failure */
                *ret = NULL;
        return 0;
}

int plan_record_write(Store *store, const Plan *p, const bool *missing, size_t last) {
        _cleanup_json_ json_object *old = NULL, *o = json_object_new_object();
        _cleanup_free_ char *path = record_path(store, p);
        int r;

        if (!o || !path)
                return -ENOMEM;
        r = plan_record_read(store, p, &old);
        if (r < 0)
                return r;
        for (size_t i = 0; i < p->n_stages; i++) {
                const Stage *s = p->stages + i;
                json_object *entry = json_object_get(json_get(old, s->id));

                if (i <= last && !missing[i]) {
                        json_object_put(entry);
                        entry = json_object_new_object();
                        if (json_set_fields(entry, JSON_STRING("digest", s->digest),
                                            JSON_TAKE("inputs", json_object_get(s->inputs))) < 0) {
                                json_object_put(entry);
                                return -ENOMEM;
                        }
                }
                if (entry && json_set(o, s->id, entry) < 0)
                        return -ENOMEM;
        }
        return json_save(path, o, 0600);
}

/* What a changed input is called; where it has two forms, "A → B" is worth showing. */
static const struct {
        const char *label, *name;
        bool values;
} names[] = {
        { "script", "its script", false },
        { "source", "its source folder", false },
        { "files", "its files", false },
        { "file", "its files", false },
        { "early", "its files", false },
        { "modes", "its files' modes", false },
        { "node", "node configuration", false },
        { "kernel", "kernel", true },
        { "release", "release", true },
        { "arch", "architecture", true },
        { "enable", "the enabled units", false },
        { "disable", "the disabled units", false },
        { "mask", "the masked units", false },
        { "dpkg", "dpkg's options", false },
        { "without", "what is taken for installed", false },
        { "network", "whether its script has the network", false },
        { "secrets", "which secrets its script gets", false },
        { "artifact", "its artifacts", false },
        { "sha256", "an artifact's content", false },
        { "install", "how an artifact is installed", false },
        { "path", "where an artifact goes", false },
        { "repository", "its repositories", false },
        { "uri", "its repositories", false },
        { "suite", "its repositories", false },
        { "components", "its repositories", false },
        { "fingerprint", "its repositories", false },
        { "key", "its repositories", false },
        { "image", "the base image", false },
        { "root", "which of the image's systems it is", false },
        { "maker", "mmdebstrap, dpkg, apt or tar of the tools", false },
        { "epoch", "the lock's date", false },
        { "format", "imgbuild's own way to make it", false },
        { "sandbox", "imgbuild's sandbox", false },
};

static int add_change(char ***l, const char *label, const char *from, const char *to) {
        const char *name = label; /* a word that says something by itself */

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(names[i].label, label)) {
                        if (names[i].values && !isempty(from) && !isempty(to))
                                return strv_extendf(l, "%s %s → %s", names[i].name, from, to);
                        name = names[i].name;
                }

        _cleanup_free_ char *text = strf("%s changed", name);

        if (!text)
                return -ENOMEM;
        return strv_contains(*l, text) ? 0 : strv_extend(l, text);
}

/* "VERSION SHA256" */
static int version_length(const char *value) {
        return (int) strcspn(value, " ");
}

static int add_package(char ***l, const char *name, const char *from, const char *to) {
        if (!from)
                return strv_extendf(l, "+%s", name);
        if (!to)
                return strv_extendf(l, "-%s", name);
        if (version_length(from) == version_length(to) &&
                        strncmp(from, to, (size_t) version_length(from)) == 0)
                return strv_extendf(l, "%s has other bytes", name);
        return strv_extendf(l, "%s %.*s → %.*s", name, version_length(from), from,
                        version_length(to), to);
}

typedef struct Changes {
        char **packages, **others;
} Changes;

static void changes_done(Changes *c) {
        strv_free(c->packages);
        strv_free(c->others);
}

static int compare(Changes *c, const char *label, const char *from, const char *to) {
        const char *package = startswith(label, PLAN_PACKAGE);

        if (streq_ptr(from, to))
                return 0;
        return package ? add_package(&c->packages, package, from, to)
                       : add_change(&c->others, label, from, to);
}

static int find_changes(Changes *c, json_object *before, json_object *now) {
        int r;

        json_object_object_foreach (before, label, value) {
                r = compare(c, label, json_object_get_string(value), json_get_string(now, label));
                if (r < 0)
                        return r;
        }
        json_object_object_foreach (now, key, unused) {
                (void) unused;
                if (json_get(before, key))
                        continue;
                r = compare(c, key, NULL, json_get_string(now, key));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* "+a, b 1 → 2, its script changed"; "" where nothing is another. */
static char *changes_text(const Changes *c) {
        _cleanup_strv_free_ char **l = NULL;
        size_t n = strv_length(c->packages);

        for (size_t i = 0; i < n && i < CHANGES_SHOWN; i++)
                if (strv_extend(&l, c->packages[i]) < 0)
                        return NULL;
        if (n > CHANGES_SHOWN && strv_extendf(&l, "and %zu packages more", n - CHANGES_SHOWN) < 0)
                return NULL;
        if (strv_extend_strv(&l, c->others) < 0)
                return NULL;
        return strv_join(l, ", ");
}

/* The lowest stage below that is another one: all above it are made again because of it. */
static char *why_below(const Plan *p, size_t i, json_object *record) {
        for (size_t j = 0; j < i; j++) {
                json_object *below = json_get(record, p->stages[j].id);

                if (!plan_stage_sees(p, i, j))
                        continue;
                if (!below)
                        return strf("%s is new below it", p->stages[j].id);
                if (!streq_ptr(json_get_string(below, "digest"), p->stages[j].digest))
                        return strf("made on %s, which changed", p->stages[j].id);
        }
        return strdup("a stage below it is gone from the recipe");
}

char *plan_why(const Plan *p, size_t i, json_object *record) {
        json_object *before = json_get(record, p->stages[i].id);
        _cleanup_(changes_done) Changes c = {};
        _cleanup_free_ char *own = NULL;

        if (!record)
                return strdup("first build");
        if (!before)
                return strdup("new in the recipe");
        if (streq_ptr(json_get_string(before, "digest"), p->stages[i].digest))
                return strdup("its layer is gone from the store");

        if (find_changes(&c, json_get(before, "inputs"), p->stages[i].inputs) < 0)
                return NULL;
        own = changes_text(&c);
        return !own || own[0] ? TAKE_PTR(own) : why_below(p, i, record);
}
