/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For those whose builds others shall have, a pipeline's above all. */

#include "cmd/cache-push.h"
#include "cmd/credential.h"
#include "common/exit-code.h"
#include "shared/log.h"
#include "shared/size.h"
#include "shared/strv.h"
#include "stage/stage.h"

/* 1: there is none. */
static int read_key(Remote *remote, const char *key, const char *passphrase, SecretKey *ret) {
        _cleanup_free_ char *given = key ? NULL : credential_find(CREDENTIAL_KEY),
                            *given_passphrase = passphrase ? NULL
                                                           : credential_find(CREDENTIAL_PASSPHRASE);
        int r;

        if (!key && !given) {
                if (!remote_is_keyed(remote))
                        return 1;
                return log_error_return(-EINVAL,
                                "Whoever reads %s by a key takes nothing that is not signed by it: --key=FILE, or the credential " CREDENTIAL_KEY,
                                remote_url(remote));
        }
        r = secret_key_read(key ? key : given, passphrase ? passphrase : given_passphrase, ret);
        if (r < 0)
                return r;
        if (!remote_is_keyed(remote)) /* what another one signed is written anew */
                remote_expect_key(remote, &ret->public);
        if (remote_has_key(remote, &ret->public))
                return 0;
        return log_error_return(-EINVAL, "%s is not the other half of the key that %s is read by",
                        key ? key : given, remote_url(remote));
}

static int push_plan(
                Context *ctx, const Plan *plan, const SecretKey *key, bool downloads, Pushed *p) {
        int r = stages_push(ctx, plan, key, p);

        return r < 0 || !downloads ? r : stages_push_downloads(ctx, plan, p);
}

/* Where the project is without that recipe of tools, the host's own counts where it builds. */
static int push_tools(Context *ctx, const char *recipe, const char *name, const SecretKey *key,
                bool downloads, Pushed *p) {
        _cleanup_free_ char *tools_recipe = NULL, *tools_lock = NULL;
        _cleanup_loaded_ Loaded tools = {};
        int r;

        r = tools_recipe_find(ctx, recipe, name, &tools_recipe, &tools_lock);
        if (r < 0)
                return r == -ENOENT ? 0 : log_oom();
        r = lock_and_plan(ctx, tools_recipe, tools_lock, &tools);
        return r < 0 ? r : push_plan(ctx, tools.plan, key, downloads, p);
}

/* *ret_missing: the recipe's own layers that are not there to be pushed; of the tools' some need
 * never have been made. */
static int push(Context *ctx, const char *recipe, const SecretKey *key, bool downloads, Pushed *p,
                uint64_t *ret_missing) {
        _cleanup_loaded_ Loaded loaded = {};
        int r;

        r = lock_and_plan(ctx, recipe, NULL, &loaded);
        if (r < 0)
                return r;
        r = push_plan(ctx, loaded.plan, key, downloads, p);
        if (r < 0)
                return r;
        *ret_missing = p->missing;
        r = push_tools(ctx, recipe, TOOLS, key, downloads, p);
        if (r < 0 || loaded.recipe->family != FAMILY_EL)
                return r;
        return push_tools(ctx, recipe, TOOLS_EL, key, downloads, p);
}

static void tell(const Context *ctx, const Pushed *p, bool downloads) {
        const char *url = remote_url(ctx->remote);
        char size[FORMAT_BYTES_MAX];

        log_info("Pushed %llu layers, %s, to %s; %llu were there already",
                        (unsigned long long) p->layers, format_bytes(size, p->bytes), url,
                        (unsigned long long) p->known);
        if (downloads)
                log_info("Pushed %llu downloads, %s, to %s; %llu were there already",
                                (unsigned long long) p->downloads,
                                format_bytes(size, p->download_bytes), url,
                                (unsigned long long) p->known_downloads);
}

int cache_push(Context *ctx, const char *recipe, const PushOptions *o) {
        _cleanup_secret_key_ SecretKey key = {};
        uint64_t missing = 0;
        Pushed p = {};
        int r;

        if (!ctx->remote) {
                log_error("Where to? --remote-store=URL, or IMGBUILD_REMOTE_STORE");
                return EXIT_USAGE;
        }
        r = read_key(ctx->remote, o->key, o->passphrase, &key);
        if (r < 0)
                return EXIT_USAGE;
        r = push(ctx, recipe, r > 0 ? NULL : &key, o->downloads, &p, &missing);
        if (r < 0)
                return r;
        tell(ctx, &p, o->downloads);
        if (missing == 0)
                return EXIT_OK;
        log_error("%llu layers of %s are not in the store %s: build it first",
                        (unsigned long long) missing, recipe, store_path(ctx->store));
        return EXIT_FAILED;
}
