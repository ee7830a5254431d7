/* model_fuzz.c - bytes as a model's file: its text entries and the values of two parameters, or refused with words. */
#include "file.h"
#include "network/train/checkpoint.h"

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
    return 0;
}
