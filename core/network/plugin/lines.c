/* lines.c - the service that reads a file's lines for tasks. */
#include "network/plugin/plugin.h"
#include "base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The text of a .gz file, by gzip. */
static int unpack(const char *path, str *text, err *e)
{
    const char *const args[] = {"gzip", "--decompress", "--stdout", "--", path, NULL};
    int ends[2], status = 0;
    pid_t pid;
    posix_spawn_file_actions_t how;
    if (pipe2(ends, O_CLOEXEC)) return fail(e, "%s: %s", path, strerror(errno));
    posix_spawn_file_actions_init(&how);
    posix_spawn_file_actions_adddup2(&how, ends[1], 1);
    int why = posix_spawnp(&pid, "gzip", &how, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&how);
    close(ends[1]);
    char part[65536];
    ssize_t got;
    while (!why && ((got = read(ends[0], part, sizeof part)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) str_addn(text, part, (size_t)got);
    close(ends[0]);
    if (why) return fail(e, "%s: cannot be unpacked: gzip: %s", path, strerror(why));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) return fail(e, "%s: gzip cannot unpack it", path);
    if (!text->n) str_add(text, "");
    return 0;
}

int read_lines_service(const char *path, char ***lines, int64_t *n, char *message, size_t n_message)
{
    str text = {0};
    char **at = NULL;
    size_t count = 0;
    err e = {0};
    bool packed = has_suffix(path, ".gz");
    if (packed ? unpack(path, &text, &e) || text_lines(&text, path, &at, &count, &e)
               : file_lines(path, &text, &at, &count, &e)) {
        snprintf(message, n_message, "%s", e.text);
        free(at);
        str_free(&text);
        return -1;
    }
    size_t head = (count + 1) * sizeof *at; /* one block: the pointers, then the text */
    char **block = xmalloc(head + text.n + 1);
    char *copy = (char *)block + head;
    memcpy(copy, str_text(&text), text.n + 1);
    for (size_t i = 0; i < count; i++) block[i] = copy + (at[i] - text.s);
    if (count) block[0] += byte_order_mark(block[0], strlen(block[0]));
    *lines = block;
    *n = (int64_t)count;
    free(at);
    str_free(&text);
    return 0;
}
void free_lines_service(char **lines) { free(lines); }
