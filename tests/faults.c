/* A disk that fails: the N-th call of a kind on a path below a directory ends the process, or fails with an errno.

   Loaded by LD_PRELOAD, and armed by fault_arm() of a process that is to suffer it. Calls are counted from then on. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, RENAME = 4, MKDIR = 8, UNLINK = 16, SYNC = 32 };

static char below[4096];
static int is_armed, fails_kind, fails_with, lasts;
static long at;
static atomic_long calls[SYNC + 1];

/* Counts the calls of each kind on paths below `directory`; of `kind`, the `nth` fails with `number`, 0 ends the process.
   With `on` it and all that follow. nth 0 only counts. */
void fault_arm(const char *directory, int kind, long nth, int number, int on) {
  snprintf(below, sizeof below, "%s", directory);
  fails_with = number;
  lasts = on;
  at = nth;
  fails_kind = kind;
  for (int each = OPEN; each <= SYNC; each *= 2) atomic_store(&calls[each], 0);
  is_armed = 1;
}

long fault_calls(int kind) { return atomic_load(&calls[kind]); }

static int meets(int kind, const char *path) {
  if (!is_armed || !path || strncmp(path, below, strlen(below))) return 0;
  long call = atomic_fetch_add(&calls[kind], 1) + 1;
  if (kind != fails_kind || !at || call < at || (call > at && !lasts)) return 0;
  if (!fails_with) kill(getpid(), SIGKILL);
  errno = fails_with;
  return 1;
}

static int meets_file(int kind, int descriptor) {
  if (!is_armed) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return meets(kind, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Reading a file is no call that counts. */
#define OPENED(name, given, ...)                                           \
  mode_t mode = 0;                                                         \
  if (flags & (O_CREAT | O_TMPFILE)) {                                     \
    va_list rest;                                                          \
    va_start(rest, flags);                                                 \
    mode = va_arg(rest, mode_t);                                           \
    va_end(rest);                                                          \
  }                                                                        \
  if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && meets(OPEN, path)) return -1; \
  return REAL(name)(__VA_ARGS__, flags, mode)

int open(const char *path, int flags, ...) { OPENED(open, path, path); }
int open64(const char *path, int flags, ...) { OPENED(open64, path, path); }
int openat(int folder, const char *path, int flags, ...) { OPENED(openat, path, folder, path); }
int openat64(int folder, const char *path, int flags, ...) { OPENED(openat64, path, folder, path); }

#define WRITTEN(kind, name, ...) return meets_file(kind, file) ? -1 : REAL(name)(file, __VA_ARGS__)

ssize_t write(int file, const void *data, size_t size) { WRITTEN(WRITE, write, data, size); }
ssize_t pwrite(int file, const void *data, size_t size, off_t to) { WRITTEN(WRITE, pwrite, data, size, to); }
ssize_t pwrite64(int file, const void *data, size_t size, off64_t to) { WRITTEN(WRITE, pwrite64, data, size, to); }
ssize_t writev(int file, const struct iovec *data, int count) { WRITTEN(WRITE, writev, data, count); }
int ftruncate(int file, off_t size) { WRITTEN(WRITE, ftruncate, size); }
int ftruncate64(int file, off64_t size) { WRITTEN(WRITE, ftruncate64, size); }
int fsync(int file) { return meets_file(SYNC, file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return meets_file(SYNC, file) ? -1 : REAL(fdatasync)(file); }

int rename(const char *from, const char *to) { return meets(RENAME, to) ? -1 : REAL(rename)(from, to); }
int link(const char *from, const char *to) { return meets(RENAME, to) ? -1 : REAL(link)(from, to); }
int mkdir(const char *path, mode_t mode) { return meets(MKDIR, path) ? -1 : REAL(mkdir)(path, mode); }
int rmdir(const char *path) { return meets(UNLINK, path) ? -1 : REAL(rmdir)(path); }
int unlink(const char *path) { return meets(UNLINK, path) ? -1 : REAL(unlink)(path); }

/* rmtree names what is in a folder by the folder's descriptor. */
int unlinkat(int folder, const char *path, int flags) {
  int met = path[0] == '/' || folder == AT_FDCWD ? meets(UNLINK, path) : meets_file(UNLINK, folder);
  return met ? -1 : REAL(unlinkat)(folder, path, flags);
}
