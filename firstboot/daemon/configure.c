/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-helper, run: its output, its end, its time limit, and the next try. */

#include "daemon/configure.h"
#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/quantity.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/older-systemd.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define OUTPUT_MAX (16 * 1024 * 1024)
#define TROUBLE_SECONDS 10
#define HELPER_USEC (15 * 60 * USEC_PER_SEC) /* beyond the largest metadata.timeout */

struct Configure {
        sd_event *event;
        configure_done_t done;
        void *userdata;

        pid_t helper; /* 0: none runs */
        int fd;       /* its standard output */
        char *output;
        size_t size;
        unsigned tries;
        uint64_t seed;
        uint64_t again_usec; /* when the next try begins; 0: none follows */
        sd_event_source *io, *child, *timeout, *again;
};

static void drop_sources(Configure *c) {
        c->io = sd_event_source_disable_unref(c->io);
        c->child = sd_event_source_disable_unref(c->child);
        c->timeout = sd_event_source_disable_unref(c->timeout);
}

Configure *configure_free(Configure *c) {
        if (!c)
                return NULL;
        drop_sources(c);
        sd_event_source_disable_unref(c->again);
        sd_event_unref(c->event);
        safe_close(c->fd);
        free(c->output);
        free(c);
        return NULL;
}

int configure_new(sd_event *event, configure_done_t done, void *userdata, Configure **ret) {
        Configure *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;

        *c = (Configure) {
                .event = sd_event_ref(event),
                .done = done,
                .userdata = userdata,
                .fd = -EBADF,
                .seed = retry_seed(node_seed(), "configuration"),
        };
        *ret = c;
        return 0;
}

bool configure_is_running(const Configure *c) {
        return c->helper > 0;
}

uint64_t configure_retry_usec(const Configure *c) {
        return c->again_usec;
}

unsigned configure_tries(const Configure *c) {
        return c->tries;
}

static int on_again(sd_event_source *s, uint64_t usec, void *userdata) {
        Configure *c = userdata;

        (void) s, (void) usec;
        c->again = sd_event_source_disable_unref(c->again);
        return configure_start(c);
}

/* When to try again, as the configuration's files say (those are there). 0: not. */
static uint64_t plan_again(const Configure *c, json_object *document) {
        json_object *retry = json_get(json_get(document, "config"), "retry");
        RetryPlan plan = RETRY_PLAN_METADATA(0, config_duration(retry, "slow", RETRY_SLOW_USEC));
        uint64_t pause;

        if (!json_get_bool(document, "retry", false) ||
                        retry_next(&plan, c->seed, c->tries, &pause) == RETRY_NEVER)
                return 0;
        return now_usec() + pause;
}

static int again_later(Configure *c) {
        c->again = sd_event_source_disable_unref(c->again);
        return sd_event_add_time(
                        c->event, &c->again, CLOCK_MONOTONIC, c->again_usec, 0, on_again, c);
}

/* A document with one error, for when the helper gave none. */
static json_object *error_document(const char *text) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = json_set_fields(o, JSON_TAKE("errors", json_from_strv(ARGV(text))),
                        JSON_STRING("code", "config.helper"));
        return r < 0 ? NULL : TAKE_PTR(o);
}

/* What the helper printed, or where there was trouble that. NULL on out of memory. */
static json_object *take_document(Configure *c, const char *trouble) {
        _cleanup_free_ char *output = TAKE_PTR(c->output);
        json_object *o = NULL;
        JsonError error = {};

        if (trouble)
                return error_document(trouble);
        if (json_parse(strempty(output), c->size, &error, &o) < 0)
                return error_document(
                                "firstboot-helper printed something else than a configuration; are firstbootd and it of one version?");
        return o;
}

/* The helper is gone; trouble: why it is no use, or NULL. */
static int finished(Configure *c, const char *trouble) {
        _cleanup_json_ json_object *o = NULL;
        int r;

        drop_sources(c);
        c->fd = safe_close(c->fd);
        c->helper = 0;
        c->tries++;

        o = take_document(c, trouble);
        c->size = 0;
        if (!o)
                return log_oom();
        c->again_usec = plan_again(c, o);

        r = c->done(TAKE_PTR(o), c->userdata);
        if (r < 0) {
                /* A full /run, say: until it is taken up nobody watches the node. */
                log_error_errno(r, "Cannot take up the configuration; once more in %d s",
                                TROUBLE_SECONDS);
                c->again_usec = now_usec() + TROUBLE_SECONDS * USEC_PER_SEC;
        }
        return c->again_usec > 0 ? again_later(c) : 0;
}

static int on_output(sd_event_source *s, int fd, uint32_t events, void *userdata) {
        Configure *c = userdata;
        char buffer[16384];

        (void) events;
        for (;;) {
                ssize_t n = read(fd, buffer, sizeof(buffer));
                char *grown;

                if (n < 0)
                        return 0;
                if (n == 0 || c->size + (size_t) n > OUTPUT_MAX)
                        break;
                grown = realloc(c->output, c->size + (size_t) n + 1);
                if (!grown)
                        return -ENOMEM;
                memcpy(grown + c->size, buffer, (size_t) n);
                c->output = grown;
                c->size += (size_t) n;
                c->output[c->size] = '\0';
        }
        (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static int on_child(sd_event_source *s, const siginfo_t *si, void *userdata) {
        Configure *c = userdata;

        (void) s;
        if (c->io)
                (void) on_output(c->io, c->fd, 0, c);

        if (si->si_code != CLD_EXITED)
                return finished(c, "firstboot-helper did not run to its end");
        if (si->si_status == 127)
                return finished(c, "firstboot-helper cannot be run; is the package whole?");
        if (si->si_status != 0)
                return finished(c, "firstboot-helper did not run to its end");
        return finished(c, NULL);
}

static int on_timeout(sd_event_source *s, uint64_t usec, void *userdata) {
        Configure *c = userdata;

        (void) s, (void) usec;
        (void) kill(c->helper, SIGKILL); /* and on_child() goes on */
        return 0;
}

_noreturn_ static void run_helper(const Configure *c, const char *path, int output) {
        _cleanup_free_ char *tries = strf("%u", c->tries);
        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (tries && setenv("FIRSTBOOT_TRIES", tries, 1) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
                execl(path, path, "config", NULL);
        _exit(127);
}

static int follow_helper(Configure *c) {
        int r;

        r = sd_event_add_io(c->event, &c->io, c->fd, EPOLLIN, on_output, c);
        if (r < 0)
                return r;
        r = sd_event_add_child(c->event, &c->child, c->helper, WEXITED, on_child, c);
        if (r < 0)
                return r;
        return sd_event_add_time_relative(
                        c->event, &c->timeout, CLOCK_MONOTONIC, HELPER_USEC, 0, on_timeout, c);
}

int configure_start(Configure *c) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        _cleanup_free_ char *path = fb_path(PATH_HELPER);
        pid_t pid;

        if (c->helper > 0)
                return 0;
        c->again = sd_event_source_disable_unref(c->again);
        c->again_usec = 0;
        if (!path)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                run_helper(c, path, fds[1]);

        c->helper = pid;
        c->fd = TAKE_FD(fds[0]);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        return follow_helper(c);
}

int configure_start_over(Configure *c) {
        c->tries = 0;
        return configure_start(c);
}
