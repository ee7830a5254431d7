#include "grammar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANK "\xe2\x96\x81" /* a blank inside a subword */

/* ---- kinds of tokens ---- */

static int begins(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* The label of a closing token, or in forms with words of an opening token; NULL for other tokens. */
static const char *bracket_of(form f, const char *token, int *kind)
{
    if (form_has_words(f) && begins(token, BLANK)) token += strlen(BLANK);
    *kind = *token == '(' ? OPEN : CLOSE;
    int is = form_has_words(f) ? *token == '(' || *token == ')' : *token == '/';
    return is && token[1] ? token + 1 : NULL;
}

static void list(token_list *l, int32_t token)
{
    l->at = grown(l->at, l->n, &l->cap, sizeof *l->at);
    l->at[l->n++] = token;
}

static void name_brackets(grammar *g, const char *const *tokens)
{
    int kind;
    for (int32_t i = AB_ID_FIRST; i < g->n_tokens; i++) {
        const char *label = bracket_of(g->form, tokens[i], &kind);
        if (!label || kind != CLOSE) continue;
        labels_add(&g->known, slice_of(label));
        g->closing = resized(g->closing, g->known.n, sizeof *g->closing);
        g->closing[g->known.n - 1] = i;
    }
    for (int32_t i = AB_ID_FIRST; i < g->n_tokens; i++) {
        const char *label = bracket_of(g->form, tokens[i], &kind);
        if (!form_has_words(g->form) && !label) {
            kind = labels_find(&g->known, slice_of(tokens[i])) >= 0 ? OPEN : LEAF;
            label = tokens[i];
        }
        if (!label) continue;
        g->label[i] = (int32_t)labels_find(&g->known, slice_of(label));
        if (kind != LEAF && g->label[i] < 0) continue; /* no token closes this label: the bracket is not listed */
        g->kind[i] = (int8_t)kind;
        if (kind == OPEN) list(&g->opening, i);
        if (kind == LEAF) list(&g->tags, i);
    }
}

int grammar_open(grammar *g, const char *const *tokens, int64_t n, char *err, size_t n_err)
{
    grammar_close(g);
    g->n_tokens = n;
    g->kind = resized(NULL, (size_t)n, sizeof *g->kind);
    g->label = resized(NULL, (size_t)n, sizeof *g->label);
    g->starts_word = resized(NULL, (size_t)n, sizeof *g->starts_word);
    memset(g->kind, -1, (size_t)n * sizeof *g->kind);
    name_brackets(g, tokens);
    int subwords = 0;
    for (int64_t i = AB_ID_FIRST; i < n; i++) subwords |= g->kind[i] == CLOSE && begins(tokens[i], BLANK);
    for (int64_t i = 0; i < n; i++) g->starts_word[i] = !subwords || begins(tokens[i], BLANK);
    if (g->opening.n) return 0;
    snprintf(err, n_err,
             "the vocabulary has no tokens that open and close a bracket; found %lld tokens, such as \"%s\"",
             (long long)n, n > AB_ID_FIRST ? tokens[AB_ID_FIRST] : "");
    return -1;
}

void grammar_close(grammar *g)
{
    free(g->kind);
    free(g->label);
    free(g->starts_word);
    free(g->closing);
    free(g->opening.at);
    free(g->tags.at);
    labels_free(&g->known);
    *g = (grammar){.form = g->form, .unary_cap = g->unary_cap, .open_cap = g->open_cap};
}

/* ---- states ---- */

typedef struct { /* a sentence's data, shared by its states */
    int64_t users, n, most;
    int64_t *words_from; /* [n + 1]: number of words that begin at token i or later */
    int32_t ids[];       /* [n]: forms with words: the subwords; else unused */
} input;

typedef struct { /* an open bracket */
    int32_t label;
    int32_t kids;   /* number of kids: 0, 1, or 2 for two or more */
    int32_t height; /* with one kid: constituents that cover exactly the kid's words, with the kid; 0: kid is a word */
} node;

enum { NONE = -1 };
typedef struct {
    input *in;
    int64_t made;  /* tokens of the output so far */
    int64_t place; /* tokens of the input consumed */
    int64_t run;   /* number of brackets opened since any other token */
    int32_t item;  /* in_order: height of the last completed item; NONE after an opening bracket */
    int64_t depth;
    node open[];
} state;

void *grammar_start(const grammar *g, int64_t words, const int32_t *ids, int64_t n, int64_t most)
{
    int given = form_has_words(g->form);
    if (!given) n = words;
    input *in = resized(NULL, 1, sizeof *in + (size_t)n * sizeof *in->ids);
    *in = (input){.users = 1, .n = n, .most = most};
    in->words_from = resized(NULL, (size_t)n + 1, sizeof *in->words_from);
    in->words_from[n] = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        if (given) in->ids[i] = ids[i];
        in->words_from[i] = in->words_from[i + 1] + (!given || i == 0 || g->starts_word[ids[i]]);
    }
    state *s = resized(NULL, 1, sizeof *s);
    *s = (state){.in = in, .item = NONE};
    return s;
}

void grammar_release(void *self)
{
    state *s = self;
    if (!--s->in->users) {
        free(s->in->words_from);
        free(s->in);
    }
    free(s);
}

static node with_kid(node parent, int32_t height)
{
    parent.height = parent.kids ? 0 : height;
    parent.kids += parent.kids < 2;
    return parent;
}
static int32_t height_of(node n) { return n.kids == 1 ? n.height + 1 : 1; }

/* Does the next token of the input begin a word? */
static int at_word(const state *s)
{
    return s->place < s->in->n && s->in->words_from[s->place] > s->in->words_from[s->place + 1];
}

/* The innermost bracket, with the last completed item as its child. */
static node with_item(const state *s)
{
    node top = s->open[s->depth - 1];
    return s->item == NONE ? top : with_kid(top, s->item);
}

static void advance_in_order(const grammar *g, state *s, int kind, int32_t token)
{
    if (kind == OPEN) {
        s->open[s->depth++] = with_kid((node){.label = g->label[token]}, s->item);
        s->item = NONE;
    } else if (kind == CLOSE && s->depth) {
        s->item = height_of(with_item(s));
        s->depth--;
    } else if (kind != CLOSE && s->place < s->in->n) {
        if (at_word(s)) {
            if (s->depth) s->open[s->depth - 1] = with_item(s);
            s->item = 0;
        }
        s->place++;
    }
}

void *grammar_advance(const grammar *g, const void *from, int32_t token)
{
    const state *old = from;
    int kind = token >= 0 && token < g->n_tokens ? g->kind[token] : -1;
    int64_t depth = old->depth + (kind == OPEN);
    state *s = resized(NULL, 1, sizeof *s + (size_t)depth * sizeof *s->open);
    memcpy(s, old, sizeof *s + (size_t)old->depth * sizeof *s->open);
    s->in->users++;
    s->made++;
    s->run = kind == OPEN ? old->run + 1 : 0;
    if (g->form == IN_ORDER) {
        advance_in_order(g, s, kind, token);
    } else if (kind == OPEN) {
        s->open[s->depth++] = (node){.label = g->label[token]};
    } else if (kind == CLOSE && s->depth) {
        node closed = s->open[--s->depth];
        if (s->depth) s->open[s->depth - 1] = with_kid(s->open[s->depth - 1], height_of(closed));
    } else if (kind != CLOSE && s->place < s->in->n) {
        if (s->depth && at_word(s)) s->open[s->depth - 1] = with_kid(s->open[s->depth - 1], 0);
        s->place++;
    }
    return s;
}

/* The fewest words needed to close `top` and the n brackets below: a word for each empty bracket, and a word wherever
 * more than unary_cap constituents would cover the same words. */
static int64_t least(const grammar *g, const node *below, int64_t n, node top)
{
    int64_t words = 0;
    for (;;) {
        int32_t height = height_of(top);
        if (!top.kids || height > g->unary_cap) words++, height = 1;
        if (!n) return words;
        top = with_kid(below[--n], height);
    }
}

/* Allowed tokens in form in_order, where a bracket opens after its first child. The bracket can close without another
 * word, unless that child is a chain of unary_cap constituents. */
static void allowed_in_order(const grammar *g, const state *s, uint8_t *mask)
{
    const input *in = s->in;
    int64_t words = in->words_from[s->place], tokens = in->n - s->place, left = in->most - s->made;
    int begun = s->place > 0 && tokens && !at_word(s);
    int done = !s->depth && !words && (s->item > 0 || !in->n);
    int open = !begun && s->item != NONE && (s->item < g->unary_cap || words) && left >= tokens + s->depth + 2;
    int word = begun || (words && (s->depth || s->item == NONE));
    int close = !begun && s->depth && height_of(with_item(s)) <= g->unary_cap;
    if (s->depth == 1 && words) close = close && left >= tokens + 3; /* another bracket must still open and close */
    if (done) mask[AB_ID_END] = 1;
    if (word) mask[in->ids[s->place]] = 1;
    if (close) mask[g->closing[s->open[s->depth - 1].label]] = 1;
    for (size_t i = 0; i < g->opening.n && open; i++) mask[g->opening.at[i]] = 1;
}

void grammar_allowed(const grammar *g, const void *self, uint8_t *mask)
{
    const state *s = self;
    const input *in = s->in;
    memset(mask, 0, (size_t)g->n_tokens);
    if (g->form == IN_ORDER) {
        allowed_in_order(g, s, mask);
        return;
    }
    if (!s->depth && (s->made || !in->n)) {
        mask[AB_ID_END] = 1;
        return;
    }
    int64_t words = in->words_from[s->place], tokens = in->n - s->place;
    int inside = s->place > 0 && tokens && !at_word(s);
    int word = s->depth && words, open = words > 0, close = s->depth > 0;
    if (inside) {
        open = close = 0;
        word = 1;
    } else if (s->depth) {
        node top = s->open[s->depth - 1], parent = s->depth > 1 ? s->open[s->depth - 2] : (node){0};
        int64_t left = in->most - s->made, needed = tokens + s->depth;
        word = word && least(g, s->open, s->depth - 1, with_kid(top, 0)) < words;
        open = open && s->run < g->open_cap && left >= needed + 2 && least(g, s->open, s->depth, (node){0}) <= words;
        close = top.kids && height_of(top) <= g->unary_cap;
        if (s->depth == 1)
            close = close && !words;
        else
            close = close && least(g, s->open, s->depth - 2, with_kid(parent, height_of(top))) <= words;
        if (close) mask[g->closing[top.label]] = 1;
    }
    if (word && g->form == WORDS) mask[in->ids[s->place]] = 1;
    for (size_t i = 0; i < g->opening.n && open; i++) mask[g->opening.at[i]] = 1;
    for (size_t i = 0; i < g->tags.n && word; i++) mask[g->tags.at[i]] = 1; /* form `words` has no tags */
}
