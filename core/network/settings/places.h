/* places.h - settings of some layers: the keys layers.PLACE.KEY (all layers of a place) and layers.PLACE.RANGE.KEY, and
 * the patterns of attention_encoder, attention_decoder and attention_cross.
 *
 * PLACE is encoder, decoder (its self-attention and the rest of the layer) or cross (its cross-attention); RANGE is a
 * layer, counted from 0, or FROM-TO; KEY is a key of a layer or PLUGIN.parameter. If two ranges overlap, the one with
 * fewer layers applies. */
#ifndef ABLATE_PLACES_H
#define ABLATE_PLACES_H
#include "network/settings/config.h"

enum { PLACE_ENCODER, PLACE_DECODER, PLACE_CROSS, PLACES }; /* as ROLE_ENCODER ... in model.h */
#define PLACE_PREFIX "layers."

typedef struct {
    int place;
    int64_t from, to; /* to: the last layer; INT64_MAX: all layers */
    const char *key;  /* KEY, a part of the text that was read */
} place_key;

bool place_key_read(const char *key, place_key *out); /* false: the key is not of this form */
/* Returns the KEY part of a key for one place; other keys unchanged. */
const char *place_inner(const char *key);
extern const char place_expects[]; /* for messages: the form of such a key */

/* The setting of one layer, or NULL if only the run's holds there. inner: "heads", "linear.chunk" */
const char *place_value(const settings *s, int place, int64_t layer, const char *inner);
/* The settings of one layer: the run's, changed by those of its place. */
void place_settings(const settings *s, int place, int64_t layer, settings *out, arena *a);

/* Reads "3*linear + 1*scaled_dot": the plugins of four layers, repeated for further layers. *n = 0: the text is not a
 * pattern. -1 and a message without the key: the pattern is malformed. */
int place_pattern(const char *text, const char ***names, size_t *n, arena *a, err *e);

/* Appends the keys of layers that `given` has or implies to `out`: patterns (c then names the first layer's plugin) and
 * d_k = auto beside other heads become keys of layers. c: resolved from `given`. -1 and a message with the key if a
 * layer does not exist or two keys contradict each other. */
int places_resolve(const settings *given, config *c, settings *out, arena *a, err *e);
#endif
