/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tells the site how the node stands: the status goes to its command's standard input and to its
 * URL. */

#include "daemon/helper/notify.h"
#include "daemon/helper/http.h"
#include "contract/paths.h"
#include "contract/quantity.h"
#include "contract/secrets.h"
#include "contract/status-file.h"
#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#define CONFIG_MAX (4 * 1024 * 1024)
#define POST_TRIES 3

static int run_command(json_object *list, const char *status_path, uint64_t timeout_usec) {
        SpawnOptions o = { .stdin_path = status_path, .timeout_usec = timeout_usec };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        int r, status;

        r = json_to_strv(list, &argv);
        if (r < 0)
                return log_oom();
        if (!argv)
                return 0;

        r = spawn_capture(&o, argv, &output, &status);
        if (r < 0)
                return log_error_errno(r, "ready.command %s did not run to its end", argv[0]);
        if (status != 0) {
                log_error("ready.command %s ended with exit code %d: %.500s", argv[0], status,
                                output);
                return -EIO;
        }
        return 0;
}

static int make_headers(const char *token, char ***ret) {
        _cleanup_strv_free_ char **headers = NULL;
        int r;

        r = strv_extend(&headers, "Content-Type: application/json");
        if (r < 0)
                return r;
        if (token) {
                r = strv_extendf(&headers, "Authorization: Bearer %s", token);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(headers);
        return 0;
}

/* No answer, or one of the server's faults, may be better a little later. */
static int post(json_object *ready, const char *url, const char *text, uint64_t timeout_usec) {
        _cleanup_strv_free_ char **headers = NULL;
        _cleanup_free_ char *detail = NULL;
        long status = 0;
        int r;

        if (make_headers(json_get_string(ready, "token"), &headers) < 0)
                return log_oom();

        HttpRequest q = { .method = "POST",
                .url = url,
                .headers = headers,
                .body = text,
                .timeout_usec = timeout_usec };
        for (unsigned i = 0; i < POST_TRIES; i++) {
                free(TAKE_PTR(detail));
                r = http_request(&q, &status, NULL, &detail);
                if (r >= 0 && status >= 200 && status < 300)
                        return 0;
                if (r >= 0 && status < 500)
                        break;
                sleep(1u << i);
        }

        /* A token may be in the URL; the journal is not root's alone. */
        _cleanup_free_ char *shown = mask_text(url), *why = mask_text(strempty(detail));

        if (r < 0)
                return log_error_errno(r, "ready.url %s: %s", strempty(shown), strempty(why));
        log_error("ready.url %s answered with HTTP status %ld", strempty(shown), status);
        return -EIO;
}

int notify_run(void) {
        _cleanup_free_ char *config_path = fb_path(PATH_RUN_CONFIG), *status_path = NULL,
                            *text = NULL;
        _cleanup_json_ json_object *config = NULL, *status = NULL;
        JsonError e = {};
        int r, first = 0;

        if (!config_path)
                return log_oom();
        r = json_load(config_path, CONFIG_MAX, &e, &config);
        if (r < 0)
                return log_error_errno(r, "%s: %s", config_path, e.message);
        r = status_file_load(&e, &status, &status_path);
        if (r < 0)
                return log_error_errno(r, "%s: %s", PATH_RUN_STATUS, e.message);
        r = read_file(status_path, CONFIG_MAX, &text, NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", status_path);

        json_object *ready = json_get(json_get(config, "config"), "ready"),
                    *command = json_get(ready, "command");
        const char *url = json_get_string(ready, "url");
        uint64_t timeout_usec = config_duration(ready, "timeout", 30 * USEC_PER_SEC);

        if (command)
                first = run_command(command, status_path, timeout_usec);
        if (url) {
                r = post(ready, url, text, timeout_usec);
                if (first >= 0 && r < 0)
                        first = r;
        }
        return first;
}
