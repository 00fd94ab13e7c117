/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild build A B …: one process a recipe. Stages that they share are made once, for a layer is
 * begun under its digest's lock; the others wait for it. A process tells what --progress=json
 * tells, through a pipe. */

#include "cmd/build.h"
#include "common/line-buffer.h"
#include "sandbox/limits.h"
#include "shared/file-util.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TICK_MS 100

/* For the appliance that reads a finished disk back, and for a disk's compressors. */
#define MEMORY_OF_A_BUILD (UINT64_C(2) << 30)

typedef struct Bake {
        const char *path;
        Recipe *recipe;
        pid_t pid; /* 0: not begun, or over */
        int fd;
        int code; /* once over; -1 before */
        LineBuffer lines;
} Bake;

typedef struct Kitchen {
        VerbCall *call;
        build_function build;
        Bake *bakes;
        size_t n_bakes;
        unsigned at_once, jobs;
        bool told_to_stop;
} Kitchen;

static void kitchen_done(Kitchen *k) {
        for (size_t i = 0; i < k->n_bakes; i++) {
                safe_close(k->bakes[i].fd);
                recipe_free(k->bakes[i].recipe);
        }
        free(k->bakes);
}

/* --- in the process of one recipe ------------------------------------------------------------- */

static void tell_message(int level, const char *line, void *userdata) {
        progress_message(userdata, level, line);
}

/* Those of this recipe. The memory of others' goes with the process. */
static void keep_secrets(Secrets *secrets, const Recipe *recipe) {
        size_t n = 0;

        for (size_t i = 0; i < secrets->n; i++)
                if (recipe_names_secret(recipe, secrets->secrets[i].name))
                        secrets->secrets[n++] = secrets->secrets[i];
        secrets->n = n;
}

static int bake(const Kitchen *k, const Bake *b) {
        Context own = *k->call->ctx;
        int r;

        own.jobs = k->jobs;
        keep_secrets(&own.secrets, b->recipe);
        r = progress_new(PROGRESS_JSON, &own.progress);
        if (r < 0)
                return EXIT_FAILED;
        log_set_program(NULL);
        log_set_writer(tell_message, own.progress);
        r = k->build(&own, k->call->options, b->path);
        return interrupt_signal() ? EXIT_INTERRUPTED : r < 0 ? exit_code_from_errno(r) : EXIT_OK;
}

static _noreturn_ void bake_main(const Kitchen *k, const Bake *b, int fd, pid_t parent) {
        int code = EXIT_FAILED;

        if (prctl(PR_SET_PDEATHSIG, SIGTERM) >= 0 && getppid() == parent &&
                        dup2(fd, STDOUT_FILENO) >= 0)
                code = bake(k, b);
        fflush(NULL);
        _exit(code);
}

/* --- in ours ---------------------------------------------------------------------------------- */

static int begin(Kitchen *k, Bake *b) {
        pid_t parent = getpid();
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return log_error_errno(errno, "Cannot begin the build of %s", b->path);
        fflush(NULL); /* or the child would write it again */
        b->pid = fork();
        if (b->pid == 0)
                bake_main(k, b, fds[1], parent);

        close(fds[1]);
        b->fd = fds[0];
        if (b->pid < 0 || fcntl(b->fd, F_SETFL, O_NONBLOCK) < 0)
                return log_error_errno(errno, "Cannot begin the build of %s", b->path);
        return 0;
}

typedef struct Hearing {
        const Kitchen *kitchen;
        const Bake *bake;
} Hearing;

static void on_stage(const Hearing *h, json_object *event) {
        Progress *p = h->kitchen->call->ctx->progress;
        const char *state = json_get_string(event, "state");
        _cleanup_free_ char *id = strf(
                        "%s %s", h->bake->recipe->name, strempty(json_get_string(event, "stage")));
        ProgressState s;

        if (id && state && progress_state_from_string(state, &s) >= 0)
                progress_set(p, id, s);
        else if (id)
                progress_bytes(p, id, (uint64_t) json_get_int(event, "done", 0),
                                (uint64_t) json_get_int(event, "total", 0));
}

/* Events of stages go on as they are, with the recipe they are of; messages through our own log. */
static void on_line(const char *line, size_t size, void *userdata) {
        const Hearing *h = userdata;
        Context *ctx = h->kitchen->call->ctx;
        _cleanup_json_ json_object *o = NULL;
        const char *event, *message;
        JsonError error;

        if (json_parse(line, size, &error, &o) < 0)
                return;
        event = json_get_string(o, "event");
        message = json_get_string(o, "message");
        if (streq_ptr(event, "message") && message)
                log_relay((int) json_get_int(o, "level", LOG_INFO), h->bake->recipe->name, message);
        else if (h->kitchen->call->common.progress != PROGRESS_JSON)
                on_stage(h, o);
        else if (event && json_set_string(o, "recipe", h->bake->recipe->name) >= 0)
                progress_event(ctx->progress, event, json_object_get(o));
}

/* What it has told, and whether it is over. */
static void look(Kitchen *k, Bake *b) {
        int status;
        pid_t pid = waitpid(b->pid, &status, WNOHANG);

        line_buffer_read(&b->lines, b->fd, on_line, &(Hearing) { k, b });
        if (pid == 0 || (pid < 0 && errno == EINTR))
                return;

        b->pid = 0;
        b->code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
        if (pid > 0 && WIFSIGNALED(status))
                log_error("%s: its process was ended by signal %d (%s); was there no memory left? 'journalctl -k' says so, and --jobs=1 takes less",
                                b->recipe->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static void stop_all(Kitchen *k) {
        if (k->told_to_stop)
                return;
        k->told_to_stop = true;
        for (size_t i = 0; i < k->n_bakes; i++)
                if (k->bakes[i].pid > 0)
                        (void) kill(k->bakes[i].pid, SIGTERM);
}

/* One look at all of them. Returns how many are going or to begin. */
static size_t look_at_all(Kitchen *k) {
        size_t going = 0, waiting = 0;

        for (size_t i = 0; i < k->n_bakes; i++) {
                if (k->bakes[i].pid > 0)
                        look(k, k->bakes + i);
                going += k->bakes[i].pid > 0;
        }
        for (size_t i = 0; i < k->n_bakes && !interrupt_signal(); i++) {
                Bake *b = k->bakes + i;

                if (b->pid > 0 || b->code >= 0)
                        continue;
                if (going >= k->at_once)
                        waiting++;
                else if (begin(k, b) < 0)
                        b->code = EXIT_FAILED;
                else
                        going++;
        }
        return going + waiting;
}

static void wait_for_news(const Kitchen *k) {
        struct pollfd fds[BUILDS_MAX];
        nfds_t n = 0;

        for (size_t i = 0; i < k->n_bakes; i++)
                if (k->bakes[i].pid > 0)
                        fds[n++] = (struct pollfd) { .fd = k->bakes[i].fd, .events = POLLIN };
        (void) poll(fds, n, TICK_MS);
}

static int verdict(const Kitchen *k) {
        _cleanup_strv_free_ char **failed = NULL;
        _cleanup_free_ char *names = NULL;
        int code = EXIT_OK;

        for (size_t i = 0; i < k->n_bakes; i++) {
                const Bake *b = k->bakes + i;

                if (b->code == EXIT_OK)
                        continue;
                if (strv_extend(&failed, b->recipe->name) < 0)
                        return log_oom();
                if (code == EXIT_OK)
                        code = MAX(b->code, (int) EXIT_FAILED); /* -1: not begun */
        }
        if (code == EXIT_OK)
                return EXIT_OK;

        names = strv_join(failed, ", ");
        if (!names)
                return log_oom();
        log_error("%zu of %zu recipes are not baked: %s", strv_length(failed), k->n_bakes, names);
        return code;
}

/* As many as the processors (or -j) and the memory allow; they share the -j of compilers. */
static void set_pace(Kitchen *k) {
        uint64_t memory = memory_available();
        unsigned jobs = k->call->ctx->jobs;
        size_t at_once = MIN(k->n_bakes, (size_t) jobs);

        if (memory > 0)
                at_once = MIN(at_once, (size_t) (memory / MEMORY_OF_A_BUILD));
        k->at_once = (unsigned) MAX(at_once, (size_t) 1);
        k->jobs = MAX(jobs / k->at_once, 1U);
        log_info("Baking %zu recipes, at most %u at once", k->n_bakes, k->at_once);
}

/* --- before anything is done ------------------------------------------------------------------ */

/* Two recipes of one name would be baked into one folder. */
static int check_names(const Kitchen *k) {
        for (size_t i = 0; i < k->n_bakes; i++)
                for (size_t other = 0; other < i; other++)
                        if (streq(k->bakes[i].recipe->name, k->bakes[other].recipe->name))
                                return log_error_return(-EINVAL,
                                                "%s and %s are both named %s: bake them one after the other, into folders of their own (--output)",
                                                k->bakes[other].path, k->bakes[i].path,
                                                k->bakes[i].recipe->name);
        return 0;
}

static bool anybody_names(const Kitchen *k, const char *secret) {
        for (size_t i = 0; i < k->n_bakes; i++)
                if (recipe_names_secret(k->bakes[i].recipe, secret))
                        return true;
        return false;
}

static int check_secrets(const Kitchen *k) {
        const Secrets *secrets = &k->call->ctx->secrets;

        for (size_t i = 0; i < secrets->n; i++)
                if (!anybody_names(k, secrets->secrets[i].name))
                        return log_error_return(-EINVAL,
                                        "--secret=%s=…: none of the recipes has such a secret under \"secrets\"",
                                        secrets->secrets[i].name);
        return 0;
}

/* All faults of all of them are told. */
static int load(Kitchen *k) {
        int worst = 0;

        for (size_t i = 0; i < k->call->n_arguments; i++) {
                Bake *b = k->bakes + i;
                int r;

                *b = (Bake) { .path = k->call->arguments[i], .fd = -EBADF, .code = -1 };
                k->n_bakes++;
                r = recipe_load(b->path, k->call->ctx->overlay_dirs, &b->recipe);
                worst = MIN(worst, r);
        }
        return worst;
}

int build_many(VerbCall *call, build_function build) {
        _cleanup_(kitchen_done) Kitchen k = { .call = call, .build = build };
        int r;

        k.bakes = calloc(call->n_arguments, sizeof(Bake));
        if (!k.bakes)
                return log_oom();
        r = load(&k);
        if (r < 0)
                return r;
        r = check_names(&k);
        if (r < 0)
                return r;
        r = check_secrets(&k);
        if (r < 0)
                return r;

        set_pace(&k);
        while (look_at_all(&k) > 0) {
                if (interrupt_signal())
                        stop_all(&k);
                wait_for_news(&k);
        }
        return interrupt_signal() ? -ECANCELED : verdict(&k);
}
