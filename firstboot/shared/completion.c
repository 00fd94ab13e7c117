/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Completion scripts. Both shells get a table of who takes which option and what completes its
 * value, and a few lines that look it up: bash in shell code of ours, which needs nothing of the
 * bash-completion package, zsh in the language of its _arguments. */

#include "shared/completion.h"
#include "shared/quote.h"

#include <ctype.h>

static const OptionSpec no_options[] = { {} };

/* An option may have two lines of help, for two ways to write its value; here it counts once. */
static bool is_first(const OptionSpec *options, const OptionSpec *o) {
        for (const OptionSpec *p = options; p < o; p++)
                if (streq(p->name, o->name))
                        return false;
        return true;
}

#define FOREACH_OPTION(o, options)                                                                 \
        for (const OptionSpec *_all = (options) ? (options) : no_options, *o = _all; o->name; o++) \
                if (is_first(_all, o))

static bool has_letter(const OptionSpec *o) {
        return o->id > 0 && o->id < 0x80;
}

/* The name as a part of a function's name. */
static char *identifier(const char *name) {
        char *id = strdup(name);

        for (char *p = id; p && *p; p++)
                if (!isalnum((unsigned char) *p))
                        *p = '_';
        return id;
}

/* --- bash ------------------------------------------------------------------------------------- */

static const char bash_value[] =
                "_%1$s_value() {\n"
                "        local kind=$1 pattern\n"
                "        shift\n"
                "        case $kind in\n"
                "        choices) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\") ;;\n"
                "        command) mapfile -t COMPREPLY < <(compgen -W \"$(eval \"$1\" 2>/dev/null)\" -- \"$cur\") ;;\n"
                "        file | folder)\n"
                "                compopt -o filenames 2>/dev/null\n"
                "                mapfile -t COMPREPLY < <({\n"
                "                        compgen -d -- \"$cur\"\n"
                "                        [[ $kind == folder ]] && exit\n"
                "                        [[ -n $1 ]] || compgen -f -- \"$cur\"\n"
                "                        set -f\n"
                "                        for pattern in $1; do compgen -f -X \"!$pattern\" -- \"$cur\"; done\n"
                "                } | sort -u)\n"
                "                ;;\n"
                "        esac\n"
                "        COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
                "}\n";

/* "=" is a word of its own where COMP_WORDBREAKS has it, as it does unless somebody changed it. */
static const char bash_words[] =
                "        local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} prefix= verb= word\n"
                "        local -a options=() argument=(none)\n"
                "        COMPREPLY=()\n"
                "        if [[ $cur == = ]]; then\n"
                "                cur=\n"
                "        elif [[ $option == = ]]; then\n"
                "                option=${COMP_WORDS[COMP_CWORD-2]}\n"
                "        elif [[ $cur == --*=* ]]; then\n"
                "                option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}\n"
                "        fi\n";

static const char bash_end[] =
                "        if [[ $cur != -* ]]; then\n"
                "                _%1$s_value \"${argument[@]}\"\n"
                "                return\n"
                "        fi\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"${options[*]}\" -- \"$cur\")\n"
                "        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
                "        return 0\n"
                "}\n"
                "complete -F _%1$s %2$s\n";

/* "folder", "file '*.json'": the words that _NAME_value() is called with. */
static int bash_kind(FILE *f, CompletionKind kind, const char *words) {
        static const char *const names[] = {
                [COMPLETE_NONE] = "none",
                [COMPLETE_FILE] = "file",
                [COMPLETE_FOLDER] = "folder",
                [COMPLETE_CHOICES] = "choices",
                [COMPLETE_COMMAND] = "command",
        };
        _cleanup_free_ char *quoted = shell_quote(strempty(words));

        if (!quoted)
                return -ENOMEM;

        fprintf(f, "%s %s", names[kind], quoted);
        return 0;
}

/* The values of a verb's options; `verb` is a pattern. */
static int bash_values(FILE *f, const char *id, const char *verb, const OptionSpec *options) {
        FOREACH_OPTION(o, options) {
                if (!o->argument)
                        continue;

                fprintf(f, "        %s\" --%s\"", verb, o->name);
                if (has_letter(o))
                        fprintf(f, " | %s\" -%c\"", verb, o->id);
                fprintf(f, ") _%s_value ", id);
                if (bash_kind(f, o->value, o->words) < 0)
                        return -ENOMEM;
                fprintf(f, "; return ;;\n");
        }
        return 0;
}

static void bash_names(FILE *f, const OptionSpec *options) {
        FOREACH_OPTION(o, options)
        fprintf(f, " --%s%s", o->name, o->argument ? "=" : "");
}

static int bash_verb(FILE *f, const ProgramSpec *program, const VerbSpec *v) {
        fprintf(f, "        %s)\n                options=(", v->name);
        bash_names(f, v->options);
        bash_names(f, program->common);
        fprintf(f, " )\n");
        if (v->argument) {
                fprintf(f, "                argument=(");
                if (bash_kind(f, v->value, v->words) < 0)
                        return -ENOMEM;
                fprintf(f, ")\n");
        }
        fprintf(f, "                ;;\n");
        return 0;
}

/* What stands where there is no verb yet, or never will be one. */
static int bash_no_verb(FILE *f, const ProgramSpec *program) {
        fprintf(f, "        '')\n                options=(");
        bash_names(f, program->options);
        fprintf(f, " )\n                argument=(");
        if (program->verbs) {
                fprintf(f, "choices '");
                for (const VerbSpec *v = program->verbs; v->name; v++)
                        fprintf(f, "%s%s", v == program->verbs ? "" : " ", v->name);
                fprintf(f, "'");
        } else if (bash_kind(f, program->value, program->words) < 0)
                return -ENOMEM;
        fprintf(f, ")\n                ;;\n");
        return 0;
}

/* The verb is the first word that is one; behind "--" nothing is ours. */
static void bash_find_verb(FILE *f, const VerbSpec *verbs) {
        fprintf(f, "        for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                   "                case $word in\n"
                   "                --) return ;;\n");
        if (verbs) {
                fprintf(f, "                ");
                for (const VerbSpec *v = verbs; v->name; v++)
                        fprintf(f, "%s%s", v == verbs ? "" : " | ", v->name);
                fprintf(f, ") verb=${verb:-$word} ;;\n");
        }
        fprintf(f, "                esac\n        done\n");
}

/* What may follow each option, verb by verb. */
static int bash_all_values(FILE *f, const char *id, const ProgramSpec *program) {
        int r;

        r = bash_values(f, id, "", program->options);
        if (r < 0)
                return r;
        for (const VerbSpec *v = program->verbs; v && v->name; v++) {
                r = bash_values(f, id, v->name, v->options);
                if (r < 0)
                        return r;
        }
        return bash_values(f, id, "*", program->common);
}

static int bash_verbs(FILE *f, const ProgramSpec *program) {
        int r;

        r = bash_no_verb(f, program);
        if (r < 0)
                return r;
        for (const VerbSpec *v = program->verbs; v && v->name; v++) {
                r = bash_verb(f, program, v);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_bash(FILE *f, const char *id, const ProgramSpec *program) {
        int r;

        fprintf(f, bash_value, id);
        fprintf(f, "\n_%s() {\n%s", id, bash_words);
        bash_find_verb(f, program->verbs);

        fprintf(f, "        case \"$verb $option\" in\n");
        r = bash_all_values(f, id, program);
        if (r < 0)
                return r;
        fprintf(f, "        esac\n        case $verb in\n");
        r = bash_verbs(f, program);
        if (r < 0)
                return r;
        fprintf(f, "        esac\n");
        fprintf(f, bash_end, id, program->name);
        return 0;
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* Text inside an _arguments spec, where some characters end a field. */
static void zsh_text(FILE *f, const char *text, const char *special) {
        for (; *text && *text != '\n'; text++) {
                if (*text == '\\' || strchr(special, *text))
                        fputc('\\', f);
                fputc(*text, f);
        }
}

/* ":FOLDER:_files -/" */
static void zsh_value(FILE *f, const char *argument, CompletionKind kind, const char *words) {
        fputc(':', f);
        zsh_text(f, argument, ":");
        fputc(':', f);
        switch (kind) {
        case COMPLETE_FILE:
                fprintf(f, "_files");
                if (words)
                        fprintf(f, " -g \"%s\"", words);
                break;
        case COMPLETE_FOLDER:
                fprintf(f, "_files -/");
                break;
        case COMPLETE_CHOICES:
                fputc('(', f);
                zsh_text(f, words, ":");
                fputc(')', f);
                break;
        case COMPLETE_COMMAND:
                fprintf(f, "{compadd -- ${(f)\"$(");
                zsh_text(f, words, ":");
                fprintf(f, " 2>/dev/null)\"}}");
                break;
        case COMPLETE_NONE:
                fputc(' ', f);
                break;
        }
}

/* One spec on a line of its own, quoted. `flag` is "-o" or "--output". */
static int zsh_option(FILE *f, const OptionSpec *o, const char *flag, const char *sign) {
        _cleanup_free_ char *spec = NULL, *quoted = NULL;
        size_t length;
        FILE *s = open_memstream(&spec, &length);

        if (!s)
                return -ENOMEM;
        if (o->repeats)
                fprintf(s, "*");
        else if (has_letter(o))
                fprintf(s, "(-%c --%s)", o->id, o->name);
        fprintf(s, "%s%s[", flag, o->argument ? sign : "");
        zsh_text(s, strempty(o->help), "[]:");
        fputc(']', s);
        if (o->argument)
                zsh_value(s, o->argument, o->value, o->words);
        if (fclose(s) != 0)
                return -ENOMEM;

        quoted = shell_quote(spec);
        if (!quoted)
                return -ENOMEM;
        fprintf(f, "                %s\n", quoted);
        return 0;
}

static int zsh_options(FILE *f, const OptionSpec *options) {
        FOREACH_OPTION(o, options) {
                char name[64];

                if (has_letter(o)) {
                        snprintf(name, sizeof(name), "-%c", o->id);
                        if (zsh_option(f, o, name, "+") < 0)
                                return -ENOMEM;
                }
                snprintf(name, sizeof(name), "--%s", o->name);
                if (zsh_option(f, o, name, "=") < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int zsh_argument(FILE *f, const char *argument, CompletionKind kind, const char *words) {
        _cleanup_free_ char *spec = NULL, *quoted = NULL;
        size_t length;
        FILE *s;

        if (!argument)
                return 0;
        s = open_memstream(&spec, &length);
        if (!s)
                return -ENOMEM;
        fputc('*', s);
        zsh_value(s, argument, kind, words);
        if (fclose(s) != 0)
                return -ENOMEM;

        quoted = shell_quote(spec);
        if (!quoted)
                return -ENOMEM;
        fprintf(f, "                %s\n", quoted);
        return 0;
}

static int zsh_verb_names(FILE *f, const VerbSpec *verbs) {
        fprintf(f, "        verbs=(\n");
        for (const VerbSpec *v = verbs; v->name; v++) {
                _cleanup_free_ char *quoted = shell_quote(strempty(v->help));

                if (!quoted)
                        return -ENOMEM;
                fprintf(f, "                %s:%s\n", v->name, quoted);
        }
        fprintf(f, "        )\n");
        return 0;
}

static int zsh_verb(FILE *f, const VerbSpec *v) {
        fprintf(f, "        %s) specs+=(\n", v->name);
        if (zsh_options(f, v->options) < 0 || zsh_argument(f, v->argument, v->value, v->words) < 0)
                return -ENOMEM;
        fprintf(f, "                ) ;;\n");
        return 0;
}

static int zsh_verbs(FILE *f, const ProgramSpec *program) {
        if (zsh_verb_names(f, program->verbs) < 0)
                return -ENOMEM;
        fprintf(f, "        _arguments -C -S $specs '1:verb:->verb' '*::argument:->arguments' && return\n"
                   "        if [[ $state == verb ]]; then\n"
                   "                _describe -t verbs verb verbs\n"
                   "                return\n"
                   "        fi\n"
                   "        [[ $state == arguments ]] || return 1\n"
                   "        specs=(\n");
        if (zsh_options(f, program->common) < 0)
                return -ENOMEM;
        fprintf(f, "        )\n        case $words[1] in\n");
        for (const VerbSpec *v = program->verbs; v->name; v++)
                if (zsh_verb(f, v) < 0)
                        return -ENOMEM;
        fprintf(f, "        esac\n");
        return 0;
}

static int write_zsh(FILE *f, const char *id, const ProgramSpec *program) {
        fprintf(f,
                        "_%s() {\n"
                        "        local curcontext=\"$curcontext\" context state state_descr line\n"
                        "        local -a specs verbs\n"
                        "        typeset -A opt_args\n"
                        "        specs=(\n",
                        id);
        if (zsh_options(f, program->options) < 0 ||
                        zsh_argument(f, program->verbs ? NULL : program->argument, program->value,
                                        program->words) < 0)
                return -ENOMEM;
        fprintf(f, "        )\n");
        if (program->verbs && zsh_verbs(f, program) < 0)
                return -ENOMEM;

        /* The file serves as an autoloaded function, and to be sourced. */
        fprintf(f,
                        "        _arguments -s -S $specs\n"
                        "}\n"
                        "if [[ $funcstack[1] == _%1$s ]]; then _%1$s \"$@\"; else compdef _%1$s %2$s; fi\n",
                        id, program->name);
        return 0;
}

int completion_write(FILE *f, const char *shell, const ProgramSpec *program) {
        _cleanup_free_ char *id = identifier(program->name);
        bool bash = streq(shell, "bash");
        int r;

        if (!id)
                return -ENOMEM;
        if (!bash && !streq(shell, "zsh"))
                return -EINVAL;

        if (!bash)
                fprintf(f, "#compdef %s\n", program->name);
        fprintf(f, "# SPDX-License-Identifier: LGPL-2.1-or-later\n");
        fprintf(f, "# Completion of %s for %s, made from its tables of options.\n\n", program->name,
                        shell);
        r = bash ? write_bash(f, id, program) : write_zsh(f, id, program);
        if (r < 0)
                return r;
        return fflush(f) != 0 || ferror(f) ? -EIO : 0;
}
