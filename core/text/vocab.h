/* vocab.h - text to token ids and back.
 *
 * A vocabulary is immutable once it was trained or read: any number of threads may encode and decode with it.
 * Text passes unchanged: no normalisation, and lowercasing only where it was asked for at training. Then
 * decode(encode(x)) == x for every line of which all characters (bpe, unigram, char) or words (words: single
 * blanks between them) were seen in training. Two characters are SentencePiece's own in bpe and unigram: U+2581
 * (its mark for a blank) comes back as a blank, and lines with U+2585 (its mark for the unknown) are left out of
 * training, so that this character is never seen. The first VOCAB_SPECIALS ids are the same in every vocabulary and
 * count in its size. A line is UTF-8 without a line end; invalid UTF-8 is refused with the byte's place.
 */
#ifndef ABLATE_VOCAB_H
#define ABLATE_VOCAB_H
#include "base/base.h"

enum {
    VOCAB_PAD,     /* dummy rows; never in text */
    VOCAB_UNK,     /* what training did not show */
    VOCAB_BOS,     /* the decoder's first input */
    VOCAB_EOS,     /* the end, on both sides */
    VOCAB_SPECIALS /* the first id of a real token */
};
#define VOCAB_UNK_TEXT "\xe2\x81\x87" /* how VOCAB_UNK reads when decoded: U+2047, a double question mark */

typedef enum {             /* in the order of the INI key `vocab` (config/keys.c), so that a cast converts */
               TOKENS_BPE, /* SentencePiece, byte pair encoding */
               TOKENS_UNIGRAM, /* SentencePiece, unigram language model */
               TOKENS_WORDS,   /* blank-separated words, most frequent first */
               TOKENS_CHAR,    /* Unicode code points, most frequent first */
               TOKENS_KINDS
} vocab_kind;
extern const char *const vocab_kind_names[TOKENS_KINDS]; /* "bpe", "unigram", "words", "char" */

typedef struct vocab vocab;

typedef struct { /* {0} is empty; grows as needed */
    int32_t *id; /* [n]; owned, freed by id_list_free */
    int64_t n;
    size_t cap;
} id_list;
void id_list_free(id_list *l);

/* Train on lines[n]. lowercase: encoding lowercases first, code point by code point (Unicode simple mapping).
 * size: ids in all, specials counted; 0 (words, char): every word or character that occurs. With a size,
 * words and char keep the most frequent ones. bpe and unigram refuse a size that the corpus cannot give, and
 * name the largest (or least) that it can. Deterministic. NULL and e on failure; vocab_free by the caller. */
vocab *vocab_train(vocab_kind kind, int64_t size, bool lowercase, const char *const *lines, int64_t n,
                   err *e);

/* The same through a cache: a file in folder dir (made when missing), named by the sha256 of kind, size and
 * lines. Built once however many processes ask at the same time; a damaged file is rebuilt. dir NULL: no
 * cache. */
vocab *vocab_cached(const char *dir, vocab_kind kind, int64_t size, bool lowercase, const char *const *lines,
                    int64_t n, err *e);
/* The same; words of the lines that are among symbols[n_symbols] are one token each in bpe and unigram too,
 * however rare. They count in `size`. dir NULL: no cache. */
vocab *vocab_with_symbols(const char *dir, vocab_kind kind, int64_t size, bool lowercase,
                          const char *const *symbols, int64_t n_symbols, const char *const *lines, int64_t n,
                          err *e);
void vocab_free(vocab *v); /* NULL is allowed */

vocab_kind vocab_kind_of(const vocab *v);
int64_t vocab_size(const vocab *v); /* ids 0 .. size - 1 */
bool vocab_lowercase(const vocab *v);
/* The token's own text ("\xe2\x96\x81the", "<s>"); borrowed from v. Ids outside 0 .. size - 1 read as
 * "<unk>". */
const char *vocab_token(const vocab *v, int32_t id);

/* Append the ids of `line` to out, without BOS and EOS. -1 and e on invalid UTF-8; out is then as before. */
int vocab_encode(const vocab *v, const char *line, id_list *out, err *e);
/* Append the text of ids[n] to out. Stops at EOS; PAD and BOS say nothing; UNK and ids out of range read
 * VOCAB_UNK_TEXT. */
void vocab_decode(const vocab *v, const int32_t *ids, int64_t n, str *out);

/* Self-describing bytes for a checkpoint (binary: use out->n), and back. vocab_read checks length and sha256.
 */
void vocab_write(const vocab *v, str *out);
vocab *vocab_read(const void *data, size_t n, err *e);

/* Place of the first byte of s[n] that is not well-formed UTF-8 (RFC 3629), or -1. */
int64_t utf8_bad(const char *s, size_t n);
/* Append s (UTF-8) in lower case. */
void utf8_lower(const char *s, str *out);
#endif
