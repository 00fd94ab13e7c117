/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a boot tells at its end: for people, as a file, and for programs. */

#include "boot/internal.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/json-strv.h"

#include <fnmatch.h>

static const char *marker(const Boot *b) {
        return b->o->until;
}

void boot_report_start(const Boot *b) {
        if (b->vm.kvm)
                log_debug("QEMU runs with KVM");
        else if (b->no_kvm)
                log_info("QEMU runs without KVM: %s", b->no_kvm);
        for (size_t i = 0; i < b->vm.n_forwards; i++)
                log_info("127.0.0.1:%u is the guest's port %u", b->vm.forwards[i].host,
                                b->vm.forwards[i].guest);
}

int boot_unforgiven(const Boot *b, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;

        STRV_FOREACH (unit, b->watch.failed) {
                bool forgiven = false;

                STRV_FOREACH (pattern, b->o->allow_failed)
                        forgiven = forgiven || fnmatch(*pattern, *unit, 0) == 0;
                if (!forgiven && strv_extend(&l, *unit) < 0)
                        return log_oom();
        }
        *ret = TAKE_PTR(l);
        return 0;
}

bool boot_is_degraded(const Boot *b) {
        return b->watch.verdict == BOOT_REACHED && boot_watch_for_ready(&b->watch) &&
               streq_ptr(b->watch.node.verdict, "degraded");
}

/* "firmware 4.1 s, boot loader 2.0 s, kernel 6.3 s, services 12.2 s" */
static char *phases(const Boot *b) {
        _cleanup_strv_free_ char **l = NULL;

        for (BootPhase p = 0; p < BOOT_UP; p++) {
                char text[FORMAT_DURATION_MAX];
                uint64_t from = b->watch.reached_at[p], to = b->ended;

                if (from == 0)
                        continue;
                for (BootPhase next = p + 1; next < BOOT_PHASES; next++)
                        if (b->watch.reached_at[next] >= from && b->watch.reached_at[next] != 0) {
                                to = b->watch.reached_at[next];
                                break;
                        }
                if (strv_extendf(&l, "%s %s", boot_phase_names[p],
                                    format_duration(text, to - from)) < 0)
                        return NULL;
        }
        return strv_join(l, ", ");
}

/* boot.json; NULL on out of memory. */
static json_object *result(const Boot *b, int code) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *at = json_object_new_object();
        bool well = code == EXIT_OK || code == BOOT_EXIT_DEGRADED;
        const char *ended = well && boot_is_degraded(b) ? "degraded"
                            : code == EXIT_OK           ? "reached"
                            : code == EXIT_TIMED_OUT    ? "timed-out"
                            : code == EXIT_INTERRUPTED  ? "interrupted"
                                                        : "failed";
        int r;

        for (BootPhase p = 0; at && p < BOOT_PHASES; p++)
                if (b->watch.reached_at[p] != 0)
                        json_set_int(at, boot_phase_names[p],
                                        (int64_t) (b->watch.reached_at[p] - b->started));

        r = json_set_fields(o, JSON_STRING("image", b->o->image), JSON_STRING("until", marker(b)),
                        JSON_STRING("result", ended), JSON_STRING("evidence", b->watch.evidence),
                        JSON_STRING("why", b->watch.why),
                        JSON_STRING("accelerator", b->vm.kvm ? "kvm" : "tcg"),
                        JSON_TAKE("reached_usec", at),
                        JSON_TAKE("failed_units", json_from_strv(b->watch.failed)),
                        JSON_TAKE("node", node_report_to_json(&b->watch.node)),
                        JSON_INT("journal_entries", b->watch.journal.n_entries),
                        JSON_INT("restarts", b->resets), JSON_STRING("console", b->console),
                        JSON_STRING("journal", b->o->no_journal ? NULL : b->journal));
        return r < 0 ? NULL : TAKE_PTR(o);
}

static void show_console(const Boot *b) {
        size_t n = console_kept(&b->watch.console);

        if (n == 0 && b->watch.console.used == 0) {
                log_error("The guest wrote nothing to its serial console (does its kernel have console=ttyS0?)");
                return;
        }
        log_error("The last lines of the console:");
        for (size_t i = 0; i < n; i++)
                log_full(LOG_ERR, 0, "  | %s", console_kept_line(&b->watch.console, i));
        if (b->watch.console.used > 0)
                log_full(LOG_ERR, 0, "  | %.*s", (int) b->watch.console.used,
                                b->watch.console.line);
}

/* What the node's own agent says, where it is not that all is well. */
static void show_node(const NodeReport *n) {
        if (n->steps) {
                json_object_object_foreach (n->steps, step, reason)
                        log_warning("%s: %s [%s]", step, json_get_string(reason, "message"),
                                        json_get_string(reason, "code"));
        }
        if (n->verdict && !streq(n->verdict, "ready"))
                log_warning("The node is %s; firstbootctl explain on it (imgbuild boot --keep) says what to do",
                                n->verdict);
}

void boot_report_end(Boot *b, int code) {
        _cleanup_free_ char *spent = phases(b), *failed = strv_join(b->watch.failed, " ");
        _cleanup_json_ json_object *o = result(b, code);
        bool up = b->watch.verdict == BOOT_REACHED;
        char after[FORMAT_DURATION_MAX] = "0.0 s";

        for (BootPhase p = 0; p < BOOT_UP; p++)
                if (b->watch.reached_at[p] != 0)
                        progress_set(b->ctx->progress, boot_phase_names[p],
                                        !up && p == b->watch.phase ? PROGRESS_FAILED
                                                                   : PROGRESS_DONE);

        /* What matters comes last, where a terminal shows it. */
        if (!up && code != EXIT_INTERRUPTED)
                show_console(b);
        if (b->watch.verdict_at > b->started)
                format_duration(after, b->watch.verdict_at - b->started);

        if (up)
                log_info("%s reached after %s (%s)%s", marker(b), after, strempty(spent),
                                streq_ptr(b->watch.evidence, "console") ? "; the console says so"
                                                                        : "");
        else if (b->watch.verdict == BOOT_FAILED)
                log_error("The guest did not reach %s: %s (after %s: %s)", marker(b),
                                strempty(b->watch.why), after, strempty(spent));
        else if (code == EXIT_TIMED_OUT)
                log_error("The guest did not reach %s within %s (%s); --timeout gives it longer",
                                marker(b), format_duration(after, b->o->timeout * USEC_PER_SEC),
                                strempty(spent));

        show_node(&b->watch.node);
        if (!isempty(failed))
                log_warning("Failed units: %s", failed);
        if (!up || b->o->save)
                log_full(up ? LOG_INFO : LOG_ERR, 0, "Console: %s%s%s", b->console,
                                b->o->no_journal ? "" : ", journal: ",
                                b->o->no_journal ? "" : b->readable);

        if (b->result && o) {
                int r = json_save(b->result, o, 0644);
                if (r < 0)
                        log_warning_errno(r, "Cannot write %s", b->result);
        }
        progress_event(b->ctx->progress, "boot.result", TAKE_PTR(o));
}
