#include "treebank.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a file ---- */

/* Bytes of the UTF-8 character at s, or 0 if it is invalid (RFC 3629). */
static size_t character(const unsigned char *s, size_t n)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length > n) return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    int overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    int outside = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return overlong || outside ? 0 : length;
}

typedef struct {
    size_t line, column;
} place;
static place here(const treebank *b) { return (place){b->line, b->at - b->line_at + 1}; }

__attribute__((format(printf, 5, 6))) static int refuse(const treebank *b, place p, char *err, size_t n_err,
                                                        const char *fmt, ...)
{
    int used = snprintf(err, n_err, "%s:%zu:%zu: ", b->path, p.line, p.column);
    va_list args;
    va_start(args, fmt);
    if (used > 0 && (size_t)used < n_err) vsnprintf(err + used, n_err - (size_t)used, fmt, args);
    va_end(args);
    return -1;
}

static int check_bytes(const treebank *b, char *err, size_t n_err)
{
    size_t line = 1, line_at = 0, length;
    for (size_t i = 0; i < b->n; i += length) {
        unsigned char c = (unsigned char)b->text[i];
        place at = {line, i - line_at + 1};
        if (!c) return refuse(b, at, err, n_err, "a NUL byte; expected text");
        if (!(length = character((const unsigned char *)b->text + i, b->n - i)))
            return refuse(b, at, err, n_err, "byte 0x%02x is not UTF-8", c);
        if (c == '\n') line++, line_at = i + 1;
    }
    return 0;
}

int treebank_take(treebank *b, const char *path, const char *text, size_t n, char *err, size_t n_err)
{
    *b = (treebank){.path = path, .text = resized(NULL, n + 1, 1), .n = n, .line = 1, .join = b->join};
    if (n) memcpy(b->text, text, n);
    b->text[n] = 0;
    return check_bytes(b, err, n_err);
}

enum { MOST_PIPED = 256 << 20 }; /* limit for a pipe or device, which may never end [bytes] */

int treebank_read(treebank *b, const char *path, char *err, size_t n_err)
{
    FILE *f = fopen(path, "rb");
    size_t cap = 1 << 16, got;
    *b = (treebank){.path = path, .text = resized(NULL, cap, 1), .line = 1, .join = b->join};
    struct stat info;
    size_t most = f && !fstat(fileno(f), &info) && !S_ISREG(info.st_mode) ? MOST_PIPED : SIZE_MAX;
    while (f && b->n <= most && (got = fread(b->text + b->n, 1, cap - 1 - b->n, f)) > 0)
        if ((b->n += got) + 1 == cap) b->text = resized(b->text, cap *= 2, 1);
    b->text[b->n] = 0;
    int endless = b->n > most, bad = !f || ferror(f) || endless;
    if (endless)
        snprintf(err, n_err, "%s: found a pipe or device of more than %d MB, expected a file", path, MOST_PIPED >> 20);
    else if (bad)
        snprintf(err, n_err, "%s: cannot be read: %s", path, strerror(errno));
    if (f) fclose(f);
    return bad ? -1 : check_bytes(b, err, n_err);
}

/* ---- brackets ---- */

static int is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_blanks(treebank *b)
{
    if (!b->at && b->n >= 3 && !memcmp(b->text, "\xef\xbb\xbf", 3)) b->at = b->line_at = 3; /* a byte order mark */
    for (; b->at < b->n && is_blank(b->text[b->at]); b->at++)
        if (b->text[b->at] == '\n') b->line++, b->line_at = b->at + 1;
}

/* Returns the text up to the next blank or bracket. */
static slice token(treebank *b)
{
    size_t from = b->at;
    while (b->at < b->n && !is_blank(b->text[b->at]) && b->text[b->at] != '(' && b->text[b->at] != ')') b->at++;
    return (slice){b->text + from, b->at - from};
}

/* Replaces U+2581, which marks a blank inside a subword, by _ in a word. */
static slice without_block(char *s, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        int block = i + 2 < n && !memcmp(s + i, "\xe2\x96\x81", 3);
        s[to++] = block ? '_' : s[i];
        i += block ? 2 : 0;
    }
    return (slice){s, to};
}

/* Reads a leaf's word and closing bracket. */
static int leaf(treebank *b, tree *t, slice tag, char *err, size_t n_err)
{
    place p = here(b);
    size_t from = b->at, end = from;
    for (int words = 0;; words++) {
        if (token(b).n == 0) break;
        if (words && !b->join)
            return refuse(b, p, err, n_err,
                          "a leaf with a blank in its word: (NP the dog) is (NP (DT the) (NN dog)), or, with "
                          "parsing.spaces = join, one word");
        end = b->at;
        skip_blanks(b);
    }
    if (b->at == b->n) return refuse(b, p, err, n_err, "the file ends after this word; expected a closing bracket");
    if (b->text[b->at] == '(')
        return refuse(b, here(b), err, n_err,
                      "a bracket with more than its word; each word has one, with its tag: (NP (DT the) (NN dog))");
    b->at++;
    if (tag.n == 0) return refuse(b, p, err, n_err, "a word without a tag");
    if (end - from > MOST_WORD)
        return refuse(b, p, err, n_err, "a word of %zu bytes; expected at most %d", end - from, MOST_WORD);
    for (size_t i = from; i < end; i++)
        if (is_blank(b->text[i])) b->text[i] = '_';
    tree_add(t, LEAF, tag, without_block(b->text + from, end - from));
    return 0;
}

static int check_label(const treebank *b, const tree *t, slice label, place p, int word_follows, char *err,
                       size_t n_err)
{
    if (label.n > MOST_LABEL)
        return refuse(b, p, err, n_err, "a label of %zu bytes; expected at most %d", label.n, MOST_LABEL);
    if (label.n == 0 && t->n && !word_follows)
        return refuse(b, p, err, n_err, "a bracket without a label inside a tree");
    if (label.n && !word_follows && (*label.s == '/' || *label.s == '\\'))
        return refuse(b, p, err, n_err, "the label %.*s begins with %c, which marks closing brackets and tags",
                      (int)label.n, label.s, *label.s);
    return 0;
}

static int has_outer(const tree *t)
{
    static const char *const outer[] = {"", "ROOT", "S1", "TOP"};
    for (size_t i = 0; t->n && i < sizeof outer / sizeof *outer; i++)
        if (t->at[0].kind == OPEN && slice_is(t->at[0].label, outer[i])) return 1;
    return 0;
}

static int next_tree(treebank *b, tree *t, place *open, char *err, size_t n_err)
{
    size_t depth = 0;
    do {
        skip_blanks(b);
        place p = here(b);
        if (b->at == b->n) return refuse(b, open[depth - 1], err, n_err, "a bracket that is never closed");
        char c = b->text[b->at];
        if (c == '(') {
            b->at++;
            slice label = token(b);
            skip_blanks(b);
            int word = b->at < b->n && b->text[b->at] != '(' && b->text[b->at] != ')';
            if (check_label(b, t, label, p, word, err, n_err)) return -1;
            if (word) {
                if (leaf(b, t, label, err, n_err)) return -1;
                continue;
            }
            if (depth + !has_outer(t) == MOST_DEPTH) /* one level more is needed if cleaning must add TOP */
                return refuse(b, p, err, n_err, "brackets nested more than %d deep", MOST_DEPTH);
            open[depth++] = p;
            tree_add(t, OPEN, label, (slice){0});
        } else if (c == ')') {
            if (t->at[t->n - 1].kind == OPEN)
                return refuse(b, open[depth - 1], err, n_err, "a bracket with nothing in it");
            b->at++;
            depth--;
            tree_add(t, CLOSE, (slice){0}, (slice){0});
        } else {
            return refuse(b, p, err, n_err, "a word without its own bracket and tag");
        }
    } while (depth);
    return 0;
}

/* ---- cleaning ---- */

static slice plain_label(slice label)
{
    size_t n = 0;
    if (label.n && *label.s == '-') return label;
    while (n < label.n && (!n || !strchr("-=|", label.s[n]))) n++;
    return (slice){label.s, n};
}

static slice plain_tag(slice tag)
{
    const char *bar = tag.n ? memchr(tag.s + 1, '|', tag.n - 1) : NULL;
    return (slice){tag.s, bar ? (size_t)(bar - tag.s) : tag.n};
}

static void clean(tree *t)
{
    const slice top = {"TOP", 3}, none = {0};
    if (!has_outer(t)) {
        tree_add(t, CLOSE, none, none);
        tree_add(t, CLOSE, none, none);
        memmove(t->at + 1, t->at, (t->n - 2) * sizeof *t->at);
        t->at[0] = (bracket){OPEN, top, none};
    }
    t->at[0].label = top;
    size_t n = 1;
    for (size_t i = 1; i < t->n; i++) {
        bracket b = t->at[i];
        b.label = b.kind == LEAF ? plain_tag(b.label) : plain_label(b.label);
        if (b.kind == LEAF && slice_is(b.label, "-NONE-")) continue;
        t->at[n++] = b;
    }
    t->n = n;
    tree_prune(t);
}

int treebank_next(treebank *b, tree *t, char *err, size_t n_err)
{
    place open[MOST_DEPTH];
    t->n = 0;
    skip_blanks(b);
    if (b->at == b->n) return 0;
    if (b->text[b->at] != '(')
        return refuse(b, here(b), err, n_err, "%s; expected a tree, in brackets",
                      b->text[b->at] == ')' ? "a closing bracket that no bracket opens" : "a word outside brackets");
    if (next_tree(b, t, open, err, n_err)) return -1;
    clean(t);
    return 1;
}

size_t treebank_skip(treebank *b)
{
    skip_blanks(b);
    size_t line = b->line;
    const char *next = strstr(b->text + b->at, "\n(");
    for (size_t to = next ? (size_t)(next - b->text) + 1 : b->n; b->at < to; b->at++) b->line += b->text[b->at] == '\n';
    b->line_at = b->at;
    return line;
}
