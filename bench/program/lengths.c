/* lengths.c - reads a file of sentence lengths (bench/make_lengths.py) into batches of random ids. */
#include "bench.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

static int read_line(sentence_lengths *out, arena *a, char *line, const char *path, size_t number, err *e)
{
    size_t most = strlen(line) / 3 + 1;
    *out = (sentence_lengths){arena_alloc(a, most * sizeof *out->src), arena_alloc(a, most * sizeof *out->tgt), 0};
    for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
        int s, t, used = 0;
        if (sscanf(w, "%d:%d%n", &s, &t, &used) != 2 || w[used] || s < 1 || t < 1)
            return fail(e, "%s:%zu: found '%s', expected pairs of lengths such as 12:14", path, number, w);
        out->src[out->n] = s, out->tgt[out->n++] = t;
    }
    return 0;
}

static int capacity(const char *path, int64_t tokens, int64_t most, int64_t *out, err *e)
{
    if (tokens && tokens < most)
        return fail(e, "--tokens %lld: %s has a larger batch, of %lld tokens", (long long)tokens, path,
                    (long long)most);
    *out = tokens ? tokens : (most + 63) / 64 * 64;
    return 0;
}

int bench_read(recorded *r, const char *path, int64_t seed, int64_t tokens, int64_t vocab, bool one_capacity, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char **lines = NULL;
    size_t n = 0;
    rng random = rng_seed((uint64_t)seed, 7);
    CLEANUP(arena_free) arena a = {0};
    int64_t src_cap = 0, tgt_cap = 0;
    int bad = file_lines(path, &text, &lines, &n, e);
    AUTOFREE sentence_lengths *l = xcalloc(n + 1, sizeof *l);
    for (size_t i = 0; i < n && !bad; i++) {
        if (lines[i][0] == '#') continue;
        bad = read_line(&l[i], &a, lines[i], path, i + 1, e);
        if (!bad) recorded_count(r, &l[i]);
    }
    if (!bad && !r->sentences) bad = fail(e, "%s: found no batch", path);
    if (!bad && one_capacity)
        bad = capacity(path, tokens, r->src_most, &src_cap, e) || capacity(path, tokens, r->tgt_most, &tgt_cap, e);
    if (!bad) recorded_build(r, &random, vocab, l, n, src_cap, tgt_cap);
    return bad ? -1 : 0;
}
