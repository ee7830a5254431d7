/* checkpoint.h - learned values in safetensors files, with the run's settings and vocabularies inside.
 *
 * A file holds every parameter by its name (fp32, [in,out]) and, for resuming, the optimizer's slots as
 * optim.SLOT.NAME. Text entries (settings as JSON, vocabularies in base64, counters) are the file's
 * __metadata__. Files are written to a temporary name, synced and renamed: a reader sees the old file or the
 * new one, whole.
 */
#ifndef ABLATE_CHECKPOINT_H
#define ABLATE_CHECKPOINT_H
#include "graph/tape.h"

typedef struct {
    char *key;
    str value;
} checkpoint_entry; /* value may hold any bytes; binary ones are stored in base64 */
typedef struct {
    checkpoint_entry *at;
    size_t n, cap;
} checkpoint_meta; /* {0} is empty; owns its texts */

void meta_put(checkpoint_meta *m, const char *key, const char *text);
void meta_put_bytes(checkpoint_meta *m, const char *key, const void *data, size_t n); /* in base64 */
void meta_put_int(checkpoint_meta *m, const char *key, int64_t x);
const char *meta_text(const checkpoint_meta *m, const char *key); /* NULL: not there */
bool meta_int(const checkpoint_meta *m, const char *key, int64_t *out);
int meta_bytes(const checkpoint_meta *m, const char *key, str *out, err *e); /* decoded */
void meta_free(checkpoint_meta *m);

/* slots: their names, n_slots of them (0: values only). */
int checkpoint_write(const char *path, params *p, const char *const *slots, uint32_t n_slots,
                     const checkpoint_meta *m, err *e);
int checkpoint_read_meta(const char *path, checkpoint_meta *out, err *e);
/* Every parameter of `p` must be there with its shape; what else is in the file is left alone. */
int checkpoint_read(const char *path, params *p, const char *const *slots, uint32_t n_slots, err *e);
/* Mean of the values of several files into p. */
int checkpoint_average(const char *const *paths, size_t n, params *p, err *e);
#endif
