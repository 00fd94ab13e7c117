/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apt's sources in the image: the distribution's own archives in its base, and overlays' repositories that stay. The
 * mirror that a build happened to use is never among them. */

#include "stage-build.h"
#include "copy-tree.h"
#include "repository-key.h"

#include "file-util.h"
#include "log.h"
#include "strv.h"

typedef struct Archive {
        const char *distro;
        const char *uri;
        const char *suites; /* "%s": the release; two at most */
        const char *keyring;
} Archive;

static const Archive archives[] = {
        { "debian", "http://deb.debian.org/debian", "%s %s-updates", "debian-archive-keyring" },
        { "debian", "http://deb.debian.org/debian-security", "%s-security", "debian-archive-keyring" },
        { "ubuntu", "http://archive.ubuntu.com/ubuntu", "%s %s-updates", "ubuntu-archive-keyring" },
        { "ubuntu", "http://security.ubuntu.com/ubuntu", "%s-security", "ubuntu-archive-keyring" },
};

typedef struct Sources {
        char *path; /* in the image */
        char *text;
        char *key_path, *key_file; /* in the image, on the host; NULL: none */
} Sources;

static void sources_done(Sources *s) {
        free(s->path);
        free(s->text);
        free(s->key_path);
        free(s->key_file);
}

static int write_sources(const char *root, void *userdata) {
        const Sources *s = userdata;
        int r = copy_text(s->text, root, s->path, 0644);

        return r < 0 || !s->key_file ? r : copy_file(s->key_file, root, s->key_path, 0644);
}

/* "%s-updates" with the release in it; formats from tables never reach printf(). */
static int expand(FILE *f, const char *pattern, const char *release) {
        for (const char *hole; (hole = strstr(pattern, "%s")); pattern = hole + 2)
                fprintf(f, "%.*s%s", (int) (hole - pattern), pattern, release);
        fputs(pattern, f);
        return ferror(f) ? -EIO : 0;
}

static int distribution_sources(StageBuild *b, Sources *s) {
        const Recipe *recipe = b->plan->recipe;
        _cleanup_free_ char *components = strv_join(recipe->base.components, " ");
        size_t size;
        FILE *f = open_memstream(&s->text, &size);
        int r = 0;

        if (!components || !f) {
                if (f)
                        fclose(f);
                return -ENOMEM;
        }
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(archives); i++) {
                if (!streq(archives[i].distro, recipe->base.distro))
                        continue;
                fprintf(f, "%sTypes: deb\nURIs: %s\nSuites: ", ftell(f) > 0 ? "\n" : "", archives[i].uri);
                r = expand(f, archives[i].suites, recipe->base.release);
                fprintf(f, "\nComponents: %s\nSigned-By: /usr/share/keyrings/%s.gpg\n", *components ? components : "main",
                                archives[i].keyring);
        }
        if (fclose(f) != 0)
                r = -ENOMEM;
        s->path = strf("/etc/apt/sources.list.d/%s.sources", recipe->base.distro);
        return r < 0 ? r : s->path ? 0 : -ENOMEM;
}

static int repository_sources(StageBuild *b, const Repository *q, Sources *s) {
        _cleanup_free_ char *components = strv_join(q->components, " "), *folder = NULL;
        int r;

        r = store_scratch(b->ctx->store, "key", &folder);
        if (r < 0 || !components)
                return r < 0 ? r : -ENOMEM;
        s->key_file = path_join(folder, "key.gpg");
        s->key_path = strf("/etc/apt/keyrings/%s.gpg", q->name);
        s->path = strf("/etc/apt/sources.list.d/%s.sources", q->name);
        if (!s->key_file || !s->key_path || !s->path)
                return -ENOMEM;
        s->text = strf("Types: deb\nURIs: %s\nSuites: %s\n%s%s%sSigned-By: %s\n", q->uri, q->suite,
                        *components ? "Components: " : "", components, *components ? "\n" : "", s->key_path);
        if (!s->text)
                return -ENOMEM;
        const LockedOrigin *origin = lock_find_origin(b->plan->lock, q->name);
        return origin ? locked_key_write(origin, s->key_file) : -ENOKEY;
}

int stage_write_sources(StageBuild *b) {
        const Overlay *o = b->stage->overlay;
        int r = 0;

        if (!o) {
                _cleanup_(sources_done) Sources s = {};

                r = distribution_sources(b, &s);
                if (r >= 0)
                        r = sandbox_call(&b->sandbox, write_sources, &s);
        }
        for (size_t i = 0; o && r >= 0 && i < o->n_repositories; i++) {
                _cleanup_(sources_done) Sources s = {};

                if (!o->repositories[i].keep)
                        continue;
                r = repository_sources(b, o->repositories + i, &s);
                if (r >= 0)
                        r = sandbox_call(&b->sandbox, write_sources, &s);
        }
        return r < 0 ? log_error_errno(r, "Stage %s: cannot write its package sources", b->stage->id) : 0;
}
