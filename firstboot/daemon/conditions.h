/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the watch sees wrong, each with a calm time before it counts: something that comes and goes
 * within it never takes a node out of service. */

#include "shared/macro.h"

typedef struct Condition {
        char *key;     /* "unit:sssd.service": who saw it */
        char code[64]; /* reason code */
        char *text;
        uint64_t since_usec, seen_usec;
        bool there; /* at the last look */
        bool firm;  /* seen again after the calm time */
} Condition;

typedef struct Conditions {
        Condition *items;
        size_t n;
        uint64_t calm_usec;
} Conditions;

void conditions_done(Conditions *l); /* forgets all */

/* It is there, or there again. 0 or -ENOMEM. */
int conditions_set(Conditions *l, const char *key, const char *code, uint64_t now,
                const char *format, ...) _printf_(5, 6);

/* It is not. */
void conditions_clear(Conditions *l, const char *key);

/* What begins with prefix, was not seen at or after `since` and so is not there. */
void conditions_clear_older(Conditions *l, const char *prefix, uint64_t since);

/* The one that has been firm for longest; NULL: none. */
const Condition *conditions_firm(const Conditions *l);

/* What is to be told where the condition `key` was: that one for as long as it is there, then the
 * one that has been firm for longest. key may be NULL; NULL: there is nothing (else) to tell. */
const Condition *conditions_tell(const Conditions *l, const char *key);

/* The first that is there with this code; NULL: none. */
const Condition *conditions_with_code(const Conditions *l, const char *code);

/* Whether any is there, firm or not. */
bool conditions_any(const Conditions *l);

/* Whether one that begins with prefix is there and waits for another look to be firm. */
bool conditions_unsure(const Conditions *l, const char *prefix);
