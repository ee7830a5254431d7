/* fetch.c - runs curl or wget, and tar, as child processes. */
#include "text/data/fetch.h"
#include "base/cleanup.h"
#include "base/gzip.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- running a program ---- */

enum { NOT_FOUND = 127 }; /* the exit code of a shell for a missing program */

static int64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) ? -1 : (int64_t)info.st_size;
}

/* Shows a download's progress on a terminal. */
static void show_progress(const char *url, const char *path, int64_t bytes)
{
    const char *name = strrchr(url, '/') + 1;
    int64_t have = size_of(path);
    if (have >= 0)
        fprintf(stderr, "\r%s: %3.0f %% of %.1f MB ", name, 100.0 * (double)have / (double)bytes, (double)bytes / 1e6);
}

/* Waits for the child; with a download, shows progress. Returns the exit status; -1: a signal ended the child. */
static int wait_for(pid_t child, const download *d, const char *path)
{
    bool show = d && isatty(2);
    for (int status;;) {
        pid_t ended = waitpid(child, &status, show ? WNOHANG : 0);
        if (ended == child) {
            if (show) fputs("\r\033[K", stderr);
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
        if (ended < 0 && errno != EINTR) return -1;
        if (show) show_progress(d->url, path, d->bytes);
        if (show) nanosleep(&(struct timespec){0, 200000000}, NULL);
    }
}

/* Searches $PATH for the program argv[0] and runs it. out: gets the program's output, -1: /dev/null. message: the last
 * line of its standard error. Returns its exit status, or -1 if it did not start or a signal ended it. */
static int run(const char *const *argv, int out, char message[256], const download *d, const char *path)
{
    message[0] = 0;
    FILE *errors = tmpfile();
    fflush(stderr);
    pid_t child = errors ? fork() : -1;
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(out < 0 ? null : out, 1), dup2(fileno(errors), 2);
        execvp(argv[0], (char *const *)argv);
        _exit(NOT_FOUND);
    }
    int status = child < 0 ? -1 : wait_for(child, d, path);
    if (errors) {
        rewind(errors);
        while (fgets(message, 256, errors)) {}
        message[strcspn(message, "\n")] = 0;
        fclose(errors);
    }
    return status;
}

/* ---- downloading ---- */

/* The address; if a mirror is set, MIRROR/host/path. */
static char *address(const char *url)
{
    const char *mirror = getenv("ABLATE_DATA_MIRROR"), *host = strstr(url, "://");
    if (!mirror || !*mirror) return xstrdup(url);
    return xprintf("%s%s%s", mirror, has_suffix(mirror, "/") ? "" : "/", host + strlen("://"));
}

/* Tries a download once, with curl, or with wget if there is no curl. */
static int transfer(const download *d, const char *url, const char *part, char message[256])
{
    const char *const curl[] = {
        "curl", "--fail",        "--location", "--silent",     "--show-error", "--connect-timeout",
        "20",   "--speed-limit", "1",          "--speed-time", "60",           "--retry",
        "2",    "--continue-at", "-",          "--output",     part,           url,
        NULL};
    const char *const wget[] = {
        "wget", "--continue", "--no-verbose", "--tries=3", "--timeout=60", "--output-document", part, url, NULL};
    int status = run(curl, -1, message, d, part);
    if (status == NOT_FOUND) status = run(wget, -1, message, d, part);
    if (status == NOT_FOUND) snprintf(message, 256, "needs curl or wget, but neither is installed");
    return status;
}

/* Checks size and checksum. If they differ, removes the file and reports both sums. */
static int verify(const download *d, const char *url, const char *part, err *e)
{
    char sum[65];
    int64_t bytes = size_of(part);
    if (bytes < 0) return fail(e, "%s: no file was received", url);
    if (sha256_file(part, sum, e)) return -1;
    if (same(sum, d->sha256)) return 0;
    unlink(part);
    return fail(e,
                "%s: wrong checksum: sha256 of the %lld bytes received is %s, expected %s (%lld bytes); the "
                "download was removed",
                url, (long long)bytes, sum, d->sha256, (long long)d->bytes);
}

int fetch_download(const download *d, const char *path, err *e)
{
    if (file_exists(path)) {
        char sum[65];
        if (sha256_file(path, sum, e)) return -1;
        if (same(sum, d->sha256)) return 0;
        log_line(LOG_WARN, "%s: sha256 %s, expected %s; downloading it again", path, sum, d->sha256);
    }
    AUTOFREE char *part = xprintf("%s.part", path), *url = address(d->url);
    char message[256] = "";
    int64_t have = size_of(part);
    if (have > d->bytes) unlink(part);
    int status = 0;
    if (have != d->bytes) {
        if (have > 0 && have < d->bytes)
            log_line(LOG_INFO, "%s: resuming after %.1f MB", url, (double)have / 1e6);
        else /* small files are logged as debug, because a treebank has hundreds */
            log_line(d->bytes < 1000000 ? LOG_DEBUG : LOG_INFO, "%s: getting %.1f MB", url, (double)d->bytes / 1e6);
        status = transfer(d, url, part, message);
        if (status && status != NOT_FOUND && have > 0 &&
            size_of(part) == have) { /* the server may not support resuming: start again */
            unlink(part);
            status = transfer(d, url, part, message);
        }
    }
    int rc = 0;
    if (status && !size_of(part)) unlink(part); /* wget leaves an empty file when it fails */
    if (status)
        rc = fail(e, "cannot get %s: %s; is there a network? $ABLATE_DATA_MIRROR sets another source", url,
                  *message ? message : "broken off");
    else
        rc = verify(d, url, part, e);
    if (!rc && rename(part, path)) rc = fail(e, "%s: cannot be renamed to %s: %s", part, path, strerror(errno));
    return rc;
}

/* ---- unpacking ---- */

/* Appends the output of argv to the file `to`; argv NULL: a gzip file's content. afresh: first truncates `to`. */
static int append(const char *const *argv, const char *gzip, const char *to, bool afresh, err *e)
{
    char message[256];
    int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC | (afresh ? O_TRUNC : O_APPEND), 0666);
    if (fd < 0) return fail(e, "%s: cannot be opened: %s", to, strerror(errno));
    int status = argv ? run(argv, fd, message, NULL, NULL) : 0, rc = 0;
    if (status == NOT_FOUND)
        rc = fail(e, "%s is not installed", argv[0]);
    else if (status)
        rc = fail(e, "%s failed (status %d): %s", argv[0], status, message);
    else if (!argv)
        rc = gzip_unpack(gzip, fd, e);
    if (close(fd) && !rc) rc = fail(e, "%s: cannot be written: %s", to, strerror(errno));
    return rc;
}

int fetch_unpack(const piece *p, const char *from, const char *to, const char *scratch, err *e)
{
    const char *const tar[] = {"tar", "--extract", "--to-stdout", "--file", from, p->member, NULL};
    const char *const cat[] = {"cat", "--", from, NULL};
    int rc;
    if (p->member && p->gzip)
        rc = append(tar, NULL, scratch, true, e) || append(NULL, scratch, to, false, e) ? -1 : 0;
    else
        rc = append(p->gzip ? NULL : p->member ? tar : cat, from, to, false, e);
    unlink(scratch);
    return rc ? fail_in(e, "%s%s%s: ", from, p->member ? ", " : "", p->member ? p->member : "") : 0;
}
