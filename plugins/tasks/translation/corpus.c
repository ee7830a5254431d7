/* corpus.c - reads parallel files and reports their errors. */
#include "corpus.h"
#include "tasks/memory.h"
#include "tasks/reject.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const corpus_defaults known[] = {
    {"multi30k-lctok", "train", "val", "test2016", "none", 1},
    {"multi30k", "train", "val", "test2016", "13a", 1},
    {"wmt14-en-de", "train", "newstest2013", "newstest2014", "13a", 1},
    {"wmt14-en-fr", "train", "newstest2013", "newstest2014", "13a", 1},
    {"tatoeba-en-de", "train", "dev", "test", "13a", 0},
};
static const corpus_defaults unknown = {"", "train", "dev", "test", "13a", 0};

const corpus_defaults *corpus_find(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return &known[i];
    return &unknown;
}

static void file_path(char path[PATH_BYTES], const corpus_place *at, const char *stem, size_t n, const char *language)
{
    int absolute = *stem == '/', in_data_dir = !strchr(at->data, '/');
    if (absolute)
        snprintf(path, PATH_BYTES, "%.*s.%s", (int)n, stem, language);
    else if (in_data_dir)
        snprintf(path, PATH_BYTES, "%s/%s/%.*s.%s", at->data_dir, at->data, (int)n, stem, language);
    else
        snprintf(path, PATH_BYTES, "%s%s%.*s.%s", at->data, at->data[strlen(at->data) - 1] == '/' ? "" : "/", (int)n,
                 stem, language);
}

/* Reports the missing file, where it was searched, and how to get it. */
static int missing(const corpus_place *at, const char *path, const char *key, const char *stems, char *err,
                   size_t n_err)
{
    int used = snprintf(err, n_err, "no file %s (%s = %s; data folder %s)", path, key, stems, at->data_dir);
    if (used < 0 || (size_t)used >= n_err) return -1;
    if (at->can_get) {
        snprintf(err + used, n_err - (size_t)used, "; `ablate data get %s` fetches this corpus", at->data);
        return -1;
    }
    used +=
        snprintf(err + used, n_err - (size_t)used, "; data may be a folder there, a path with a '/', synthetic, or");
    for (size_t i = 0; i < sizeof known / sizeof *known && (size_t)used < n_err; i++)
        used += snprintf(err + used, n_err - (size_t)used, "%s %s", i ? "," : "", known[i].name);
    return -1;
}

void corpus_grow(split *s, int64_t more)
{
    size_t bytes = (size_t)(s->n + more + 1) * sizeof(char *);
    s->src = need(realloc(s->src, bytes));
    s->tgt = need(realloc(s->tgt, bytes));
}

int corpus_lines(split *s, const corpus_place *at, const char *path, char ***lines, int64_t *n, char *err, size_t n_err)
{
    if (s->n_blocks == (int)(sizeof s->blocks / sizeof *s->blocks))
        return reject(err, n_err, "%s: too many files", path);
    if (at->host->read_lines(path, lines, n, err, n_err)) return -1;
    s->blocks[s->n_blocks++] = *lines;
    return 0;
}

/* Does the file exist? If only the file with .gz exists, appends .gz to path. */
static int is_there(char path[PATH_BYTES])
{
    size_t n = strlen(path);
    if (!access(path, F_OK)) return 1;
    if (n + 4 > PATH_BYTES) return 0;
    strcpy(path + n, ".gz");
    if (!access(path, F_OK)) return 1;
    path[n] = 0;
    return 0;
}

int corpus_has(const corpus_place *at, const char *stem)
{
    char path[PATH_BYTES];
    const char *const endings[] = {at->src, "tsv"};
    for (int i = 0; i < 2; i++) {
        file_path(path, at, stem, strlen(stem), endings[i]);
        if (is_there(path)) return 1;
    }
    return 0;
}

int corpus_read_files(split *s, const corpus_place *at, const char *src, const char *tgt, char *err, size_t n_err)
{
    const char *const path[2] = {src, tgt};
    char **lines[2];
    int64_t n[2];
    for (int side = 0; side < 2; side++)
        if (corpus_lines(s, at, path[side], &lines[side], &n[side], err, n_err)) return -1;
    if (n[0] != n[1])
        return reject(
            err, n_err,
            "%s has %lld lines, but %s has %lld: line i of one must be the translation of line i of the other", path[0],
            (long long)n[0], path[1], (long long)n[1]);
    corpus_grow(s, n[0]);
    memcpy(s->src + s->n, lines[0], (size_t)n[0] * sizeof(char *));
    memcpy(s->tgt + s->n, lines[1], (size_t)n[1] * sizeof(char *));
    s->n += n[0];
    return 0;
}

static int read_stem(split *s, const corpus_place *at, const char *key, const char *stems, const char *stem,
                     size_t n_stem, char *err, size_t n_err)
{
    char path[2][PATH_BYTES], table[PATH_BYTES];
    file_path(table, at, stem, n_stem, "tsv");
    for (int side = 0; side < 2; side++) {
        file_path(path[side], at, stem, n_stem, side ? at->tgt : at->src);
        if (is_there(path[side])) continue;
        if (!side && is_there(table)) return corpus_read_table(s, at, table, err, n_err);
        return missing(at, path[side], key, stems, err, n_err);
    }
    return corpus_read_files(s, at, path[0], path[1], err, n_err);
}

int corpus_read(split *s, const corpus_place *at, const char *key, const char *stems, char *err, size_t n_err)
{
    for (const char *stem = stems;; stem++) {
        size_t n = strcspn(stem, "+");
        if (!n)
            return reject(err, n_err, "%s = %s: a file name is missing; expected names without extension, joined by +",
                          key, stems);
        if (read_stem(s, at, key, stems, stem, n, err, n_err)) return -1;
        stem += n;
        if (!*stem) break;
    }
    if (s->n) return 0;
    return reject(err, n_err, "%s = %s: the files in %s are empty", key, stems, at->data);
}

void split_free(split *s, const ab_host *host)
{
    for (int64_t i = 0; s->own_lines && i < s->n; i++) free(s->src[i]), free(s->tgt[i]);
    for (int i = 0; i < s->n_blocks; i++) host->free_lines(s->blocks[i]);
    free(s->src);
    free(s->tgt);
    *s = (split){0};
}
