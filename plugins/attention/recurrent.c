/* A gated recurrent unit instead of self-attention (the paper's Table 1, "Recurrent"): two_ways.h.
 *
 *     z, r = sigmoid(W x + U h),  n = tanh(W x + r (U h)),  h' = (1 - z) n + z h        Cho et al. 2014, eq. 5 to 8
 */
#include "ab_plugin.h"
#define RUN ab_gru
#include "two_ways.h"
AB_PLUGIN(config, params, &self, .name = "recurrent", .doc = "gated recurrent unit instead of self-attention",
          .paper = "Cho et al. 2014, eq. 5 to 8; Vaswani et al. 2017, Table 1", .version = "1.0");
