#include "tree.h"
#include "tasks/memory.h"
#include <stdlib.h>
#include <string.h>

void *resized(void *p, size_t n, size_t size) { return need(realloc(p, (n ? n : 1) * size)); }

void *grown(void *p, size_t n, size_t *cap, size_t size)
{
    return n < *cap ? p : resized(p, *cap = 2 * *cap + 64, size);
}

void buffer_add(buffer *b, const char *s, size_t n)
{
    if (b->n + n + 1 > b->cap) {
        b->cap = 2 * (b->n + n) + 64;
        b->s = resized(b->s, b->cap, 1);
    }
    if (n) memcpy(b->s + b->n, s, n);
    b->s[b->n += n] = 0;
}
void buffer_text(buffer *b, const char *s) { buffer_add(b, s, strlen(s)); }
void buffer_clear(buffer *b)
{
    b->n = 0;
    buffer_add(b, "", 0);
}
void buffer_free(buffer *b)
{
    free(b->s);
    *b = (buffer){0};
}

int slice_is(slice a, const char *text) { return a.n == strlen(text) && !memcmp(a.s, text, a.n); }
slice slice_of(const char *text) { return (slice){text, strlen(text)}; }

slice next_word(const char **at)
{
    static const char blanks[] = " \t\r\n\v\f";
    const char *s = *at + strspn(*at, blanks);
    slice word = {s, strcspn(s, blanks)};
    *at = s + word.n;
    return word;
}

void tree_add(tree *t, int kind, slice label, slice word)
{
    t->at = grown(t->at, t->n, &t->cap, sizeof *t->at);
    t->at[t->n++] = (bracket){kind, label, word};
}

void tree_free(tree *t)
{
    free(t->at);
    *t = (tree){0};
}

void tree_prune(tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].kind == CLOSE && n && t->at[n - 1].kind == OPEN)
            n--;
        else
            t->at[n++] = t->at[i];
    }
    t->n = n;
}

void tree_write(const tree *t, buffer *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const bracket *b = &t->at[i];
        if (b->kind != CLOSE) {
            buffer_text(out, i ? " (" : "(");
            buffer_add(out, b->label.s, b->label.n);
        }
        if (b->kind == LEAF) {
            buffer_text(out, " ");
            buffer_add(out, b->word.s, b->word.n);
        }
        if (b->kind != OPEN) buffer_text(out, ")");
    }
}

void tree_words(const tree *t, buffer *out)
{
    int first = 1;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i].kind != LEAF) continue;
        if (!first) buffer_text(out, " ");
        buffer_add(out, t->at[i].word.s, t->at[i].word.n);
        first = 0;
    }
}
