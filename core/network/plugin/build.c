/* build.c - compiles a plugin's C source by the command in docs/plugins.md, unless its shared object is new enough. */
#include "network/plugin/plugin.h"
#include "network/plugin/python.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Is the shared object `so` at least as new as its source and ab_plugin.h? */
static bool up_to_date(const char *so, const char *source)
{
    struct stat built, from, header;
    char *h = path_join(plugin_include(), "ab_plugin.h");
    bool known = !stat(h, &header);
    free(h);
    if (stat(so, &built) || stat(source, &from)) return false;
    return built.st_mtime >= from.st_mtime && (!known || built.st_mtime >= header.st_mtime);
}

enum { MOST_WORDS = 8, NOT_THERE = 127 };

/* Runs the compiler command (words separated by blanks) on the source. Its messages go to standard error. Returns the
 * wait status, or -1. */
static int compile_with(const char *command, const char *include, const char *source, const char *to)
{
    char *copy = xstrdup(command), *line[MOST_WORDS + 7];
    int n = 0, status = -1;
    for (char *w = strtok(copy, " "); w && n < MOST_WORDS; w = strtok(NULL, " ")) line[n++] = w;
    char *const rest[] = {"-shared", "-fPIC", (char *)include, (char *)source, "-o", (char *)to, NULL};
    memcpy(line + n, rest, sizeof rest);
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        execvp(line[0], line);
        _exit(NOT_THERE);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) status = -1;
    free(copy);
    return status;
}

/* Compiles with $CC, or with the first common compiler found. */
static int compile(const char *source, const char *to, err *e)
{
    static const char *const usual[] = {"cc", "gcc", "clang", "tcc", "zig cc"};
    const char *own = getenv("CC"), *used = own;
    char *include = xprintf("-I%s", plugin_include());
    int status = NOT_THERE << 8, rc = 0;
    if (own && *own)
        status = compile_with(own, include, source, to);
    else
        for (size_t i = 0; i < LENGTH(usual) && status == NOT_THERE << 8; i++)
            status = compile_with(used = usual[i], include, source, to);
    if (status < 0)
        rc = fail(e, "%s: the compiler cannot be started: %s", source, strerror(errno));
    else if (status == NOT_THERE << 8 && own && *own)
        rc =
            fail(e, "%s: found no compiler '%s', which CC names; install it, or use a built plugin (.so)", source, own);
    else if (status == NOT_THERE << 8)
        rc = fail(e,
                  "%s: no C compiler: found none of cc, gcc, clang, tcc and zig; install one (apt install gcc; without "
                  "root: pip install ziglang, then CC=\"python3 -m ziglang cc\"), or use a built plugin (.so)",
                  source);
    else if (status)
        rc = fail(e, "%s: cannot be built: '%s -shared -fPIC %s %s -o %s' failed; its messages are above", source, used,
                  include, source, to);
    free(include);
    return rc;
}

char *plugin_prepare(const char *path, err *e)
{
    if (has_suffix(path, ".c")) return plugin_build(path, e);
    return has_suffix(path, ".py") && python_find(e) ? NULL : xstrdup(path);
}

char *plugin_build(const char *source, err *e)
{
    char *so = xprintf("%.*s.so", (int)(strlen(source) - 2), source);
    if (!file_exists(source)) {
        fail(e, "%s: no such plugin file", source);
    } else if (!up_to_date(so, source)) {
        char *part = xprintf("%s.%ld.part", so, (long)getpid());
        if (!compile(source, part, e) && rename(part, so)) fail(e, "%s: cannot be renamed: %s", part, strerror(errno));
        unlink(part);
        free(part);
    }
    if (!e->text[0]) return so;
    free(so);
    return NULL;
}
