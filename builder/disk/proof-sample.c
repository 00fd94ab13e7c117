/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree's side of the proof. A child walks the merged tree once and chooses; what it found
 * comes back as a JSON file in scratch. The choice depends on the paths' names alone, so two hosts
 * prove the same files. */

#include "disk/proof-sample.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ftw.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define CAPABILITY_MAX 64
#define SAMPLES_FILE_MAX (16 * 1024 * 1024)

void samples_done(Samples *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->samples[i].path);
                free(s->samples[i].target);
                free(s->samples[i].capability);
        }
        free(s->samples);
        *s = (Samples) {};
}

/* FNV-1a and a final mix (both of public domain), so that neighbours in the tree are none in the
 * order. */
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

/* nftw() passes no context along; this only ever runs in a child of its own. */
static struct {
        Ranked chosen[PROOF_SAMPLE];
        size_t n, highest;
        char **always;
        size_t root_length;
        char *const *left_out;
} walk;

static void choose(const char *path) {
        uint64_t rank = sample_rank(path);
        Ranked *slot;

        if (walk.n < PROOF_SAMPLE)
                slot = walk.chosen + walk.n++;
        else {
                slot = walk.chosen + walk.highest;
                if (rank >= slot->rank)
                        return;
                free(slot->path);
        }
        *slot = (Ranked) { rank, strdup(path) };
        if (walk.n == PROOF_SAMPLE)
                for (size_t i = walk.highest = 0; i < walk.n; i++)
                        if (walk.chosen[i].rank > walk.chosen[walk.highest].rank)
                                walk.highest = i;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *f _unused_) {
        const char *inside = path + walk.root_length;

        if (type == FTW_DNR || type == FTW_NS)
                return EIO;
        if (!*inside || strv_contains(walk.left_out, inside))
                return 0;
        if (S_ISREG(st->st_mode) &&
                        ((st->st_mode & (S_ISUID | S_ISGID)) ||
                                        lgetxattr(path, "security.capability", NULL, 0) > 0))
                return strv_extend(&walk.always, inside) < 0 ? ENOMEM : 0;
        if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) || S_ISDIR(st->st_mode))
                choose(inside);
        return 0;
}

static int describe(const char *root, const char *inside, int64_t epoch, json_object *array) {
        _cleanup_free_ char *path = path_join(root, inside);
        _cleanup_json_ json_object *o = json_object_new_object();
        unsigned char capability[CAPABILITY_MAX];
        char hex[2 * CAPABILITY_MAX + 1], target[4096];
        struct stat st;
        ssize_t n;

        if (!path || !o)
                return -ENOMEM;
        if (lstat(path, &st) < 0)
                return log_error_errno(-errno, "The tree has no %s", inside);
        json_set_string(o, "path", inside);
        json_set_int(o, "mode", st.st_mode);
        json_set_int(o, "mtime", MIN((int64_t) st.st_mtim.tv_sec, epoch));
        json_set_int(o, "uid", st.st_uid);
        json_set_int(o, "gid", st.st_gid);
        json_set_int(o, "size", S_ISREG(st.st_mode) ? st.st_size : 0);
        if (S_ISLNK(st.st_mode)) {
                n = readlink(path, target, sizeof(target) - 1);
                if (n < 0)
                        return -errno;
                target[n] = '\0';
                json_set_string(o, "target", target);
        }
        n = S_ISREG(st.st_mode)
                            ? lgetxattr(path, "security.capability", capability, sizeof(capability))
                            : 0;
        if (n > 0) {
                for (ssize_t i = 0; i < n; i++)
                        sprintf(hex + 2 * i, "%02x", capability[i]);
                json_set_string(o, "capability", hex);
        }
        if (S_ISREG(st.st_mode)) {
                Digest d;
                int r = digest_file(path, d, NULL);
                if (r < 0)
                        return log_error_errno(r, "Cannot read %s of the tree", inside);
                json_set_string(o, "sha256", d);
        }
        return json_object_array_add(array, TAKE_PTR(o)) < 0 ? -ENOMEM : 0;
}

typedef struct Take {
        const Plan *plan;
        char *const *left_out;
        const char *file;
} Take;

static int take(const char *root, void *userdata) {
        const Take *t = userdata;
        _cleanup_json_ json_object *array = json_object_new_array();
        int r;

        walk.root_length = strlen(root);
        walk.left_out = t->left_out;
        r = strv_extendf(&walk.always, "/boot/vmlinuz-%s", t->plan->kernel);
        if (r >= 0)
                r = strv_extendf(&walk.always, "/boot/initrd.img-%s", t->plan->kernel);
        if (r >= 0)
                r = strv_extend(&walk.always, "/etc/os-release");
        if (r >= 0)
                r = strv_extend(&walk.always, "/usr/lib/os-release");
        if (r < 0 || !array)
                return -ENOMEM;
        r = nftw(root, visit, 64, FTW_PHYS | FTW_MOUNT);
        if (r != 0)
                return r > 0 ? -r : -errno;
        for (size_t i = 0; i < walk.n; i++)
                if (!strv_contains(walk.always, walk.chosen[i].path) &&
                                strv_push(&walk.always, walk.chosen[i].path) < 0)
                        return -ENOMEM;
        strv_sort(walk.always);
        STRV_FOREACH (path, walk.always) {
                r = describe(root, *path, t->plan->lock->epoch, array);
                if (r < 0)
                        return r;
        }
        return json_save(t->file, array, 0600);
}

static int sample_parse(json_object *o, Sample *ret) {
        const char *path = json_get_string(o, "path"), *target = json_get_string(o, "target"),
                   *capability = json_get_string(o, "capability"),
                   *sha256 = json_get_string(o, "sha256");
        Sample s = {
                .path = path ? strdup(path) : NULL,
                .mode = (uint32_t) json_get_int(o, "mode", 0),
                .mtime = json_get_int(o, "mtime", -1),
                .uid = (uint32_t) json_get_int(o, "uid", -1),
                .gid = (uint32_t) json_get_int(o, "gid", -1),
                .size = (uint64_t) json_get_int(o, "size", 0),
                .target = target ? strdup(target) : NULL,
                .capability = capability ? strdup(capability) : NULL,
        };

        if (sha256 && digest_valid(sha256))
                memcpy(s.sha256, sha256, sizeof(Digest));
        *ret = s;
        return s.path && (!target || s.target) && (!capability || s.capability) ? 0 : -ENOMEM;
}

int samples_take(Store *store, const Plan *plan, char *const *layers, char *const *left_out,
                Samples *ret) {
        _cleanup_free_ char *scratch = NULL, *file = NULL;
        _cleanup_json_ json_object *array = NULL;
        _cleanup_samples_ Samples s = {};
        Sandbox sandbox = { .store = store, .layers = layers, .read_only = true };
        JsonError error;
        int r;

        r = store_scratch(store, "proof", &scratch);
        if (r >= 0)
                file = path_join(scratch, "samples.json");
        if (r < 0 || !file)
                return log_error_errno(r < 0 ? r : -ENOMEM, "Cannot make room for the proof");
        r = sandbox_call(&sandbox, take, &(Take) { plan, left_out, file });
        if (r >= 0)
                r = json_load(file, SAMPLES_FILE_MAX, &error, &array);
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
