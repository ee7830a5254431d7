/* sabotage.h - the sabotaged plugins: test_sabotage.c checks those in C, test_sabotage_python.c their twins. */
#ifndef ABLATE_TEST_SABOTAGE_H
#define ABLATE_TEST_SABOTAGE_H
#include "services.h"
#include "network/check/internal.h"

/* file; the check that must fail ("load": the file is refused when opened; NULL: all checks pass); parts of the
 * message */
typedef struct {
    const char *file, *check, *says[3];
} sabotage;
static const sabotage cases[] = {
    {"honest", NULL, {0}},
    {"shared", NULL, {0}},
    {"weight_sums", NULL, {0}},
    {"turned_scale", NULL, {0}},
    {"old_values", NULL, {0}},
    {"wide_sum", NULL, {0}},
    {"selects", NULL, {0}},
    {"buffers", NULL, {0}},
    {"prints", NULL, {0}},
    {"norm_tiles", NULL, {0}},
    {"norm_shapes", NULL, {0}},
    {"task_lowered", NULL, {0}},
    {"wide_cache", "decode", {"wide_cache with ", "cache.0' has shape", "only what ab_running_sum"}},
    {"task_reuses", "examples", {"train example 0 changes when others are asked for", "reuse its buffer"}},
    {"own_name", NULL, {0}},
    {"bitlinear", NULL, {0}},
    {"moba", NULL, {0}},
    {"softpick", NULL, {0}},
    {"activated", NULL, {0}},
    {"unrounded", NULL, {0}},
    {"rounded", "bf16", {"rounded: loss or gradient in bf16 differs", "ab_fp32", "AB_DISCONTINUOUS"}},
    {"static_tensor", "build", {"static_tensor", "it changed static variables", "keep no tensor in one"}},
    {"integer_scale", "gradient", {"integer_scale with ", ".w is 0 everywhere, so it learns nothing", "1.0 / in->d_k"}},
    {"dead_gate", "gradient", {"dead_gate: the gradient of ", "gate.w is 0 everywhere", "its result is not used"}},
    {"unset_buffer", "gradient", {"unset_buffer: no step of training sets the buffer ", "scale (ab_set_buffer)"}},
    {"own_length", "future", {"own_length with ", "removing target tokens", "its length is ab_qpos + 1, not ab_klen"}},
    {"unplaced", "positions", {"unplaced: .accepts claims AB_POS_BIAS, but in an encoder such a position changes no"}},
    {"drops_masked", "sizes", {"drops_masked with ", "in training", "sees the future"}},
    {"own_rate", "minimises", {"seven learning rates give equal values: the update does not use lr"}},
    {"own_peak", "parameters", {"twice the lr of 1 changes no rate"}},
    {"half_detached", "gradient", {"half_detached: the gradient of ", "claim AB_SURROGATE_GRADIENT"}},
    {"no_gradient", "gradient", {"no_gradient: its surrogate gradient", "not finite"}},
    {"leaps", "gradient", {"elements of the gradient differ", "too many for jumps"}},
    {"leak_layer", "sizes", {"leak_layer with ", "layers", "sees the future"}},
    {"leak_depth", "sizes", {"leak_depth with ", "6 layers", "sees the future"}},
    {"leak_long", "sizes", {"leak_long with ", "tokens", "sees the future"}},
    {"leak_training", "sizes", {"leak_training with ", "in training", "sees the future"}},
    {"batch_training", "sizes", {"batch_training (in training", "claim AB_TRAINS_ON_BATCH"}},
    {"batch_large", "sizes", {"batch_large with ", "8 sentences"}},
    {"seed_time", "calls", {"seed_time: call ", "seed_time.c:15", "the time"}},
    {"seed_environment", "calls", {"seed_environment: call ", "seed_environment.c:15", "the environment"}},
    {"seed_file", "calls", {"seed_file with ", "the environment, a file?"}},
    {"seed_process", "process", {"seed_process: a second process", "addresses"}},
    {"late_change", "calls", {"late_change: call ", "late_change.c:14", "a counter"}},
    {"keeps_memory", "calls", {"keeps_memory: ", "keep ", "frees what it allocates"}},
    {"uninitialised", "calls", {"uninitialised: call 2 ", "CONST [16]", "an uninitialised array"}},
    {"kernel_large", "kernels", {"operation 'squash'", "differs from its reference", "numbers up to 8"}},
    {"kernel_mixed", "kernels", {"operation 'squash'", "bf16's mixed types"}},
    {"kernel_long", "kernels", {"operation 'squash'", "differs from its reference"}},
    {"kernel_past", "kernels", {"operation 'squash'", "writes behind its output, at byte 1"}},
    {"kernel_before", "kernels", {"operation 'squash'", "changes input 0"}},
    {"kernel_hole", "kernels", {"operation 'squash'", "differs from its reference by nan", "must be written"}},
    {"kernel_late", "kernels", {"operation 'squash'", "of its CPU kernel gives other bits"}},
    {"kernel_day", "kernels", {"operation 'squash'", "of its CPU kernel gives other bits", "time"}},
    {"kernel_keeps", "kernels", {"operation 'squash'", "keeps memory"}},
    {"grad_alone", "op_gradients", {"operation 'squash'", "its grad for input 0"}},
    {"future_leak", "future", {"future_leak with ", "sees the future", "ab_mask"}},
    {"masks_half", "future", {"masks_half with ", "sees the future"}},
    {"padding_leak", "padding", {"padding_leak with ", "ab_klen for the number of keys, ab_row_mask"}},
    {"batch_mix", "batch", {"batch_mix with ", "sentences of a batch are mixed"}},
    {"decode_breaks", "decode", {"decode_breaks with ", "decoding step", "ab_key, ab_value"}},
    {"late_decode", "long_decode", {"late_decode with ", "decoding step 1", "differ from the full pass"}},
    {"wrong_shape", "build", {"wrong_shape.c:12: ", "[2,3,4,6]", "[2,1,4,6]"}},
    {"wrong_gradient", "op_gradients", {"operation 'square'", "its grad for input 0"}},
    {"wrong_op_gradient", "op_gradients", {"operation 'square'", "its grad for input 0"}},
    {"wrong_kernel", "kernels", {"operation 'squash'", "differs from its reference"}},
    {"keeps_state", "kernels", {"operation 'count'", "gives other bits than the first", "keeps state"}},
    {"large_numbers", "fp32", {"large_numbers with ", "too large or too small"}},
    {"nan_gradient", "fp32", {"nan_gradient: loss or gradient in fp32 differs"}},
    {"claim_of_nan", "relative", {"claims AB_RELATIVE", "shifting every position by 7"}},
    {"wrong_claim", "relative", {"claims AB_RELATIVE", "shifting every position by 7"}},
    {"wide_range", "parameters", {"width = 1000 is in its declared range", "wide_range.c:12: ", "larger than a head"}},
    {"newer_minor", "load", {"needs ABI 2.1000", "update the host", "-DAB_TARGET_MINOR="}},
    {"older_minor", NULL, {0}},
    {"newer_major", "load", {"speaks plugin ABI 3, this host speaks 2", "update the host"}},
    {"older_major", "load", {"speaks plugin ABI 1, this host speaks 2", "rebuild"}},
    {"no_macro", "load", {"undefined symbol: ab_host_", "does it end with AB_PLUGIN(...)?"}},
    {"narrow_field", "load", {"'width' takes bytes 0 to 7", "the config struct's 4", "an int64_t"}},
    {"dotted_name", "load", {"found the plugin's name \"dotted.name\", expected letters, digits and _"}},
    {"wrong_axis", "build", {"wrong_axis.c:16: ", "slice: axis 5, expected -4 to -1"}},
    {"id_below", "build", {"id_below.c:16: SCATTER_ADD: id -1 at index 0, expected 0 to 3"}},
    {"cut_off", "gradient", {"no gradient reaches it", "ab_detach"}},
    {"no_plugin", "load", {"not a plugin", "ab_plugin_v2"}},
    {"missing_doc", "load", {"'missing_doc' has no doc"}},
    {"missing_parameter_doc", "load", {"parameter 'reach' has no doc"}},
    {"bad_default", "load", {"'reach': default 16 is outside its range 1 to 8"}},
    {"whole_norm", "elementwise", {"AB_ELEMENTWISE"}},
    {"zero_norm", "zero", {"a value of 0 with a gradient of 0 becomes"}},
    {"counts_parameters", "apart", {"of 'tall.w' is", "among other parameters", "from one parameter to the next"}},
    {"buffer_twice", "build", {"buffer_twice.c:12: ", "ab_set_buffer: 'enc.0.ffn.count' is set twice in one step"}},
    {"slot_size",
     "parameters",
     {"parameter 'tall.w'", "slot_size.c:", "ab_assign: [9,1] takes a value of shape [9,4]"}},
    {"endless_table", "load", {"row 2 of the parameter table is no parameter", "end with {0}?"}},
    {"endless_calls", "load", {"its list `calls` names no attentions; does it end with NULL?"}},
    {"overlapping", "load", {"'wide' and 'deep' overlap in the config struct (offsets 0 and 4)"}},
    {"equal_parameters", "load", {"two parameters are named 'wide'"}},
    {"half_refresh", "load", {"has only one of period and refresh"}},
    {"measure_assigns", "parameters", {"measure of parameter 'w'", "ab_assign: called in measure, expected in update"}},
    {"shaped_tiles", "load", {"has slot_shape, but is elementwise"}},
    {"ascends", "minimises", {"after 400 updates"}},
    {"hidden_state", "resumes", {"state outside the slots"}},
    {"late_rule", "updates", {"calls update (or refresh, measure) builds another graph", "a counter"}},
    {"late_update", "updates", {"the first 3 give other bits than before", "a kernel keeps state"}},
    {"task_line_end", "examples", {"train example 0: its target contains a line end"}},
    {"task_not_repeatable", "repeatable", {"differs when the task is opened again"}},
    {"task_any_reference", "score", {"references of other sentences score acc 100", "against which lines"}},
    {"task_empty", "score", {"empty outputs score acc 100, expected 0"}},
    {"task_score", "score", {"acc is ", "the sum of its statistics"}},
    {"two_attends", NULL, {0}},
    {"identity_op", NULL, {0}},
    {"cross_scan", NULL, {0}},
    {"cross_layers", NULL, {0}},
    {"own_scan", NULL, {0}},
    {"own_delta_scan", NULL, {0}},
    {"own_layer", NULL, {0}},
    {"rotates_by_token", NULL, {0}},
    {"own_long_conv", NULL, {0}},
    {"short_filter", "decode", {"short_filter.c:13: ab_long_conv: ", "found weights for 8 in `past`"}},
    {"one_key_prefix", NULL, {0}},
    {"embed_info", NULL, {0}},
    {"own_dropout", NULL, {0}},
    {"returns_nothing", "build", {"attention 'returns_nothing' returned the failed tensor without a reason"}},
    {"strange_tensor", "build", {"strange_tensor.c:12: tensor 1234567 does not belong to this context"}},
    {"returns_strange", "build", {"does not belong to this context", "never set?"}},
    {"unpack_both", "build", {"unpack_both.c:11: ab_pad: ", "from both x and mem"}},
    {"query_scan", "build", {"query_scan.c:17: ab_scan: cross attention", "from mem"}},
    {"ignores_positions", "positions", {"ignores_positions: .accepts claims AB_POS_BIAS", "ab_position"}},
    {"choice_leak", "choices", {"mask = none: future: choice_leak with ", "sees the future"}},
    {"long_overflow", "long", {"loss or gradient in fp32 differs from fp64 by nan"}},
    {"nameless_slots", "load", {"slot 0 of optimizer 'nameless_slots' has no name"}},
    {"equal_slots", "load", {"optimizer 'equal_slots' has two slots named 'm'"}},
    {"assigns",
     "build",
     {"assigns.c:12: ab_assign was called in an attention's forward", "may be called in an optimizer's update"}},
    {"hosts_name", "build", {"two owners, the attention and the norm", "'enc.0.self.ln.g'"}},
    {"positions_name", "build", {"positions_name with shaw", "two owners, the attention and the position", ".rel_k'"}},
    {"ffn_mixes_rows", "future", {"ffn_mixes_rows: changing target tokens"}},
    {"calls_others", NULL, {0}},
    {"calls_unnamed",
     "build",
     {"calls_unnamed.c:11: ab_call_attention: 'scaled_dot' is not in the list .calls", ".calls = names"}},
    {"ffn_unclaimed", "build", {"ffn_unclaimed.c:11: ab_shift in a feed-forward", "claim AB_MIXES_TOKENS"}},
    {"ffn_behind", "build", {"ffn_behind.c:11: ", "a decoder cannot run backwards"}},
    {"ffn_sees_all", "future", {"ffn_sees_all: changing target tokens"}},
    {"block_shifts", NULL, {0}},
    {"head_looks_ahead", "future", {"head_looks_ahead: changing target tokens"}},
    {"head_width", "build", {"head 'head_width' returned [8,12]", "expected rows [8,13]"}},
    {"ffn_capacity", "future", {"ffn_capacity: removing target tokens"}},
    {"records", NULL, {0}},
    {"shared_missing", "build", {"shared_missing.c:11: ab_shared: no earlier layer has shared 'value' (in enc.0.ffn)"}},
    {"log_rows",
     "build",
     {"log_rows.c:11: ab_log: 'rows' has shape [8,12], expected one number or a vector [n] of at most 64"}},
    {"noise_in_reference",
     "build",
     {"noise_in_reference.c:11: ab_uniform or ab_normal was called in an operation's reference", "inputs and attr"}},
    {"ffn_width", "build", {"feed_forward 'ffn_width' returned [8,16]", "expected rows [8,12]"}},
    {"norm_over_rows", "future", {"norm_over_rows: changing target tokens"}},
    {"norm_add", "fused", {"norm_add: fused and composed operations differ"}},
    {"block_skips", "sublayers", {"no learned value below dec.1.cross.", "ab_cross_attention if"}},
    {"block_cross", "build", {"block_cross.c:11: ab_cross_attention: this layer reads no encoder"}},
    {"norm_attends",
     "build",
     {"norm_attends.c:11: ab_self_attention was called in a norm's forward; it may be called in a block's forward"}},
    {"rate_negative", "parameters", {"the rate is -", "expected a number >= 0"}},
    {"rate_remembers", "stateless", {"there is state between calls"}},
    {"rate_by_day", "stateless", {"rate_by_day: a second process", "has other rates"}},
    {"info_in_reference",
     "build",
     {"info_in_reference.c:11: ab_info was called in an operation's reference", "inputs and attr"}},
    {"mask_in_reference",
     "build",
     {"mask_in_reference.c:12: ab_mask was called in an operation's reference", "an attention's forward",
      "inputs and attr"}},
};

/* An attention is checked with two positions, in the short suite with one, before a release with all; under
 * AddressSanitizer, where double precision is ten times slower, with one. The short suite checks every eighth plugin,
 * `--all` a random quarter, under AddressSanitizer a random one of 24. */
static inline size_t pairings(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 1;
#else
    return test_exhaustive() ? SIZE_MAX : test_long() ? 2 : 1;
#endif
}

static inline bool taken(size_t i)
{
    return TEST_SANITIZED ? test_drawn(i, 24) : test_long() ? test_drawn(i, 4) : i % 8 == 0;
}

/* Checks the plugin of a file: a case's check fails, and no other; returns the message, or the refusal of the file. */
static inline const char *check_sabotage(const char *path, const char *check, err *e, check_result *r)
{
    const plugin *p = plugin_load(path, e);
    if (!p) {
        CHECK_TEXT("load", check);
        return e->text;
    }
    if (check && same(check, "build")) check_given.most_pairings = SIZE_MAX;
    size_t n = check_plugin(p, NULL, r), failed = 0;
    check_given.most_pairings = pairings();
    for (size_t k = 0; k < n; k++) failed += r[k].outcome == CHECK_FAIL;
    const check_result *expected = check ? result_of(r, n, check) : NULL;
    bool right = failed == (check != NULL) && (!check || (expected && expected->outcome == CHECK_FAIL));
    if (!right) check_print(path, r, n, stdout);
    CHECK(right);
    return expected ? expected->message : "";
}
#endif
