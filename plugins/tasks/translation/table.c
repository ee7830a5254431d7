/* table.c - a corpus in one file, with tab-separated columns or JSON lines; splits dev and test off it. */
#include "corpus.h"
#include "tasks/reject.h"
#include "tasks/split.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_COLUMNS = 64 };

/* Splits a line at its tabs. Returns the number of columns. */
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

enum { NEITHER, SOURCE, TARGET };
/* Which side has a column or key of this name? */
static int side_of(const char *name, const corpus_place *at)
{
    static const char *const names[] = {"src", "source", "source_text", "input",  "sentence",    "text",
                                        "tgt", "target", "target_text", "output", "translation", "reference"};
    const int n = sizeof names / sizeof *names;
    if (!strcasecmp(name, at->src)) return SOURCE;
    if (!strcasecmp(name, at->tgt)) return TARGET;
    for (int i = 0; i < n; i++)
        if (!strcasecmp(name, names[i])) return i < n / 2 ? SOURCE : TARGET;
    return NEITHER;
}

/* Does the first line name the columns? Sets *src and *tgt to their indices. */
static int is_header(char *const *column, int n, const corpus_place *at, int *src, int *tgt)
{
    int from = -1, to = -1;
    for (int i = n - 1; i >= 0; i--) {
        int side = side_of(column[i], at);
        if (side == SOURCE) from = i;
        if (side == TARGET) to = i;
    }
    if (from < 0 || to < 0) return 0;
    *src = from, *tgt = to;
    return 1;
}

/* ---- JSON lines: {"translation": {"en": "a b", "de": "c d"}}, or only the inner object ---- */

static unsigned json_code(const char *hex)
{
    unsigned code = 0;
    return strspn(hex, "0123456789abcdefABCDEF") >= 4 && sscanf(hex, "%4x", &code) == 1 ? code : 0;
}

/* Writes the code point of \uXXXX as UTF-8; *at is behind the u. Returns the end of the text; NULL: no code point. */
static char *json_unicode(char **at, char *to)
{
    unsigned c = json_code(*at), low;
    if (!c) return NULL;
    *at += 4;
    if (c >= 0xd800 && c < 0xe000) {
        low = c < 0xdc00 && (*at)[0] == '\\' && (*at)[1] == 'u' ? json_code(*at + 2) : 0;
        if (low < 0xdc00 || low > 0xdfff) return NULL;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    if (c < 0x80) return *to = (char)c, to + 1;
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)((0xf00 >> (more + 1)) | (c >> 6 * more));
    while (more--) *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    return to;
}

/* Unescapes the string whose quote is at *at, in place; line ends and tabs become blanks. NULL: there is no string. */
static char *json_text(char **at)
{
    char *text = *at, *to = text, *from = text + 1;
    while (*from && *from != '"') {
        char c = *from++;
        if (c == '\\') {
            static const char escaped[] = "\"\\/bfnrt", plain[] = "\"\\/     ";
            const char *is = *from ? strchr(escaped, *from) : NULL;
            char u = *from++;
            if (!is && (u != 'u' || !(to = json_unicode(&from, to)))) return NULL;
            if (!is) continue;
            c = plain[is - escaped];
        }
        *to++ = c;
    }
    if (!*from) return NULL;
    *at = from + 1;
    *to = 0;
    return text;
}

/* Finds the texts of both sides in a line of JSON, which it overwrites. Returns 0; -1 if a text is missing. */
static int json_pair(char *p, const corpus_place *at, char **src, char **tgt)
{
    const char *key = NULL;
    *src = *tgt = NULL;
    while (*p) {
        char *text = NULL;
        if (*p != '"') {
            p++;
            continue;
        }
        if (!(text = json_text(&p))) return -1;
        p += strspn(p, " ");
        int side = *p == ':' || !key ? NEITHER : side_of(key, at);
        if (side) *(side == SOURCE ? src : tgt) = text;
        key = *p == ':' ? text : NULL;
    }
    return *src && *tgt ? 0 : -1;
}

int corpus_read_table(split *s, const corpus_place *at, const char *path, char *err, size_t n_err)
{
    char **lines, *column[MOST_COLUMNS];
    int64_t n;
    int src = 0, tgt = 1, columns = 2;
    if (corpus_lines(s, at, path, &lines, &n, err, n_err)) return -1;
    corpus_grow(s, n);
    int json = n && *lines[0] == '{' && !strchr(lines[0], '\t');
    for (int64_t i = 0; i < n; i++) {
        if (json) {
            if (json_pair(lines[i], at, &s->src[s->n], &s->tgt[s->n]))
                return reject(
                    err, n_err,
                    "%s:%lld: found JSON without two texts, expected {\"translation\": {\"%s\": \"...\", \"%s\": "
                    "\"...\"}}",
                    path, (long long)i + 1, at->src, at->tgt);
            s->n++;
            continue;
        }
        int found = cut(lines[i], column);
        if (!i && is_header(column, found, at, &src, &tgt)) {
            columns = found;
            continue;
        }
        if (found != columns)
            return reject(err, n_err, "%s:%lld: found %d column%s, expected %d with a tab between: source and target%s",
                          path, (long long)i + 1, found, found == 1 ? "" : "s", columns,
                          columns != 2 ? ", as the first line names them" : "");
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
        if (parts[k]) corpus_grow(parts[k], all);
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
            return reject(err, n_err,
                          "%s has no %s part%s%s%s%s%s, and a twentieth of its %lld pairs is too few for one; give "
                          "translation.%s",
                          name, part, source ? " (no file " : "", source ? name : "",
                          source ? k ? "/test." : "/dev." : "", source ? source : "",
                          source ? k ? ")" : " or val, valid, validation)" : "", (long long)all, part);
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
