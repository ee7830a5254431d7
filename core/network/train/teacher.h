/* teacher.h - the model whose logits a head sees in training (the key teacher; Hinton et al. 2015, "Distilling the
 * Knowledge in a Neural Network"). */
#ifndef ABLATE_TEACHER_H
#define ABLATE_TEACHER_H
#include "network/train/train.h"

/* The model of the file, on the student's backend and in its precision. Its vocabularies must be these (src NULL: a
 * decoder-only model). said: a description of that model. NULL and e. */
teacher *teacher_open(const char *path, const model *student, const vocab *src, const vocab *tgt, char *said,
                      size_t most, err *e);
void teacher_close(teacher *t);
/* Computes the batch's logits and copies them into the student's tape. t NULL: an error. */
int teacher_teach(teacher *t, const batch *b, ab_ctx *student, err *e);
#endif
