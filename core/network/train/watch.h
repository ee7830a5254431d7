/* watch.h - key watch_layers: measures each layer at an update, as points of curves. It only reads, so training has the
 * same bits without it. For layer N of a stack:
 *
 *   enc.N.activation     root mean square of the layer's output, over the tokens of the last batch
 *   enc.N.gradient       norm of the gradient of the loss per token, of the layer's parameters, before clipping
 *   enc.N.update         norm of the change of its parameters over the norm that they had
 *   enc.N.self.entropy   mean entropy of its attention's weights [nats], over heads and queries: dec.N.cross.entropy
 */
#ifndef ABLATE_WATCH_H
#define ABLATE_WATCH_H
#include "text/data/batch.h"
#include "network/model/model.h"

typedef struct watch watch;
watch *watch_open(model *m);
void watch_close(watch *w); /* w may be NULL */
/* Call before the update: reads the outputs that the training tape kept for batch b, and computes entropies by a pass
 * without dropout over its first sentences. Does nothing if tape is NULL or b empty. */
int watch_before(watch *w, const ab_ctx *tape, const batch *b, err *e);
/* Call after the update: measures changes, and gradients: `scale` times grad [params.total] in the backend's memory. */
int watch_after(watch *w, const void *grad, double scale, err *e);
/* Calls f with each measured number. */
void watch_report(const watch *w, void (*f)(void *self, const char *name, double value), void *self);
#endif
