/* model_fuzz.c - fuzzes model files: bytes give text entries and the values of a parameter, which are bytes of the
 * file, or are refused with a message. */
#include "file.h"
#include "network/train/checkpoint.h"
#include "tensor/graph/params.h"
#include <string.h>

/* Reads values of the parameter that tests/fuzz/model_seeds/one_tensor has. */
static void read_values(const char *path, const uint8_t *data, size_t n)
{
    static const int64_t shape[4] = {1, 1, 10, 16};
    params p = {0};
    err e = {0};
    uint64_t head = 0;
    params_add(&p, "embed", shape, 0, 0, AB_IN_HOST);
    params_order(&p, 1);
    params_alloc_values(&p, F32, NULL);
    size_t bytes = p.p[0].count * sizeof(float);
    if (checkpoint_read(path, &p, NULL, 0, &e)) {
        must(e.text[0], "refused without a word");
    } else {
        memcpy(&head, data, sizeof head);
        must(head <= n - 8 && bytes <= n - 8 - head, "more values than the file has bytes");
        must(memmem(data + 8 + head, n - 8 - head, p.value, bytes) != NULL, "values that the file does not have");
    }
    params_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    checkpoint_meta m = {0};
    err e = {0};
    if (checkpoint_read_meta(path, &m, &e)) must(e.text[0], "refused without a word");
    str bytes = {0};
    int64_t number;
    for (size_t i = 0; i < m.n; i++) {
        err why = {0};
        meta_int(&m, m.at[i].key, &number);
        if (meta_bytes(&m, m.at[i].key, &bytes, &why)) must(why.text[0], "refused without a word");
    }
    str_free(&bytes);
    meta_free(&m);
    read_values(path, data, n);
    return 0;
}
