/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A call again and again, beside one of libguestfs' that takes minutes and says nothing
 * meanwhile. */

#include "inspect/internal.h"
#include "shared/time-util.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

struct Pulse {
        pthread_t thread;
        pthread_mutex_t mutex;
        pthread_cond_t wake;
        bool stop;
        uint64_t usec;
        void (*beat)(void *userdata);
        void *userdata;
};

static struct timespec later(uint64_t usec) {
        uint64_t then = now_usec() + usec;

        return (struct timespec) {
                .tv_sec = (time_t) (then / USEC_PER_SEC),
                .tv_nsec = (long) (then % USEC_PER_SEC) * 1000,
        };
}

static void *pulse_main(void *userdata) {
        Pulse *p = userdata;
        sigset_t all;

        sigfillset(&all); /* signals are for who waits for the work */
        (void) pthread_sigmask(SIG_BLOCK, &all, NULL);

        pthread_mutex_lock(&p->mutex);
        while (!p->stop) {
                struct timespec end = later(p->usec);
                int r = 0;

                while (!p->stop && r == 0)
                        r = pthread_cond_timedwait(&p->wake, &p->mutex, &end);
                if (!p->stop)
                        p->beat(p->userdata);
        }
        pthread_mutex_unlock(&p->mutex);
        return NULL;
}

int pulse_start(uint64_t usec, void (*beat)(void *userdata), void *userdata, Pulse **ret) {
        _cleanup_free_ Pulse *p = calloc(1, sizeof(*p));
        pthread_condattr_t attributes;
        int r;

        if (!p)
                return -ENOMEM;
        p->usec = usec;
        p->beat = beat;
        p->userdata = userdata;
        pthread_mutex_init(&p->mutex, NULL);
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&p->wake, &attributes);
        pthread_condattr_destroy(&attributes);
        r = pthread_create(&p->thread, NULL, pulse_main, p);
        if (r != 0)
                return -r;

        *ret = TAKE_PTR(p);
        return 0;
}

Pulse *pulse_stop(Pulse *p) {
        if (!p)
                return NULL;
        pthread_mutex_lock(&p->mutex);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->mutex);
        (void) pthread_join(p->thread, NULL);
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->mutex);
        free(p);
        return NULL;
}
