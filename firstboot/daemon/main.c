/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootd: brings a node from power-on to ready, and refuses ready to a node that is not. */

#include "daemon/engine.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/package-note.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

PACKAGE_NOTE("firstboot", FIRSTBOOT_VERSION);

/* On a read-only file system nothing is to be made of what is there: the node is to say so, by its
 * step host, and an agent that ended would leave it silent. */
static int make_folder(const char *path, mode_t mode) {
        struct stat st;
        int r = mkdir_p(path, mode);

        if (r < 0)
                return r;
        if (stat(path, &st) >= 0 && (st.st_mode & 07777) == mode)
                return 0;
        return chmod(path, mode) < 0 && errno != EROFS ? -errno : 0;
}

static int make_folders(void) {
        static const struct {
                const char *path;
                mode_t mode;
        } folders[] = { { PATH_RUN, 0755 }, { PATH_RUN_RESULTS, 0700 }, { PATH_RUN_CHECK, 0700 },
                { PATH_STATE_FOLDER, 0755 } };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = fb_path(folders[i].path);
                int r = path ? make_folder(path, folders[i].mode) : -ENOMEM;

                if (r < 0)
                        return log_error_errno(r, "Cannot make %s", folders[i].path);
        }
        return 0;
}

/* Signals come through the event loop, and systemd's watchdog is fed by it. */
static int new_event_loop(sd_event **ret) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        sigset_t signals;
        int r;

        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;

        r = sd_event_new(&event);
        if (r < 0)
                return r;
        r = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL);
        if (r < 0)
                return r;
        r = sd_event_add_signal(event, NULL, SIGINT, NULL, NULL);
        if (r < 0)
                return r;
        r = sd_event_set_watchdog(event, true);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(event);
        return 0;
}

/* systemd makes it a socket of journald's, and one that hangs takes nothing: the agent does not
 * wait for it. A terminal is left as it is, for others write to it too. */
static void never_wait_for_log(void) {
        struct stat st;
        int flags = fcntl(STDERR_FILENO, F_GETFL);

        if (flags >= 0 && fstat(STDERR_FILENO, &st) >= 0 && S_ISSOCK(st.st_mode))
                (void) fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
}

static int run(void) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        _cleanup_(engine_freep) Engine *engine = NULL;
        int r;

        r = make_folders();
        if (r < 0)
                return r;
        r = new_event_loop(&event);
        if (r < 0)
                return log_error_errno(r, "Cannot set up the event loop");
        r = engine_new(event, &engine);
        if (r < 0)
                return log_oom();
        r = engine_start(engine);
        if (r < 0)
                return log_error_errno(r,
                                "Cannot read the steps and the node's state, so no step runs; is there memory, and is /run/firstboot writable?");

        r = sd_event_loop(event);
        (void) sd_notify(0, "STOPPING=1");
        return r < 0 ? log_error_errno(r,
                                       "firstbootd ends, for it cannot wait for what comes; systemd starts it again")
                     : 0;
}

int main(int argc, char *argv[]) {
        (void) argv;
        log_set_program(NULL);
        never_wait_for_log();
        if (argc > 1) {
                fprintf(stderr, "firstbootd takes no arguments; it reads %s and %s.\n",
                                PATH_BAKED_CONFIG, PATH_CONFIG_DROPINS);
                return 2;
        }
        return run() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
