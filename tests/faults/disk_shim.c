/* Records and fails what a program writes below one folder.

   cc -shared -fPIC -O1 -o disk_shim.so disk_shim.c
   LD_PRELOAD=./disk_shim.so DISK_SHIM_ROOT=/folder DISK_SHIM_LOG=/elsewhere/log PROGRAM

   Each successful change is appended to the log as a record: a header (struct record), the path,
   the second path and the data. disk_fail() makes one later call, or all from one on, fail. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    char kind; /* Write Truncate Flush Create Rename eXchange Unlink Link Mkdir rmDir Sync */
    char padding[3];
    uint32_t path_bytes, second_bytes, data_bytes;
    uint64_t inode;
    int64_t offset;
};

enum failure { FAIL, SHORT_WRITE, FAIL_FROM_HERE };

static const char *root;
static size_t root_bytes;
static int log_file = -1;
static long calls, failing_call = -1;
static int failing_errno;
static enum failure failing_kind;
static int recording = 1;

__attribute__((constructor)) static void start(void) {
    const char *log = getenv("DISK_SHIM_LOG");
    root = getenv("DISK_SHIM_ROOT");
    if (!root || !log)
        return;
    root_bytes = strlen(root);
    int opened = syscall(SYS_openat, AT_FDCWD, log, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    log_file = fcntl(opened, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, opened);
}

/* Let the call with this number, counted from now, fail; a negative number: none. */
void disk_fail(long call, int error, int kind) {
    calls = 0;
    failing_call = call;
    failing_errno = error;
    failing_kind = kind;
    recording = 0;
}

long disk_calls(void) { return calls; }

static int is_below_root(const char *path) {
    return root && !strncmp(path, root, root_bytes) && (path[root_bytes] == '/' || !path[root_bytes]);
}

/* Write the path of an open file to `path`; return whether it is below the root. */
static int path_of_file(int file, char *path) {
    char link[64];
    if (!root || file < 0 || file == log_file)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t bytes = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (bytes < 0)
        return 0;
    path[bytes] = 0;
    return is_below_root(path);
}

/* Write the absolute path to `full`; return whether it is below the root. */
static int absolute_path(int folder, const char *path, char *full) {
    char base[PATH_MAX] = "";
    if (!root)
        return 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD)
            syscall(SYS_getcwd, base, sizeof base);
        else
            path_of_file(folder, base);
        strncat(base, "/", sizeof base - strlen(base) - 1);
    }
    snprintf(full, PATH_MAX, "%s%s", base, path);
    return is_below_root(full);
}

static void add_record(char kind, int file, int64_t offset, const char *path, const char *second,
                       const void *data, size_t bytes) {
    int known = errno;
    struct stat status;
    struct record record = {.kind = kind, .offset = offset, .data_bytes = bytes};
    if (log_file < 0 || !recording)
        return;
    if (file >= 0 && !syscall(SYS_newfstatat, file, "", &status, AT_EMPTY_PATH))
        record.inode = status.st_ino;
    else if (file < 0 && path && !syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW))
        record.inode = status.st_ino;
    record.path_bytes = path ? strlen(path) : 0;
    record.second_bytes = second ? strlen(second) : 0;
    struct iovec parts[] = {{&record, sizeof record}, {(void *)path, record.path_bytes},
                            {(void *)second, record.second_bytes}, {(void *)data, bytes}};
    if (syscall(SYS_writev, log_file, parts, 4) < 0)
        abort();
    errno = known;
}

enum call { WRITES_DATA, NEEDS_SPACE, NEEDS_NO_SPACE };

/* Count a call; return whether it shall fail, with errno set. */
static int must_fail(enum call kind) {
    long call = calls++;
    if (failing_call < 0 || call < failing_call || (call > failing_call && failing_kind != FAIL_FROM_HERE))
        return 0;
    if ((failing_kind == SHORT_WRITE && kind != WRITES_DATA) || (failing_errno == ENOSPC && kind == NEEDS_NO_SPACE))
        return 0;
    errno = failing_errno;
    return 1;
}


/* ---- open ---- */

static int open_recorded(int folder, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    int below = absolute_path(folder, path, full);
    int exists = below && !syscall(SYS_faccessat, AT_FDCWD, full, F_OK);
    if (below && !exists && flags & O_CREAT && must_fail(NEEDS_SPACE))
        return -1;
    int file = syscall(SYS_openat, folder, path, flags, mode);
    if (file >= 0 && below && !exists && flags & O_CREAT)
        add_record('C', file, 0, full, NULL, NULL, 0);
    else if (file >= 0 && below && flags & O_TRUNC)
        add_record('T', file, 0, full, NULL, NULL, 0);
    return file;
}

#define MODE_ARGUMENT                    \
    mode_t mode = 0;                     \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list arguments;               \
        va_start(arguments, flags);      \
        mode = va_arg(arguments, mode_t);\
        va_end(arguments);               \
    }

int open(const char *path, int flags, ...) {
    MODE_ARGUMENT return open_recorded(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE_ARGUMENT return open_recorded(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    MODE_ARGUMENT return open_recorded(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE_ARGUMENT return open_recorded(folder, path, flags, mode);
}

/* ---- data ---- */

static ssize_t write_recorded(int file, const void *data, size_t bytes, off_t offset, int positioned) {
    char path[PATH_MAX];
    int below = path_of_file(file, path);
    if (below && must_fail(WRITES_DATA)) {
        if (failing_kind == FAIL || bytes < 2 || calls - 1 > failing_call)
            return -1;
        bytes /= 2;
    }
    if (below && !positioned) {
        int flags = fcntl(file, F_GETFL);
        offset = lseek(file, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    }
    ssize_t written = positioned ? syscall(SYS_pwrite64, file, data, bytes, offset)
                                 : syscall(SYS_write, file, data, bytes);
    if (below && written > 0)
        add_record('W', file, offset, path, NULL, data, written);
    return written;
}

ssize_t write(int file, const void *data, size_t bytes) { return write_recorded(file, data, bytes, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t bytes, off_t at) { return write_recorded(file, data, bytes, at, 1); }
ssize_t pwrite64(int file, const void *data, size_t bytes, off_t at) { return write_recorded(file, data, bytes, at, 1); }

static int truncate_recorded(int file, off_t size) {
    char path[PATH_MAX];
    int below = path_of_file(file, path);
    if (below && must_fail(NEEDS_NO_SPACE))
        return -1;
    int result = syscall(SYS_ftruncate, file, size);
    if (below && !result)
        add_record('T', file, size, path, NULL, NULL, 0);
    return result;
}

int ftruncate(int file, off_t size) { return truncate_recorded(file, size); }
int ftruncate64(int file, off_t size) { return truncate_recorded(file, size); }

static int flush_recorded(int file) {
    char path[PATH_MAX];
    int below = path_of_file(file, path);
    if (below && must_fail(NEEDS_NO_SPACE))
        return -1;
    /* Not flushed in fact: what counts is the record. */
    if (below)
        add_record('F', file, 0, path, NULL, NULL, 0);
    return below ? 0 : syscall(SYS_fsync, file);
}

int fsync(int file) { return flush_recorded(file); }
int fdatasync(int file) { return flush_recorded(file); }
void sync(void) { add_record('S', -1, 0, NULL, NULL, NULL, 0); }

/* ---- names ---- */

static int rename_recorded(int old_folder, const char *old, int folder, const char *new, unsigned flags) {
    char from[PATH_MAX], to[PATH_MAX];
    int below = absolute_path(old_folder, old, from) | absolute_path(folder, new, to);
    if (below && must_fail(NEEDS_SPACE))
        return -1;
    int result = syscall(SYS_renameat2, old_folder, old, folder, new, flags);
    if (below && !result)
        add_record(flags & RENAME_EXCHANGE ? 'X' : 'R', -1, 0, from, to, NULL, 0);
    return result;
}

int rename(const char *old, const char *new) { return rename_recorded(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int a, const char *old, int b, const char *new) { return rename_recorded(a, old, b, new, 0); }
int renameat2(int a, const char *old, int b, const char *new, unsigned flags) { return rename_recorded(a, old, b, new, flags); }

static int link_recorded(int old_folder, const char *old, int folder, const char *new, int flags) {
    char from[PATH_MAX], to[PATH_MAX];
    int below = absolute_path(old_folder, old, from) | absolute_path(folder, new, to);
    if (below && must_fail(NEEDS_SPACE))
        return -1;
    int result = syscall(SYS_linkat, old_folder, old, folder, new, flags);
    if (below && !result)
        add_record('L', -1, 0, from, to, NULL, 0);
    return result;
}

int link(const char *old, const char *new) { return link_recorded(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int a, const char *old, int b, const char *new, int flags) { return link_recorded(a, old, b, new, flags); }

static int unlink_recorded(int folder, const char *path, int flags) {
    char full[PATH_MAX];
    int below = absolute_path(folder, path, full);
    if (below && must_fail(NEEDS_NO_SPACE))
        return -1;
    int result = syscall(SYS_unlinkat, folder, path, flags);
    if (below && !result)
        add_record(flags & AT_REMOVEDIR ? 'D' : 'U', -1, 0, full, NULL, NULL, 0);
    return result;
}

int unlink(const char *path) { return unlink_recorded(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlink_recorded(folder, path, flags); }
int rmdir(const char *path) { return unlink_recorded(AT_FDCWD, path, AT_REMOVEDIR); }

static int mkdir_recorded(int folder, const char *path, mode_t mode) {
    char full[PATH_MAX];
    int below = absolute_path(folder, path, full);
    if (below && must_fail(NEEDS_SPACE))
        return -1;
    int result = syscall(SYS_mkdirat, folder, path, mode);
    if (below && !result)
        add_record('M', -1, 0, full, NULL, NULL, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) { return mkdir_recorded(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return mkdir_recorded(folder, path, mode); }
