/* names.c - a set of texts, each with a number, by open addressing: finds duplicate keys, sections, values and rows in
 * constant time. */
#include "lab/config/build.h"
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const name_set *s, const char *text)
{
    size_t i = hash64(text, strlen(text)) & (s->cap - 1);
    while (s->at[i].text && !same(s->at[i].text, text)) i = (i + 1) & (s->cap - 1);
    return i;
}

static void widen(name_set *s)
{
    name_set old = *s;
    s->cap = old.cap ? 2 * old.cap : 16;
    s->at = xcalloc(s->cap, sizeof *s->at);
    for (size_t i = 0; i < old.cap; i++)
        if (old.at[i].text) s->at[slot_of(s, old.at[i].text)] = old.at[i];
    free(old.at);
}

bool name_set_add(name_set *s, const char *text, size_t number, size_t *was)
{
    if (2 * (s->n + 1) > s->cap) widen(s);
    size_t i = slot_of(s, text);
    if (s->at[i].text) return *was = s->at[i].number, false;
    s->at[i] = (numbered_name){text, number};
    s->n++;
    return true;
}

void name_set_free(name_set *s)
{
    free(s->at);
    *s = (name_set){0};
}
