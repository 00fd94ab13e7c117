/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gathers the configuration through firstboot-helper, a process of its own: it may wait for a
 * metadata service, and it needs libcurl, neither of which the daemon should. */

#include "daemon/engine.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "contract/paths.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define OUTPUT_MAX (16 * 1024 * 1024)
#define HELPER_USEC (15 * 60 * USEC_PER_SEC) /* beyond the largest metadata.timeout */
#define AGAIN_MAX_USEC (60 * USEC_PER_SEC)

static int on_again(sd_event_source *s, uint64_t usec, void *userdata) {
        Engine *e = userdata;

        (void) s;
        (void) usec;
        e->configure_again = sd_event_source_disable_unref(e->configure_again);
        return engine_configure(e);
}

static int again_later(Engine *e) {
        uint64_t delay = MIN((2 * USEC_PER_SEC) << MIN(e->configure_tries, 5u), AGAIN_MAX_USEC);

        e->configure_again = sd_event_source_disable_unref(e->configure_again);
        return sd_event_add_time_relative(
                        e->event, &e->configure_again, CLOCK_MONOTONIC, delay, 0, on_again, e);
}

/* A document with one error, for when the helper gave none. */
static json_object *error_document(const char *text) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *errors = json_object_new_array();

        if (!o || json_set(o, "errors", errors) < 0 ||
                        json_set_string(o, "code", "config.helper") < 0 ||
                        json_object_array_add(errors, json_object_new_string(text)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

static int finished(Engine *e, const char *trouble) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error = {};
        int r;

        e->helper_io = sd_event_source_disable_unref(e->helper_io);
        e->helper_child = sd_event_source_disable_unref(e->helper_child);
        e->helper_timeout = sd_event_source_disable_unref(e->helper_timeout);
        e->helper_fd = safe_close(e->helper_fd);
        e->helper = 0;
        e->configure_tries++;

        if (!trouble && json_parse(e->helper_output ? e->helper_output : "", e->helper_size, &error,
                                        &o) < 0)
                trouble = "firstboot-helper: its output makes no sense";
        free(TAKE_PTR(e->helper_output));
        e->helper_size = 0;
        if (trouble)
                o = error_document(trouble);
        if (!o)
                return log_oom();

        /* For steps, with secrets: for root only. */
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        const char *text = json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!path || !text)
                return log_oom();
        r = write_file_atomic(path, text, strlen(text), 0600);
        if (r < 0)
                return log_error_errno(r, "Cannot write %s; is /run full?", path);
        bool retry = json_get_bool(o, "retry", false);

        r = engine_take_document(e, TAKE_PTR(o));
        if (r < 0)
                return log_error_errno(r, "Cannot take up the configuration");
        return retry ? again_later(e) : 0;
}

static int on_output(sd_event_source *s, int fd, uint32_t events, void *userdata) {
        Engine *e = userdata;
        char buffer[16384];

        (void) events;
        for (;;) {
                ssize_t n = read(fd, buffer, sizeof(buffer));
                char *grown;

                if (n < 0)
                        return 0;
                if (n == 0 || e->helper_size + (size_t) n > OUTPUT_MAX)
                        break;
                grown = realloc(e->helper_output, e->helper_size + (size_t) n + 1);
                if (!grown)
                        return -ENOMEM;
                memcpy(grown + e->helper_size, buffer, (size_t) n);
                e->helper_output = grown;
                e->helper_size += (size_t) n;
                e->helper_output[e->helper_size] = '\0';
        }
        (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return 0;
}

static int on_child(sd_event_source *s, const siginfo_t *si, void *userdata) {
        Engine *e = userdata;

        if (e->helper_io)
                (void) on_output(e->helper_io, e->helper_fd, 0, e);
        (void) s;
        return finished(e, si->si_code == CLD_EXITED && si->si_status == 0 ? NULL
                           : si->si_code == CLD_EXITED && si->si_status == 127
                                           ? "firstboot-helper cannot be run; is the package whole?"
                                           : "firstboot-helper did not run to its end");
}

static int on_timeout(sd_event_source *s, uint64_t usec, void *userdata) {
        Engine *e = userdata;

        (void) s;
        (void) usec;
        (void) kill(e->helper, SIGKILL); /* and on_child() goes on */
        return 0;
}

int engine_configure(Engine *e) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        _cleanup_free_ char *path = fb_path(PATH_HELPER);
        pid_t pid;
        int r;

        if (e->helper > 0)
                return 0;
        e->configure_again = sd_event_source_disable_unref(e->configure_again);
        if (!path)
                return -ENOMEM;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                sigset_t none;

                sigemptyset(&none);
                sigprocmask(SIG_SETMASK, &none, NULL);
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (dup2(fds[1], STDOUT_FILENO) >= 0)
                        execl(path, path, "config", NULL);
                _exit(127);
        }
        e->helper = pid;
        e->helper_fd = TAKE_FD(fds[0]);
        fcntl(e->helper_fd, F_SETFL, O_NONBLOCK);
        r = sd_event_add_io(e->event, &e->helper_io, e->helper_fd, EPOLLIN, on_output, e);
        if (r >= 0)
                r = sd_event_add_child(e->event, &e->helper_child, pid, WEXITED, on_child, e);
        if (r >= 0)
                r = sd_event_add_time_relative(e->event, &e->helper_timeout, CLOCK_MONOTONIC,
                                HELPER_USEC, 0, on_timeout, e);
        return r;
}
