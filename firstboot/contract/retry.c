/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When a failed step is tried again: pauses that grow, slow tries without end, and spread over a
 * fleet. */

#include "contract/retry.h"

/* The end of SplitMix64 (Steele, Lea, Flood 2014): every bit of x moves every bit of the result. */
static uint64_t mix(uint64_t x) {
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

uint64_t retry_seed(uint64_t node, const char *what) {
        uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

        for (; *what; what++)
                h = (h ^ (uint8_t) *what) * UINT64_C(0x100000001b3);
        return mix(mix(node) ^ h);
}

uint64_t retry_random(uint64_t seed, uint64_t n, uint64_t span) {
        uint64_t x = mix(seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15));

        return (uint64_t) (((unsigned __int128) x * span) >> 64);
}

uint64_t retry_jitter(uint64_t seed, uint64_t n, uint64_t usec) {
        return usec / 2 + retry_random(seed, n, usec - usec / 2 + 1);
}

uint64_t retry_first(const RetryPlan *p, uint64_t seed) {
        return retry_random(seed, 0, p->spread_usec);
}

static uint64_t fast_pause(const RetryPlan *p, uint64_t seed, unsigned attempts) {
        uint64_t pause = p->delay_usec;

        for (unsigned i = 1; i < attempts && pause < p->delay_max_usec; i++)
                pause *= 2;
        return retry_jitter(seed, attempts, MIN(pause, p->delay_max_usec));
}

static uint64_t slow_pause(const RetryPlan *p, uint64_t seed, unsigned attempts) {
        uint64_t slow = p->slow_usec;

        if (attempts == p->retries + 1)
                return slow / 4 + retry_random(seed, attempts, slow);
        return slow - slow / 10 + retry_random(seed, attempts, slow / 5);
}

RetryKind retry_next(const RetryPlan *p, uint64_t seed, unsigned attempts, uint64_t *ret_pause) {
        if (attempts <= p->retries) {
                *ret_pause = fast_pause(p, seed, attempts);
                return RETRY_FAST;
        }
        if (p->slow_usec == 0)
                return RETRY_NEVER;
        *ret_pause = slow_pause(p, seed, attempts);
        return RETRY_SLOW;
}

bool retry_again(RetryLoop *l, uint64_t now_usec, uint64_t *ret_pause) {
        if (now_usec + l->pause_usec >= l->deadline_usec)
                return false;

        *ret_pause = retry_jitter(l->seed, l->n++, l->pause_usec);
        l->pause_usec = MIN(l->pause_usec * 2, l->pause_max_usec);
        return true;
}
