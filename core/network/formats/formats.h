/* formats.h - a trained model in the file formats of other programs (docs/export.md). */
#ifndef ABLATE_FORMATS_H
#define ABLATE_FORMATS_H
#include "network/model/model.h"
#include "text/tokens/vocab.h"

/* Writes the model (fp32, on the host) and its vocabularies into `folder`, creating it. format: "ctranslate2",
 * "huggingface" or "gguf". src NULL: a decoder-only model. *files: number of files written. If settings have no
 * counterpart in the format, writes nothing and returns -1 and e, with a line for each such setting. */
int model_export(model *m, const vocab *src, const vocab *tgt, const char *format, const char *folder, size_t *files,
                 err *e);
#endif
