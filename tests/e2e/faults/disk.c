/* Lets the writes of a database file fail on demand: loaded into a node with LD_PRELOAD (tests/e2e/src/disk.rs).
 *
 * DISK_FAULT_FILE names a file that holds, while writes are to fail, one line "what errno":
 *   data   pages of the database
 *   sync   what makes them durable
 *   meta   the page that makes a transaction the last one: it is written, but not to the disk
 *   stuck  as meta, and the old content can't be put back either
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define DATABASE "/esker.mdb"

/* Whether calls of this kind on this file fail now. */
static int fails(int fd, const char *what)
{
    char link[64], path[4096], line[64] = "", kind[16];
    int code = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return 0;
    path[n] = 0;
    size_t suffix = strlen(DATABASE);
    if ((size_t)n < suffix || strcmp(path + n - suffix, DATABASE))
        return 0;
    const char *control = getenv("DISK_FAULT_FILE");
    int file = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    n = read(file, line, sizeof line - 1);
    close(file);
    if (n <= 0 || sscanf(line, "%15s %d", kind, &code) != 2)
        return 0;
    if (strcmp(kind, what) && !(!strcmp(kind, "stuck") && !strcmp(what, "meta")))
        return 0;
    if (!strcmp(kind, "stuck"))
        return -code;
    return code;
}

static ssize_t failed(int code)
{
    errno = code < 0 ? -code : code;
    return -1;
}

/* A meta page is the only part of a page that is ever written. */
static ssize_t write_at(int fd, const void *bytes, size_t len, off_t at, const char *name)
{
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    int code;
    if (len % PAGE == 0) {
        if ((code = fails(fd, "data")))
            return failed(code);
        return real(fd, bytes, len, at);
    }
    if ((code = fails(fd, "meta"))) {
        if (fcntl(fd, F_GETFL) & O_DSYNC) {
            /* In memory, not on the disk. */
            real(fd, bytes, len, at);
            return failed(code);
        }
        if (code < 0)
            return failed(code);
    }
    return real(fd, bytes, len, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return write_at(fd, bytes, len, at, "pwrite");
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
    return write_at(fd, bytes, len, at, "pwrite64");
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    ssize_t (*real)(int, const struct iovec *, int) =
        (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    int code = fails(fd, "data");
    return code ? failed(code) : real(fd, parts, n);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) =
        (ssize_t (*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    int code = fails(fd, "data");
    return code ? failed(code) : real(fd, parts, n, at);
}

int fdatasync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int code = fails(fd, "sync");
    return code ? (int)failed(code) : real(fd);
}
