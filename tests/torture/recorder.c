/* Writes down, in order, what a process does to the files below a folder; for crash_images.py, which preloads it.

RECORDED names the folder, and RECORD the file to write to. Each line of the record is a header, a path and data. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static char folder[PATH_MAX];

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void begin(void) {
    const char *below = getenv("RECORDED"), *path = getenv("RECORD");
    if (!below || !path) return;
    snprintf(folder, sizeof folder, "%s/", below);
    REAL(int, "open64", const char *, int, ...);
    record = real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Only below the folder; `turn` is held from before the call until here, so that the order is that of the calls. */
static void note(char what, const char *path, uint64_t number, const void *data, size_t size) {
    if (record < 0 || strncmp(path, folder, strlen(folder))) return;
    struct __attribute__((packed)) { char what; uint32_t path, size; uint64_t number; } head =
        {what, strlen(path) - strlen(folder), size, number};
    struct iovec parts[] = {{&head, sizeof head}, {(char *)path + strlen(folder), head.path}, {(void *)data, size}};
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (real(record, parts, 3) != (ssize_t)(sizeof head + head.path + size)) abort();
}

static const char *path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size < 0 ? 0 : size] = 0;
    return path;
}

static const char *resolved(int at, const char *name, char *path) {
    char parent[PATH_MAX];
    if (name[0] == '/') snprintf(path, PATH_MAX, "%s", name);
    else if (at == AT_FDCWD) snprintf(path, PATH_MAX, "%s/%s", getcwd(parent, PATH_MAX) ? parent : "", name);
    else snprintf(path, PATH_MAX, "%s/%s", path_of(at, parent), name);
    return path;
}

static int opened(const char *name, int at, const char *given, int flags, mode_t mode) {
    int (*real)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, name);
    char path[PATH_MAX];
    resolved(at, given, path);
    pthread_mutex_lock(&turn);
    int is_new = (flags & O_CREAT) && access(path, F_OK), file = real(at, given, flags, mode);
    if (file >= 0 && is_new) note('C', path, 0, 0, 0);
    if (file >= 0 && (flags & O_TRUNC) && !is_new) note('T', path, 0, 0, 0);
    pthread_mutex_unlock(&turn);
    return file;
}

int open(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);
    return opened("openat", AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);
    return opened("openat64", AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);
    return opened("openat", at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest);
    return opened("openat64", at, path, flags, mode);
}

#define LOCKED(call) \
    char path[PATH_MAX]; \
    pthread_mutex_lock(&turn); \
    call; \
    pthread_mutex_unlock(&turn)

ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t done;
    LOCKED(off_t at = lseek(file, 0, SEEK_CUR); done = real(file, data, size);
           if (done > 0 && at >= 0) note('W', path_of(file, path), at, data, done));
    return done;
}
#define PWRITE(name) \
    ssize_t name(int file, const void *data, size_t size, off_t at) { \
        REAL(ssize_t, #name, int, const void *, size_t, off_t); \
        ssize_t done; \
        LOCKED(done = real(file, data, size, at); if (done > 0) note('W', path_of(file, path), at, data, done)); \
        return done; \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t writev(int file, const struct iovec *parts, int count) {
    ssize_t total = 0;
    for (int each = 0; each < count; each++) {
        ssize_t done = write(file, parts[each].iov_base, parts[each].iov_len);
        if (done < 0) return total ? total : done;
        total += done;
        if ((size_t)done < parts[each].iov_len) break;
    }
    return total;
}

#define ON_FILE(name, what, number, declared, ...) \
    int name(int file declared) { \
        REAL(int, #name, int declared); \
        int done; \
        LOCKED(done = real(file __VA_ARGS__); if (!done) note(what, path_of(file, path), number, 0, 0)); \
        return done; \
    }
#define COMMA ,
ON_FILE(fsync, 'S', 0, )
ON_FILE(fdatasync, 'S', 0, )
ON_FILE(ftruncate, 'T', size, COMMA off_t size, COMMA size)
ON_FILE(ftruncate64, 'T', size, COMMA off_t size, COMMA size)

static int renamed(int at, const char *old, int to, const char *new, int flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    char target[PATH_MAX];
    int done;
    LOCKED(done = real(at, old, to, new, flags); resolved(to, new, target);
           if (!done) note('R', resolved(at, old, path), 0, target + strlen(folder), strlen(target) - strlen(folder)));
    return done;
}
int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int at, const char *old, int to, const char *new) { return renamed(at, old, to, new, 0); }
int renameat2(int at, const char *old, int to, const char *new, unsigned flags) {
    return renamed(at, old, to, new, flags);
}

int unlinkat(int at, const char *name, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    int done;
    LOCKED(done = real(at, name, flags);
           if (!done && !(flags & AT_REMOVEDIR)) note('U', resolved(at, name, path), 0, 0, 0));
    return done;
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
