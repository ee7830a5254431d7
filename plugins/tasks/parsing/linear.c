#include "linear.h"
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "\xe2\x81\x87" /* text of a token unseen in training: stands for any text */

int64_t labels_find(const labels *l, slice text)
{
    for (size_t i = 0; i < l->n; i++)
        if (slice_is(text, l->at[i])) return (int64_t)i;
    return -1;
}

void labels_add(labels *l, slice text)
{
    if (labels_find(l, text) >= 0) return;
    if (l->n == l->cap) {
        l->cap = 2 * l->cap + 32;
        l->at = resized(l->at, l->cap, sizeof *l->at);
    }
    char *copy = resized(NULL, text.n + 1, 1);
    memcpy(copy, text.s, text.n);
    copy[text.n] = 0;
    l->at[l->n++] = copy;
}

void labels_free(labels *l)
{
    for (size_t i = 0; i < l->n; i++) free(l->at[i]);
    free(l->at);
    *l = (labels){0};
}

/* ---- writing ---- */

static void add(buffer *out, size_t from, const char *before, slice text)
{
    if (out->n > from) buffer_text(out, " ");
    buffer_text(out, before);
    buffer_add(out, text.s, text.n);
}

void linear_write(form f, const tree *t, const labels *known, buffer *out)
{
    static const char *const opening[] = {"", "", "("}, *const closing[] = {"/", "/", ")"};
    size_t from = out->n, depth = 0;
    slice *open = resized(NULL, t->n + 1, sizeof *open);
    buffer_add(out, "", 0);
    for (size_t i = 1; i + 1 < t->n; i++) { /* all but TOP */
        const bracket *b = &t->at[i];
        if (b->kind == OPEN) {
            add(out, from, opening[f], open[depth++] = b->label);
        } else if (b->kind == CLOSE) {
            add(out, from, closing[f], open[--depth]);
        } else if (f == WORDS) {
            add(out, from, "", b->word);
        } else {
            slice tag = f == XX ? slice_of("XX") : b->label;
            int marked = *tag.s == '/' || *tag.s == '\\' || labels_find(known, tag) >= 0;
            add(out, from, marked ? "\\" : "", tag);
        }
    }
    free(open);
}

/* ---- reading ---- */

typedef struct {
    const sentence *s;
    tree *t;
    int64_t words; /* of the sentence already in t */
    slice *open;   /* [depth] labels of open brackets, without TOP */
    size_t depth, cap;
    int good;
} reading;

static void open_bracket(reading *r, slice label)
{
    if (r->depth == r->cap) {
        r->cap = 2 * r->cap + 64;
        r->open = resized(r->open, r->cap, sizeof *r->open);
    }
    r->open[r->depth++] = label;
    tree_add(r->t, OPEN, label, (slice){0});
}

static void close_bracket(reading *r, slice label)
{
    if (r->depth == 0) {
        r->good = 0;
        return;
    }
    slice innermost = r->open[--r->depth];
    int same = innermost.n == label.n && !memcmp(innermost.s, label.s, label.n);
    r->good &= same && r->t->at[r->t->n - 1].kind != OPEN;
    tree_add(r->t, CLOSE, (slice){0}, (slice){0});
}

static void put_word(reading *r, slice tag)
{
    if (r->words == r->s->n) {
        r->good = 0;
        return;
    }
    if (r->s->tag) tag = r->s->tag[r->words];
    tree_add(r->t, LEAF, tag, r->s->word[r->words++]);
}

static int holds_unknown(slice text)
{
    for (size_t i = 0; i + 3 <= text.n; i++)
        if (!memcmp(text.s + i, UNKNOWN, 3)) return 1;
    return 0;
}

static slice from(slice text, size_t n) { return (slice){text.s + n, text.n - n}; }

static void read_words(reading *r, slice token)
{
    if (*token.s == '(' || *token.s == ')') {
        if (token.n == 1)
            r->good = 0;
        else if (*token.s == '(')
            open_bracket(r, from(token, 1));
        else
            close_bracket(r, from(token, 1));
        return;
    }
    if (r->words < r->s->n) {
        slice word = r->s->word[r->words];
        r->good &= (word.n == token.n && !memcmp(word.s, token.s, word.n)) || holds_unknown(token);
    }
    put_word(r, slice_of("XX"));
}

static void read_labels(reading *r, form f, slice token, const labels *known)
{
    if (holds_unknown(token)) {
        r->good = 0;
    } else if (*token.s == '/' && token.n > 1) {
        close_bracket(r, from(token, 1));
    } else if (labels_find(known, token) >= 0) {
        open_bracket(r, token);
    } else {
        slice tag = *token.s == '\\' && token.n > 1 ? from(token, 1) : token;
        if (f == XX) r->good &= slice_is(tag, "XX");
        put_word(r, tag);
    }
}

int linear_read(form f, const char *line, const sentence *s, const labels *known, tree *t)
{
    const slice none = {0};
    reading r = {.s = s, .t = t, .good = 1};
    t->n = 0;
    tree_add(t, OPEN, slice_of("TOP"), none);
    for (slice token; (token = next_word(&line)).n;) {
        if (f == WORDS)
            read_words(&r, token);
        else
            read_labels(&r, f, token, known);
    }
    r.good &= r.words == s->n && r.depth == 0;
    while (r.words < s->n) put_word(&r, slice_of("XX"));
    for (; r.depth; r.depth--) tree_add(t, CLOSE, none, none);
    tree_add(t, CLOSE, none, none);
    tree_prune(t);
    free(r.open);
    return r.good;
}
