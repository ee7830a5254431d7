/* grammar.h - which token may follow in a linearised tree: constrained decoding.
 *
 * One tree over exactly the sentence's words: a word (its next subword in `words`) only inside a bracket;
 * nothing opens inside a word; only the innermost bracket is closed, when it is not empty, the outermost one
 * when no word is left; the end comes when all is closed. At most open_cap brackets open in a row, at most
 * unary_cap constituents stand over the same words. No token is allowed that leaves too few words or too few
 * tokens to close what is open, so every output ends well, and there always is a token.
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
    int8_t *kind;             /* [n_tokens]: OPEN, LEAF (labels, xx), CLOSE, or -1 */
    int32_t *label;           /* [n_tokens]: of OPEN and CLOSE, its place in known */
    int8_t *starts_word;      /* [n_tokens]: words: 1 where a subword begins a word */
    int32_t *closing;         /* [known.n]: the token that closes */
    labels known;             /* labels that can be opened and closed */
    token_list opening, tags; /* the tokens of kind OPEN and LEAF */
} grammar;

/* Fills g from a target vocabulary; form and caps stand in it already. 0, or -1 and err. */
int grammar_open(grammar *g, const char *const *tokens, int64_t n, char *err, size_t n_err);
void grammar_close(grammar *g);

/* States as ab_task_plugin has them. ids [n] are read in `words` only; words: of the sentence, in the other forms.
 */
void *grammar_start(const grammar *g, int64_t words, const int32_t *ids, int64_t n, int64_t most);
void *grammar_advance(const grammar *g, const void *state, int32_t token);
void grammar_allowed(const grammar *g, const void *state, uint8_t *mask);
void grammar_release(void *state);
#endif
