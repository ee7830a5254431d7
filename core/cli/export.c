/* export.c - ablate export: writes an experiment's results, or a trained model, in other programs' file formats. */
#include "cli/options.h"
#include "lab/export/export.h"
#include "lab/study/predict.h"
#include "network/formats/formats.h"
#include "network/train/train.h"
#include "tensor/cpu/cpu.h"

typedef struct {
    const char *out;
    int format; /* an export_format; from MODEL_FORMATS on, a format of models */
} export_options;

enum { MODEL_FORMATS = EXPORT_TENSORBOARD + 1 };
#define FORMATS "csv|tensorboard|ctranslate2|huggingface|gguf"

static int experiment(const invocation *c, const export_options *o, size_t *files, err *e)
{
    const char *name = c->n_words ? c->word[0] : NULL;
    if (name && has_suffix(name, ".safetensors"))
        return fail(e, "%s is a model: expected --format ctranslate2, huggingface or gguf", name);
    CLEANUP(reader_end) reader *r = reader_open_any(&c->p.db, e);
    return r ? export_write(r, name, (enum export_format)o->format, o->out, files, e) : -1;
}

static int model_of(const invocation *c, const export_options *o, const char *format, size_t *files, err *e)
{
    model m = {0};
    vocab *src = NULL, *tgt = NULL;
    AUTOFREE char *path = run_model_path(c->word[0], &c->p, e);
    if (!path || train_load(path, &m, F32, &cpu_backend, &src, &tgt, e)) return -1;
    int rc = model_export(&m, src, tgt, format, o->out, files, e);
    model_free(&m);
    vocabs_free(src, tgt);
    return rc;
}

static int export(const invocation *c, void *options)
{
    const export_options *o = options;
    err e = {0};
    size_t files = 0;
    char format[64];
    bool of_model = o->format >= MODEL_FORMATS;
    value_word(FORMATS, o->format, format);
    if (of_model && !c->n_words)
        return call_usage(c, "--format %s: expected a model: its file, or a run such as quick/base@1", format);
    int rc = of_model ? model_of(c, o, format, &files, &e) : experiment(c, o, &files, &e);
    if (!rc) call_say(c, "%s: %zu file%s\n", o->out, files, files == 1 ? "" : "s");
    return rc ? call_failed(c, &e) : 0;
}

static const option options[] = {
    {"--output -o", "FOLDER", "output folder; created if missing", OPTION_TEXT, offsetof(export_options, out),
     .required = true},
    {"--format", FORMATS,
     "for an experiment: csv: tables of runs, results and curves; tensorboard: event files; Parquet and W&B: "
     "docs/python.md. For a model: ctranslate2; huggingface: MarianMT or Llama of transformers; gguf: llama.cpp [csv]",
     OPTION_WORD, offsetof(export_options, format)},
    OPTION_PLUGIN_PATH,
    OPTION_DATABASE,
    {0}};
const command export_command = {
    .name = "export",
    .part = FOR_RESULTS,
    .does = "export an experiment (CSV, TensorBoard) or a model (CTranslate2, Hugging Face, GGUF)",
    .about =
        "EXPERIMENT: its name; default: the latest. MODEL: a model file, or a run (number, or experiment/row@seed). "
        "If the format lacks a part of the model, the export fails and names that part (docs/export.md).",
    .arguments = "[EXPERIMENT|MODEL]",
    .choices = CHOICES_EXPERIMENTS,
    .options = options,
    .size = sizeof(export_options),
    .run = export,
    .example = "ablate export quick -o quick-csv"};
