/* base.h - used by every folder of core: errors, strings, files, hashes, random numbers, the log.
 *
 * Ownership: a function that returns a pointer says who frees it; `str` owns its bytes.
 * Errors: a service returns 0 or -1 (or a pointer or NULL) and fills an `err`; the first error is kept.
 * Out of memory ends the program with a message, because no caller could continue; nothing else in this folder exits.
 * Functions are thread-safe unless stated otherwise.
 */
#ifndef ABLATE_BASE_H
#define ABLATE_BASE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#ifdef __cplusplus
extern "C" {
#endif

#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NEVER_RETURNS     __attribute__((noreturn))
#define LENGTH(a)         (sizeof(a) / sizeof *(a))

/* ---- errors ---- */

typedef struct {
    char text[2048];
} err;                                                    /* text[0] == 0: no error */
int fail(err *e, const char *fmt, ...) PRINTF_LIKE(2, 3); /* keeps the first error; e may be NULL; returns -1 */
int fail_list(err *e, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
/* Puts text such as `file:line: ` before an existing error; returns -1. */
int fail_in(err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
NEVER_RETURNS void broken(const char *fmt, ...) PRINTF_LIKE(1, 2); /* a broken invariant: prints and aborts */
NEVER_RETURNS void cannot_print(const char *fmt);                  /* printf failed: no memory, or fmt is broken */

/* ---- memory: never NULL ---- */

NEVER_RETURNS void out_of_memory(size_t n); /* n: bytes requested (0: not known); exit code 1 */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xprintf(const char *fmt, ...) PRINTF_LIKE(1, 2); /* the caller frees */
/* Grows array `p` of `size`-byte elements, capacity *cap, to hold n elements; returns it. */
void *grow(void *p, size_t *cap, size_t n, size_t size);

typedef struct arena_block arena_block;
typedef struct {
    arena_block *head;
} arena;                               /* {0} is an empty arena; its contents are freed together */
void *arena_alloc(arena *a, size_t n); /* zeroed, 16-byte aligned */
char *arena_strdup(arena *a, const char *s);
char *arena_strndup(arena *a, const char *s, size_t n);
char *arena_printf(arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Moves a list of n elements that `grow` made into the arena, with room for one more; returns it. */
void *arena_keep(arena *a, void *list, size_t n, size_t size);
void arena_free(arena *a); /* the arena is empty and usable afterwards */

/* ---- strings ---- */

typedef struct {
    char *s;
    size_t n, cap;
} str; /* {0} is empty; s is NUL-terminated after the first addition */
void str_add(str *b, const char *s);
void str_addn(str *b, const char *s, size_t n);
void str_addc(str *b, char c);
void str_add_csv(str *b, const char *cell); /* in quotes if it has a comma, a quote or a line break */
void str_addf(str *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_addv(str *b, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
/* Appends words, breaking lines at `wide` characters; further lines begin with `indent` blanks. *column: characters of
 * the current line. */
void str_wrap(str *b, const char *text, size_t wide, size_t indent, size_t *column);
size_t terminal_columns(int fd); /* 0: fd is no terminal, or has no size */
void str_clear(str *b);          /* keeps the memory */
void str_free(str *b);
const char *str_text(const str *b); /* never NULL */

typedef struct { /* a list of texts that it does not own */
    const char **at;
    size_t n;
} text_list;

char *trim(char *s);                     /* in place; returns the first non-blank */
bool same(const char *a, const char *b); /* NULL equals NULL only */
bool has_prefix(const char *s, const char *prefix);
bool has_suffix(const char *s, const char *suffix);
size_t byte_order_mark(const char *text, size_t n); /* bytes of the UTF-8 mark at the start: 3 or 0 */
/* Parse a number that makes up the whole string; else return false and leave *out unchanged. */
bool parse_int(const char *s, int64_t *out); /* also 1e6, 4k and 2M when exact */
bool parse_real(const char *s, double *out); /* finite only */
/* Returns the number that an environment variable holds, or `usual` if unset. main.c rejects wrong values at once. */
double environment_real(const char *variable, double usual);
/* Writes the shortest text that reads back as x ("0.1", "100000", "5e-09"); `out` holds 32. */
const char *format_real(double x, char out[32]);
/* Finds the candidate that `given` means: equal but for upper and lower case, else a synonym from field_words.c,
 * else the nearest by edit distance; NULL if all are further than 1 + length / 3. */
const char *nearest(const char *given, const char *const *candidates, size_t n);
void remove_tree(const char *folder);    /* removes the folder with its contents; follows no link */
void free_texts(char **texts, size_t n); /* frees each text and the list */
/* Returns the end of the path after its last /. */
const char *path_end(const char *path);
/* Returns the folder of the path, "." if it names none; the caller frees. */
char *path_folder(const char *path);
/* Returns "; did you mean NAME?" with NAME in `quote`s, or "" if none is near; valid until this thread's next call. */
const char *suggestion(const char *given, const char *const *candidates, size_t n, const char *quote);

/* Returns the bytes of the well-formed UTF-8 character at s (RFC 3629: no overlong forms, surrogates, or past
 * U+10FFFF), or 0. */
size_t utf8_length(const char *s);
/* Returns the number of UTF-8 characters in the first n bytes of s, or up to its end. */
size_t utf8_count(const char *s, size_t n);
/* Returns the bytes of the first `columns` UTF-8 characters at most. */
size_t utf8_prefix(const char *s, size_t columns);
/* Returns how many bytes at s (0 to 3) form a character that a terminal or browser obeys instead of showing: a control
 * character, U+0080 to U+009F included, or a mark that reverses the direction of text. */
size_t control_at(const char *s);
/* Appends s with each byte of such characters as \xNN, so that others' text is shown and not obeyed. lines: keeps
 * newlines and tabs. */
void str_add_shown(str *b, const char *s, bool lines);
bool is_printable(const char *s, bool lines); /* true if str_add_shown would copy s unchanged */

/* JSON output. A comma goes before each item or pair but the first; json_string and json_number write none. */
void json_string(str *b, const char *s); /* quoted and escaped; NULL: null */
void json_number(str *b, double x);      /* not finite: null */
void json_next(str *b);                  /* a comma, unless a list or an object has just begun */
/* Opens a list or an object, as a key's value, or without a key as a list's item or the document. */
void json_open(str *b, const char *key, char bracket);
void json_key(str *b, const char *key);
void json_key_text(str *b, const char *key, const char *value);
void json_key_real(str *b, const char *key, double value);
void json_key_whole(str *b, const char *key, int64_t value);
void json_key_bool(str *b, const char *key, bool value);

/* ---- files ---- */

int file_read(const char *path, str *out, err *e); /* a whole file, or a pipe of at most 256 MB; clears out first */
/* Reads a regular file of at most `most` bytes; refuses anything else at once, where file_read would wait for a pipe's
 * writer. */
int file_read_regular(const char *path, size_t most, str *out, err *e);
/* Opens a regular file to read; *size: its bytes. -1 and a message for a folder, a pipe, a device; never waits. */
int file_open_regular(const char *path, size_t *size, err *e);
/* Reads up to n bytes, also when signals interrupt; fewer only at the end of the file. -1 and errno. */
ssize_t file_read_some(int fd, void *to, size_t n);
void file_read_rest(int fd, size_t most, str *out); /* appends up to about `most` bytes, until the end or an error */
/* Writes all n bytes, also when signals interrupt; 0, or -1 and errno. */
int file_write_all(int fd, const void *data, size_t n);
/* Atomic: temporary file, fsync, rename, fsync of the folder. Follows links; writes directly to a pipe or device. */
int file_write(const char *path, const void *data, size_t n, err *e);
bool file_exists(const char *path);
bool is_folder(const char *path);
int make_folders(const char *path, err *e);    /* like mkdir -p */
char *path_join(const char *a, const char *b); /* the caller frees; an absolute b wins */
const char *program_file(void);                /* the path of this program; static storage */
/* Returns the first of n paths, relative to this program's folder, that exists; NULL: none does. The caller frees. */
char *file_of_program(const char *const *paths, size_t n);
/* Lets threads that wait for others sleep soon instead of spinning, which slows everything on a busy machine up to
 * twenty times. The thread library reads the setting when it is loaded, so the program starts itself again. */
void program_wait_asleep(char **argv);
/* Lines of a text file, without LF or CRLF. lines[i] points into *text. The caller frees *lines and *text. */
int file_lines(const char *path, str *text, char ***lines, size_t *n, err *e);
/* like file_lines, for a text in memory, which errors call `name` */
int text_lines(str *text, const char *name, char ***lines, size_t *n, err *e);

/* ---- hashes ---- */

typedef struct {
    uint32_t h[8];
    uint64_t n;
    unsigned char block[64];
} sha256;
void sha256_init(sha256 *s);
void sha256_add(sha256 *s, const void *data, size_t n);
void sha256_hex(sha256 *s, char out[65]); /* finishes s */
void sha256_of(const void *data, size_t n, char out[65]);
int sha256_file(const char *path, char out[65], err *e);
uint64_t hash64(const void *data, size_t n); /* FNV-1a, for tables in memory */

/* ---- random numbers: counter based (Salmon et al. 2011), the same bits on every device ---- */

#define PHILOX_ROUNDS 7 /* the fewest rounds that pass BigCrush in that paper */
/* Four random words for counter (c0,c1,c2,c3) and key (k0,k1). Dropout uses: key = seed, counter = (block, op, step,
 * 0). */
void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
typedef struct {
    uint64_t s[2];
} rng; /* a small sequential generator for shuffles and resampling */
rng rng_seed(uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *r);
uint64_t rng_below(rng *r, uint64_t n); /* unbiased, n > 0 */
void rng_shuffle(rng *r, int64_t *a, size_t n);
double rng_uniform(rng *r); /* [0,1) */
double rng_normal(rng *r);

/* ---- time and log ---- */

double now(void);             /* seconds since 1970 */
double ticks(void);           /* monotonic seconds */
double processor_ticks(void); /* processor seconds of this thread; excludes other processes */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
void log_to(FILE *f, enum log_level least); /* default: stderr, LOG_INFO; not thread-safe */
void log_line(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);
#ifdef __cplusplus
}
#endif
#endif
