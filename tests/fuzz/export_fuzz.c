/* export_fuzz.c - fuzzes `ablate export`: bytes say how a small trained model is damaged, which is then loaded and
 * exported to another program's format, or refused with a message. The first byte chooses the model of export_models/
 * and the format. Then each five bytes are one edit: an offset (four bytes, modulo the length, or modulo the header's
 * length if the fourth is below 128) and the new value. If an odd number of bytes is left over, the file is cut in
 * proportion to the last one. */
#include "file.h"
#include "base/base.h"
#include "network/formats/formats.h"
#include "network/plugin/plugin.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"
#include <string.h>

enum { MODELS = 2, FORMATS = 3, EDIT = 5 };
static str original[MODELS];
static char folder[] = "/dev/shm/export_fuzz.XXXXXX";

static void clean_up(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) abort();
}

static void begin(void)
{
    static const char *const path[MODELS] = {EXPORT_MODELS "/translation.safetensors",
                                             EXPORT_MODELS "/language.safetensors"};
    err e = {0};
    for (int i = 0; i < MODELS; i++)
        if (file_read(path[i], &original[i], &e)) must(0, e.text);
    must(mkdtemp(folder) != NULL, "no temporary folder");
    atexit(clean_up);
    plugin_add_folder(PLUGINS);
    log_to(NULL, LOG_ERROR);
}

/* Returns the edited model, [*length]; the caller frees it. */
static uint8_t *damaged(const str *from, const uint8_t *data, size_t n, size_t *length)
{
    uint64_t head;
    memcpy(&head, from->s, sizeof head);
    *length = n % EDIT & 1 ? from->n * data[n - 1] / 256 : from->n;
    uint8_t *x = malloc(*length + 1); /* exactly as long as the data, so that a sanitizer reports reads past the end */
    if (!x) abort();
    memcpy(x, from->s, *length);
    for (; n >= EDIT; n -= EDIT, data += EDIT) {
        uint32_t at;
        memcpy(&at, data, sizeof at);
        at %= data[3] & 128 ? (uint32_t)from->n : (uint32_t)head + 8;
        if (at < *length) x[at] = data[4];
    }
    return x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const formats[FORMATS] = {"ctranslate2", "huggingface", "gguf"};
    if (!original[0].n) begin();
    if (!n) return 0;
    const char *format = formats[data[0] / MODELS % FORMATS];
    size_t length, files = 0;
    uint8_t *bytes = damaged(&original[data[0] % MODELS], data + 1, n - 1, &length);
    model m = {0};
    vocab *src = NULL, *tgt = NULL;
    err e = {0};
    int rc = train_load(fuzz_file(bytes, length), &m, F32, &cpu_backend, &src, &tgt, &e);
    free(bytes);
    must(rc || n > EDIT || length == original[data[0] % MODELS].n, "a model was loaded that has been cut off");
    if (rc) {
        must(e.text[0], "refused without a word");
        return 0;
    }
    if (model_export(&m, src, tgt, format, folder, &files, &e))
        must(e.text[0], "not exported, without a word");
    else
        must(files > 0, "exported no file");
    model_free(&m);
    if (tgt != src) vocab_free(tgt);
    vocab_free(src);
    return 0;
}
