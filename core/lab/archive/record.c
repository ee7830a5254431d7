/* record.c - exports an experiment without the names of this machine's folders. */
#include "network/settings/plugin_files.h"
#include "base/below.h"
#include "base/gzip.h"
#include "lab/archive/artifact.h"
#include <string.h>

typedef struct {
    const char *folder, *name;
} place;

static const char after_path[] = " :,;')]}\\\"";

static bool begins(const char *start, const char *at)
{
    return at == start || strchr(" =:,;+'([{", at[-1]) || at[-1] == '"'; /* + separates files in a setting */
}

/* Does a path in `folder` begin at `at`, in a text that begins at `start`? */
static bool is_path(const char *start, const char *at, const char *end, const char *folder)
{
    size_t n = strlen(folder);
    if ((size_t)(end - at) < n || strncmp(at, folder, n)) return false;
    return begins(start, at) && (at + n == end || at[n] == '/' || strchr(after_path, at[n]));
}

/* If the absolute path of a plugin or plugin source begins at `at`, returns its end, else NULL. *shown: the part to
 * keep, from "plugins/" on, or the file's name if the path has no such folder. */
static const char *plugin_at(const char *start, const char *at, const char *end, const char **shown)
{
    if (*at != '/' || !begins(start, at)) return NULL;
    const char *stop = at + strcspn(at, after_path), *folder = NULL;
    if (stop > end) stop = end;
    AUTOFREE char *path = xstrndup(at, (size_t)(stop - at));
    bool file = plugin_suffix(path);
    if (!file) return NULL;
    *shown = at;
    for (const char *c = at; c < stop; c++) {
        if (*c != '/') continue;
        *shown = c + 1;
        if (!strncmp(c, "/plugins/", strlen("/plugins/"))) folder = c + 1;
    }
    if (folder) *shown = folder;
    return stop;
}

/* Appends the inside of one JSON string, with folders replaced. */
static void add_text(str *out, const char *start, const char *end, const place *places, size_t n)
{
    for (const char *at = start; at < end;) {
        const char *shown, *stop = plugin_at(start, at, end, &shown);
        if (stop) {
            str_addn(out, shown, (size_t)(stop - shown));
            at = stop;
            continue;
        }
        size_t i = 0;
        while (i < n && !is_path(start, at, end, places[i].folder)) i++;
        if (i == n) {
            str_addc(out, *at++);
            continue;
        }
        str_add(out, places[i].name);
        at += strlen(places[i].folder);
    }
}

static const char *end_of_string(const char *at)
{
    while (*at && *at != '"') at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}

/* Removes folders from a recorded experiment's JSON. Paths in `data_dir` become $ABLATE_DATA/..., paths in `root` or in
 * the database's folder become ./..., and paths of plugins become plugins/KIND/NAME.so or NAME.c, wherever these were
 * built. Changes only whole paths, and only in values of keys: texts in a list are columns of statistics. */
static void without_folders(const char *json, const char *data_dir, const char *root, const char *of_db, str *out)
{
    const place all[] = {{data_dir, "$ABLATE_DATA"}, {root, "."}, {of_db, "."}};
    place places[LENGTH(all)];
    size_t n = 0;
    for (size_t i = 0; i < LENGTH(all); i++) /* skips values that are no paths of this machine */
        if (all[i].folder[0] == '/' && all[i].folder[1]) places[n++] = all[i];
    char before = 0; /* the last non-blank character */
    for (const char *at = json; *at;) {
        if (*at != '"') {
            if (!strchr(" \n\t", *at)) before = *at;
            str_addc(out, *at++);
            continue;
        }
        const char *start = at + 1, *end = end_of_string(start);
        str_addc(out, '"');
        if (before == ':')
            add_text(out, start, end, places, n);
        else
            str_addn(out, start, (size_t)(end - start));
        before = '"';
        if (*end) str_addc(out, '"');
        at = end + (*end == '"');
    }
}

int record_write(const places *p, const char *experiment, const char *path, const db_export_options *o, err *e)
{
    CLEANUP(str_free) str text = {0}, clean = {0};
    reader *r = reader_open(&p->db, e); /* does not create a missing database */
    db *d = r ? db_open(&p->db, e) : NULL;
    reader_close(r);
    int bad = !d || db_export(d, experiment, &text, o, e);
    db_close(d);
    if (!bad) {
        AUTOFREE char *folder = path_folder(p->db.path), *of_db = realpath(folder, NULL);
        without_folders(str_text(&text), p->data_dir, p->root, of_db ? of_db : "", &clean);
        bad = gzip_write(path, clean.s, clean.n, e);
    }
    return bad ? -1 : 0;
}
