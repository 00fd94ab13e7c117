/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/codes.h"
#include "contract/config-schema.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char *slurp(const char *name) {
        _cleanup_free_ char *path = path_join(getenv("TOP") ? getenv("TOP") : ".", name);
        char *text = NULL;

        if (read_file(path, 4 * 1024 * 1024, &text, NULL) < 0)
                fail_msg("%s cannot be read", path);
        return text;
}

static void each_code_is_whole(void **state) {
        (void) state;
        for (size_t i = 0; i < codes_count; i++) {
                const Code *c = &codes[i];

                assert_int_equal(strlen(c->id), 32);
                assert_int_equal(strspn(c->id, "0123456789abcdef"), 32);
                assert_non_null(strchr(c->code, '.'));
                if (strlen(c->title) < 10 || strlen(c->meaning) < 20)
                        fail_msg("%s says too little", c->code);
                assert_false(isempty(c->remedy));
        }
}

static void codes_and_ids_are_unique(void **state) {
        (void) state;
        for (size_t i = 0; i < codes_count; i++)
                for (size_t j = 0; j < i; j++) {
                        assert_string_not_equal(codes[i].code, codes[j].code);
                        assert_string_not_equal(codes[i].id, codes[j].id);
                }
}

static void each_code_has_a_catalog_entry(void **state) {
        _cleanup_free_ char *build = strf("%s/firstboot/firstboot.catalog",
                                            getenv("BUILD") ? getenv("BUILD") : "build"),
                            *text = slurp(build);

        (void) state;
        for (size_t i = 0; i < codes_count; i++) {
                _cleanup_free_ char *head =
                                strf("-- %s\nSubject: %s\n", codes[i].id, codes[i].title);

                if (!strstr(text, head))
                        fail_msg("the catalog has no entry for %s", codes[i].code);
        }
}

static void each_code_is_documented(void **state) {
        _cleanup_free_ char *text = slurp("docs/reason-codes.md");

        (void) state;
        for (size_t i = 0; i < codes_count; i++) {
                _cleanup_free_ char *entry = strf("### `%s`\n\n%s. %s\n\nWhat to do: %s\n",
                                codes[i].code, codes[i].title, codes[i].meaning, codes[i].remedy);

                if (!strstr(text, entry))
                        fail_msg("docs/reason-codes.md lacks %s, or says something else; run make docs/reason-codes.md",
                                        codes[i].code);
        }
}

static void each_config_key_is_documented(void **state) {
        _cleanup_free_ char *text = slurp("docs/node-config.md");

        (void) state;
        for (size_t i = 0; i < config_keys_count; i++) {
                _cleanup_free_ char *entry = strf("`%s`", config_keys[i].path);

                if (!strstr(text, entry))
                        fail_msg("docs/node-config.md lacks %s", config_keys[i].path);
        }
}

static const char *const more_files[] = { "daemon/instance.c", "daemon/publish.c",
        "daemon/verdict.c" };

/* Every code that the sources give must be in the table: what is not would go out as
 * step.failed. */
static void sources_use_known_codes_only(void **state) {
        static const char *const files[] = { "steps/host/host.c", "steps/host/grow.c",
                "steps/scratch/scratch.c", "steps/scratch/plan.c", "steps/scratch/volume.c",
                "steps/mounts/mounts.c", "steps/mounts/entry.c", "steps/identity/identity.c",
                "steps/slurm/slurm.c", "steps/slurm/munge.c", "steps/slurm/reach.c",
                "steps/slurm/membership.c", "steps/shape/detect.c", "steps/rdma/rdma.c",
                "steps/rdma/check.c", "steps/rdma/nccl-conf.c", "steps/nccl/nccl.c",
                "steps/gpu/gpu.c", "steps/gpu/judge.c", "daemon/engine.c", "daemon/job.c",
                "daemon/configure.c" };
        static const char *const prefixes[] = { "\"host.", "\"scratch.", "\"mounts.", "\"identity.",
                "\"slurm.", "\"shape.", "\"rdma.", "\"nccl.", "\"gpu.", "\"cuda.", "\"worker.",
                "\"config.", "\"graph.", "\"step.", "\"event.", "\"check.", "\"watch." };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(files) + ELEMENTSOF(more_files); i++) {
                const char *file = i < ELEMENTSOF(files) ? files[i]
                                                         : more_files[i - ELEMENTSOF(files)];
                _cleanup_free_ char *name = strf("firstboot/%s", file), *text = slurp(name);

                for (size_t k = 0; k < ELEMENTSOF(prefixes); k++)
                        for (const char *p = text; (p = strstr(p, prefixes[k])); p++) {
                                size_t n = strcspn(p + 1, "\"");
                                _cleanup_free_ char *code = strndup(p + 1, n);

                                if (endswith(code, ".h"))
                                        continue;
                                if (strspn(code, "abcdefghijklmnopqrstuvwxyz.-") == n &&
                                                !code_find(code))
                                        fail_msg("%s uses the unknown code %s", name, code);
                        }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_code_is_whole),
                cmocka_unit_test(codes_and_ids_are_unique),
                cmocka_unit_test(each_code_has_a_catalog_entry),
                cmocka_unit_test(each_code_is_documented),
                cmocka_unit_test(each_config_key_is_documented),
                cmocka_unit_test(sources_use_known_codes_only),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
