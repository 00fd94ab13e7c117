/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kubeadm asks the cluster itself what is asked here before; but it tells what is wrong in words
 * that change from version to version, after minutes. The token is in a file that root alone reads,
 * and that is gone once kubeadm has ended. */

#include "steps/kubernetes/join.h"
#include "contract/config-rules.h"
#include "contract/paths.h"
#include "contract/secrets.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/common/own-file.h"
#include "steps/common/secret-file.h"
#include "steps/kubernetes/api.h"
#include "steps/kubernetes/join-config.h"
#include "steps/kubernetes/membership.h"

#define TOKEN_MAX 256
#define TOKEN_ID_LENGTH 6
#define VERSION_USEC (20 * USEC_PER_SEC)
/* kubeadm waits 5 minutes for kubelet's certificate, and for the cluster as long as it is told
 * below. */
#define JOIN_USEC (8 * 60 * USEC_PER_SEC)
/* The cluster signs for a token a few seconds after it was made (measured: 5 s with 1.20); later
 * than that it has none. */
#define SIGNED_USEC (15 * USEC_PER_SEC)

/* --- The token -------------------------------------------------------------------------------- */

static void wipe_free(char **text) {
        if (*text)
                explicit_bzero(*text, strlen(*text));
        free(*text);
}
#define _cleanup_secret_ _cleanup_(wipe_free)

static int find_token(Kubernetes *k, char **ret) {
        StepContext *c = k->context;
        const char *given = json_get_string(c->section, "token"),
                   *file = json_get_string(c->section, "token_file");
        _cleanup_free_ char *path = file ? fb_path(file) : NULL;
        _cleanup_secret_ char *text = NULL;
        size_t size;
        int r;

        if (given) {
                *ret = strdup(given);
                return *ret ? 0 : -ENOMEM;
        }
        if (!file)
                return step_fail_later(c, "kubernetes.no-token",
                                "the node has not joined yet, and neither credential nor file nor configuration gives a token");
        if (!path)
                return -ENOMEM;
        r = secret_file_read(path, TOKEN_MAX, &text, &size);
        if (r < 0)
                return step_fail_later(c, "kubernetes.no-token", "%s: %s", file,
                                r == -EIO ? "cannot be read, or is no token" : strerror(-r));
        text[strcspn(text, " \t\r\n")] = '\0';
        if (check_join_token(text))
                return step_fail_later(c, "kubernetes.no-token",
                                "%s holds no bootstrap token: it %s", file, check_join_token(text));
        *ret = TAKE_PTR(text);
        return 0;
}

/* --- Before anything is written --------------------------------------------------------------- */

/* The reason for an answer that is not "ok"; *ret_wait: whether it may pass within this attempt. */
static const char *code_of(const ApiAnswer *a, bool *ret_wait) {
        static const struct {
                const char *kind, *code;
                bool wait;
        } kinds[] = {
                { "unreachable", "kubernetes.unreachable", true },
                { "timeout", "kubernetes.unreachable", true },
                { "certificate", "kubernetes.certificate", true },
                { "wrong-ca", "kubernetes.wrong-ca", false },
                { "no-token", "kubernetes.token-expired", false },
                { "anonymous", "kubernetes.refused", true },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (streq(kinds[i].kind, a->kind)) {
                        *ret_wait = kinds[i].wait;
                        return kinds[i].code;
                }
        *ret_wait = true;
        return "kubernetes.protocol";
}

static int discover(Kubernetes *k, const char *token) {
        const char *endpoint = json_get_string(k->context->section, "endpoint");
        _cleanup_free_ char *id = strndup(token, TOKEN_ID_LENGTH);
        uint64_t signed_until = now_usec() + SIGNED_USEC;
        int r;

        if (!id)
                return -ENOMEM;
        for (;;) {
                _cleanup_api_answer_ ApiAnswer a = {};
                _cleanup_free_ char *apart = NULL;
                const char *code;
                bool wait = true;

                r = api_discover(id, &a);
                if (r < 0)
                        return r;
                bool differs = kubernetes_clock_differs(k, a.date, &apart);
                if (streq(a.kind, "ok") && !differs)
                        return 0;
                code = code_of(&a, &wait);
                if (streq(code, "kubernetes.wrong-ca"))
                        return step_fail(k->context, code, "%s: %s", endpoint, a.text);
                /* A certificate that is not valid yet, or not any more, may be a matter of
                 * clocks. */
                if (differs && (streq(a.kind, "ok") || streq(a.kind, "certificate"))) {
                        if (!kubernetes_again(k))
                                return step_fail_later(k->context, "kubernetes.clock-skew",
                                                "%s: %s", endpoint, strempty(apart));
                        continue;
                }
                wait = wait || (streq(a.kind, "no-token") && now_usec() < signed_until);
                if (!wait || !kubernetes_again(k))
                        return step_fail_later(k->context, code, "%s: %s", endpoint, a.text);
        }
}

/* What a join that was cut short leaves behind, and kubeadm would stumble over. There is no
 * kubelet.conf that is any good, so none of it is of use to anybody. */
static int clear_remains(Kubernetes *k, sd_bus *bus) {
        static const char *const names[] = { PATH_KUBELET_CONF,
                "/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/pki/ca.crt",
                "/var/lib/kubelet/pki/kubelet-client-current.pem", PATH_KUBEADM_JOIN };

        kubelet_stop(bus);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = fb_path(names[i]);

                if (!path)
                        return -ENOMEM;
                if (unlink(path) >= 0)
                        log_info("%s is from a join that was cut short: removed", names[i]);
                else if (errno != ENOENT && errno != ENOTDIR)
                        return step_fail_later(k->context, "kubernetes.join-failed",
                                        "%s cannot be removed: %s", names[i], strerror(errno));
        }
        return 0;
}

/* --- kubeadm ---------------------------------------------------------------------------------- */

const char *join_judge(const char *line) {
        /* In the words of kubeadm 1.20 to 1.34; the first that fits. */
        static const struct {
                const char *words, *code;
        } table[] = {
                { "invalid for this cluster or it has expired", "kubernetes.token-expired" },
                { "could not find a JWS signature", "kubernetes.token-expired" },
                { "failed to verify JWS signature", "kubernetes.token-refused" },
                { "Unauthorized", "kubernetes.token-refused" },
                { "cluster CA found in cluster-info ConfigMap is invalid", "kubernetes.wrong-ca" },
                { "certificate has expired or is not yet valid", "kubernetes.clock-skew" },
                { "x509: ", "kubernetes.certificate" },
                { "already exists in the cluster", "kubernetes.name-taken" },
                { "kubelet isn't running or healthy", "kubernetes.kubelet" },
                { "kubelet is not healthy", "kubernetes.kubelet" },
                { "couldn't validate the identity of the API Server", "kubernetes.unreachable" },
                { "connection refused", "kubernetes.unreachable" },
                { "no route to host", "kubernetes.unreachable" },
        };

        /* What kubeadm checks of this machine has such words as well: of DNS, of the container
         * runtime's socket. */
        if (strstr(line, "[WARNING ") || strstr(line, "[ERROR "))
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strstr(line, table[i].words))
                        return table[i].code;
        return NULL;
}

/* What kubeadm said, without the token. */
typedef struct Words {
        char **secrets;
        const char *code;
        char *telling; /* the line that has the code */
        char *best;    /* of those that tell of a failure, or just the last */
        int rank;      /* how much that one tells */
} Words;

/* How much a line tells of a failure. After the errors come advice to ignore them and to ask for a
 * stack trace. */
static int rank_of(const char *text) {
        if (strstr(text, "[ERROR "))
                return 2; /* a check that failed, by its name; the line before it has "error" alone */
        return strstr(text, "error") && !strstr(text, "stack trace") &&
               !strstr(text, "--ignore-preflight-errors");
}

static void words_done(Words *w) {
        strv_free(w->secrets);
        free(w->telling);
        free(w->best);
}

static void on_line(const char *line, void *userdata) {
        Words *w = userdata;
        _cleanup_free_ char *text = redact_text(line, w->secrets);
        const char *code;
        int rank;

        if (!text)
                return;
        log_info("  %s", text);
        code = join_judge(text);
        if (code && !w->code) {
                w->code = code;
                w->telling = strdup(text);
        }
        rank = rank_of(text);
        /* The first check that failed, the last of other errors. */
        if (!text[strspn(text, " \t")] || rank < w->rank || (rank == 2 && w->rank == 2))
                return;
        w->rank = rank;
        free(w->best);
        w->best = strdup(text + strspn(text, " \t"));
}

static int kubeadm_version(char **ret) {
        SpawnOptions o = { .timeout_usec = VERSION_USEC };
        _cleanup_free_ char *output = NULL;
        int r, status;

        r = spawn_capture(&o, ARGV("kubeadm", "version", "-o", "short"), &output, &status);
        if (r < 0)
                return r;
        output[strcspn(output, "\n")] = '\0';
        if (status != 0 || !startswith(output, "v1."))
                return -EBADMSG;
        *ret = TAKE_PTR(output);
        return 0;
}

static int run_kubeadm(Kubernetes *k, const char *token) {
        _cleanup_(words_done) Words words = {};
        _cleanup_free_ char *path = fb_path(PATH_KUBEADM_JOIN);
        SpawnOptions o = { .on_line = on_line, .line_data = &words, .timeout_usec = JOIN_USEC };
        int r, status = 0;

        if (!path || strv_extend_many(&words.secrets, token, token + TOKEN_ID_LENGTH + 1, NULL) < 0)
                return -ENOMEM;
        log_info("Running kubeadm join --config %s", PATH_KUBEADM_JOIN);
        r = spawn_run(&o, ARGV("kubeadm", "join", "--config", path), &status);
        if (r == -ENOMEM || r == -ECANCELED)
                return r;
        if (r == 0 && status == 0)
                return 0;
        return step_fail_later(k->context, words.code ? words.code : "kubernetes.join-failed",
                        "kubeadm join: %s",
                        words.telling ? words.telling
                        : r < 0       ? strerror(-r)
                                      : strempty(words.best));
}

static int join(Kubernetes *k, sd_bus *bus, const char *token) {
        StepContext *c = k->context;
        _cleanup_free_ char *version = NULL;
        _cleanup_secret_ char *text = NULL;
        int r;

        r = kubeadm_version(&version);
        if (r < 0)
                return step_fail_later(c, "kubernetes.join-failed",
                                "kubeadm does not tell its version: %s", strerror(-r));
        r = clear_remains(k, bus);
        if (r < 0)
                return r;
        text = join_configuration(c->section, k->node, token, version);
        if (!text)
                return -ENOMEM;
        r = own_file_put(PATH_KUBEADM_JOIN, text, 0600, false);
        if (r < 0)
                return step_fail_later(c, "kubernetes.join-failed", "%s not written: %s",
                                PATH_KUBEADM_JOIN, strerror(-r));
        /* It starts kubelet itself. */
        r = own_file_put(PATH_KUBELET_PERMIT, k->reason ? "held\n" : "ready\n", 0644, false);
        if (r < 0)
                return step_fail_later(c, "kubernetes.join-failed", "%s not written: %s",
                                PATH_KUBELET_PERMIT, strerror(-r));
        return run_kubeadm(k, token);
}

/* Whether there is a membership now that is any good. */
static int prove(Kubernetes *k) {
        _cleanup_api_answer_ ApiAnswer a = {};
        int r;

        r = api_identity(k->node, &a);
        if (r < 0 || streq(a.kind, "ok"))
                return r;
        return step_fail_later(k->context, "kubernetes.join-failed",
                        "kubeadm has ended well, but %s is no good: %s", PATH_KUBELET_CONF,
                        isempty(a.text) ? a.kind : a.text);
}

static int join_and_prove(Kubernetes *k, sd_bus *bus, const char *token) {
        _cleanup_free_ char *path = fb_path(PATH_KUBEADM_JOIN);
        int r;

        if (!path)
                return -ENOMEM;
        r = join(k, bus, token);
        (void) unlink(path);
        return r < 0 ? r : prove(k);
}

int kubernetes_join(Kubernetes *k, sd_bus *bus) {
        _cleanup_secret_ char *token = NULL;
        int r;

        r = find_token(k, &token);
        if (r < 0)
                return r;
        r = discover(k, token);
        if (r < 0)
                return r;
        r = join_and_prove(k, bus, token);
        if (r < 0)
                kubelet_stop(bus);
        return r;
}
