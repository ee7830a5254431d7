/* grammar.h - constrained decoding: which tokens may come next in a linearised tree.
 *
 * An output is one tree over exactly the sentence's words. A word (in form `words` its next subword) is allowed only
 * inside a bracket; brackets cannot open inside a word. Only the innermost bracket can be closed, if it is not empty;
 * the outermost one only when no word is left. EOS is allowed when all brackets are closed. At most open_cap brackets
 * open in a row, and at most unary_cap constituents cover the same words. A token that would leave too few words or
 * tokens to close the open brackets is not allowed, so every output is complete and some token is always allowed.
 *
 * In form `in_order` a bracket opens only after an item, a word or a closed constituent, which becomes its first child.
 * Without an open bracket it must open, unless the item is a constituent over the whole sentence. open_cap is not used.
 */
#ifndef PARSING_GRAMMAR_H
#define PARSING_GRAMMAR_H
#include "ab_plugin.h"
#include "linear.h"

typedef struct { /* some of the tokens */
    int32_t *at;
    size_t n, cap;
} token_list;

typedef struct {
    form form;
    int64_t unary_cap, open_cap;
    int64_t n_tokens;
    int8_t *kind;             /* [n_tokens]: OPEN, LEAF (in forms labels and xx), CLOSE, or -1 */
    int32_t *label;           /* [n_tokens]: index in `known`, for kinds OPEN and CLOSE */
    int8_t *starts_word;      /* [n_tokens], in forms with words: 1 if the subword begins a word */
    int32_t *closing;         /* [known.n]: token that closes a label */
    labels known;             /* labels of constituents */
    token_list opening, tags; /* the tokens of kind OPEN and LEAF */
} grammar;

/* Fills g from a target vocabulary; form and caps must be set. Returns 0, or -1 and err. */
int grammar_open(grammar *g, const char *const *tokens, int64_t n, char *err, size_t n_err);
void grammar_close(grammar *g);

/* States as in ab_task_plugin. ids [n] are read in forms with words only; `words`, the sentence's word count, in the
 * other forms. */
void *grammar_start(const grammar *g, int64_t words, const int32_t *ids, int64_t n, int64_t most);
void *grammar_advance(const grammar *g, const void *state, int32_t token);
void grammar_allowed(const grammar *g, const void *state, uint8_t *mask);
void grammar_release(void *state);
#endif
