#include "typed.h"
#include <string.h>

size_t typed_word(slice token)
{
    size_t at = token.n;
    while (at && token.s[at - 1] != '_') at--;
    if (at < 2 || at == token.n) return token.n;
    for (size_t i = at; i < token.n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ$#.,:`'-", token.s[i])) return token.n;
    return at - 1;
}

void typed_add(buffer *out, slice word)
{
    for (size_t i = 0; i < word.n; i++) {
        if (word.s[i] == '(')
            buffer_text(out, "-LRB-");
        else if (word.s[i] == ')')
            buffer_text(out, "-RRB-");
        else if (i + 2 < word.n && !memcmp(word.s + i, "\xe2\x96\x81", 3))
            buffer_text(out, "_"), i += 2;
        else
            buffer_add(out, word.s + i, 1);
    }
}

int typed_tagged(const char *line)
{
    int tagged = 0;
    for (slice w; (w = next_word(&line)).n; tagged = 1)
        if (typed_word(w) == w.n) return 0;
    return tagged;
}
