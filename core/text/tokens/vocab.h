/* vocab.h - text to token ids and back.
 *
 * A trained or read vocabulary is immutable: any number of threads may encode and decode with it. Text is not
 * normalised, and lowercased only if requested at training. So decode(encode(x)) == x for every line whose characters
 * (bpe, unigram, char) or words (words: separated by single blanks) were all seen in training; wordpiece needs both
 * single blanks and seen characters, and no word that begins with "##" or has over 100 characters. bpe and unigram
 * decode U+2581, SentencePiece's mark for a blank, to a blank. bpe, unigram and wordpiece are trained without lines
 * that have U+2585, its mark for unknown, so that this character stays unknown. The first VOCAB_SPECIALS ids are the
 * same in every vocabulary and count in its size. A line is UTF-8 without a line end; errors about invalid UTF-8 have
 * the byte's position. */
#ifndef ABLATE_VOCAB_H
#define ABLATE_VOCAB_H
#include "base/base.h"

enum {
    VOCAB_PAD,     /* id of padding rows; never in text */
    VOCAB_UNK,     /* not seen in training */
    VOCAB_BOS,     /* the decoder's first input */
    VOCAB_EOS,     /* end of a source or target sentence */
    VOCAB_SPECIALS /* the first id of a real token */
};
#define VOCAB_BLANK      "\xe2\x96\x81" /* U+2581: a blank inside a SentencePiece token */
#define WORDPIECE_INSIDE "##"           /* begins a piece inside a word */
#define VOCAB_UNK_TEXT   "\xe2\x81\x87" /* decoded text of VOCAB_UNK: U+2047, a double question mark */

typedef enum {                   /* in the order of the INI key `vocab` (settings/keys.c), so that a cast converts */
               TOKENS_BPE,       /* SentencePiece, byte pair encoding */
               TOKENS_UNIGRAM,   /* SentencePiece, unigram language model */
               TOKENS_WORDS,     /* blank-separated words, most frequent first */
               TOKENS_CHAR,      /* Unicode code points, most frequent first */
               TOKENS_WORDPIECE, /* pieces of blank-separated words, the longest first (wordpiece.h) */
               TOKENS_KINDS
} vocab_kind;
extern const char *const vocab_kind_names[TOKENS_KINDS]; /* "bpe", "unigram", "words", "char", "wordpiece" */
bool vocab_cuts_words(vocab_kind kind);                  /* tokens are parts of words: bpe, unigram, wordpiece */

typedef struct vocab vocab;

#define VOCAB_TOO_SMALL                                                                                                \
    "vocab_size %lld is too small: the corpus has %lld different characters and special tokens; set vocab_size = "     \
    "%lld or more"

typedef struct { /* {0} is empty; grows as needed */
    int32_t *id; /* [n]; owned, freed by id_list_free */
    int64_t n;
    size_t cap;
} id_list;
void id_list_free(id_list *l);
void id_list_add(id_list *l, int32_t id);

/* Trains on lines[n]. lowercase: encoding lowercases first, by code point (Unicode simple mapping). size: number of
 * ids, specials included; 0 (words, char): every word or character that occurs. With a size, words and char keep the
 * most frequent ones. The other kinds refuse a size that these lines cannot give; the error has the largest (or
 * smallest) possible size. Deterministic. NULL and e on failure; free with vocab_free. */
vocab *vocab_train(vocab_kind kind, int64_t size, bool lowercase, const char *const *lines, int64_t n, err *e);
/* Like vocab_train; words among symbols[n_symbols] are one token also where words are cut, and count in `size`. */
vocab *vocab_train_with(vocab_kind kind, int64_t size, bool lowercase, const char *const *symbols, int64_t n_symbols,
                        const char *const *lines, int64_t n, err *e);
/* vocab_train_with and a cache: a file in folder dir (made if missing), named by the sha256 of kind, size and lines.
 * Trains only once, even if several processes need it at the same time; replaces a damaged file. dir NULL: no cache. */
vocab *vocab_with_symbols(const char *dir, vocab_kind kind, int64_t size, bool lowercase, const char *const *symbols,
                          int64_t n_symbols, const char *const *lines, int64_t n, err *e);
void vocab_free(vocab *v);                /* v may be NULL */
void vocabs_free(vocab *src, vocab *tgt); /* frees the vocabularies of both sides, which may be the same */

vocab_kind vocab_kind_of(const vocab *v);
int64_t vocab_size(const vocab *v); /* ids 0 .. size - 1 */
bool vocab_lowercase(const vocab *v);
/* Returns the token's text ("\xe2\x96\x81the", "<s>"), borrowed from v; "<unk>" for ids out of range. */
const char *vocab_token(const vocab *v, int32_t id);
/* bpe, unigram: the SentencePiece model, *n bytes, borrowed from v; NULL for words and char. */
const void *vocab_pieces(const vocab *v, size_t *n);
/* bpe, unigram: the piece's score in SentencePiece; 0 for words, char and special tokens. */
double vocab_score(const vocab *v, int32_t id);

/* Appends the ids of `line` to out, without BOS and EOS. Returns -1 and e on invalid UTF-8; out is then unchanged. */
int vocab_encode(const vocab *v, const char *line, id_list *out, err *e);
/* Appends the text of ids[n] up to EOS, without PAD and BOS; UNK and ids out of range give VOCAB_UNK_TEXT. */
void vocab_decode(const vocab *v, const int32_t *ids, int64_t n, str *out);

/* Writes a vocabulary as bytes for a checkpoint (binary: use out->n). vocab_read checks their length and sha256. */
void vocab_write(const vocab *v, str *out);
void vocab_sum(const vocab *v, char out[65]); /* sha256 of vocab_write's bytes, equal for equal vocabularies */
vocab *vocab_read(const void *data, size_t n, err *e);

/* Offset of the first byte of s[n] that is not well-formed UTF-8 (RFC 3629), or -1. */
int64_t utf8_bad(const char *s, size_t n);
enum { LONGEST_WORD = 32766 };        /* characters, because SentencePiece counts a word's characters in 16 bits */
bool word_too_long(const char *line); /* bpe and unigram are trained without a line that has such a word */
/* Appends s (UTF-8) in lower case. */
void utf8_lower(const char *s, str *out);
#endif
