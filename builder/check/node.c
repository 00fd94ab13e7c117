/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Node configuration against the tree, where the agent's own check cannot tell: it runs on the
 * host's kernel, and which settings the image's has, only that kernel's file says. */

#include "check/internal.h"

#include "check/kernel-text.h"
#include "shared/json-util.h"

#include <ctype.h>

#define DROPINS "etc/firstboot/conf.d"
#define DROPIN_MAX (1024 * 1024) /* bytes: what a node takes */

typedef struct Setting {
        char *name, *file; /* as written, and where */
} Setting;

typedef struct Settings {
        Setting *items;
        KernelWord *words; /* of each */
        size_t n;
} Settings;

static void settings_done(Settings *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].name);
                free(s->items[i].file);
                free(s->words[i].word);
        }
        free(s->items);
        free(s->words);
}

/* The last part that is no number: the kernel makes numbered names as it goes. As for sysctl, dots
 * separate, unless a slash came first. */
static char *word_of(const char *name) {
        const char separator = name[strcspn(name, "./")];
        const char *end = name + strlen(name), *from;

        for (;;) {
                bool number = true;

                for (from = end; from > name && from[-1] != separator; from--)
                        number = number && isdigit((unsigned char) from[-1]);
                if (!number || from <= name)
                        return strndup(from, (size_t) (end - from));
                end = from - 1;
        }
}

static int add_setting(Settings *s, const char *name, const char *file) {
        Setting *items = reallocarray(s->items, s->n + 1, sizeof(*items));
        KernelWord *words;

        if (!items)
                return -ENOMEM;
        s->items = items;
        words = reallocarray(s->words, s->n + 1, sizeof(*words));
        if (!words)
                return -ENOMEM;
        s->words = words;

        items[s->n] = (Setting) { strdup(name), strdup(file) };
        words[s->n] = (KernelWord) { .word = word_of(name) };
        s->n++;
        return items[s->n - 1].name && items[s->n - 1].file && words[s->n - 1].word ? 0 : -ENOMEM;
}

static json_object *sysctl_of(json_object *node) {
        json_object *o = json_get(json_get(node, "host"), "sysctl");

        return json_object_is_type(o, json_type_object) ? o : NULL;
}

/* The overlay that names it last, else the recipe. */
static const char *file_of(const Recipe *recipe, const char *name) {
        for (size_t i = recipe->n_overlays; i > 0; i--)
                if (json_object_object_get_ex(sysctl_of(recipe->overlays[i - 1]->node), name, NULL))
                        return recipe->overlays[i - 1]->file;
        return recipe->path;
}

static int add_baked(Settings *s, const Recipe *recipe) {
        json_object *o = sysctl_of(recipe->node);

        if (!o)
                return 0;
        json_object_object_foreach (o, name, value) {
                int r = value ? add_setting(s, name, file_of(recipe, name)) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* What is faulty in such a file, the agent's own check tells. */
static int add_dropin(Settings *s, const Tree *t, const char *path) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *text = NULL, *shown = strf("/%s", path);
        JsonError error;
        json_object *map;
        int r;

        if (!shown)
                return -ENOMEM;
        r = tree_read(t, path, DROPIN_MAX, &text);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = json_parse(text, strlen(text), &error, &o);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        map = sysctl_of(o);
        if (!map)
                return 0;
        json_object_object_foreach (map, name, value) {
                r = value ? add_setting(s, name, shown) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int collect(const Tree *t, Settings *s) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = t->recipe ? add_baked(s, t->recipe) : 0;
        if (r < 0)
                return r;
        r = tree_list(t, DROPINS, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = strf(DROPINS "/%s", *name);

                if (!path)
                        return -ENOMEM;
                r = endswith(*name, ".json") ? add_dropin(s, t, path) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int judge(const Tree *t, const char *kernel, Settings *s, const char *rule, Findings *f) {
        int r;

        for (size_t i = 0; i < s->n; i++)
                s->words[i].found = false;
        r = kernel_find_words(t, kernel, s->words, s->n);
        if (r == -ENOMEM)
                return r;
        if (r == -ENOENT)
                return 0; /* kernel.present's */
        if (r < 0)
                return finding_add(f, rule,
                                strf("/boot/vmlinuz-%s is no kernel that could be looked into, so nobody knows whether it has %s (host.sysctl in %s)",
                                                kernel, s->items[0].name, s->items[0].file),
                                strdup("see that the kernel's package is whole, or set it in a file of /etc/sysctl.d"));

        for (size_t i = 0; i < s->n; i++) {
                if (s->words[i].found)
                        continue;
                r = finding_add(f, rule,
                                strf("%s: host.sysctl: kernel %s has no setting %s: \"%s\" is neither in it nor in its modules",
                                                s->items[i].file, kernel, s->items[i].name,
                                                s->words[i].word),
                                strdup("correct its name, or take it out: each node of this image would fail with host.sysctl"));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_node_sysctl(const Tree *t, const char *rule, Findings *f) {
        _cleanup_(settings_done) Settings s = {};
        int r;

        r = collect(t, &s);
        if (r < 0 || s.n == 0)
                return r;
        STRV_FOREACH (kernel, t->kernels) {
                r = judge(t, *kernel, &s, rule, f);
                if (r < 0)
                        return r;
        }
        return 0;
}
