/* checkpoint.h - learned values in safetensors files, with the run's settings and vocabularies.
 *
 * A file has every parameter by name (fp32, [in,out]) and, for resuming, the optimizer's slots as optim.SLOT.NAME. Text
 * entries (settings as JSON, vocabularies in base64, counters) are in the file's __metadata__. Files are written to a
 * temporary name, synced and renamed, so a reader sees either the old or the new file, complete.
 */
#ifndef ABLATE_CHECKPOINT_H
#define ABLATE_CHECKPOINT_H
#include "tensor/graph/tape.h"

typedef struct {
    char *key;
    str value;
} checkpoint_entry; /* value may have any bytes; binary values are stored in base64 */
typedef struct {
    checkpoint_entry *at;
    size_t n, cap;
} checkpoint_meta; /* {0} is empty; owns its texts */

void meta_write(checkpoint_meta *m, const char *key, const char *text);
void meta_write_bytes(checkpoint_meta *m, const char *key, const void *data, size_t n); /* in base64 */
void meta_write_int(checkpoint_meta *m, const char *key, int64_t x);
const char *meta_text(const checkpoint_meta *m, const char *key); /* NULL: missing */
bool meta_int(const checkpoint_meta *m, const char *key, int64_t *out);
int meta_bytes(const checkpoint_meta *m, const char *key, str *out, err *e); /* decoded */
void meta_free(checkpoint_meta *m);

/* Writes parameters, `n_slots` optimizer slots by these names (0: no slots), and the entries of m. */
int checkpoint_write(const char *path, params *p, const char *const *slots, uint32_t n_slots, const checkpoint_meta *m,
                     err *e);
int checkpoint_read_meta(const char *path, checkpoint_meta *out, err *e);
/* Reads every parameter of `p`, which must be present with its shape. Ignores other entries of the file. */
int checkpoint_read(const char *path, params *p, const char *const *slots, uint32_t n_slots, err *e);
/* Reads the parameters that the file has with equal name and shape, embeddings only with `embeddings`. *taken: number
 * of those read, without buffers. Appends the other names to `left`. Returns -1 and e if the file cannot be read. */
int checkpoint_read_matching(const char *path, params *p, bool embeddings, size_t *taken, str *left, err *e);
/* Sets p to the mean of the values of several files. */
int checkpoint_average(const char *const *paths, size_t n, params *p, err *e);
#endif
