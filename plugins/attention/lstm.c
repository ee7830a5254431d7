/* A long short-term memory instead of self-attention: two_ways.h.
 *
 *     i, f, o = sigmoid(W x + U h), g = tanh(W x + U h), m' = f m + i g, h' = o tanh(m')      Gers et al. 2000, eq. 1
 *     to 7
 */
#include "ab_plugin.h"
#define RUN ab_lstm
#include "two_ways.h"
AB_PLUGIN(config, params, &self, .name = "lstm", .doc = "long short-term memory instead of self-attention",
          .paper = "Hochreiter and Schmidhuber 1997; Gers et al. 2000");
