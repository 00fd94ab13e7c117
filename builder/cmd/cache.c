/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild cache: what the store holds, and making it smaller. */

#include "cmd/cache-carry.h"
#include "cmd/cache-push.h"
#include "cmd/verb.h"
#include "store/contents.h"
#include "store/verify.h"

#include "shared/duration.h"
#include "shared/json-util.h"
#include "shared/size.h"
#include "shared/suggest.h"
#include "shared/time-util.h"

#include <ctype.h>
#include <time.h>

enum { OPT_MAX_AGE = OPT_VERB, OPT_MAX_SIZE, OPT_DRY_RUN, OPT_DOWNLOADS, OPT_PASSPHRASE, OPT_JSON };

typedef struct CacheOptions {
        uint64_t max_age, max_size; /* seconds, bytes */
        bool prune, verify, push, dry_run, json;
        PushOptions pushed;
} CacheOptions;

typedef struct Unit {
        char letter;
        uint64_t seconds;
} Unit;

static const Unit ages[] = {
        { 's', 1 },
        { 'm', 60 },
        { 'h', 3600 },
        { 'd', 86400 },
        { 'w', 604800 },
};

/* "30d". Without a unit nobody knows what was meant, and seconds would empty the store. */
static int parse_age(const char *text, uint64_t *ret) {
        unsigned long long value;
        char *end;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno == 0 && isdigit((unsigned char) text[0]) && end[0] != '\0' && end[1] == '\0')
                for (size_t i = 0; i < ELEMENTSOF(ages); i++) {
                        if (end[0] != ages[i].letter || value > UINT64_MAX / ages[i].seconds)
                                continue;

                        *ret = value * ages[i].seconds;
                        return 0;
                }

        return log_error_return(-EINVAL,
                        "--max-age=%s: a number with one of the units s m h d w, such as 30d",
                        text);
}

static void print_age(int64_t used) {
        long long age = MAX((long long) time(NULL) - (long long) used, 0);

        for (size_t unit = 3; unit > 0; unit--) { /* up to days */
                long long n = age / (long long) ages[unit].seconds;

                if (n > 0) {
                        printf("%5lld%c", n, ages[unit].letter);
                        return;
                }
        }
        printf("%5llds", age);
}

static int usage_json(const StoreUsage *u, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (json_set_fields(o, JSON_INT("layers", u->layers),
                            JSON_INT("layer_bytes", u->layer_bytes), JSON_INT("blobs", u->blobs),
                            JSON_INT("blob_bytes", u->blob_bytes),
                            JSON_INT("scratch_bytes", u->scratch_bytes)) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

static int entry_json(const StoreEntry *entry, json_object *list) {
        json_object *o;
        int r;

        r = json_append_object(list, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("digest", entry->digest),
                        JSON_STRING("kind", entry->blob ? "blob" : "layer"),
                        JSON_STRING("what", entry->what), JSON_INT("bytes", entry->bytes),
                        JSON_INT("used", entry->used));
}

/* What one recipe's layers take, and how many. */
typedef struct RecipeSum {
        char *name;
        uint64_t bytes, layers;
        int64_t used;
} RecipeSum;

typedef struct RecipeSums {
        RecipeSum *sums;
        size_t n;
} RecipeSums;

static void sums_done(RecipeSums *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->sums[i].name);
        free(l->sums);
}

static int sums_add(RecipeSums *l, const StoreEntry *entry) {
        size_t length = strcspn(entry->what, " "), i = 0; /* "RECIPE STAGE" */
        RecipeSum *s;

        while (i < l->n && (strlen(l->sums[i].name) != length ||
                                           strncmp(l->sums[i].name, entry->what, length) != 0))
                i++;
        if (i == l->n) {
                s = reallocarray(l->sums, l->n + 1, sizeof(*s));
                if (!s)
                        return -ENOMEM;
                l->sums = s;
                s[l->n] = (RecipeSum) { .name = strndup(entry->what, length) };
                if (!s[l->n].name)
                        return -ENOMEM;
                l->n++;
        }
        s = l->sums + i;
        s->bytes += entry->bytes;
        s->layers++;
        s->used = MAX(s->used, entry->used);
        return 0;
}

static int by_size(const void *a, const void *b) {
        const RecipeSum *x = a, *y = b;

        if (x->bytes != y->bytes)
                return x->bytes > y->bytes ? -1 : 1;
        return strcmp(x->name, y->name);
}

/* By the recipe that made each layer; others may use it, too. The largest first. */
static int sums_fill(RecipeSums *l, const StoreEntry *entries, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!entries[i].blob && sums_add(l, entries + i) < 0)
                        return -ENOMEM;
        if (l->n > 1)
                qsort(l->sums, l->n, sizeof(*l->sums), by_size);
        return 0;
}

static void print_sums(const RecipeSums *l) {
        printf("\n%-28s  %6s  %10s  %6s\n", "MADE BY", "LAYERS", "SIZE", "USED");
        for (size_t i = 0; i < l->n; i++) {
                const RecipeSum *s = l->sums + i;
                char size[FORMAT_BYTES_MAX];

                printf("%-28s  %6llu  %10s  ", isempty(s->name) ? "(unknown)" : s->name,
                                (unsigned long long) s->layers, format_bytes(size, s->bytes));
                print_age(s->used);
                putchar('\n');
        }
}

static int sums_json(const RecipeSums *l, json_object *o) {
        json_object *list = NULL;

        if (json_add_array(o, "recipes", &list) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < l->n; i++) {
                json_object *item = NULL;

                if (json_append_object(list, &item) < 0 ||
                                json_set_fields(item, JSON_STRING("recipe", l->sums[i].name),
                                                JSON_INT("layers", l->sums[i].layers),
                                                JSON_INT("bytes", l->sums[i].bytes),
                                                JSON_INT("used", l->sums[i].used)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int list_json(const StoreEntry *entries, size_t n, const StoreUsage *usage) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_(sums_done) RecipeSums sums = {};
        json_object *layers;

        if (usage_json(usage, &o) < 0 || sums_fill(&sums, entries, n) < 0 ||
                        sums_json(&sums, o) < 0)
                return -ENOMEM;
        layers = json_object_new_array();
        if (json_set(o, "entries", layers) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (entry_json(entries + i, layers) < 0)
                        return -ENOMEM;

        json_print(o, 0);
        return 0;
}

static void list_table(
                const Context *ctx, const StoreEntry *entries, size_t n, const StoreUsage *usage) {
        char layers[FORMAT_BYTES_MAX], blobs[FORMAT_BYTES_MAX], scratch[FORMAT_BYTES_MAX];
        _cleanup_(sums_done) RecipeSums sums = {};

        printf("%-12s  %10s  %6s  %s\n", "LAYER", "SIZE", "USED", "WHAT");
        for (size_t i = n; i-- > 0;) { /* the last used first */
                char size[FORMAT_BYTES_MAX];

                if (entries[i].blob)
                        continue;
                printf("%.12s  %10s  ", entries[i].digest, format_bytes(size, entries[i].bytes));
                print_age(entries[i].used);
                printf("  %s\n", entries[i].what);
        }

        if (sums_fill(&sums, entries, n) >= 0)
                print_sums(&sums);
        printf("\n%s: %llu layers %s, %llu downloads %s, scratch %s\n", store_path(ctx->store),
                        (unsigned long long) usage->layers,
                        format_bytes(layers, usage->layer_bytes), (unsigned long long) usage->blobs,
                        format_bytes(blobs, usage->blob_bytes),
                        format_bytes(scratch, usage->scratch_bytes));
}

static int list(Context *ctx, const CacheOptions *o) {
        StoreEntry *entries;
        StoreUsage usage;
        size_t n;
        int r;

        r = store_usage(ctx->store, &usage);
        if (r < 0)
                return log_error_errno(r, "Cannot read the store %s", store_path(ctx->store));
        r = store_list(ctx->store, &entries, &n);
        if (r < 0)
                return log_error_errno(r, "Cannot read the store %s", store_path(ctx->store));

        if (!o->json)
                list_table(ctx, entries, n, &usage);
        else if (list_json(entries, n, &usage) < 0)
                r = log_oom();
        store_entries_free(entries, n);
        return r;
}

static int prune_json(const StoreUsage *usage, uint64_t freed, bool dry_run) {
        _cleanup_json_ json_object *o = NULL;

        if (usage_json(usage, &o) < 0 || json_set_fields(o, JSON_INT("freed_bytes", freed),
                                                         JSON_BOOL("dry_run", dry_run)) < 0)
                return log_oom();
        json_print(o, 0);
        return 0;
}

static int prune(Context *ctx, const CacheOptions *o) {
        char size[FORMAT_BYTES_MAX];
        StoreUsage usage;
        uint64_t freed;
        int r;

        r = store_prune(ctx->store, o->max_age, o->max_size, o->dry_run, &freed);
        if (r < 0)
                return log_error_errno(r, "Cannot prune the store %s", store_path(ctx->store));
        r = store_usage(ctx->store, &usage);
        if (r < 0)
                return log_error_errno(r, "Cannot prune the store %s", store_path(ctx->store));

        if (o->json)
                return prune_json(&usage, freed, o->dry_run);
        printf("%s %s\n", o->dry_run ? "Would free" : "Freed", format_bytes(size, freed));
        return 0;
}

static int verify_json(const StoreVerdict *v, double seconds) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (json_set_fields(o, JSON_INT("layers", v->layers), JSON_INT("blobs", v->blobs),
                            JSON_INT("bytes", v->bytes), JSON_INT("damaged", v->damaged),
                            JSON_INT("unknown", v->unknown), JSON_DOUBLE("seconds", seconds)) < 0)
                return log_oom();
        json_print(o, 0);
        return 0;
}

static int verify(Context *ctx, const CacheOptions *o) {
        char size[FORMAT_BYTES_MAX], took[FORMAT_DURATION_MAX];
        uint64_t started = now_usec(), usec;
        StoreVerdict v;
        int r;

        r = store_verify(ctx->store, &v);
        if (r < 0)
                return r;
        usec = now_usec() - started;
        if (o->json) {
                r = verify_json(&v, (double) usec / (double) USEC_PER_SEC);
                if (r < 0)
                        return r;
        } else {
                printf("%llu layers and %llu downloads are what they were (%s in %s), %llu damaged\n",
                                (unsigned long long) v.layers, (unsigned long long) v.blobs,
                                format_bytes(size, v.bytes), format_duration(took, usec),
                                (unsigned long long) v.damaged);
                if (v.unknown > 0)
                        printf("%llu layers of an older imgbuild had no digest to compare with, and have one now\n",
                                        (unsigned long long) v.unknown);
        }
        return v.damaged > 0 ? EXIT_FAILED : EXIT_OK;
}

static const OptionSpec options[] = {
        { "max-age", OPT_MAX_AGE, "AGE",
                        "prune: what was not used for so long goes (30d, 12h, 45m, 10s)" },
        { "max-size", OPT_MAX_SIZE, "SIZE", "prune: at most so much stays (20G, 500M)" },
        { "dry-run", OPT_DRY_RUN, NULL, "prune: only say what would go" },
        { "downloads", OPT_DOWNLOADS, NULL,
                        "push: packages, artifacts and wheels as well, which their sources may drop" },
        { "key", 'k', "FILE",
                        "push: sign what is written, by minisign's secret key, or one in a token (pkcs11:…)",
                        COMPLETE_FILE },
        { "passphrase", OPT_PASSPHRASE, "FILE",
                        "push: with the passphrase of the key, where it has one", COMPLETE_FILE },
        { "json", OPT_JSON, NULL, "one JSON object" },
        {},
};

static int take(void *values, int id, const char *value) {
        CacheOptions *o = values;

        switch (id) {
        case OPT_MAX_AGE:
                return parse_age(value, &o->max_age);
        case OPT_MAX_SIZE:
                if (parse_bytes(value, &o->max_size) >= 0 && !isdigit(value[strlen(value) - 1]))
                        return 0;
                return log_error_return(-EINVAL,
                                "--max-size=%s: a number with one of the units B K M G T, such as 20G",
                                value);
        case OPT_DRY_RUN:
                o->dry_run = true;
                return 0;
        case OPT_DOWNLOADS:
                o->pushed.downloads = true;
                return 0;
        case 'k':
                o->pushed.key = value;
                return 0;
        case OPT_PASSPHRASE:
                o->pushed.passphrase = value;
                return 0;
        default:
                o->json = true;
                return 0;
        }
}

static int no_action(const char *name) {
        char *const *actions = ARGV("list", "prune", "verify", "export", "import");
        _cleanup_free_ char *meant = suggest_text(name, actions);

        log_error("'imgbuild cache' does not know '%s'%s", name,
                        isempty(meant) ? "; it knows list, prune, verify, export, import and push"
                                       : meant);
        return EXIT_USAGE;
}

static int check(VerbCall *call) {
        const char *what = call->n_arguments > 0 ? call->arguments[0] : "list";
        CacheOptions *o = call->options;

        o->prune = streq(what, "prune");
        o->verify = streq(what, "verify");
        o->push = streq(what, "push");
        if (streq(what, "export") || streq(what, "import") || o->push) {
                if (call->n_arguments == (streq(what, "export") ? 3 : 2))
                        return 0;
                log_error("'imgbuild cache export RECIPE FILE', 'imgbuild cache import FILE', 'imgbuild cache push RECIPE'");
                return EXIT_USAGE;
        }
        if (!o->prune && !o->verify && !streq(what, "list"))
                return no_action(what);
        if (call->n_arguments > 1)
                return -EINVAL;
        if (o->prune && o->max_age == UINT64_MAX && o->max_size == UINT64_MAX) {
                log_error("'imgbuild cache prune' takes --max-age, --max-size or both: how much may stay");
                return EXIT_USAGE;
        }
        return 0;
}

static int run(VerbCall *call) {
        const CacheOptions *o = call->options;

        if (call->n_arguments == 3)
                return cache_export(call->ctx, call->arguments[1], call->arguments[2]);
        if (o->push)
                return cache_push(call->ctx, call->arguments[1], &o->pushed);
        if (call->n_arguments == 2)
                return cache_import(call->ctx, call->arguments[1]);
        return o->prune    ? prune(call->ctx, o)
               : o->verify ? verify(call->ctx, o)
                           : list(call->ctx, o);
}

const Verb verb_cache = {
        .spec = { "cache", "show, prune, verify, carry and share the store", options, "ACTION",
                        COMPLETE_CHOICES, "list prune verify export import push" },
        .usage = "[list|prune|verify|export RECIPE FILE|import FILE|push RECIPE] [OPTION…]",
        .about = "list    shows the store's layers with size and age, and the sums\n"
                 "prune   removes what was not used for long, then the oldest, until the store is small enough\n"
                 "verify  holds every layer and download against its digest; what is damaged is set aside\n"
                 "export  writes all downloads that RECIPE's locks name to FILE, which import takes on a machine without a network\n"
                 "push    writes the layers of RECIPE and of its tools to the remote store, where others take them from",
        .needs_root = true,
        .needs_store = true,
        .quiet = true,
        .wanted = "takes list, prune or verify, export RECIPE FILE, import FILE or push RECIPE",
        .options_size = sizeof(CacheOptions),
        .defaults = &(const CacheOptions) { .max_age = UINT64_MAX, .max_size = UINT64_MAX },
        .take = take,
        .check = check,
        .run = run,
};
