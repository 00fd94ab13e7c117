/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild cache: what the store holds, and making it smaller. */

#include "cmd/verb.h"
#include "store/contents.h"

#include "shared/json-util.h"
#include "shared/log.h"

#include <getopt.h>
#include <time.h>

typedef struct CacheOptions {
        uint64_t max_age, max_size;
        bool dry_run, json;
} CacheOptions;

static void help(void) {
        printf("imgbuild cache [list|prune] [OPTION…]\n\n"
               "list    shows the store's layers with size and age, and the sums\n"
               "prune   removes what was not used for long, then the oldest, until the store is small enough\n\n"
               "      --max-age=AGE       prune: what was not used for so long goes (30d, 12h, 45m, 10s)\n"
               "      --max-size=SIZE     prune: at most so much stays (20G, 500M)\n"
               "      --dry-run           prune: only say what would go\n"
               "      --json              one JSON object\n%s",
                        common_options_help);
}

/* "30d" by a table of units; the first one of the table where there is none. */
typedef struct Unit {
        char letter;
        uint64_t factor;
} Unit;

static const Unit ages[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
        { 'w', 604800 } };
static const Unit sizes[] = { { 'B', 1 }, { 'K', 1 << 10 }, { 'M', 1 << 20 }, { 'G', 1 << 30 },
        { 'T', UINT64_C(1) << 40 } };

static int parse_unit(
                const char *option, const char *text, const Unit *units, size_t n, uint64_t *ret) {
        char *end;
        unsigned long long value;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno == 0 && end > text && text[0] != '-' && (end[0] == '\0' || end[1] == '\0'))
                for (size_t i = 0; i < n; i++)
                        if ((end[0] == '\0' || end[0] == units[i].letter) &&
                                        value <= UINT64_MAX / units[i].factor) {
                                *ret = value * units[i].factor;
                                return 0;
                        }
        return log_error_errno(-EINVAL, "%s=%s: a number with one of the units %c %c %c %c %c",
                        option, text, units[0].letter, units[1].letter, units[2].letter,
                        units[3].letter, units[4].letter);
}

static void print_size(uint64_t bytes) {
        static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
        double value = (double) bytes;
        size_t unit = 0;

        for (; value >= 1000 && unit + 1 < ELEMENTSOF(units); unit++)
                value /= 1000;
        printf(unit == 0 ? "%7.0f %-2s" : "%7.1f %-2s", value, units[unit]);
}

static void print_age(int64_t used) {
        int64_t age = (int64_t) time(NULL) - used;

        for (size_t i = ELEMENTSOF(ages) - 1; i-- > 0;) /* up to days */
                if (age >= (int64_t) ages[i].factor || i == 0) {
                        printf("%5lld%c",
                                        (long long) (age < 0 ? 0 : age) /
                                                        (long long) ages[i].factor,
                                        ages[i].letter);
                        return;
                }
}

static int usage_json(const StoreUsage *u, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o || json_set_int(o, "layers", (int64_t) u->layers) < 0 ||
                        json_set_int(o, "layer_bytes", (int64_t) u->layer_bytes) < 0 ||
                        json_set_int(o, "blobs", (int64_t) u->blobs) < 0 ||
                        json_set_int(o, "blob_bytes", (int64_t) u->blob_bytes) < 0 ||
                        json_set_int(o, "scratch_bytes", (int64_t) u->scratch_bytes) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

static int list_json(const StoreEntry *entries, size_t n, const StoreUsage *usage) {
        _cleanup_json_ json_object *o = NULL;
        json_object *layers = json_object_new_array();
        int r = usage_json(usage, &o);

        if (r < 0 || !layers || json_set(o, "entries", layers) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *e = json_object_new_object();

                if (!e || json_object_array_add(layers, e) < 0 ||
                                json_set_string(e, "digest", entries[i].digest) < 0 ||
                                json_set_string(e, "kind", entries[i].blob ? "blob" : "layer") <
                                                0 ||
                                json_set_string(e, "what", entries[i].what) < 0 ||
                                json_set_int(e, "bytes", (int64_t) entries[i].bytes) < 0 ||
                                json_set_int(e, "used", entries[i].used) < 0)
                        return -ENOMEM;
        }
        printf("%s\n", json_object_to_json_string_ext(o,
                                       JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
        return 0;
}

static void list_table(
                const Context *ctx, const StoreEntry *entries, size_t n, const StoreUsage *usage) {
        printf("%-12s  %10s  %6s  %s\n", "LAYER", "SIZE", "USED", "WHAT");
        for (size_t i = n; i-- > 0;) { /* the last used first */
                if (entries[i].blob)
                        continue;
                printf("%.12s  ", entries[i].digest);
                print_size(entries[i].bytes);
                printf("  ");
                print_age(entries[i].used);
                printf("  %s\n", entries[i].what);
        }
        printf("\n%s: %llu layers ", store_path(ctx->store), (unsigned long long) usage->layers);
        print_size(usage->layer_bytes);
        printf(", %llu downloads ", (unsigned long long) usage->blobs);
        print_size(usage->blob_bytes);
        printf(", scratch ");
        print_size(usage->scratch_bytes);
        printf("\n");
}

static int list(Context *ctx, const CacheOptions *o) {
        StoreEntry *entries;
        StoreUsage usage;
        size_t n;
        int r;

        r = store_usage(ctx->store, &usage);
        if (r >= 0)
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

static int prune(Context *ctx, const CacheOptions *o) {
        _cleanup_json_ json_object *result = NULL;
        StoreUsage usage;
        uint64_t freed;
        int r;

        r = store_prune(ctx->store, o->max_age, o->max_size, o->dry_run, &freed);
        if (r >= 0)
                r = store_usage(ctx->store, &usage);
        if (r < 0)
                return log_error_errno(r, "Cannot prune the store %s", store_path(ctx->store));
        if (o->json) {
                r = usage_json(&usage, &result);
                if (r < 0 || json_set_int(result, "freed_bytes", (int64_t) freed) < 0 ||
                                json_set(result, "dry_run", json_object_new_boolean(o->dry_run)) <
                                                0)
                        return log_oom();
                printf("%s\n", json_object_to_json_string_ext(result, JSON_C_TO_STRING_PRETTY));
                return 0;
        }
        printf("%s", o->dry_run ? "Would free" : "Freed");
        print_size(freed);
        printf("\n");
        return 0;
}

int cmd_cache(int argc, char *argv[]) {
        static const struct option options[] = {
                { "max-age", required_argument, NULL, OPT_VERB },
                { "max-size", required_argument, NULL, OPT_VERB + 1 },
                { "dry-run", no_argument, NULL, OPT_VERB + 2 },
                { "json", no_argument, NULL, OPT_VERB + 3 },
                COMMON_LONG_OPTIONS,
                {},
        };
        _cleanup_common_options_ CommonOptions common = { .progress = PROGRESS_NONE };
        _cleanup_context_ Context ctx = {};
        CacheOptions o = { .max_age = UINT64_MAX, .max_size = UINT64_MAX };
        const char *what;
        int c, r = 0;

        while ((c = getopt_long(argc, argv, "j:vh", options, NULL)) >= 0) {
                switch (c) {
                case OPT_VERB:
                        r = parse_unit("--max-age", optarg, ages, ELEMENTSOF(ages), &o.max_age);
                        break;
                case OPT_VERB + 1:
                        r = parse_unit("--max-size", optarg, sizes, ELEMENTSOF(sizes), &o.max_size);
                        break;
                case OPT_VERB + 2:
                        o.dry_run = true;
                        break;
                case OPT_VERB + 3:
                        o.json = true;
                        break;
                case 'h':
                        help();
                        return EXIT_OK;
                default:
                        if (c == '?' || common_option(&common, c, optarg) <= 0)
                                return EXIT_USAGE;
                }
                if (r < 0)
                        return EXIT_USAGE;
        }
        what = optind < argc ? argv[optind] : "list";
        if (argc - optind > 1 || (!streq(what, "list") && !streq(what, "prune"))) {
                log_error("'imgbuild cache' takes list or prune; see 'imgbuild cache --help'");
                return EXIT_USAGE;
        }
        if (streq(what, "prune") && o.max_age == UINT64_MAX && o.max_size == UINT64_MAX) {
                log_error("'imgbuild cache prune' takes --max-age, --max-size or both: how much may stay");
                return EXIT_USAGE;
        }
        r = context_open(&common, &ctx);
        if (r >= 0)
                r = streq(what, "list") ? list(&ctx, &o) : prune(&ctx, &o);
        return exit_code_from_errno(r);
}
