/* brackets.c - see brackets.h. Without recursion, so files may nest to any depth. */
#include "text/data/brackets.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of the blank at `text`; 0: no blank. Articles also have thin (U+2009) and no-break spaces (U+00A0). */
static size_t blank(const char *text)
{
    if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r') return 1;
    if (has_prefix(text, "\xc2\xa0")) return 2;
    if (!has_prefix(text, "\xe2\x80"))
        return has_prefix(text, "\xe3\x80\x80") || has_prefix(text, "\xe2\x81\x9f") ? 3 : 0;
    unsigned char last = (unsigned char)text[2];
    return (last >= 0x80 && last <= 0x8a) || last == 0xa8 || last == 0xa9 || last == 0xaf
               ? 3
               : 0; /* U+2000 to U+200A, U+2028, U+2029, U+202F */
}

/* ---- Penn Treebank text ---- */

int brackets_lines(const char *text, size_t n, str *out, err *e)
{
    size_t line = 1, depth = 0;
    bool gap = false; /* blanks since the last copied character */
    for (size_t i = 0, width; i < n; i += width) {
        char c = text[i];
        line += c == '\n';
        if ((width = blank(text + i))) {
            gap = true;
            continue;
        }
        width = 1;
        if (!depth && c != '(') return fail(e, "line %zu: '%c' outside brackets", line, c);
        if (gap && depth && c != ')') str_addc(out, ' ');
        gap = false;
        str_addc(out, c);
        depth += c == '(';
        depth -= c == ')';
        if (!depth) str_addc(out, '\n');
    }
    return depth ? fail(e, "line %zu: the text ends in a tree with %zu open bracket%s", line, depth,
                        depth == 1 ? "" : "s")
                 : 0;
}

/* ---- GENIA's XML ---- */

/* Finds a tag's attribute. Returns its value and its length *n; NULL: the tag has no such attribute. */
static const char *attribute(const char *tag, const char *end, const char *name, size_t *n)
{
    size_t length = strlen(name);
    for (const char *at = tag; at + length + 2 < end; at++) {
        if (at[-1] != ' ' || strncmp(at, name, length) || at[length] != '=' || at[length + 1] != '"') continue;
        const char *value = at + length + 2, *quote = memchr(value, '"', (size_t)(end - value));
        if (!quote) return NULL;
        *n = (size_t)(quote - value);
        return value;
    }
    return NULL;
}

static void add_tag(str *out, const char *cat, size_t n)
{
    static const char *const penn[][2] = {{"PERIOD", "."}, {"COMMA", ","},   {"COLON", ":"},  {"LQT", "``"},
                                          {"RQT", "''"},   {"LRB", "-LRB-"}, {"RRB", "-RRB-"}};
    for (size_t i = 0; i < LENGTH(penn); i++)
        if (strlen(penn[i][0]) == n && !memcmp(penn[i][0], cat, n)) {
            str_add(out, penn[i][1]);
            return;
        }
    str_addn(out, cat, n);
}

static void add_word(str *out, const char *text, const char *end)
{
    static const char *const entities[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
    size_t begin = out->n;
    for (bool gap = false; text < end; gap = false) {
        size_t i = 0;
        for (size_t n; (n = blank(text)); text += n) gap = true;
        if (text >= end) return;
        if (gap && out->n > begin) str_addc(out, '_');
        while (i < LENGTH(entities) && !has_prefix(text, entities[i][0])) i++;
        if (i < LENGTH(entities)) {
            str_add(out, entities[i][1]);
            text += strlen(entities[i][0]);
            continue;
        }
        char c = *text++;
        if (c == '(' || c == ')')
            str_add(out, c == '(' ? "-LRB-" : "-RRB-");
        else
            str_addc(out, c);
    }
}

/* An open bracket: its offset in the output, and the number of words before it. A bracket without words is removed. */
typedef struct {
    size_t at, words;
} opened;

typedef struct {
    opened *open;
    size_t n, cap, words;
    str *out;
} writer;

static void open_bracket(writer *w, const char *cat, size_t n)
{
    w->open = grow(w->open, &w->cap, w->n + 1, sizeof *w->open);
    w->open[w->n++] = (opened){w->out->n, w->words};
    str_add(w->out, " (");
    str_addn(w->out, cat, n);
}

static void close_bracket(writer *w)
{
    opened o = w->open[--w->n];
    if (o.words != w->words)
        str_addc(w->out, ')');
    else
        w->out->n = o.at, w->out->s[o.at] = 0;
}

/* Reads one <tok>. *at points behind its '<', and then behind </tok>. */
static int token(writer *w, const char **at, const char *close, const char *end)
{
    size_t n;
    const char *cat = attribute(*at + 1, close, "cat", &n), *after = strstr(close, "</tok>");
    if (!cat || !after || after > end) return -1;
    str_add(w->out, " (");
    add_tag(w->out, cat, n);
    str_addc(w->out, ' ');
    add_word(w->out, close + 1, after);
    str_addc(w->out, ')');
    w->words++;
    *at = after + strlen("</tok>");
    return 0;
}

/* Writes the content of one <sentence> as a line. Returns 0, or -1 if its elements do not nest. */
static int sentence(writer *w, const char *at, const char *end)
{
    w->n = w->words = 0;
    str_add(w->out, "(TOP");
    while ((at = memchr(at, '<', (size_t)(end - at)))) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        size_t n;
        if (!close) return -1;
        if (has_prefix(at, "</cons>")) {
            if (!w->n) return -1;
            close_bracket(w);
        } else if (has_prefix(at, "<cons ")) {
            const char *cat = attribute(at + 1, close, "cat", &n);
            if (!cat) return -1;
            open_bracket(w, cat, n);
            if (close[-1] == '/') close_bracket(w);
        } else if (has_prefix(at, "<tok ")) {
            if (token(w, &at, close, end)) return -1;
            continue;
        }
        at = close + 1;
    }
    str_add(w->out, ")\n");
    return w->n ? -1 : 0;
}

static int article(writer *w, const char *xml, int64_t id, err *e)
{
    char number[64];
    snprintf(number, sizeof number, "<PMID>%lld</PMID>", (long long)id);
    const char *at = strstr(xml, number), *end = at ? strstr(at, "</PubmedArticle>") : NULL;
    if (!end) return fail(e, "article %lld is missing", (long long)id);
    while ((at = strstr(at, "<sentence")) && at < end) {
        const char *begin = strchr(at, '>'), *close = strstr(at, "</sentence>");
        if (!begin || !close || close > end || sentence(w, begin + 1, close))
            return fail(e, "article %lld: elements do not nest, near '%.40s'", (long long)id, at);
        at = close;
    }
    return 0;
}

int brackets_genia(const char *xml, const char *ids, str *out, err *e)
{
    writer w = {.out = out};
    int bad = 0;
    for (char *next; !bad; ids = next) {
        int64_t id = strtoll(ids, &next, 10);
        if (next == ids) break;
        bad = article(&w, xml, id, e);
    }
    free(w.open);
    return bad;
}
