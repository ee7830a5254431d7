/* predict.h - applies a trained model to standard input: lines (translate.c) or trees (parse.c). */
#ifndef ABLATE_STUDY_PREDICT_H
#define ABLATE_STUDY_PREDICT_H
#include "lab/sweep/setup.h"
#include "network/model/model.h"
#include "text/tokens/vocab.h"

typedef struct {
    text_list run; /* one run; several: an ensemble */
    const char *device;
    int64_t beam_size, nbest, batch, threads; /* 0: from the model's settings */
    int64_t blockwise;                        /* number of tokens of a block; 0: decodes one token after another */
    double length_penalty;                    /* below 0: from the model's settings */
    int precision;                            /* 0: the run's, 1: fp32, 2: bf16, 3: int8 */
    text_list set;                            /* "parsing.KEY=VALUE": parameters of the task, overriding the run's */
    bool quiet, alignment;
    model *const *others; /* [n_others]: the ensemble's models after the first */
    int64_t n_others;
} predict_options;

enum predict_work { TRANSLATE, PARSE, AS_THE_MODEL };
/* Applies the models to standard input, and prints outputs. -1 without a text in e: some lines were too long. */
int predict(predict_options *o, enum predict_work work, const places *p, err *e);

/* Translates standard input. -1 without a text in e: some lines were too long and left empty. */
int predict_translate(const predict_options *o, model *m, const vocab *src, const vocab *tgt, err *e);
int predict_parse(const predict_options *o, const char *path, model *m, const vocab *src, const vocab *tgt,
                  const places *p, err *e);
bool predict_is_parsing(const model *m); /* does the model's task format outputs, as parsing does? */

/* run: a run in the database (id or experiment/row), or a model file. Returns the path of the run's trained model, or
 * the file's path; or NULL and a message. The caller frees. */
char *run_model_path(const char *run, const places *p, err *e);

/* Returns -1 and a message that names the option if the line has more tokens than the model's positions reach. */
int source_check_reach(const model *m, const vocab *src, const char *option, const char *line, err *e);
#endif
