/* build.c - builds a plugin given as C source with the command of docs/plugins.md, if its shared object is missing or
 * older. */
#include "network/plugin/plugin.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *include_folder;

void plugin_set_include(const char *folder)
{
    free(include_folder);
    include_folder = xstrdup(folder);
}

const char *plugin_include(void) { return include_folder ? include_folder : "."; }

/* Is there a plugin at `so` that is no older than its source and than the header? */
static bool up_to_date(const char *so, const char *source)
{
    struct stat built, from, header;
    char *h = path_join(plugin_include(), "ab_plugin.h");
    bool known = !stat(h, &header);
    free(h);
    if (stat(so, &built) || stat(source, &from)) return false;
    return built.st_mtime >= from.st_mtime && (!known || built.st_mtime >= header.st_mtime);
}

/* The compiler's own messages go to standard error. */
static int compile(const char *source, const char *to, err *e)
{
    const char *cc = getenv("CC");
    char *include = xprintf("-I%s", plugin_include());
    char *line[] = {
        (char *)(cc && *cc ? cc : "cc"), "-shared", "-fPIC", include, (char *)source, "-o", (char *)to, NULL};
    int status = 0, rc = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        execvp(line[0], line);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        rc = fail(e, "%s: the compiler cannot be started: %s", source, strerror(errno));
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        rc = fail(e, "%s: no compiler '%s'; install one, or use a built plugin (.so)", source, line[0]);
    else if (status)
        rc = fail(e, "%s: cannot be built: '%s -shared -fPIC %s %s -o %s' failed; its messages are above", source,
                  line[0], include, source, to);
    free(include);
    return rc;
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
