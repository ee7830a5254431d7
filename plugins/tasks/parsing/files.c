/* files.c - finds the files that a setting names. */
#include "tasks/path.h"
#include "tasks/reject.h"
#include "treebank.h"
#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FOLDERS_DEEP = 8 };

void paths_free(paths *p)
{
    for (size_t i = 0; i < p->n; i++) free(p->at[i]);
    free(p->at);
    *p = (paths){0};
}

static void add(paths *p, const char *path)
{
    size_t n = strlen(path) + 1;
    p->at = grown(p->at, p->n, &p->cap, sizeof *p->at);
    p->at[p->n++] = memcpy(resized(NULL, n, 1), path, n);
}

static int is_folder(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

/* Adds the files of a folder and its subfolders, sorted by name. */
static void add_folder(paths *p, const char *folder, const char *pattern, int depth)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_BYTES];
        const char *name = entry[i]->d_name;
        int fits = snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_BYTES && *name != '.';
        if (fits && is_folder(path) && depth)
            add_folder(p, path, pattern, depth - 1);
        else if (fits && !is_folder(path) && !fnmatch(pattern, name, 0))
            add(p, path);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

static void add_pattern(paths *p, const char *pattern)
{
    glob_t found = {0};
    if (!glob(pattern, 0, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (!is_folder(found.gl_pathv[i])) add(p, found.gl_pathv[i]);
    globfree(&found);
}

static int add_sections(paths *p, const places *in, const char *key, int from, int to, char *err, size_t n_err)
{
    for (int section = from; section <= to; section++) {
        char folder[PATH_BYTES];
        size_t before = p->n;
        snprintf(folder, sizeof folder, "%s/%02d", in->wsj, section);
        add_folder(p, folder, "*.mrg", 0);
        if (p->n > before) continue;
        return reject(err, n_err,
                      "%s: no files %s/*.mrg; parsing.wsj must be the folder of sections 00 to 24 of the Penn "
                      "Treebank's "
                      "Wall Street Journal (LDC99T42: parsed/mrg/wsj)",
                      key, folder);
    }
    return 0;
}

int paths_add(paths *p, const places *in, const char *key, const char *entry, char *err, size_t n_err)
{
    char path[PATH_BYTES], rest;
    size_t before = p->n;
    int from, to, fields = in->wsj ? sscanf(entry, "%d-%d%c", &from, &to, &rest) : 0;
    if (in->wsj && fields == 1 && strspn(entry, "0123456789") == strlen(entry)) to = from, fields = 2;
    if (fields == 2 && from >= 0 && from <= to && to <= 24) return add_sections(p, in, key, from, to, err, n_err);
    int used = data_path(path, in->data_dir, entry, (int)strlen(entry));
    if (used >= PATH_BYTES)
        return reject(err, n_err, "%s: a path of %d bytes; expected at most %d", key, used, PATH_BYTES - 1);
    if (is_folder(path))
        add_folder(p, path, in->files, MOST_FOLDERS_DEEP);
    else if (!access(path, F_OK)) /* a file, even if its name has characters of patterns */
        add(p, path);
    else
        add_pattern(p, path);
    if (p->n > before) return 0;
    return reject(err, n_err,
                  "%s: no treebank %s%s%s; names that begin neither with / nor with . are in the data folder %s "
                  "($ABLATE_DATA); `ablate data get craft` (or genia, gum) fetches one",
                  key, path, is_folder(path) ? "/" : "", is_folder(path) ? in->files : "", in->data_dir);
}

int paths_find(paths *p, const places *in, const char *key, const char *list, char *err, size_t n_err)
{
    for (const char *at = list;; at++) {
        char entry[PATH_BYTES];
        size_t n = strcspn(at, "+");
        if (!n || n >= sizeof entry)
            return reject(err, n_err,
                          "%s = %s: a file's name is missing; expected files, patterns or folders joined by +", key,
                          list);
        memcpy(entry, at, n);
        entry[n] = 0;
        if (paths_add(p, in, key, entry, err, n_err)) return -1;
        at += n;
        if (!*at) return 0;
    }
}
