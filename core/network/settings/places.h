/* places.h - settings of single layers: the keys layers.PLACE.KEY (all layers of a place) and layers.PLACE.RANGE.KEY,
 * and the patterns of attention_encoder, attention_decoder and attention_cross.
 *
 * PLACE is encoder, decoder (its self-attention and the rest of the layer) or cross (its cross-attention); RANGE is a
 * layer, counted from 0, or FROM-TO; KEY is a key of a layer or PLUGIN.parameter. If two ranges overlap, the one with
 * fewer layers applies. */
#ifndef ABLATE_PLACES_H
#define ABLATE_PLACES_H
#include "network/settings/config.h"

enum { PLACE_ENCODER, PLACE_DECODER, PLACE_CROSS, PLACES }; /* in the order of ROLE_ENCODER ... in model.h */
#define PLACE_PREFIX "layers."

typedef struct {
    int place;
    int64_t from, to; /* range of layers; to: the last layer; INT64_MAX: the range is all layers */
    const char *key;  /* KEY: a part of the text that was read */
} place_key;

bool place_key_read(const char *key, place_key *out); /* returns false if the key has another form */
/* Returns the KEY of a layer's key; returns other keys unchanged. */
const char *place_inner(const char *key);
extern const char place_expects[]; /* for messages: the form of a layer's key */

/* Value of `inner` ("heads", "linear.chunk") set for this layer; NULL: only the run's value applies. */
const char *place_value(const settings *s, int place, int64_t layer, const char *inner);
/* The settings of one layer: those of the run, overridden by those of the layer. */
void place_settings(const settings *s, int place, int64_t layer, settings *out, arena *a);

/* Reads "3*linear + 1*scaled_dot": the plugins of four layers, which later layers repeat. *n = 0: the text is no
 * pattern. Returns -1 and a message without the key if a pattern is malformed. */
int place_pattern(const char *text, const char ***names, size_t *n, arena *a, err *e);

/* Appends the keys of layers that `given` has or implies to `out`: patterns (c then names the first layer's plugin),
 * and d_k = auto in sections with heads. c: resolved from `given`. Returns -1 and a message with the key if a layer
 * does not exist or two keys contradict each other. */
int places_resolve(const settings *given, config *c, settings *out, arena *a, err *e);
#endif
