/* Shifts the wall clock of a process: loaded into a node with LD_PRELOAD (tests/e2e/src/preload.rs).
 *
 * CLOCK_SHIFT_S holds the seconds, below 0 for a clock that is behind. Clocks that measure durations are as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void)
{
    const char *seconds = getenv("CLOCK_SHIFT_S");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
