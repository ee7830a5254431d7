/* spm_shim.h - SentencePiece (Kudo & Richardson 2018) behind plain C: train, read, encode, decode, nothing
 * else.
 *
 * No exception and no log line leaves the shim. A model is immutable: any number of threads may use it at
 * once. */
#ifndef ABLATE_SPM_SHIM_H
#define ABLATE_SPM_SHIM_H
#include "text/tokens/vocab.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct spm spm;

/* Trains on lines[n] (valid UTF-8, no line ends) and appends the serialised model to `model`. bpe: BPE, else unigram.
 * symbols[n_symbols]: words that become one piece each, with the blank before them. Equal lines give equal bytes,
 * because training uses one thread and no sampling. Returns 0, or -1 and e (SentencePiece's message, rewritten). */
int spm_train(bool bpe, int64_t size, const char *const *symbols, int64_t n_symbols, const char *const *lines,
              int64_t n, str *model, err *e);

/* Opens a serialised model. Returns NULL and e if the bytes are no model. The caller calls spm_close. */
spm *spm_open(const void *data, size_t n, err *e);
void spm_close(spm *m);
int64_t spm_size(const spm *m);                  /* ids */
const char *spm_piece(const spm *m, int32_t id); /* 0 <= id < size; borrowed from m */
float spm_score(const spm *m, int32_t id);
int spm_encode(const spm *m, const char *line, size_t n, id_list *out, err *e); /* appends */
#ifdef __cplusplus
}
#endif
#endif
