#include "linear.h"
#include <stdlib.h>
#include <string.h>

#define UNKNOWN "\xe2\x81\x87" /* text of a token unseen in training; matches any text */

int64_t labels_find(const labels *l, slice text)
{
    for (size_t i = 0; i < l->n; i++)
        if (slice_is(text, l->at[i])) return (int64_t)i;
    return -1;
}

void labels_add(labels *l, slice text)
{
    if (labels_find(l, text) >= 0) return;
    l->at = grown(l->at, l->n, &l->cap, sizeof *l->at);
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

int form_has_words(form f) { return f >= WORDS; }

/* ---- writing ---- */

static void add(buffer *out, size_t from, const char *before, slice text)
{
    if (out->n > from) buffer_text(out, " ");
    buffer_text(out, before);
    buffer_add(out, text.s, text.n);
}

typedef struct { /* an open constituent */
    slice label;
    int written; /* has the opening bracket been written? */
} opened;

void linear_write(form f, const tree *t, const labels *known, buffer *out)
{
    const char *opening = form_has_words(f) ? "(" : "", *closing = form_has_words(f) ? ")" : "/";
    size_t from = out->n, depth = 0;
    opened *open = resized(NULL, t->n + 1, sizeof *open);
    buffer_add(out, "", 0);
    for (size_t i = 1; i + 1 < t->n; i++) { /* all nodes except TOP */
        const bracket *b = &t->at[i];
        if (b->kind == OPEN) {
            open[depth++] = (opened){b->label, f != IN_ORDER};
            if (f != IN_ORDER) add(out, from, opening, b->label);
            continue;
        }
        if (b->kind == CLOSE) {
            add(out, from, closing, open[--depth].label);
        } else if (form_has_words(f)) {
            add(out, from, "", b->word);
        } else {
            slice tag = f == XX ? slice_of("XX") : b->label;
            int marked = *tag.s == '/' || *tag.s == '\\' || labels_find(known, tag) >= 0;
            add(out, from, marked ? "\\" : "", tag);
        }
        if (depth && !open[depth - 1].written) { /* in_order: the opening bracket is written after its first child */
            add(out, from, opening, open[depth - 1].label);
            open[depth - 1].written = 1;
        }
    }
    free(open);
}

/* ---- reading ---- */

typedef struct {
    const sentence *s;
    tree *t;
    int64_t words; /* words of the sentence that are already in t */
    slice *open;   /* [depth] labels of open brackets, without TOP */
    size_t depth, cap;
    int good;
} reading;

static void open_bracket(reading *r, slice label)
{
    r->open = grown(r->open, r->depth, &r->cap, sizeof *r->open);
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

static void write_word(reading *r, slice tag)
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
    write_word(r, slice_of("XX"));
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
        write_word(r, tag);
    }
}

/* ---- in order ---- */

typedef struct {   /* tokens being reordered as in form `words` */
    slice *token;  /* [n]: all tokens except opening brackets that move */
    int64_t *last; /* [n + 1]: index in `open` of the last bracket to insert before each token; -1: no bracket */
    size_t n;
    struct {
        slice token;
        int64_t earlier; /* the bracket to insert after this one, inside it; -1: no bracket */
    } * open;
    int64_t n_open;
} ordering;

/* Inserts each opening bracket before its first child: the last completed item, a word or a constituent. A bracket
 * without a child stays where it is, and *good becomes 0. */
static void order(ordering *o, const char *line, int *good)
{
    const size_t none = SIZE_MAX;
    size_t *begins = NULL, item = none, depth = 0, cap = 0; /* first token of: each open constituent, last item */
    *o = (ordering){0};
    for (slice token; (token = next_word(&line)).n;) {
        if (o->n + (size_t)o->n_open + 2 > cap) {
            cap = 2 * cap + 64;
            o->token = resized(o->token, cap, sizeof *o->token);
            o->last = resized(o->last, cap, sizeof *o->last);
            o->open = resized(o->open, cap, sizeof *o->open);
            begins = resized(begins, cap, sizeof *begins);
            if (!o->n) o->last[0] = -1;
        }
        int opens = *token.s == '(' && token.n > 1, closes = *token.s == ')' && token.n > 1;
        if (opens) begins[depth++] = item != none ? item : o->n;
        if (opens && item != none) {
            o->open[o->n_open].token = token;
            o->open[o->n_open].earlier = o->last[item];
            o->last[item] = o->n_open++;
            item = none;
            continue;
        }
        *good &= !opens;
        if (!closes)
            item = opens ? none : o->n;
        else if (depth)
            item = begins[--depth];
        o->token[o->n++] = token;
        o->last[o->n] = -1;
    }
    free(begins);
}

static void read_in_order(reading *r, const char *line)
{
    ordering o;
    order(&o, line, &r->good);
    for (size_t i = 0; i < o.n + (o.last != NULL); i++) {
        for (int64_t k = o.last[i]; k >= 0; k = o.open[k].earlier) read_words(r, o.open[k].token);
        if (i < o.n) read_words(r, o.token[i]);
    }
    free(o.token);
    free(o.last);
    free(o.open);
}

int linear_read(form f, const char *line, const sentence *s, const labels *known, tree *t)
{
    const slice none = {0};
    reading r = {.s = s, .t = t, .good = 1};
    t->n = 0;
    tree_add(t, OPEN, slice_of("TOP"), none);
    if (f == IN_ORDER) {
        read_in_order(&r, line);
    } else {
        for (slice token; (token = next_word(&line)).n;)
            if (f == WORDS)
                read_words(&r, token);
            else
                read_labels(&r, f, token, known);
    }
    r.good &= r.words == s->n && r.depth == 0;
    while (r.words < s->n) write_word(&r, slice_of("XX"));
    for (; r.depth; r.depth--) tree_add(t, CLOSE, none, none);
    tree_add(t, CLOSE, none, none);
    tree_prune(t);
    free(r.open);
    return r.good;
}
