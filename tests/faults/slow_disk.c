/* Delays the calls that change or open files below one folder, each by a random time.

   cc -shared -fPIC -O1 -o slow_disk.so slow_disk.c
   LD_PRELOAD=./slow_disk.so SLOW_DISK_ROOT=/folder SLOW_DISK_MICROSECONDS=10000 PROGRAM */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *root;
static long limit;
static __thread unsigned long seed;

__attribute__((constructor)) static void start(void) {
    const char *microseconds = getenv("SLOW_DISK_MICROSECONDS");
    root = getenv("SLOW_DISK_ROOT");
    limit = microseconds ? atol(microseconds) : 0;
}

static void wait_some_time(void) {
    int known = errno;
    struct timespec now;
    if (limit <= 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = seed * 6364136223846793005UL + now.tv_nsec + 1442695040888963407UL;
    /* Most calls are fast; the square makes long delays rare. */
    long share = (seed >> 33) % 1000;
    long wait = limit * share / 1000 * share / 1000;
    struct timespec time = {.tv_nsec = wait * 1000};
    nanosleep(&time, NULL);
    errno = known;
}

static void delay(const char *path) {
    if (root && path && strstr(path, root))
        wait_some_time();
}

static void delay_file(int file) {
    char link[64], path[PATH_MAX];
    if (!root)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t bytes = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (bytes > 0) {
        path[bytes] = 0;
        delay(path);
    }
}

#define MODE_ARGUMENT                     \
    mode_t mode = 0;                      \
    if (flags & (O_CREAT | O_TMPFILE)) {  \
        va_list arguments;                \
        va_start(arguments, flags);       \
        mode = va_arg(arguments, mode_t); \
        va_end(arguments);                \
    }

static int open_later(int folder, const char *path, int flags, mode_t mode) {
    delay(path);
    return syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...) { MODE_ARGUMENT return open_later(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_ARGUMENT return open_later(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return open_later(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return open_later(folder, path, flags, mode); }

static int rename_later(int a, const char *old, int b, const char *new, unsigned flags) {
    delay(old);
    int result = syscall(SYS_renameat2, a, old, b, new, flags);
    delay(new);
    return result;
}

int rename(const char *old, const char *new) { return rename_later(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int a, const char *old, int b, const char *new) { return rename_later(a, old, b, new, 0); }
int renameat2(int a, const char *old, int b, const char *new, unsigned flags) { return rename_later(a, old, b, new, flags); }

static int link_later(int a, const char *old, int b, const char *new, int flags) {
    delay(new);
    return syscall(SYS_linkat, a, old, b, new, flags);
}

int link(const char *old, const char *new) { return link_later(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int a, const char *old, int b, const char *new, int flags) { return link_later(a, old, b, new, flags); }

static int unlink_later(int folder, const char *path, int flags) {
    delay(path);
    return syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path) { return unlink_later(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlink_later(folder, path, flags); }

int fsync(int file) {
    delay_file(file);
    return syscall(SYS_fsync, file);
}
int fdatasync(int file) {
    delay_file(file);
    return syscall(SYS_fdatasync, file);
}
