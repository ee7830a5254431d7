/* cache.c - caches vocabularies under a hash of their training data. */
#include "text/tokens/vocab.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define CACHE_VERSION "2" /* raise this when the same lines would give another vocabulary */

static void add_line(sha256 *s, const char *line)
{
    sha256_add(s, line, strlen(line));
    sha256_add(s, "\n", 1);
}

typedef struct { /* the inputs of a vocabulary's training */
    vocab_kind kind;
    int64_t size;
    bool lowercase;
    const char *const *symbols, *const *lines; /* [n_symbols], [n] */
    int64_t n_symbols, n;
} recipe;

static void key_of(const recipe *r, char key[65])
{
    sha256 s;
    sha256_init(&s);
    AUTOFREE char *head = xprintf("ablate vocab " CACHE_VERSION " %s %lld %d %lld\n", vocab_kind_names[r->kind],
                                  (long long)r->size, r->lowercase, (long long)r->n);
    sha256_add(&s, head, strlen(head));
    for (int64_t i = 0; i < r->n; i++) add_line(&s, r->lines[i]);
    for (int64_t i = 0; i < r->n_symbols; i++) add_line(&s, r->symbols[i]);
    sha256_hex(&s, key);
}

/* Reads a vocabulary from a file. Returns NULL if the file is missing or damaged (which is logged). */
static vocab *load(const char *path)
{
    if (!file_exists(path)) return NULL;
    CLEANUP(str_free) str bytes = {0};
    err e = {{0}};
    vocab *v = NULL;
    if (!file_read(path, &bytes, &e)) v = vocab_read(bytes.s, bytes.n, &e);
    if (!v) log_line(LOG_WARN, "%s: %s; rebuilding it", path, e.text);
    return v;
}

static vocab *train(const recipe *r, err *e)
{
    return vocab_train_with(r->kind, r->size, r->lowercase, r->symbols, r->n_symbols, r->lines, r->n, e);
}

/* Trains a vocabulary and caches it. Continues if the cache cannot be written. */
static vocab *build(const char *path, const recipe *r, err *e)
{
    double start = ticks();
    vocab *v = train(r, e);
    if (!v) return NULL;
    CLEANUP(str_free) str bytes = {0};
    err why = {{0}};
    vocab_write(v, &bytes);
    if (file_write(path, bytes.s, bytes.n, &why)) log_line(LOG_WARN, "vocabulary not cached: %s", why.text);
    log_line(LOG_INFO, "%s vocabulary of %lld tokens from %lld lines in %.1f s", vocab_kind_names[r->kind],
             (long long)vocab_size(v), (long long)r->n, ticks() - start);
    return v;
}

vocab *vocab_with_symbols(const char *dir, vocab_kind kind, int64_t size, bool lowercase, const char *const *symbols,
                          int64_t n_symbols, const char *const *lines, int64_t n, err *e)
{
    const recipe *r = &(recipe){kind, size, lowercase, symbols, lines, n_symbols, n};
    if (!dir) return train(r, e);
    if (make_folders(dir, e)) return NULL;
    char key[65];
    key_of(r, key);
    AUTOFREE char *name = xprintf("%s-%lld-%.24s.vocab", vocab_kind_names[r->kind], (long long)r->size, key);
    AUTOFREE char *path = path_join(dir, name), *lock = xprintf("%s.lock", path);
    vocab *v = load(path);
    if (!v) {
        /* The lock ends with its process. Where locks do not work, two processes write identical bytes. */
        int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        while (fd >= 0 && flock(fd, LOCK_EX) && errno == EINTR) {}
        v = load(path);
        if (!v) v = build(path, r, e);
        if (fd >= 0) close(fd);
    }
    return v;
}
