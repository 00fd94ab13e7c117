/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A walk through requirements, depth first: each overlay gets its place after those it requires. */

#include "recipe/order.h"
#include "common/data-folder.h"
#include "shared/file-util.h"
#include "shared/suggest.h"

#include <unistd.h>

typedef enum Mark { MARK_OPEN, MARK_DONE } Mark;

/* An overlay that has been looked for, found or not. */
typedef struct Node {
        char *name;
        char *file;       /* its overlay.json as messages show it; NULL where it cannot be used */
        Overlay *overlay; /* given away once it has its place */
        char **requires, **conflicts;
        bool missing;       /* no folder has it */
        size_t required_by; /* index of the node that brought it in; SIZE_MAX: the recipe */
        Mark mark;
} Node;

typedef struct Ordering {
        Problems *problems;
        const OverlayContext *ctx;
        char *const *removed;
        Node *nodes;
        size_t n_nodes;
        Overlay **order;
        size_t n_order;
} Ordering;

static void ordering_done(Ordering *o) {
        for (size_t i = 0; i < o->n_nodes; i++) {
                Node *n = &o->nodes[i];
                free(n->name);
                free(n->file);
                overlay_free(n->overlay);
                strv_free(n->requires);
                strv_free(n->conflicts);
        }
        free(o->nodes);
        overlays_free(o->order, o->n_order);
}

static Node *find_node(Ordering *o, const char *name) {
        for (size_t i = 0; i < o->n_nodes; i++)
                if (streq(o->nodes[i].name, name))
                        return &o->nodes[i];
        return NULL;
}

/* The folder of imgbuild's own overlays, where it has one of this name. */
static char *find_shipped(const char *name) {
        _cleanup_free_ char *data = data_folder(),
                            *folder = data ? path_join(data, "overlays") : NULL,
                            *file = folder ? strf("%s/%s/overlay.json", folder, name) : NULL;

        return file && access(file, F_OK) >= 0 ? TAKE_PTR(folder) : NULL;
}

static int report_missing(Ordering *o, const OverlayRef *ref) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *suggestion = NULL, *where = NULL, *shipped = NULL;

        if (overlay_names(o->ctx->dirs, &names) < 0)
                return -ENOMEM;
        suggestion = suggest_text(ref->name, names);
        where = strv_join(o->ctx->dirs, " or ");
        if (!suggestion || !where)
                return -ENOMEM;
        /* One remedy, told once, however many overlays the recipe names. */
        if (strv_length(names) == 0) {
                problems_add(o->problems, ref->file, NULL,
                                "there are no overlays in %s; --overlays=FOLDER says where they are",
                                isempty(where) ? "any folder" : where);
                return 0;
        }
        shipped = find_shipped(ref->name);
        if (shipped)
                problems_add(o->problems, ref->file, ref->path,
                                "there is no overlay \"%s\" in %s; imgbuild brings one: --overlays=%s beside your own, or \"extends\": \"imgbuild:NAME\"",
                                ref->name, isempty(where) ? "any folder" : where, shipped);
        else
                problems_add(o->problems, ref->file, ref->path,
                                "there is no overlay \"%s\" in %s%s", ref->name,
                                isempty(where) ? "any folder" : where, suggestion);
        return 0;
}

/* "a → b → c → a" for a requirement of `from` on `to`, which is on the way to `from`. */
static int report_cycle(Ordering *o, const OverlayRef *ref, size_t from, size_t to) {
        _cleanup_free_ char *chain = strdup(o->nodes[to].name);

        for (size_t i = from; chain; i = o->nodes[i].required_by) {
                char *longer = strf("%s → %s", o->nodes[i].name, chain);
                free(chain);
                chain = longer;
                if (i == to)
                        break;
        }
        if (!chain)
                return -ENOMEM;
        problems_add(o->problems, ref->file, ref->path,
                        "overlays require each other in a circle: %s", chain);
        return 0;
}

static int visit(Ordering *o, const OverlayRef *ref, size_t required_by);

static int visit_requires(Ordering *o, size_t index) {
        for (size_t i = 0; o->nodes[index].requires && o->nodes[index].requires[i]; i++) {
                _cleanup_free_ char *path = strf("$.requires[%zu]", i);
                OverlayRef ref = { .name = o->nodes[index].requires[i],
                        .file = o->nodes[index].file,
                        .path = path };
                int r = path ? visit(o, &ref, index) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int visit_found(Ordering *o, size_t index) {
        Node *node = &o->nodes[index];

        node->requires = strv_copy(node->overlay->requires);
        node->conflicts = strv_copy(node->overlay->conflicts);
        if (!node->requires || !node->conflicts)
                return -ENOMEM;
        return visit_requires(o, index);
}

static int visit(Ordering *o, const OverlayRef *ref, size_t required_by) {
        Node *node = find_node(o, ref->name), *grown;
        size_t index;
        int r;

        if (node && node->mark == MARK_OPEN)
                return report_cycle(o, ref, required_by, (size_t) (node - o->nodes));
        if (node)
                return node->missing ? report_missing(o, ref) : 0;

        grown = reallocarray(o->nodes, o->n_nodes + 1, sizeof(Node));
        if (!grown)
                return -ENOMEM;
        o->nodes = grown;
        index = o->n_nodes;
        node = &o->nodes[index];
        *node = (Node) { .required_by = required_by, .mark = MARK_OPEN, .name = strdup(ref->name) };
        if (!node->name)
                return -ENOMEM;
        o->n_nodes++;

        r = overlay_load(o->problems, o->ctx, ref->name, &node->overlay, &node->file);
        if (r == -ENOENT) {
                node->missing = true;
                r = report_missing(o, ref);
        } else if (r == 0)
                r = visit_found(o, index);
        if (r == -ENOMEM)
                return r;

        node = &o->nodes[index]; /* visiting others may have moved it */
        node->mark = MARK_DONE;
        if (!node->overlay)
                return 0;
        if (required_by != SIZE_MAX && strv_contains(o->removed, ref->name))
                problems_add(o->problems, ref->file, ref->path,
                                "requires overlay \"%s\", which the recipe takes away; take \"%s\" away too",
                                ref->name, o->nodes[required_by].name);

        Overlay **order = reallocarray(o->order, o->n_order + 1, sizeof(Overlay *));
        if (!order)
                return -ENOMEM;
        o->order = order;
        o->order[o->n_order++] = TAKE_PTR(node->overlay);
        return 0;
}

/* ", which x requires" for one that the recipe does not name itself. */
static char *origin(const Ordering *o, const Node *n) {
        return n->required_by == SIZE_MAX
                               ? strdup("")
                               : strf(", which \"%s\" requires", o->nodes[n->required_by].name);
}

static int check_conflicts(Ordering *o) {
        for (size_t i = 0; i < o->n_nodes; i++) {
                const Node *n = &o->nodes[i];

                for (size_t k = 0; n->conflicts && n->conflicts[k]; k++) {
                        Node *other = find_node(o, n->conflicts[k]);
                        _cleanup_free_ char *path = strf("$.conflicts[%zu]", k), *by = NULL,
                                            *by_other = NULL;

                        if (!other)
                                continue;
                        /* Where both sides say it, the first one's word is enough. */
                        if (other < n && strv_contains(other->conflicts, n->name))
                                continue;
                        by = origin(o, n);
                        by_other = origin(o, other);
                        if (!path || !by || !by_other)
                                return -ENOMEM;
                        if (other == n)
                                problems_add(o->problems, n->file, path,
                                                "an overlay cannot conflict with itself");
                        else
                                problems_add(o->problems, n->file, path,
                                                "\"%s\"%s cannot be in one image with \"%s\"%s; leave one out",
                                                n->name, by, other->name, by_other);
                }
        }
        return 0;
}

static int add_need(Overlay *overlay, const char *name) {
        return strv_contains(overlay->needs, name) ? 0 : strv_extend(&overlay->needs, name);
}

/* What it requires has its place, and its own needs, already. */
static int fill_needs(const Ordering *o, Overlay *overlay) {
        STRV_FOREACH (name, overlay->requires) {
                int r = add_need(overlay, *name);

                if (r < 0)
                        return r;
                for (size_t i = 0; i < o->n_order; i++) {
                        if (!streq(o->order[i]->name, *name))
                                continue;
                        STRV_FOREACH (need, o->order[i]->needs) {
                                r = add_need(overlay, *need);
                                if (r < 0)
                                        return r;
                        }
                }
        }
        return 0;
}

int order_overlays(Problems *p, const OverlayContext *ctx, const OverlayRef *named, size_t n_named,
                char *const *removed, Overlay ***ret, size_t *ret_n) {
        _cleanup_(ordering_done) Ordering o = { .problems = p, .ctx = ctx, .removed = removed };
        int r;

        for (size_t i = 0; i < n_named; i++) {
                r = visit(&o, &named[i], SIZE_MAX);
                if (r < 0)
                        return r;
        }
        r = check_conflicts(&o);
        if (r < 0)
                return r;
        for (size_t i = 0; i < o.n_order; i++) {
                r = fill_needs(&o, o.order[i]);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(o.order);
        *ret_n = o.n_order;
        o.n_order = 0;
        return 0;
}
