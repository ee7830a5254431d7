/* below.c - see below.h. */
#include "base/below.h"
#include "base/cleanup.h"
#include <sys/stat.h>

bool is_plain_word(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return text && *text && !text[strspn(text, allowed)];
}

bool path_is_below(const char *folder, const char *path)
{
    AUTOFREE char *top = realpath(folder, NULL), *part = xstrdup(path), *real = NULL;
    char *slash;
    struct stat info;
    while (!(real = realpath(part, NULL)) && lstat(part, &info) && (slash = strrchr(part, '/')) && slash > part)
        *slash = 0; /* shortened until the part exists */
    if (!top) return !file_exists(path);
    size_t n = strlen(top);
    if (!real || !has_prefix(real, top)) return false;
    return n == 1 || real[n] == '/' || (!real[n] && !same(part, path));
}

/* Describes the first part of the name that leads out of a folder; NULL: none does. */
static const char *leads_out(const char *name)
{
    if (*name == '/') return "an absolute path";
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127) return "a control character";
    for (const char *part = name;; part++) {
        size_t n = strcspn(part, "/");
        if (!n) return "an empty part";
        if (*part == '.' && (n == 1 || (n == 2 && part[1] == '.'))) return n == 1 ? "the part ." : "the part ..";
        if (!*(part += n)) return NULL;
    }
}

char *path_below(const char *folder, const char *name, err *e)
{
    const char *why = leads_out(name);
    char *path = why ? NULL : path_join(folder, name);
    if (path && !path_is_below(folder, path)) why = "a link that leads out";
    if (!why) return path;
    CLEANUP(str_free) str shown = {0};
    str_add_shown(&shown, name, false);
    fail(e, "%s: found the name \"%s\" with %s, expected one below this folder", folder, str_text(&shown), why);
    free(path);
    return NULL;
}

char *path_in_cache(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return xprintf("%s/ablate/%s", cache, name);
    return home && *home ? xprintf("%s/.cache/ablate/%s", home, name) : NULL;
}
