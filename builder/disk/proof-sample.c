/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree's side of the proof. A child walks the merged tree once and chooses; what it found
 * comes back as a JSON file in scratch. The choice depends on the paths' names alone, so two hosts
 * prove the same files. */

#include "disk/proof-sample.h"
#include "disk/walk.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <sys/xattr.h>

#define RIGHT_MAX 65536 /* bytes; the kernel's own limit */
#define SAMPLES_FILE_MAX (16 * 1024 * 1024)

void samples_done(Samples *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->samples[i].path);
                free(s->samples[i].target);
                free(s->samples[i].rights);
        }
        free(s->samples);
        *s = (Samples) {};
}

const char *const *sample_rights(const Recipe *recipe) {
        static const char *const all[] = { "security.capability", "system.posix_acl_access",
                "system.posix_acl_default", NULL };
        static const char *const xfs[] = { "security.capability", NULL };

        return streq_ptr(recipe->disk.filesystem, "xfs") ? xfs : all;
}

int sample_add_right(char **text, const char *name, const void *value, size_t size) {
        size_t before = *text ? strlen(*text) : 0, length = strlen(name);
        char *grown = realloc(*text, before + length + 2 * size + 3), *at;

        if (!grown)
                return -ENOMEM;
        *text = grown;
        at = grown + before + sprintf(grown + before, "%s=", name);
        for (size_t i = 0; i < size; i++)
                at += sprintf(at, "%02x", ((const unsigned char *) value)[i]);
        sprintf(at, " ");
        return 0;
}

/* FNV-1a and a final mix (both of public domain), so that neighbours in the tree are
 * none in the order. */
uint64_t sample_rank(const char *path) {
        uint64_t h = UINT64_C(14695981039346656037);

        for (; *path; path++)
                h = (h ^ (unsigned char) *path) * UINT64_C(1099511628211);
        h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
        h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
        return h ^ (h >> 33);
}

typedef struct Ranked {
        uint64_t rank;
        char *path;
} Ranked;

/* What the walk has chosen so far. */
typedef struct Choice {
        Ranked ranked[PROOF_SAMPLE]; /* those of the smallest ranks */
        size_t n, highest;           /* index of the highest rank among them, once all are taken */
        char **always;               /* besides these, whatever their ranks */
        char *const *left_out;
        const char *const *rights;
} Choice;

static void choice_done(Choice *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->ranked[i].path);
        strv_free(c->always);
}

static int choose(Choice *c, const char *path) {
        uint64_t rank = sample_rank(path);
        char *copy;
        Ranked *slot;

        if (c->n == PROOF_SAMPLE && rank >= c->ranked[c->highest].rank)
                return 0;
        copy = strdup(path);
        if (!copy)
                return -ENOMEM;

        if (c->n < PROOF_SAMPLE)
                slot = c->ranked + c->n++;
        else {
                slot = c->ranked + c->highest;
                free(slot->path);
        }
        *slot = (Ranked) { rank, copy };

        if (c->n == PROOF_SAMPLE)
                for (size_t i = c->highest = 0; i < c->n; i++)
                        if (c->ranked[i].rank > c->ranked[c->highest].rank)
                                c->highest = i;
        return 0;
}

/* What gives more rights to whoever runs it, or to somebody by name. */
static bool carries_rights(const FTSENT *e, const char *const *rights) {
        mode_t mode = e->fts_statp->st_mode;

        if (S_ISREG(mode) && (mode & (S_ISUID | S_ISGID)))
                return true;
        for (; *rights; rights++)
                if (lgetxattr(e->fts_accpath, *rights, NULL, 0) > 0)
                        return true;
        return false;
}

static int visit(const FTSENT *e, const char *inside, void *userdata) {
        Choice *c = userdata;
        mode_t mode = e->fts_statp->st_mode;

        if (e->fts_info == FTS_DP || !*inside || strv_contains(c->left_out, inside))
                return 0;
        if (carries_rights(e, c->rights))
                return strv_extend(&c->always, inside);
        if (S_ISREG(mode) || S_ISLNK(mode) || S_ISDIR(mode))
                return choose(c, inside);
        return 0;
}

static int describe_link(const char *path, json_object *o) {
        char target[4096];
        ssize_t n = readlink(path, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        return json_set_string(o, "target", target);
}

static int describe_content(const char *path, json_object *o) {
        Digest d;
        int r = digest_file(path, d, NULL);

        return r < 0 ? r : json_set_string(o, "sha256", d);
}

static int describe_rights(const char *path, const char *const *rights, json_object *o) {
        _cleanup_free_ char *value = malloc(RIGHT_MAX), *text = NULL;

        if (!value)
                return -ENOMEM;
        for (; *rights; rights++) {
                ssize_t n = lgetxattr(path, *rights, value, RIGHT_MAX);

                if (n > 0 && sample_add_right(&text, *rights, value, (size_t) n) < 0)
                        return -ENOMEM;
        }
        return text ? json_set_string(o, "rights", text) : 0;
}

static int describe(const char *root, const char *inside, const Plan *plan, json_object *array) {
        _cleanup_free_ char *path = path_join(root, inside);
        json_object *o = NULL;
        struct stat st;
        int r;

        if (!path)
                return -ENOMEM;
        if (lstat(path, &st) < 0)
                return log_error_errno(-errno, "The tree has no %s", inside);
        r = json_append_object(array, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("path", inside), JSON_INT("mode", st.st_mode),
                        JSON_INT("mtime", MIN((int64_t) st.st_mtim.tv_sec, plan->lock->epoch)),
                        JSON_INT("uid", st.st_uid), JSON_INT("gid", st.st_gid),
                        JSON_INT("size", S_ISREG(st.st_mode) ? st.st_size : 0));
        if (r < 0)
                return r;

        if (S_ISLNK(st.st_mode))
                r = describe_link(path, o);
        else
                r = describe_rights(path, sample_rights(plan->recipe), o);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s of the tree", inside);
        r = S_ISREG(st.st_mode) ? describe_content(path, o) : 0;
        if (r < 0)
                return log_error_errno(r, "Cannot read %s of the tree", inside);
        return 0;
}

/* All paths that the proof looks at, sorted. */
static int choose_paths(const char *root, const Plan *plan, char *const *left_out, char ***ret) {
        _cleanup_(choice_done) Choice c = {
                .left_out = left_out,
                .rights = sample_rights(plan->recipe),
        };
        int r;

        r = strv_extendf(&c.always, "/boot/vmlinuz-%s", plan->kernel);
        if (r < 0)
                return r;
        r = strv_push(&c.always, plan_initramfs(plan, plan->kernel));
        if (r < 0)
                return r;
        r = strv_extend_strv(&c.always, ARGV("/etc/os-release", "/usr/lib/os-release"));
        if (r < 0)
                return r;

        r = walk_tree(root, visit, &c);
        if (r < 0)
                return r;
        for (size_t i = 0; i < c.n; i++) {
                if (strv_contains(c.always, c.ranked[i].path))
                        continue;
                r = strv_extend(&c.always, c.ranked[i].path);
                if (r < 0)
                        return r;
        }

        strv_sort(c.always);
        *ret = TAKE_PTR(c.always);
        return 0;
}

typedef struct Take {
        const Plan *plan;
        char *const *left_out;
        const char *file;
} Take;

/* In the child that sees the tree. */
static int take(const char *root, void *userdata) {
        const Take *t = userdata;
        _cleanup_json_ json_object *array = json_object_new_array();
        _cleanup_strv_free_ char **paths = NULL;
        int r;

        if (!array)
                return -ENOMEM;
        r = choose_paths(root, t->plan, t->left_out, &paths);
        if (r < 0)
                return r;
        STRV_FOREACH (path, paths) {
                r = describe(root, *path, t->plan, array);
                if (r < 0)
                        return r;
        }
        return json_save(t->file, array, 0600);
}

static int sample_parse(json_object *o, Sample *ret) {
        const char *path = json_get_string(o, "path"), *target = json_get_string(o, "target"),
                   *rights = json_get_string(o, "rights"), *sha256 = json_get_string(o, "sha256");
        Sample s = {
                .path = path ? strdup(path) : NULL,
                .mode = (uint32_t) json_get_int(o, "mode", 0),
                .mtime = json_get_int(o, "mtime", -1),
                .uid = (uint32_t) json_get_int(o, "uid", -1),
                .gid = (uint32_t) json_get_int(o, "gid", -1),
                .size = (uint64_t) json_get_int(o, "size", 0),
                .target = target ? strdup(target) : NULL,
                .rights = rights ? strdup(rights) : NULL,
        };

        if (sha256 && digest_valid(sha256))
                memcpy(s.sha256, sha256, sizeof(Digest));
        *ret = s;
        return s.path && (!target || s.target) && (!rights || s.rights) ? 0 : -ENOMEM;
}

/* The tree's sample as it came from the child. */
static int take_in_child(Store *store, const Plan *plan, char *const *layers, char *const *left_out,
                const char *scratch, json_object **ret) {
        const Sandbox sandbox = { .store = store, .layers = layers, .read_only = true };
        _cleanup_free_ char *file = path_join(scratch, "samples.json");
        JsonError error;
        int r;

        if (!file)
                return -ENOMEM;
        r = sandbox_call(&sandbox, take, &(Take) { plan, left_out, file });
        if (r < 0)
                return r;
        return json_load(file, SAMPLES_FILE_MAX, &error, ret);
}

int samples_take(Store *store, const Plan *plan, char *const *layers, char *const *left_out,
                Samples *ret) {
        _cleanup_free_ char *scratch = NULL;
        _cleanup_json_ json_object *array = NULL;
        _cleanup_samples_ Samples s = {};
        int r;

        r = store_scratch(store, "proof", &scratch);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the proof");
        r = take_in_child(store, plan, layers, left_out, scratch, &array);
        (void) rm_rf(scratch);
        if (r < 0)
                return log_error_errno(r, "Cannot take a sample of the tree");

        size_t n = json_object_array_length(array);
        s.samples = calloc(n, sizeof(*s.samples));
        if (!s.samples)
                return log_oom();
        for (size_t i = 0; i < n; i++) {
                r = sample_parse(json_object_array_get_idx(array, i), s.samples + s.n++);
                if (r < 0)
                        return log_oom();
        }

        *ret = s;
        s = (Samples) {};
        return 0;
}
