/* teacher.h - the model whose logits a head reads in training (key teacher; Hinton et al. 2015, "Distilling the
 * Knowledge in a Neural Network"). */
#ifndef ABLATE_TEACHER_H
#define ABLATE_TEACHER_H
#include "network/train/train.h"

/* Opens the file's model on the student's backend and in its precision. The model must have these vocabularies (src
 * NULL: a decoder-only model). said: describes the model. Returns NULL and e on failure. */
teacher *teacher_open(const char *path, const model *student, const vocab *src, const vocab *tgt, char *said,
                      size_t most, err *e);
void teacher_close(teacher *t);
/* Computes the batch's logits and copies them into the student's tape. Fails if t is NULL. */
int teacher_teach(teacher *t, const batch *b, ab_ctx *student, err *e);
#endif
