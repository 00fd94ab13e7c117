/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The options that every verb takes, and the context that is opened by them. */

#include "sandbox/sandbox.h"
#include "shared/parse-number.h"
#include "store/remote.h"
#include "store/store.h"
#include "cmd/verb.h"
#include "stage/tools.h"

#include <sched.h>

enum {
        OPT_CACHE = OPT_COMMON,
        OPT_OVERLAYS,
        OPT_MIRROR,
        OPT_OFFLINE,
        OPT_REMOTE,
        OPT_REMOTE_KEY,
        OPT_PROGRESS
};

const OptionSpec common_options[] = {
        { "cache", OPT_CACHE, "FOLDER",
                        "the store (default: /var/cache/imgbuild, for users ~/.cache/imgbuild)",
                        COMPLETE_FOLDER },
        { "overlays", OPT_OVERLAYS, "FOLDER", "look for overlays here; may be given several times",
                        COMPLETE_FOLDER, .repeats = true },
        { "mirror", OPT_MIRROR, "URI", "distribution mirror instead of the host's own" },
        { "offline", OPT_OFFLINE, NULL, "use only what the store has" },
        { "remote-store", OPT_REMOTE, "URL",
                        "take layers that others made from this server ($IMGBUILD_REMOTE_STORE)" },
        { "remote-store-key", OPT_REMOTE_KEY, "FILE",
                        "only those that this public key of minisign's signed\n($IMGBUILD_REMOTE_STORE_KEY)",
                        COMPLETE_FILE },
        { "progress", OPT_PROGRESS, "HOW", "auto, plain, json or none", COMPLETE_CHOICES,
                        "auto plain json none" },
        { "jobs", 'j', "N", "parallel jobs for compilers (default: the host's processors)" },
        { "verbose", 'v', NULL, "say more" },
        { "help", 'h', NULL, "show this help" },
        {},
};

int option_number(
                const char *option, const char *value, unsigned min, unsigned max, unsigned *ret) {
        uint64_t n;

        if (parse_number(value, 10, &n) < 0 || n < min || n > max)
                return log_error_return(-EINVAL, "--%s=%s: a number from %u to %u", option, value,
                                min, max);
        *ret = (unsigned) n;
        return 0;
}

int option_on_error(const char *value, bool *ret_shell) {
        bool shell = streq(value, "shell");

        if (!shell && !streq(value, "end"))
                return log_error_return(-EINVAL, "--on-error=%s: shell or end", value);
        if (shell && (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)))
                return log_error_return(-EINVAL,
                                "--on-error=shell wants a terminal, and there is none: run it by hand, or leave it out");
        *ret_shell = shell;
        return 0;
}

static bool holds_login(const char *url) {
        const char *host = strstr(url, "://");

        return host && memchr(host + 3, '@', strcspn(host + 3, "/"));
}

/* What apt would say of another one names files that nobody has heard of. */
static bool is_mirror(const char *url) {
        return (startswith(url, "http://") || startswith(url, "https://") ||
                               startswith(url, "file:")) &&
               !strpbrk(url, " \t\r\n");
}

int common_option(CommonOptions *o, int id, const char *value) {
        ProgressMode mode;

        switch (id) {
        case OPT_CACHE:
                if (isempty(value))
                        return log_error_return(-EINVAL, "--cache wants a folder");
                o->cache = value;
                return 1;
        case OPT_OVERLAYS:
                return strv_extend(&o->overlays, value) < 0 ? log_oom() : 1;
        case OPT_MIRROR:
                if (holds_login(value)) { /* and so is not shown */
                        log_error("--mirror: the URL holds a user or password: put them into /etc/apt/auth.conf.d, see apt_auth.conf(5)");
                        return -EINVAL;
                }
                if (!is_mirror(value))
                        return log_error_return(-EINVAL,
                                        "--mirror=%s: a URL, such as http://mirror.example/debian (https and file: as well)",
                                        value);
                o->mirror = value;
                return 1;
        case OPT_OFFLINE:
                o->offline = true;
                return 1;
        case OPT_REMOTE:
                o->remote = value;
                return 1;
        case OPT_REMOTE_KEY:
                o->remote_key = value;
                return 1;
        case OPT_PROGRESS:
                if (progress_mode_from_string(value, &mode) < 0) {
                        log_error("--progress=%s: auto, plain, json or none", value);
                        return -EINVAL;
                }
                o->progress = (int) mode;
                return 1;
        case 'j':
                return option_number("jobs", value, 1, 1024, &o->jobs) < 0 ? -EINVAL : 1;
        case 'v':
                log_set_level(LOG_DEBUG);
                return 1;
        default:
                return 0;
        }
}

void common_options_done(CommonOptions *o) {
        o->overlays = strv_free(o->overlays);
}

static unsigned processors(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned) CPU_COUNT(&set);
}

int context_open(const CommonOptions *o, Context *ret) {
        _cleanup_context_ Context ctx = {
                .offline = o->offline,
                .jobs = o->jobs ? o->jobs : processors(),
                .run_el_tool = tools_run_el,
        };
        int r;

        if (o->overlays && !(ctx.overlay_dirs = strv_copy(o->overlays)))
                return log_oom();
        if (o->mirror && !(ctx.mirror = strdup(o->mirror)))
                return log_oom();
        r = store_open(o->cache ? o->cache : store_default_path(), &ctx.store);
        if (r < 0)
                return r;
        r = progress_new((ProgressMode) o->progress, &ctx.progress);
        if (r < 0)
                return log_error_errno(r, "Cannot set up the progress display");
        r = interrupt_install();
        if (r < 0)
                return log_error_errno(r, "Cannot catch signals");
        *ret = ctx;
        ctx = (Context) {};
        return 0;
}

/* An empty option is none, whatever the environment says. */
int context_open_remote(const CommonOptions *o, Context *ctx) {
        const char *url = o->remote ? o->remote : getenv("IMGBUILD_REMOTE_STORE"),
                   *key = o->remote_key ? o->remote_key : getenv("IMGBUILD_REMOTE_STORE_KEY");

        if (isempty(url))
                return 0;
        return remote_new(url, isempty(key) ? NULL : key, &ctx->remote);
}

void context_done(Context *ctx) {
        ctx->remote = remote_free(ctx->remote);
        ctx->progress = progress_free(ctx->progress);
        ctx->store = store_free(ctx->store);
        ctx->overlay_dirs = strv_free(ctx->overlay_dirs);
        secrets_done(&ctx->secrets);
        free(ctx->mirror);
        ctx->mirror = NULL;
}
