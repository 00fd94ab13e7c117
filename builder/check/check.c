/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs the rules. Those that only look do so in a child that sees the merged tree from outside,
 * which hands its findings back as JSON; those that run a program of the tree do so in a sandbox
 * without network, read-only. A rule that cannot run is an error, never a pass. */

#include "check/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/mman.h>

#define RESULT_MAX (16u * 1024 * 1024)
#define COMMAND_TIMEOUT (120 * USEC_PER_SEC)

/* Each is a heading of docs/checks.md. */
const Rule check_rules[] = {
        { "kernel.present", WHEN_DISK, check_kernel_present },
        { "kernel.initramfs", WHEN_DISK, check_kernel_initramfs },
        { "nvidia.modules", WHEN_DRIVER, check_nvidia_modules },
        { "nvidia.vermagic", WHEN_DRIVER, check_nvidia_vermagic },
        { "nvidia.depmod", WHEN_DRIVER, check_nvidia_depmod },
        { "nvidia.version", WHEN_DRIVER, check_nvidia_version },
        { "nvidia.firmware", WHEN_DRIVER, check_nvidia_firmware },
        { "nvidia.nouveau", WHEN_DRIVER, check_nvidia_nouveau },
        { "nvidia.held", WHEN_DRIVER, check_nvidia_held },
        { "nvidia.build-tools", WHEN_DRIVER, check_nvidia_build_tools },
        { "cuda.runtime", WHEN_DRIVER, check_cuda_runtime },
        { "nccl.version", WHEN_DRIVER, check_nccl_version },
        { "identity.machine-id", WHEN_DISK, check_identity_machine_id },
        { "identity.ssh-host-keys", WHEN_ALWAYS, check_identity_ssh_host_keys },
        { "identity.seed", WHEN_ALWAYS, check_identity_seed },
        { "identity.host-ids", WHEN_ALWAYS, check_identity_host_ids },
        { "secrets.password", WHEN_ALWAYS, check_secrets_password },
        { "secrets.private-key", WHEN_ALWAYS, check_secrets_private_key },
        { "leftovers.apt-lists", WHEN_ALWAYS, check_leftovers_apt_lists },
        { "leftovers.caches", WHEN_ALWAYS, check_leftovers_caches },
        { "leftovers.logs", WHEN_ALWAYS, check_leftovers_logs },
        { "leftovers.resolv-conf", WHEN_ALWAYS, check_leftovers_resolv_conf },
        { "leftovers.history", WHEN_ALWAYS, check_leftovers_history },
        { "leftovers.temporary", WHEN_ALWAYS, check_leftovers_temporary },
        { "services.enabled", WHEN_DISK, check_services_enabled },
        { "services.verify", WHEN_COMMAND, NULL },
        { "overlay.check", WHEN_COMMAND, NULL },
        {},
};

static const char *rule_name(const char *name) {
        for (const Rule *rule = check_rules; rule->name; rule++)
                if (streq(rule->name, name))
                        return rule->name;
        return NULL;
}

int finding_add(Findings *f, const char *rule, char *found, char *remedy) {
        Finding *grown = found && remedy ? reallocarray(f->findings, f->n + 1, sizeof(*grown))
                                         : NULL;

        if (!grown) {
                free(found);
                free(remedy);
                return -ENOMEM;
        }
        f->findings = grown;
        f->findings[f->n++] = (Finding) { rule, found, remedy };
        return 0;
}

int findings_fact(Findings *f, const char *key, const char *value) {
        if (!f->versions)
                f->versions = json_object_new_object();
        return f->versions ? json_set_string(f->versions, key, value) : -ENOMEM;
}

void findings_done(Findings *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->findings[i].found);
                free(f->findings[i].remedy);
        }
        free(f->findings);
        if (f->versions)
                json_object_put(f->versions);
        *f = (Findings) {};
}

static bool applies(const Rule *rule, const Tree *t) {
        switch (rule->when) {
        case WHEN_ALWAYS:
                return true;
        case WHEN_DISK:
                return !t->recipe || t->recipe->kind == RECIPE_DISK;
        case WHEN_DRIVER:
                return t->driver;
        case WHEN_COMMAND:
                return false;
        }
        return true;
}

int rules_run(const char *root, const Recipe *recipe, Findings *f, char ***ret_units) {
        Tree t;
        int r = tree_open(root, recipe, &t);

        if (r < 0)
                return log_error_errno(r, "Cannot read the finished tree");
        for (const Rule *rule = check_rules; rule->name && r >= 0; rule++)
                if (applies(rule, &t)) {
                        r = rule->run(&t, rule->name, f);
                        if (r < 0)
                                log_error_errno(r,
                                                "Check %s could not run, which counts as a failure",
                                                rule->name);
                }
        if (r >= 0)
                r = check_facts(&t, f);
        if (r >= 0 && ret_units)
                r = enabled_units(&t, ret_units);
        tree_done(&t);
        return r;
}

/* What the child hands back. */
typedef struct Inside {
        const Recipe *recipe;
        int fd;
} Inside;

static int findings_write(const Findings *f, char *const *units, int fd) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *list = json_object_new_array(), *names = json_object_new_array();
        const char *text;
        int r = 0;

        if (!o || !list || !names || json_set(o, "findings", list) < 0 ||
                        json_set(o, "units", names) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < f->n; i++) {
                json_object *x = json_object_new_object();

                if (!x || json_object_array_add(list, x) < 0)
                        return -ENOMEM;
                r = json_set_string(x, "rule", f->findings[i].rule);
                if (r >= 0)
                        r = json_set_string(x, "found", f->findings[i].found);
                if (r >= 0)
                        r = json_set_string(x, "remedy", f->findings[i].remedy);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (unit, units)
                if (json_object_array_add(names, json_object_new_string(*unit)) < 0)
                        return -ENOMEM;
        if (f->versions)
                r = json_set(o, "versions", json_object_get(f->versions));
        text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (r < 0 || !text)
                return r < 0 ? r : -ENOMEM;
        return write_all(fd, text, strlen(text));
}

static int look_inside(const char *root, void *userdata) {
        Inside *in = userdata;
        _cleanup_strv_free_ char **units = NULL;
        Findings f = {};
        int r = rules_run(root, in->recipe, &f, &units);

        if (r >= 0)
                r = findings_write(&f, units, in->fd);
        findings_done(&f);
        return r < 0 ? r : 0;
}

static int findings_read(int fd, Findings *f, char ***ret_units) {
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *path = strf("/proc/self/fd/%d", fd);
        json_object *list, *names;
        JsonError error;
        int r = path ? json_load(path, RESULT_MAX, &error, &o) : -ENOMEM;

        if (r < 0)
                return r;
        list = json_get(o, "findings");
        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *x = json_object_array_get_idx(list, i);
                const char *rule = rule_name(strempty(json_get_string(x, "rule")));

                if (!rule)
                        return -EBADMSG;
                r = finding_add(f, rule, strdup(strempty(json_get_string(x, "found"))),
                                strdup(strempty(json_get_string(x, "remedy"))));
                if (r < 0)
                        return r;
        }
        names = json_get(o, "units");
        for (size_t i = 0; names && i < json_object_array_length(names); i++) {
                r = strv_extend(ret_units,
                                json_object_get_string(json_object_array_get_idx(names, i)));
                if (r < 0)
                        return r;
        }
        f->versions = json_object_get(json_get(o, "versions"));
        return 0;
}

/* Collects a command's output, up to a limit that no honest report reaches. */
typedef struct Output {
        char *text;
        size_t size;
} Output;

static void output_line(const char *line, void *userdata) {
        Output *o = userdata;
        size_t n = strlen(line);
        char *grown = o->size + n > 1024 * 1024 ? NULL : realloc(o->text, o->size + n + 2);

        if (!grown)
                return;
        o->text = grown;
        memcpy(o->text + o->size, line, n);
        o->size += n;
        o->text[o->size++] = '\n';
        o->text[o->size] = '\0';
}

static int run_command(const Sandbox *sandbox, const char *rule, char *const argv[], Output *output,
                int *ret_status) {
        SpawnOptions options = {
                .on_line = output_line, .line_data = output, .timeout_usec = COMMAND_TIMEOUT
        };
        int r = sandbox_run(sandbox, &options, argv, ret_status);

        if (r < 0)
                return log_error_errno(r, "Check %s could not run %s, which counts as a failure",
                                rule, argv[0]);
        return 0;
}

static int check_services_verify(const Sandbox *sandbox, char *const *units, Findings *f) {
        const char *rule = rule_name("services.verify");
        _cleanup_strv_free_ char **argv = NULL;
        Output output = {};
        int r, status;

        if (!units)
                return 0;
        r = strv_extend_many(&argv, "/usr/bin/systemd-analyze", "verify", "--man=no",
                        "--recursive-errors=one", NULL);
        if (r >= 0)
                r = strv_extend_strv(&argv, units);
        if (r >= 0)
                r = run_command(sandbox, rule, argv, &output, &status);
        if (r >= 0)
                r = verify_findings(rule, strempty(output.text), status, f);
        free(output.text);
        return r;
}

/* An overlay's own script: runs in the read-only tree, any exit code but 0 is a finding, its last
 * line says what. */
static int check_overlay_script(
                const Sandbox *tree, const Overlay *overlay, const char *script, Findings *f) {
        const char *rule = rule_name("overlay.check");
        static const char inside[] = "/run/imgbuild/check";
        const SandboxBind bind = { .source = script, .target = inside };
        char *argv[] = { (char *) inside, NULL };
        Sandbox sandbox = *tree;
        Output output = {};
        char *last;
        int r, status;

        sandbox.binds = &bind;
        sandbox.n_binds = 1;
        r = run_command(&sandbox, rule, argv, &output, &status);
        if (r < 0 || status == 0) {
                free(output.text);
                return r;
        }
        if (output.size > 0)
                output.text[--output.size] = '\0';
        last = output.text ? strrchr(output.text, '\n') : NULL;
        last = last ? last + 1 : output.text;
        r = finding_add(f, rule,
                        strf("overlay %s: %s", overlay->name,
                                        isempty(last) ? "its check failed without a word" : last),
                        strf("see %s (exit code %d)", script, status));
        free(output.text);
        return r;
}

int check_tree(Context *ctx, const Plan *plan, char *const *layers, Findings *ret) {
        const Recipe *recipe = plan->recipe;
        Sandbox sandbox = { .store = ctx->store,
                .layers = layers,
                .read_only = true,
                .epoch = plan->lock ? plan->lock->epoch : 0 };
        _cleanup_close_ int fd = memfd_create("findings", MFD_CLOEXEC);
        _cleanup_strv_free_ char **units = NULL;
        Inside in = { recipe, fd };
        Findings f = {};
        int r;

        if (fd < 0)
                return log_error_errno(errno, "Cannot run the checks");
        r = sandbox_call(&sandbox, look_inside, &in);
        if (r != 0)
                return log_error_errno(r < 0 ? r : -EIO, "Cannot run the checks");
        r = findings_read(fd, &f, &units);
        if (r < 0)
                log_error_errno(r, "Cannot read what the checks found");
        if (r >= 0 && recipe->kind == RECIPE_DISK)
                r = check_services_verify(&sandbox, units, &f);
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                STRV_FOREACH (script, recipe->overlays[i]->checks)
                        if (r >= 0)
                                r = check_overlay_script(
                                                &sandbox, recipe->overlays[i], *script, &f);
        if (r < 0) {
                findings_done(&f);
                return r;
        }
        *ret = f;
        return 0;
}
