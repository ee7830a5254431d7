/* plugin_path.c - resolves plugin paths, relative to the INI's folder; and reads plugin_path, which is needed before
 * other keys can be checked. */
#include "lab/config/build.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char COMMAND_LINE[] = "command line";

const char *absolute_path(const spec *s, const char *where, const char *path, arena *a)
{
    const char *slash = same(where, COMMAND_LINE) ? NULL : strrchr(s->path, '/');
    char here[PATH_MAX];
    AUTOFREE char *folder = slash ? xstrndup(s->path, (size_t)(slash - s->path + 1)) : xstrdup(""),
                  *beside = *folder ? path_join(folder, path) : xstrdup(path),
                  *full = *beside == '/' || !getcwd(here, sizeof here) ? xstrdup(beside) : path_join(here, beside),
                  *real = realpath(full, NULL); /* without . and ..; NULL if the path does not exist */
    return arena_strdup(a, real ? real : full);
}

void absolute_folders(const spec *s, const char *where, const char *folders, str *out)
{
    CLEANUP(arena_free) arena a = {0};
    for (const char *p = folders ? folders : ""; *p;) {
        size_t n = strcspn(p, ":");
        if (n) str_addf(out, "%s%s", out->n ? ":" : "", absolute_path(s, where, arena_strndup(&a, p, n), &a));
        p += n + (p[n] == ':');
    }
}

void spec_plugin_path(const char *path, const spec_options *options, str *out)
{
    static const char key[] = "plugin_path";
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str text = {0}, ignored = {0};
    ini_file file = {0};
    spec s = {.path = path};
    const char *folders = "", *where = "";
    ini_load(path, &file, &text, &a, &ignored);
    for (size_t i = 0; i < file.n; i++)
        for (size_t k = 0; k < file.at[i].n && same(file.at[i].title, "base"); k++)
            if (same(file.at[i].at[k].key, key)) folders = unquote(file.at[i].at[k].value, &a);
    for (size_t i = 0; options && i < options->n_set; i++) {
        const char *equals = strchr(options->set[i], '=');
        char *name = equals ? trim(arena_strndup(&a, options->set[i], (size_t)(equals - options->set[i]))) : "";
        if (same(name, key)) folders = unquote(trim(arena_strdup(&a, equals + 1)), &a), where = COMMAND_LINE;
    }
    str_clear(out);
    absolute_folders(&s, where, folders, out);
}
