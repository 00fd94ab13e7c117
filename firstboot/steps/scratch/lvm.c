/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-lvm run with arguments, and lvm's report read. */

#include "steps/scratch/lvm.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "steps/common/blockdev.h"
#include "steps/common/step.h"

#define LVM_USEC (180 * USEC_PER_SEC)
#define REPORT_MAX (16 * 1024 * 1024)

/* The command line: the words, and the devices that lvm may see. */
static int build(const Lvm *l, char *const words[], char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_push(&argv, fb_path(PATH_LVM));
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, words);
        if (r < 0)
                return r;
        STRV_FOREACH (d, l->devices) {
                r = strv_extend_strv(&argv, ARGV("--devices", *d));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(argv);
        return 0;
}

int lvm_run(const Lvm *l, char *const words[], char **ret_last) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        int r;

        r = build(l, words, &argv);
        if (r < 0)
                return r;
        r = step_command(argv, LVM_USEC, &last);
        if (r == 0)
                return 0;
        if (ret_last)
                *ret_last = TAKE_PTR(last);
        return r < 0 ? r : -EIO;
}

static void on_line(const char *line, void *userdata) {
        (void) userdata;
        log_info("  %s", line);
}

/* lvm puts remarks between the lines of a report. Lines of JSON begin with a bracket, a brace, a
 * quote or (newer versions, between report and log) a comma; all others are blanked. */
static void blank_remarks(char *text) {
        for (char *line = text; *line;) {
                size_t n = strcspn(line, "\n");

                if (!strchr("{}[]\",", line[strspn(line, " \t")]))
                        memset(line, ' ', n);
                line += n + (line[n] == '\n');
        }
}

/* Reads a stream from its beginning. */
static int read_stream(FILE *f, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;

        if (size < 0 || size > REPORT_MAX)
                return -EIO;
        text = malloc((size_t) size + 1);
        if (!text)
                return -ENOMEM;
        rewind(f);
        *ret_size = fread(text, 1, (size_t) size, f);
        text[*ret_size] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

/* {"report":[{"pv":[…]}]}; borrowed, NULL where it is no such thing. */
static json_object *physical_volumes(json_object *o) {
        json_object *reports = json_get(o, "report");

        if (!json_object_is_type(reports, json_type_array))
                return NULL;
        json_object *list = json_get(json_object_array_get_idx(reports, 0), "pv");
        return json_object_is_type(list, json_type_array) ? list : NULL;
}

int lvm_report(const Lvm *l, json_object **ret) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_json_ json_object *o = NULL;
        _cleanup_fclose_ FILE *f = tmpfile();
        _cleanup_free_ char *text = NULL;
        JsonError e = {};
        size_t n;
        int r, status;

        if (!f)
                return -errno;
        r = build(l,
                        ARGV("pvs", "--reportformat", "json", "-o",
                                        "pv_name,vg_name,vg_uuid,vg_tags,vg_missing_pv_count,lv_count"),
                        &argv);
        if (r < 0)
                return r;

        SpawnOptions options = {
                .stdout_fd = fileno(f), .on_line = on_line, .timeout_usec = LVM_USEC
        };
        r = spawn_run(&options, argv, &status);
        if (r < 0)
                return r;
        if (status != 0)
                return -EIO;

        r = read_stream(f, &text, &n);
        if (r < 0)
                return r;
        blank_remarks(text);
        if (json_parse(text, n, &e, &o) < 0)
                return -EBADMSG;
        json_object *list = physical_volumes(o);
        if (!list)
                return -EBADMSG;
        *ret = json_object_get(list);
        return 0;
}

json_object *lvm_report_find(json_object *report, const char *device) {
        for (size_t i = 0; i < json_object_array_length(report); i++) {
                json_object *o = json_object_array_get_idx(report, i);
                const char *pv = json_get_string(o, "pv_name");

                if (pv && (streq(pv, device) || same_block_device(pv, device)))
                        return o;
        }
        return NULL;
}

/* No group can be named so. */
bool lvm_group_is_lost(const char *vg_name) {
        return streq_ptr(vg_name, "[unknown]");
}
