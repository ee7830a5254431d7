/* known.c - records by sha256 which plugins have been checked, so that each is checked only once, before its first
 * training. */
#include "network/check/known.h"
#include "base/cleanup.h"
#include "network/check/check.h"

static char *file_in(const char *folder) { return path_join(folder, "checked.tsv"); }

bool check_known(const char *folder, const char *hash, str *message)
{
    AUTOFREE char *path = file_in(folder);
    AUTOFREE char **lines = NULL;
    CLEANUP(str_free) str text = {0};
    size_t n = 0;
    err none = {0};
    bool found = false;
    str_clear(message);
    if (file_exists(path)) file_lines(path, &text, &lines, &n, &none);
    for (size_t i = 0; i < n; i++) { /* lines "HASH VERSION message"; a hash's last line counts */
        char *version = strchr(lines[i], '\t'), *rest = version ? strchr(version + 1, '\t') : NULL;
        if (!rest) continue;
        *version++ = *rest++ = 0;
        if (!same(lines[i], hash) || !same(version, ABLATE_VERSION)) continue;
        found = true;
        str_clear(message);
        str_add(message, rest);
    }
    return found;
}

static void remember(const char *folder, const char *hash, const char *message)
{
    err ignored = {0}; /* if writing fails, the plugin is checked again next time */
    AUTOFREE char *path = file_in(folder);
    FILE *f = make_folders(folder, &ignored) ? NULL : fopen(path, "a");
    if (!f) return;
    fprintf(f, "%s\t%s\t", hash, ABLATE_VERSION);
    for (const char *p = message; *p; p++) fputc(*p == '\t' || *p == '\n' ? ' ' : *p, f);
    fputc('\n', f);
    fclose(f);
}

void check_once(const plugin *p, const char *folder, bool talk)
{
    CLEANUP(str_free) str message = {0};
    if (plugin_is_own(p) || check_known(folder, p->sha256, &message)) return;
    AUTOFREE check_report *c = xmalloc(sizeof *c);
    double start = ticks();
    check_in_sandbox(p->path, &(check_room){0}, c);
    size_t first = 0;
    while (first < c->n && c->r[first].outcome != CHECK_FAIL) first++;
    bool failed = c->state != CHECK_DONE || first < c->n, late = failed && c->state == CHECK_DONE && c->r[first].late;
    if (failed && c->state != CHECK_DONE)
        str_addf(&message, "load: %s", c->message);
    else if (failed)
        str_addf(&message, "%s: %s", c->r[first].name, c->r[first].message);
    if (!late) remember(folder, p->sha256, str_text(&message)); /* a check that ran out of time is run again */
    const char *kind = plugin_kind_name(p->desc.kind);
    if (talk && failed)
        fprintf(stderr, "%s/%s is new and failed `ablate check`: %s\n", kind, p->desc.name, str_text(&message));
    else if (talk)
        fprintf(stderr, "%s/%s is new and passed `ablate check` in %.0f s\n", kind, p->desc.name, ticks() - start);
}
