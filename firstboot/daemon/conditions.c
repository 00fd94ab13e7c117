/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A condition is firm by being seen, never by time alone: nobody looked in between. */

#include "daemon/conditions.h"
#include "shared/strv.h"

#include <stdarg.h>

void conditions_done(Conditions *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->items[i].key);
                free(l->items[i].text);
        }
        free(l->items);
        *l = (Conditions) { .calm_usec = l->calm_usec };
}

static Condition *find(const Conditions *l, const char *key) {
        for (size_t i = 0; i < l->n; i++)
                if (streq(l->items[i].key, key))
                        return &l->items[i];
        return NULL;
}

static Condition *get(Conditions *l, const char *key) {
        Condition *c = find(l, key), *grown;

        if (c)
                return c;
        grown = reallocarray(l->items, l->n + 1, sizeof(*grown));
        if (!grown)
                return NULL;
        l->items = grown;
        l->items[l->n] = (Condition) { .key = strdup(key) };
        return l->items[l->n].key ? &l->items[l->n++] : NULL;
}

int conditions_set(Conditions *l, const char *key, const char *code, uint64_t now,
                const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        Condition *c = get(l, key);
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (!c || !text)
                return -ENOMEM;

        if (!c->there) {
                c->since_usec = now;
                c->firm = false;
        }
        if (now - c->since_usec >= l->calm_usec)
                c->firm = true;
        c->there = true;
        c->seen_usec = now;
        snprintf(c->code, sizeof(c->code), "%s", code);
        free(c->text);
        c->text = TAKE_PTR(text);
        return 0;
}

static void drop(Condition *c) {
        c->there = c->firm = false;
}

void conditions_clear(Conditions *l, const char *key) {
        Condition *c = find(l, key);

        if (c)
                drop(c);
}

void conditions_clear_older(Conditions *l, const char *prefix, uint64_t since) {
        for (size_t i = 0; i < l->n; i++)
                if (startswith(l->items[i].key, prefix) && l->items[i].seen_usec < since)
                        drop(&l->items[i]);
}

const Condition *conditions_firm(const Conditions *l) {
        const Condition *first = NULL;

        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].firm && (!first || l->items[i].since_usec < first->since_usec))
                        first = &l->items[i];
        return first;
}

const Condition *conditions_tell(const Conditions *l, const char *key) {
        const Condition *told = key ? find(l, key) : NULL;

        return told && told->there ? told : conditions_firm(l);
}

const Condition *conditions_with_code(const Conditions *l, const char *code) {
        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].there && streq(l->items[i].code, code))
                        return &l->items[i];
        return NULL;
}

bool conditions_any(const Conditions *l) {
        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].there)
                        return true;
        return false;
}

bool conditions_unsure(const Conditions *l, const char *prefix) {
        for (size_t i = 0; i < l->n; i++)
                if (l->items[i].there && !l->items[i].firm && startswith(l->items[i].key, prefix))
                        return true;
        return false;
}
