/* file.c - whole files, atomic writes, folders, lines. */
#include "base/base.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open_regular(const char *path, size_t *size, err *e)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    if (!fstat(fd, &info) && S_ISREG(info.st_mode)) return *size = (size_t)info.st_size, fd;
    fail(e, "%s: found %s, expected a file", path,
         S_ISDIR(info.st_mode)    ? "a folder"
         : S_ISFIFO(info.st_mode) ? "a pipe"
                                  : "a device or socket");
    close(fd);
    return -1;
}

ssize_t file_read_some(int fd, void *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, (char *)to + done, n - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

void file_read_rest(int fd, size_t most, str *out)
{
    char part[4096];
    for (ssize_t n; out->n < most && (n = file_read_some(fd, part, sizeof part)) > 0;) str_addn(out, part, (size_t)n);
}

int file_read(const char *path, str *out, err *e)
{
    enum { MOST = 256 << 20 }; /* limit of bytes for a file without a size, since a device has no end */
    str_clear(out);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(e, "%s: cannot be opened: %s", path, strerror(errno));
    struct stat info;
    size_t step = 64 * 1024; /* pipes and /proc have no size */
    bool regular = !fstat(fd, &info) && S_ISREG(info.st_mode);
    if (regular && info.st_size > 0) step = (size_t)info.st_size + 1;
    ssize_t got;
    do {
        out->s = grow(out->s, &out->cap, out->n + step + 1, 1);
        got = file_read_some(fd, out->s + out->n, step);
        if (got > 0) out->n += (size_t)got;
    } while (got == (ssize_t)step && (regular || out->n <= MOST));
    bool endless = !regular && out->n > MOST, bad = got < 0 || endless;
    out->s[out->n] = 0;
    if (got < 0) fail(e, "%s: cannot be read: %s", path, strerror(errno));
    if (endless) fail(e, "%s: found a pipe or device of more than %d MB, expected a file", path, MOST >> 20);
    if (bad) str_clear(out);
    close(fd);
    return bad ? -1 : 0;
}

int file_read_regular(const char *path, size_t most, str *out, err *e)
{
    size_t size = 0;
    int fd = file_open_regular(path, &size, e);
    if (fd < 0) return -1;
    close(fd);
    if (size > most) return fail(e, "%s: found a file of %zu bytes, expected at most %zu", path, size, most);
    return file_read(path, out, e);
}

int file_write_all(int fd, const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = write(fd, (const char *)data + done, n - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        done += (size_t)put;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
    (void)s, (void)type, (void)at;
    remove(path);
    return 0;
}

void remove_tree(const char *folder) { nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *path_end(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_folder(const char *path)
{
    size_t n = (size_t)(path_end(path) - path);
    return n ? xstrndup(path, n > 1 ? n - 1 : 1) : xstrdup(".");
}

/* Syncs the file's name as well, or a crash could bring the old file back. */
static int sync_folder_of(const char *path, err *e)
{
    AUTOFREE char *folder = path_folder(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    /* EINVAL, ENOTSUP: the file system cannot sync a folder */
    if (fd < 0 || (fsync(fd) && errno != EINVAL && errno != ENOTSUP))
        rc = fail(e, "%s: folder cannot be synced: %s", folder, strerror(errno));
    if (fd >= 0) close(fd);
    return rc;
}

/* Creates a file beside `path`; *name: its name (the caller frees), or NULL. */
static int open_temporary(const char *path, char **name, err *e)
{
    for (int tries = 0; tries < 1000; tries++) { /* another thread or a killed process may have taken names */
        *name = xprintf("%s.%ld-%d.tmp", path, (long)getpid(), tries);
        int fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) return fd;
        free(*name);
        *name = NULL;
        if (errno != EEXIST) break;
    }
    return fail(e, "%s: cannot be written: %s", path, strerror(errno));
}

/* Replaces `path` by a new file. */
static int replace_file(const char *path, const void *data, size_t n, err *e)
{
    AUTOFREE char *name = NULL;
    int fd = open_temporary(path, &name, e);
    if (fd < 0) return -1;
    bool ok = !file_write_all(fd, data, n) && !fsync(fd);
    int why = errno;
    if (close(fd) && ok) ok = false, why = errno;
    if (ok && rename(name, path)) ok = false, why = errno;
    if (!ok) {
        unlink(name);
        fail(e, "%s: cannot be written: %s", path, strerror(why));
    }
    return ok ? sync_folder_of(path, e) : -1;
}

/* Writes to an existing pipe, terminal or device, or creates the target of a link. */
static int write_into(const char *path, const void *data, size_t n, err *e)
{
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | (file_exists(path) ? 0 : O_CREAT), 0666);
    bool ok = fd >= 0 && !file_write_all(fd, data, n);
    int why = errno;
    if (fd >= 0 && close(fd) && ok) ok = false, why = errno;
    return ok ? 0 : fail(e, "%s: cannot be written: %s", path, strerror(why));
}

int file_write(const char *path, const void *data, size_t n, err *e)
{
    struct stat info;
    bool there = !lstat(path, &info), link = there && S_ISLNK(info.st_mode);
    if (there && (stat(path, &info) || !S_ISREG(info.st_mode))) return write_into(path, data, n, e);
    AUTOFREE char *target = link ? realpath(path, NULL) : xstrdup(path); /* a link stays: its file is replaced */
    return target ? replace_file(target, data, n, e) : fail(e, "%s: cannot be written: %s", path, strerror(errno));
}

bool file_exists(const char *path)
{
    struct stat info;
    return !stat(path, &info);
}

bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

int make_folders(const char *path, err *e)
{
    if (!*path) return fail(e, "a folder without a name cannot be made");
    AUTOFREE char *name = xstrdup(path);
    for (char *end = name + 1;; end++) {
        if (*end && *end != '/') continue;
        char was = *end;
        *end = 0;
        if (mkdir(name, 0777)) {
            int why = errno;
            if (!is_folder(name)) return fail(e, "%s: folder cannot be made: %s", name, strerror(why));
        }
        *end = was;
        if (!was) return 0;
    }
}

char *path_join(const char *a, const char *b)
{
    if (*b == '/' || !*a) return xstrdup(b);
    return xprintf("%s%s%s", a, has_suffix(a, "/") || !*b ? "" : "/", b);
}

int file_lines(const char *path, str *text, char ***lines, size_t *n, err *e)
{
    *lines = NULL;
    *n = 0;
    return file_read(path, text, e) || text_lines(text, path, lines, n, e) ? -1 : 0;
}

int text_lines(str *text, const char *name, char ***lines, size_t *n, err *e)
{
    size_t cap = 0;
    *lines = NULL;
    *n = 0;
    char **list = grow(NULL, &cap, 1, sizeof *list), *end = text->n ? text->s + text->n : text->s;
    for (char *line = text->s; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line)), *next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        if (stop > line && stop[-1] == '\r') stop--;
        *stop = 0;
        if (memchr(line, 0, (size_t)(stop - line))) {
            free(list);
            size_t at = *n + 1;
            *n = 0;
            return fail(e, "%s:%zu: found a zero byte; not a text file", name, at);
        }
        list = grow(list, &cap, *n + 1, sizeof *list);
        list[(*n)++] = line;
        line = next;
    }
    *lines = list;
    return 0;
}
