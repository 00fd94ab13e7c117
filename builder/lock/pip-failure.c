/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What pip says when it finds no answer, in our words: whose requirements do not go together, what
 * is there as source only, which index does not answer; and the ways out. */

#include "lock/python.h"
#include "shared/log.h"

#define CAUSE "The conflict is caused by:"
#define NO_MATCH "No matching distribution found for "

#define UNTRUSTED "The repository located at "

bool pip_is_unreachable(const char *output) {
        return strstr(output, PIP_SAYS " " PIP_SLOW) || strstr(output, PIP_SAYS " " PIP_ENDLESS) ||
               strstr(output, PIP_SAYS " " PIP_OUT_OF_TLS) ||
               strstr(output, "WARNING: Retrying (") || strstr(output, "Read timed out") ||
               strstr(output, "Max retries exceeded") || strstr(output, "Could not fetch URL");
}

/* The rest of the line behind `mark`; NULL: not there. "" on no line. */
static char *behind(const char *output, const char *mark) {
        const char *at = strstr(output, mark);

        return at ? strndup(at + strlen(mark), strcspn(at + strlen(mark), "\n")) : NULL;
}

/* The lines that name the causes, without their indent, joined. */
static char **causes(const char *output) {
        _cleanup_strv_free_ char **all = NULL;
        const char *line = strstr(output, CAUSE);

        line = line ? strchr(line, '\n') : NULL;
        while (line && line[1] == ' ') {
                size_t indent = strspn(line + 1, " "), n = strcspn(line + 1, "\n");

                if (strv_push(&all, strndup(line + 1 + indent, n - indent)) < 0)
                        return NULL;
                line = strchr(line + 1, '\n');
        }
        return TAKE_PTR(all);
}

/* "The user requested numpy<2", "The user requested (constraint) numpy<2", "foo 1.0 depends on
 * numpy<2": whether `name` is the one that asks. */
static bool is_asked_by(char *const *all, const char *name) {
        static const char *const starts[] = { "The user requested (constraint) ",
                "The user requested ", "" };

        STRV_FOREACH (cause, all) {
                for (size_t i = 0; i < ELEMENTSOF(starts); i++) {
                        const char *rest = startswith(*cause, starts[i]);
                        _cleanup_free_ char *asking = rest ? pip_name(rest) : NULL;

                        if (!rest)
                                continue;
                        if (asking && streq(asking, name))
                                return true;
                        break;
                }
        }
        return false;
}

static bool asks(char *const *requirements, char *const *all) {
        STRV_FOREACH (requirement, requirements) {
                _cleanup_free_ char *name = pip_name(*requirement);

                if (name && is_asked_by(all, name))
                        return true;
        }
        return false;
}

/* "overlays ml-a and ml-b": of those that fill the environment, those that a cause names; all of
 * them where it names none. */
static char *name_overlays(const Recipe *recipe, const char *environment, char *const *all) {
        _cleanup_strv_free_ char **asking = NULL, **others = NULL;

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];
                bool named;

                if (!streq_ptr(o->python.environment, environment))
                        continue;
                named = asks(o->python.requirements, all) || asks(o->python.constraints, all);
                if (strv_extend(named ? &asking : &others, o->name) < 0)
                        return NULL;
        }
        char **those = asking ? asking : others;
        _cleanup_free_ char *names = strv_join(those, " and ");
        return names ? strf("overlay%s %s", strv_length(those) > 1 ? "s" : "", names) : NULL;
}

static int explain_conflict(const Recipe *recipe, const char *environment, const char *output) {
        _cleanup_strv_free_ char **all = causes(output);
        _cleanup_free_ char *text = strv_join(all, "; "),
                            *overlays = name_overlays(recipe, environment, all);
        bool several;

        if (!text || !overlays)
                return log_oom();
        several = strstr(overlays, " and ");
        log_error("Environment %s: what %s %s for does not go together: %s. Loosen one of them%s",
                        environment, overlays, several ? "ask" : "asks",
                        *text ? text : "pip says no more",
                        several ? ", or give one overlay an environment of its own" : "");
        return -EINVAL;
}

static const char *where_index(const PipCall *c) {
        return c->index ? "the overlay's python.index"
                        : "'python3 -m pip config list' and PIP_INDEX_URL";
}

static int explain_unreachable(const char *environment, const PipCall *c, const char *output) {
        _cleanup_free_ char *why = behind(output, "connection broken by "),
                            *proxy = behind(output, PIP_SAYS " " PIP_PROXY " "),
                            *slow = behind(output, PIP_SAYS " " PIP_SLOW " "),
                            *endless = behind(output, PIP_SAYS " " PIP_ENDLESS " "),
                            *out = behind(output, PIP_SAYS " " PIP_OUT_OF_TLS " ");

        if (endless)
                log_error("Environment %s: the index of wheels sends more than 256 MiB for one page: %s. See %s",
                                environment, endless, where_index(c));
        else if (out)
                log_error("Environment %s: the index of wheels leads out of TLS, from %s, where anybody on the way may change what comes. See %s",
                                environment, out, where_index(c));
        else if (slow)
                log_error("Environment %s: the index of wheels answers too slowly to go on: %s%s%s. See %s, or try again later",
                                environment, slow, proxy ? ", by the proxy " : "", strempty(proxy),
                                where_index(c));
        else
                log_error("Environment %s: the index of wheels does not answer%s%s%s%.300s. See %s, or try again later",
                                environment, proxy ? " by the proxy " : "", strempty(proxy),
                                why ? ": " : "", strempty(why), where_index(c));
        return -ENETUNREACH;
}

/* "http://… is not a trusted or secure host and is being ignored": pip's word, and a host's whole
 * name. */
static int explain_untrusted(const char *environment, const PipCall *c, const char *output) {
        _cleanup_free_ char *host = behind(output, UNTRUSTED);

        if (!host)
                return log_oom();
        host[strcspn(host, " ")] = '\0';
        log_error("Environment %s: the index of wheels on %s is not over TLS, and pip asks no such one. Use https in %s, or say PIP_TRUSTED_HOST=%s on this host",
                        environment, host, where_index(c), host);
        return -EREMOTEIO;
}

/* Release 9 of family el has 3.9 as its python3, which few projects still have wheels for. */
static char *newer_python(const Recipe *recipe, const char *environment, const PipCall *c) {
        if (recipe->family != FAMILY_EL ||
                        !streq(recipe_interpreter(recipe, environment), "python3"))
                return strdup("");
        return strf(". The environment is of the system's own Python, %s: name a newer one in the overlay's python.interpreter and packages.el (docs/overlay.md, python)",
                        c->target->minor);
}

static int explain_missing(const Recipe *recipe, const char *environment, const PipCall *c,
                const char *output, const char *requirement) {
        _cleanup_free_ char *name = pip_name(requirement),
                            *versions = behind(output, "(from versions: "), *overlays = NULL,
                            *newer = newer_python(recipe, environment, c);

        overlays = name_overlays(recipe, environment, ARGV(requirement));
        if (!name || !overlays || !newer)
                return log_oom();
        if (versions && !startswith(versions, "none")) {
                size_t n = strlen(versions);

                log_error("Environment %s (%s): no wheel for %s answers %s. There are: %s%s%s",
                                environment, overlays, c->target->name, requirement,
                                n > 200 ? "… " : "", versions + (n > 200 ? n - 200 : 0), newer);
                return -EINVAL;
        }
        if (pip_knows(c, name)) {
                log_error("Environment %s (%s): %s is there, but not as a wheel for %s. Where a project has sources only, build it in a compile stage (docs/overlay.md, python)%s",
                                environment, overlays, name, c->target->name, newer);
                return -EINVAL;
        }
        log_error("Environment %s (%s): the index does not have %s. See its spelling, and %s",
                        environment, overlays, name,
                        c->index ? "the overlay's python.index" : "'python3 -m pip config list'");
        return -EREMOTEIO;
}

int pip_explain(const Recipe *recipe, const char *environment, const PipCall *c,
                const char *output) {
        _cleanup_free_ char *missing = behind(output, NO_MATCH), *said = NULL;

        /* First: of a project that pip could not ask for there is no version either. */
        if (pip_is_unreachable(output))
                return explain_unreachable(environment, c, output);
        if (strstr(output, UNTRUSTED))
                return explain_untrusted(environment, c, output);
        if (strstr(output, CAUSE) || strstr(output, "ResolutionImpossible"))
                return explain_conflict(recipe, environment, output);
        if (strstr(output, "DO NOT MATCH THE HASHES")) {
                log_error("Environment %s: the index serves a wheel with another digest than it names itself: somebody changed one of them. Ask whoever keeps the index",
                                environment);
                return -EBADMSG;
        }
        if (missing)
                return explain_missing(recipe, environment, c, output, missing);
        said = behind(output, "ERROR: ");
        log_error("Environment %s: pip finds no wheels for it: %.500s", environment,
                        said ? said : "it does not say why; see with -v");
        return -EREMOTEIO;
}
