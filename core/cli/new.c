/* new.c - ablate new: writes the skeleton of a plugin, which builds and passes the checks unchanged, or of an
 * experiment. */
#include "cli/options.h"
#include "network/plugin/plugin.h"
#include <ctype.h>
#include <string.h>

#define HEAD(what)                                                                                                     \
    "/* " what "\n * ab_plugin.h documents the functions called here, with shapes and allowed hooks. */\n#include "    \
    "\"ab_plugin.h\"\n"
#define MATH "#include <math.h>\n"
#define NO_SETTINGS                                                                                                    \
    "\ntypedef struct {\n    int64_t unused; /* a field here and a row in params define an INI key */\n} config;\n\n"
#define END(kind)                                                                                                      \
    "\nstatic const ab_option params[] = {{0}};\n"                                                                     \
    "static const ab_" kind "_plugin self = {SELF};\n"                                                                 \
    "AB_PLUGIN(config, params, &self, .name = \"NAME\", .doc = \"what it does, in one line\", .paper = \"who, when, "  \
    "equation\");\n"

extern const char task_skeleton[]; /* task.skeleton */

static const struct {
    ab_kind kind;
    const char *text, *self;
} skeletons[] = {
    {AB_ATTENTION,
     HEAD("Scaled dot-product attention: a starting point.") MATH NO_SETTINGS
     "/* x: rows of the query side; mem: rows of the key side, equal to x in self-attention. Returns rows [rows, "
     "d_model]. */\n"
     "static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)\n{\n    (void)cfg;\n    const ab_info *in = "
     "ab_info(c);\n"
     "    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem); /* [B,H,T,d] */\n"
     "    ab_t s = ab_scores(c, q, k, 1 / sqrt((double)in->d_k));            /* [B,H,Tq,Tk], masked */\n"
     "    ab_t p = ab_dropout(c, ab_softmax(c, s), in->dropout);\n"
     "    return ab_output(c, ab_weighted_sum(c, p, v));\n}\n" END("attention"),
     ".roles = AB_SELF | AB_CAUSAL | AB_CROSS,\n"
     "                                         .accepts = AB_POS_EMBED | AB_POS_ROTATE | AB_POS_BIAS | AB_POS_SCORES | "
     "AB_POS_VALUES,\n"
     "                                         .forward = forward"},
    {AB_POSITION,
     HEAD("A learned score bias by the distance between key and query: a starting point.") NO_SETTINGS
     "/* ids [Tq], [Tk] -> [1, H or 1, Tq, Tk], added to the scores. */\n"
     "static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)\n{\n    (void)cfg;\n"
     "    ab_t distance = ab_map(c, ab_relative_position(c, qpos, kpos), AB_ABS); /* [Tq,Tk] */\n"
     "    return ab_mul(c, distance, ab_weight(c, \"slope\", -0.1, ab_info(c)->heads, 1, 1));\n}\n" END("position"),
     ".claims = AB_RELATIVE, .bias = bias"},
    {AB_FEED_FORWARD,
     HEAD("Two linear maps with a ReLU between them: a starting point.") NO_SETTINGS
     "/* Rows [rows, d_model] -> the same shape, each row separately. */\n"
     "static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)\n{\n    (void)cfg;\n    const ab_info *in = ab_info(c);\n"
     "    ab_t h = ab_linear_relu(c, x, \"1\", in->d_ff, 1);\n"
     "    return ab_linear(c, ab_dropout(c, h, in->dropout), \"2\", in->d_model, 1);\n}\n" END("feed_forward"),
     ".forward = forward"},
    {AB_NORM,
     HEAD("Division by the root mean square: a starting point.") NO_SETTINGS
     "/* Rows [rows, d_model] -> the same shape, each row separately. */\n"
     "static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)\n{\n    (void)cfg;\n    int64_t d = "
     "ab_info(c)->d_model;\n"
     "    ab_t mean = ab_mul_scalar(c, ab_sum_axis(c, ab_map(c, x, AB_SQUARE), -1), 1 / (double)d);\n"
     "    ab_t length = ab_map(c, ab_add_scalar(c, mean, 1e-6), AB_SQRT);\n"
     "    return ab_mul(c, ab_div(c, x, length), ab_weight_full(c, \"g\", 1, d));\n}\n" END("norm"),
     ".forward = forward"},
    {AB_BLOCK,
     HEAD("x + sublayer(norm(x)) for each sublayer: a starting point.") NO_SETTINGS
     "static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)\n{\n    (void)cfg;\n    const ab_info *in = ab_info(c);\n"
     "    x = ab_add_dropout(c, x, ab_self_attention(c, ab_normalize(c, x, \"self.ln\")));\n"
     "    if (in->cross) x = ab_add_dropout(c, x, ab_cross_attention(c, ab_normalize(c, x, \"cross.ln\")));\n"
     "    if (in->feed_forward) x = ab_add_dropout(c, x, ab_feed_forward(c, ab_normalize(c, x, \"ffn.ln\"), "
     "\"ffn\"));\n"
     "    return x;\n}\n\n"
     "static ab_t finish(ab_ctx *c, const void *cfg, ab_t x) /* after the last layer */\n{\n    (void)cfg;\n"
     "    return ab_normalize(c, x, \"ln\");\n}\n" END("block"),
     ".forward = forward, .finish = finish"},
    {AB_OPTIMIZER,
     HEAD("Gradient descent with momentum: a starting point.") NO_SETTINGS
     "static void update(ab_ctx *c, const void *cfg, ab_t p, ab_t g, const ab_t *slot, ab_t lr, ab_t step)\n{\n    "
     "(void)cfg, (void)step;\n"
     "    ab_t m = ab_add(c, ab_mul_scalar(c, slot[0], 0.9), g);\n"
     "    ab_assign(c, slot[0], m);\n    ab_assign(c, p, ab_sub(c, p, ab_mul(c, m, lr)));\n}\n\n"
     "static const char *const slots[] = {\"m\"};\n" END("optimizer"),
     ".flags = AB_ELEMENTWISE, .n_slots = 1, .slots = slots, .update = update"},
    {AB_SCHEDULE,
     HEAD("Linear warmup, then a constant rate: a starting point.") NO_SETTINGS
     "/* step: 1, 2, ... p->steps */\n"
     "static double lr(const void *cfg, const ab_run_plan *p, int64_t step)\n{\n    (void)cfg;\n"
     "    return step < p->warmup ? p->lr * (double)step / (double)p->warmup : p->lr;\n}\n" END("schedule"),
     ".lr = lr"},
    {AB_TASK, task_skeleton, ""},
    {AB_HEAD,
     HEAD("Logits with a bias for each token: a starting point.") NO_SETTINGS
     "/* Rows [rows, d_model] -> logits [rows, vocabulary], each row separately. */\n"
     "static ab_t logits(ab_ctx *c, const void *cfg, ab_t x)\n{\n    (void)cfg;\n"
     "    int64_t vocabulary = ab_dim(c, ab_token_vectors(c), -2);\n"
     "    return ab_add(c, ab_logits(c, x), ab_weight(c, \"b\", 0, vocabulary));\n}\n" END("head"),
     ".logits = logits"},
};

static bool is_name(const char *s)
{
    if (!islower((unsigned char)*s)) return false;
    for (; *s; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_') return false;
    return true;
}

/* The protocol of docs/statistics.md: dev chooses, test reports, the criterion is written down before any result. */
static const char experiment[] =
    "# NAME: the question, in one sentence.\n"
    "#   ablate run NAME.ini --dry-run   what it takes; nothing is trained\n"
    "#   ablate run NAME.ini             trains what is missing, and prints the table\n"
    "[experiment]\n"
    "name  = NAME\n"
    "seeds = 1..5                     # a claim needs five or more\n"
    "note  = synthetic language pair, generated by a grammar\n"
    "\n"
    "[criterion]                      # your claim, before any result\n"
    "metric = BLEU\n"
    "margin = 1                       # smaller differences do not matter\n"
    "\n"
    "[base]\n"
    "translation.data = synthetic     # or your own: a folder with train.en, train.de, dev.en ..., or a table of "
    "pairs\n"
    "vocab            = words         # bpe for text with many words\n"
    "layers           = 2\n"
    "d_model          = 64\n"
    "d_ff             = 256\n"
    "heads            = 4\n"
    "batch_tokens     = 1024\n"
    "steps            = 350\n"
    "schedule         = noam\n"
    "lr               = 0.3           # tune(0.1 .. 0.9, 3) searches each row's own on dev, with seeds of its own\n"
    "warmup           = 120\n"
    "eval_every       = 70            # dev perplexity; where it is lowest, the table reports test\n"
    "max_length       = 64\n"
    "\n"
    "[sweep A]\n"
    "heads = 1, 8\n";

/* Returns the skeleton of a plugin in Python; on failure NULL and e. */
static char *python_skeleton(const char *kind, err *e)
{
    AUTOFREE char *folder = plugin_python_folder(e),
                  *path = folder ? xprintf("%s/ablate/skeletons/%s.py", folder, kind) : NULL;
    str text = {0};
    if (!path || file_read(path, &text, e)) str_free(&text);
    return text.s;
}

/* Writes a text to a new file; fails if the file exists. */
static int write_new(const char *path, const str *text, err *e)
{
    return file_exists(path) ? fail(e, "%s already exists; not changed", path) : file_write(path, text->s, text->n, e);
}

/* Writes the text with NAME and SELF replaced. */
static void fill_in(str *out, const char *text, const char *name, const char *self)
{
    while (*text) {
        bool n = !strncmp(text, "NAME", 4), s = !strncmp(text, "SELF", 4);
        if (n || s)
            str_add(out, n ? name : self), text += 4;
        else
            str_addc(out, *text++);
    }
}

static int new_experiment(const invocation *c, const char *name, err *e)
{
    AUTOFREE char *path = xprintf("%s.ini", name);
    CLEANUP(str_free) str text = {0};
    fill_in(&text, experiment, name, "");
    int rc = write_new(path, &text, e);
    if (!rc)
        printf("%s\n\nits costs:   ablate run %s --dry-run\ntrain it:    ablate run %s\nthe keys:    docs/ini.md\n",
               path, path, path);
    return rc ? call_failed(c, e) : 0;
}

static int new_plugin(const invocation *c, void *options)
{
    (void)options;
    const char *kind = c->word[0];
    bool python = has_suffix(c->word[1], ".py");
    AUTOFREE char *name = xstrndup(c->word[1], strlen(c->word[1]) - (python ? 3 : 0));
    err e = {0};
    size_t at = 0;
    if (same(kind, "experiment") && is_name(name)) return new_experiment(c, name, &e);
    while (at < LENGTH(skeletons) && !same(plugin_kind_name(skeletons[at].kind), kind)) at++;
    if (at == LENGTH(skeletons) && !same(kind, "experiment")) {
        CLEANUP(str_free) str kinds = {0};
        for (size_t i = 0; i < LENGTH(skeletons); i++)
            str_addf(&kinds, "%s%s", i ? ", " : "", plugin_kind_name(skeletons[i].kind));
        fail(&e, "found kind '%s', expected one of %s, experiment", kind, str_text(&kinds));
        return call_failed(c, &e);
    }
    if (!is_name(name)) {
        fail(&e, "found the name '%s', expected lowercase letters, digits and _, starting with a letter", name);
        return call_failed(c, &e);
    }
    AUTOFREE char *path = xprintf(python ? "%s.py" : "%s.c", name), *own = python ? python_skeleton(kind, &e) : NULL;
    CLEANUP(str_free) str text = {0};
    fill_in(&text, own ? own : skeletons[at].text, name, skeletons[at].self);
    if (!e.text[0]) write_new(path, &text, &e);
    const char *quote = strchr(plugin_include(), ' ') ? "'" : "";
    if (!e.text[0] && python)
        printf("%s\n\ncheck it:    ablate check ./%s\nin an INI:   %s = ./%s\nthe guide:   docs/python.md\n", path,
               path, kind, path);
    else if (!e.text[0])
        printf(
            "%s\n\nbuild it:    cc -shared -fPIC %s-I%s%s %s -o %s.so\ncheck it:    ablate check ./%s.so\nin an INI:   "
            "%s = ./%s.c   (rebuilt when changed)\n"
            "the guide:   docs/plugins.md\n",
            path, quote, plugin_include(), quote, path, name, name, kind, name);
    return e.text[0] ? call_failed(c, &e) : 0;
}

const command new_command = {
    .name = "new",
    .part = FOR_PLUGINS,
    .does = "write the skeleton of a plugin, or of an experiment's INI",
    .about = "KIND: attention, position, feed_forward, norm, block, optimizer, schedule, task or head: NAME.c, which "
             "builds and passes the checks unchanged, or, for the name NAME.py, the same in Python. Or experiment: "
             "NAME.ini, which trains a small sweep by the protocol of docs/statistics.md.",
    .arguments = "KIND NAME",
    .run = new_plugin,
    .example = "ablate new attention mine"};
