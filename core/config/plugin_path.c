/* plugin_path.c - the one key that must be known before the others can be checked. */
#include "config/build.h"
#include <stdlib.h>
#include <string.h>

void spec_plugin_path(const char *path, const spec_options *options, str *out)
{
    static const char key[] = "plugin_path";
    arena a = {0};
    str text = {0}, ignored = {0};
    err e = {0};
    ini_file file = {0};
    str_clear(out);
    if (!ini_read(path, &text, &e)) ini_split(text.s, text.n, path, &file, &a, &ignored);
    for (size_t i = 0; i < file.n; i++)
        for (size_t k = 0; k < file.at[i].n && same(file.at[i].title, "base"); k++)
            if (same(file.at[i].at[k].key, key)) {
                str_clear(out);
                str_add(out, unquote(file.at[i].at[k].value, &a));
            }
    for (size_t i = 0; options && i < options->n_set; i++) {
        const char *equals = strchr(options->set[i], '=');
        char *name =
            equals ? trim(arena_strndup(&a, options->set[i], (size_t)(equals - options->set[i]))) : "";
        if (!same(name, key)) continue;
        str_clear(out);
        str_add(out, unquote(trim(arena_strdup(&a, equals + 1)), &a));
    }
    str_free(&text);
    str_free(&ignored);
    arena_free(&a);
}
