/* table.c - a corpus in one file with a tab between source and target, and parts split off if a corpus has none. */
#include "corpus.h"
#include "tasks/split.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 64 };

/* Cuts a line at its tabs; returns the number of columns. */
static int cut(char *line, char *column[MOST_COLUMNS])
{
    int n = 0;
    for (char *at = line; at && n < MOST_COLUMNS; n++) {
        column[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    return n;
}

static int is_among(const char *name, const char *const *names, size_t n, const char *language)
{
    if (!strcasecmp(name, language)) return 1;
    for (size_t i = 0; i < n; i++)
        if (!strcasecmp(name, names[i])) return 1;
    return 0;
}

/* Does the first line name the columns? Then *src and *tgt are their places. */
static int is_header(char *const *column, int n, const corpus_place *at, int *src, int *tgt)
{
    static const char *const sources[] = {"src", "source", "source_text", "input", "sentence", "text"};
    static const char *const targets[] = {"tgt", "target", "target_text", "output", "translation", "reference"};
    int from = -1, to = -1;
    for (int i = 0; i < n; i++) {
        if (from < 0 && is_among(column[i], sources, sizeof sources / sizeof *sources, at->src)) from = i;
        if (to < 0 && is_among(column[i], targets, sizeof targets / sizeof *targets, at->tgt)) to = i;
    }
    if (from < 0 || to < 0 || from == to) return 0;
    *src = from, *tgt = to;
    return 1;
}

int corpus_read_table(split *s, const corpus_place *at, const char *path, char *err, size_t n_err)
{
    char **lines, *column[MOST_COLUMNS];
    int64_t n;
    int src = 0, tgt = 1, columns = 2;
    if (s->n_blocks == (int)(sizeof s->blocks / sizeof *s->blocks)) {
        snprintf(err, n_err, "%s: too many files", path);
        return -1;
    }
    if (at->host->read_lines(path, &lines, &n, err, n_err)) return -1;
    s->blocks[s->n_blocks++] = lines;
    if (corpus_grow(s, n)) {
        snprintf(err, n_err, "%s: out of memory for %lld lines", path, (long long)n);
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        int found = cut(lines[i], column);
        if (!i && is_header(column, found, at, &src, &tgt)) {
            columns = found;
            continue;
        }
        if (found != columns) {
            snprintf(err, n_err, "%s:%lld: found %d column%s, expected %d with a tab between: source and target%s",
                     path, (long long)i + 1, found, found == 1 ? "" : "s", columns,
                     columns != 2       ? ", as the first line names them"
                     : *lines[i] == '{' ? "; `jq -r '.translation | [.en, .de] | @tsv'` makes them of JSON lines"
                                        : "");
            return -1;
        }
        s->src[s->n] = column[src];
        s->tgt[s->n++] = column[tgt];
    }
    return 0;
}

/* ---- parts ---- */

int corpus_split_off(split *train, split *dev, split *test, const char *name, const char *source, char *note,
                     size_t n_note, char *err, size_t n_err)
{
    enum { MOST = 2000, FEWEST = 2 };
    int64_t all = train->n, kept = 0;
    double share = (double)all * SPLIT_SHARE > MOST ? (double)MOST / (double)all : SPLIT_SHARE,
           to_dev = dev ? share : 0, to_test = test ? to_dev + share : to_dev;
    split *parts[] = {dev, test};
    for (int k = 0; k < 2; k++)
        if (parts[k] && corpus_grow(parts[k], all)) {
            snprintf(err, n_err, "%s: out of memory for %lld pairs", name, (long long)all);
            return -1;
        }
    for (int64_t i = 0; i < all; i++) {
        double at = split_place(train->src[i]);
        split *to = at < to_dev ? dev : at < to_test ? test : train;
        int64_t k = to == train ? kept++ : to->n++;
        to->src[k] = train->src[i];
        to->tgt[k] = train->tgt[i];
    }
    train->n = kept;
    for (int k = 0; k < 2; k++)
        if (parts[k] && parts[k]->n < FEWEST) {
            const char *part = k ? "test" : "dev";
            snprintf(err, n_err,
                     "%s has no %s part%s%s%s%s%s, and a twentieth of its %lld pairs is too few for one; give "
                     "translation.%s",
                     name, part, source ? " (no file " : "", source ? name : "", source ? k ? "/test." : "/dev." : "",
                     source ? source : "", source ? k ? ")" : " or val, valid, validation)" : "", (long long)all, part);
            return -1;
        }
    int used = snprintf(note, n_note, "%s: ", name);
    for (int k = 0; k < 2; k++)
        if (parts[k] && used > 0 && (size_t)used < n_note)
            used += snprintf(note + used, n_note - (size_t)used, "%s%s (%lld pairs)", k && dev ? " and " : "",
                             k ? "test" : "dev", (long long)parts[k]->n);
    if (used > 0 && (size_t)used < n_note)
        snprintf(note + used, n_note - (size_t)used, " split off from %lld pairs by a hash of the source line",
                 (long long)all);
    return 0;
}
