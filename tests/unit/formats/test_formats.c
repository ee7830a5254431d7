/* Exported models, read back by small readers of the formats: every tensor's name, shape and sum equal those in
 * formats.expected; also the files' other parts, and refusals. ABLATE_KEEP=FOLDER keeps the exports and the model's
 * logits there, for tests/oracle/models.py, which opens them with the real packages. ABLATE_WRITE writes the expected
 * file anew. */
#include "network/formats/formats.h"
#include "tensor/cpu/cpu.h"
#include "test.h"
#include <sys/stat.h>
#include <unistd.h>

static const char *const text[] = {"the red dog sees a bird",   "a bird sees the small dog", "dogs see red birds again",
                                   "the small birds see a dog", "see the red bird",          "a dog and a bird"};

typedef struct {
    const char *name, *formats; /* "huggingface gguf" */
    vocab_kind vocab;
    int64_t size;
    bool decoder; /* decoder-only */
    const char *set[10][2];
} model_case;

static const model_case cases[] = {
    {"default", "ctranslate2 huggingface", TOKENS_BPE, 40, false, {{"layer_norm.eps", "1e-05"}}},
    {"default_1e-6", "ctranslate2 huggingface", TOKENS_UNIGRAM, 24, false, {{"scaled_dot.temperature", "1.5"}}},
    {"separate",
     "ctranslate2 huggingface",
     TOKENS_BPE,
     40,
     false,
     {{"share_embeddings", "none"},
      {"bias", "false"},
      {"layers_decoder", "1"},
      {"feed_forward", "gelu"},
      {"attention_encoder", "dot"},
      {"attention_decoder", "dot"},
      {"attention_cross", "dot"},
      {"layer_norm.eps", "1e-05"}}},
    {"places",
     "ctranslate2 huggingface",
     TOKENS_BPE,
     40,
     false,
     {{"attention_encoder", "dot"},
      {"scaled_dot.temperature", "1.5"},
      {"layer_norm.eps", "1e-05"},
      {"parametrization", "mup"}, /* at its base width mup is the standard parametrisation */
      {"base_d_model", "16"},
      {"schedule", "constant"}}},
    {"target",
     "ctranslate2 huggingface",
     TOKENS_BPE,
     40,
     false,
     {{"share_embeddings", "target"}, {"layer_norm.eps", "1e-05"}}},
    {"pre_norm",
     "ctranslate2",
     TOKENS_WORDS,
     0,
     false,
     {{"block", "pre_norm"}, {"norm", "rms_norm"}, {"feed_forward", "swiglu"}, {"position", "learned"}}},
    {"lm",
     "huggingface gguf",
     TOKENS_BPE,
     40,
     true,
     {{"block", "pre_norm"}, {"norm", "rms_norm"}, {"feed_forward", "swiglu"}, {"position", "rotary"}}},
    {"lm_grouped",
     "huggingface gguf",
     TOKENS_CHAR,
     0,
     true,
     {{"block", "pre_norm"},
      {"norm", "rms_norm"},
      {"feed_forward", "swiglu"},
      {"position", "rotary"},
      {"rotary.base", "500"},
      {"attention_decoder", "grouped_query"},
      {"grouped_query.kv_heads", "2"},
      {"bias", "false"},
      {"share_embeddings", "none"}}},
    {"lm_geglu",
     "huggingface",
     TOKENS_WORDS,
     0,
     true,
     {{"block", "pre_norm"}, {"norm", "rms_norm"}, {"feed_forward", "geglu"}, {"position", "rotary"}}},
};

/* ---- models to export ---- */

static void settings_of(const model_case *k, settings *set, arena *a)
{
    static const char *const small[][2] = {{"layers", "2"},
                                           {"d_model", "16"},
                                           {"d_ff", "24"},
                                           {"heads", "4"},
                                           {"attention_encoder", "scaled_dot"},
                                           {"attention_decoder", "scaled_dot"},
                                           {"attention_cross", "scaled_dot"},
                                           {"sinusoid.max_len", "32"},
                                           {"learned.max_len", "32"}};
    for (const ab_option *p = config_params; p->name; p++) settings_set(set, p->name, param_default(p, a), a);
    for (size_t i = 0; i < LENGTH(small); i++) {
        if (strchr(small[i][0], '.') && strncmp(small[i][0], "sinusoid", 8) && !same(k->name, "pre_norm")) continue;
        settings_set(set, small[i][0], small[i][1], a);
    }
    for (size_t i = 0; i < LENGTH(k->set) && k->set[i][0]; i++) settings_set(set, k->set[i][0], k->set[i][1], a);
    settings_set(set, "vocab", vocab_kind_names[k->vocab], a);
}

/* Changes all gains of 1 and biases of 0, so that a test notices if an export omits one. */
static void shake(model *m)
{
    err e = {0};
    float *v = params_host(&m->params, 0, &e);
    rng r = rng_seed(7, 1);
    for (size_t i = 0; i < m->params.n; i++)
        for (size_t j = 0; j < m->params.p[i].count; j++)
            v[m->params.p[i].at + j] += (float)((rng_uniform(&r) - 0.5) * 0.4);
    params_host_done(&m->params, 0, v, true);
}

static int32_t source[] = {6, 9, 14, 5, 11, VOCAB_EOS}, target[] = {VOCAB_BOS, 7, 12, 4, 9, 13, 8};
enum { SOURCE = LENGTH(source), TARGET = LENGTH(target) };

/* Writes the logits of `target` given `source` to FOLDER/logits.f32. */
static void keep_logits(model *m, const char *folder)
{
    err e = {0};
    int32_t at[16], zero[TARGET] = {0}, src_offset[2] = {0, SOURCE}, tgt_offset[2] = {0, TARGET};
    for (int i = 0; i < 16; i++) at[i] = i;
    model_batch b = {.shape = {1, SOURCE, TARGET, SOURCE, TARGET},
                     .src_ids = source,
                     .src_pos = at,
                     .src_offset = src_offset,
                     .tgt_in = target,
                     .tgt_out = zero,
                     .tgt_pos = at,
                     .tgt_offset = tgt_offset};
    if (!model_has_encoder(m)) b.shape.src_rows = b.shape.src_time = 0;
    ab_ctx *c = model_loss_tape(m, &b.shape, false, &e);
    if (!c || tape_plan(c, NULL, NULL)) broken("%s", c ? c->error.text : e.text);
    model_loss_inputs(c, &b, 1);
    if (tape_run(c, &(run_options){.from = PHASE_CONST})) broken("%s", c->error.text);
    const node *z = tape_at(c, tape_find(c, "logits"));
    char *path = xprintf("%s/logits.f32", folder), *shape = xprintf("%s/shape.json", folder);
    str s = {0};
    str_addf(&s, "{\"vocab\":%lld,\"source\":[", (long long)m->tgt_vocab);
    for (int i = 0; i < SOURCE; i++) str_addf(&s, "%s%d", i ? "," : "", source[i]);
    str_add(&s, "],\"target\":[");
    for (int i = 0; i < TARGET; i++) str_addf(&s, "%s%d", i ? "," : "", target[i]);
    str_add(&s, "]}\n");
    CHECK_INT(make_folders(folder, &e) || file_write(shape, s.s, s.n, &e) ||
                  file_write(path, z->data, sizeof(float) * TARGET * (size_t)m->tgt_vocab, &e),
              0);
    str_free(&s);
    free(path);
    free(shape);
    tape_free(c);
}

/* ---- readers: a line "NAME [shape] sum" for each tensor ---- */

typedef struct {
    const unsigned char *s;
    size_t n, at;
} bytes;

static uint64_t number(bytes *b, int size)
{
    uint64_t v = 0;
    if (b->at + (size_t)size > b->n) broken("the file ends at byte %zu", b->n);
    for (int i = 0; i < size; i++) v |= (uint64_t)b->s[b->at++] << (8 * i);
    return v;
}

static double sum_of(const void *data, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, (const char *)data + 4 * i, 4);
        sum += (double)(i % 7 + 1) * (double)f; /* weighted by index, so that a wrong order changes the sum */
    }
    return sum;
}

static void read_safetensors(bytes *b, str *out)
{
    uint64_t n = number(b, 8);
    char *header = xstrndup((const char *)b->s + 8, n), *s = strstr(header, "},");
    long long d[2], from, to;
    char name[100];
    for (; s && (s = strchr(s, '"')); s = strchr(s, '}')) {
        int rank = 2;
        if (sscanf(s, "\"%99[^\"]\":{\"dtype\":\"F32\",\"shape\":[%lld,%lld],\"data_offsets\":[%lld,%lld]", name, d,
                   d + 1, &from, &to) != 5) {
            CHECK_INT(sscanf(s, "\"%99[^\"]\":{\"dtype\":\"F32\",\"shape\":[%lld],\"data_offsets\":[%lld,%lld]", name,
                             d, &from, &to),
                      4);
            rank = 1, d[1] = 1;
        }
        CHECK_INT(to - from, 4 * d[0] * d[1]);
        str_addf(out, rank == 2 ? "%s [%lld,%lld]" : "%s [%lld]", name, d[0], d[1]);
        str_addf(out, " %.6g\n", sum_of(b->s + 8 + n + from, (size_t)(d[0] * d[1])));
        b->at = 8 + n + (size_t)to;
    }
    free(header);
}

static void read_ctranslate2(bytes *b, str *out)
{
    static const int sizes[] = {4, 1, 2};
    CHECK_INT(number(b, 4), 6);
    b->at += 2;
    CHECK_TEXT((const char *)b->s + b->at, "TransformerSpec");
    b->at += 16;
    CHECK_INT(number(b, 4), 7);
    for (uint64_t n = number(b, 4); n > 0; n--) {
        uint64_t length = number(b, 2), count = 1;
        str_add(out, (const char *)b->s + b->at);
        b->at += length;
        str_add(out, " [");
        for (uint64_t rank = number(b, 1), i = 0; i < rank; i++) {
            uint64_t d = number(b, 4);
            str_addf(out, i ? ",%llu" : "%llu", (unsigned long long)d);
            count *= d;
        }
        uint64_t type = number(b, 1), size = number(b, 4);
        CHECK_INT(size, count * (uint64_t)sizes[type]);
        if (type)
            str_addf(out, "] %lld\n",
                     (long long)(type == 1 ? (int8_t)b->s[b->at] : (int16_t)(b->s[b->at] | b->s[b->at + 1] << 8)));
        else
            str_addf(out, "] %.6g\n", sum_of(b->s + b->at, count));
        b->at += size;
    }
    for (uint64_t n = number(b, 4); n > 0; n--) {
        for (int i = 0; i < 2; i++) {
            uint64_t length = number(b, 2);
            str_addf(out, i ? " = %s\n" : "%s", (const char *)b->s + b->at);
            b->at += length;
        }
    }
}

static char *gguf_text(bytes *b)
{
    uint64_t n = number(b, 8);
    b->at += n;
    return xstrndup((const char *)b->s + b->at - n, n);
}

/* Prints a value; prints only the length of an array. */
static void gguf_value(bytes *b, uint64_t type, str *out)
{
    char *t;
    uint32_t bits;
    float f;
    switch (type) {
    case 4:
    case 5: str_addf(out, "%lld", (long long)number(b, 4)); break;
    case 6:
        bits = (uint32_t)number(b, 4);
        memcpy(&f, &bits, 4);
        str_addf(out, "%g", (double)f);
        break;
    case 7: str_add(out, number(b, 1) ? "true" : "false"); break;
    case 8:
        str_add(out, t = gguf_text(b));
        free(t);
        break;
    default: broken("a value of type %llu", (unsigned long long)type);
    }
}

static void read_gguf(bytes *b, str *out)
{
    CHECK_INT(memcmp(b->s, "GGUF", 4), 0);
    b->at = 4;
    CHECK_INT(number(b, 4), 3);
    uint64_t tensors = number(b, 8), keys = number(b, 8), offsets[100], counts[100];
    for (; keys > 0; keys--) {
        char *key = gguf_text(b);
        uint64_t type = number(b, 4);
        str_addf(out, "%s ", key);
        if (type == 9) {
            str skipped = {0};
            uint64_t of = number(b, 4), n = number(b, 8);
            for (uint64_t i = 0; i < n; i++) gguf_value(b, of, &skipped);
            char sum[65];
            sha256_of(str_text(&skipped), skipped.n, sum);
            str_addf(out, "%llu of type %llu, %.8s", (unsigned long long)n, (unsigned long long)of, sum);
            str_free(&skipped);
        } else
            gguf_value(b, type, out);
        str_addc(out, '\n');
        free(key);
    }
    str lines[100] = {{0}};
    for (uint64_t i = 0; i < tensors; i++) {
        char *name = gguf_text(b);
        str_addf(&lines[i], "%s [", name);
        counts[i] = 1;
        for (uint64_t rank = number(b, 4), k = 0; k < rank; k++) {
            uint64_t d = number(b, 8);
            str_addf(&lines[i], k ? ",%llu" : "%llu", (unsigned long long)d);
            counts[i] *= d;
        }
        CHECK_INT(number(b, 4), 0);
        offsets[i] = number(b, 8);
        CHECK_INT(offsets[i] % 32, 0);
        free(name);
    }
    size_t start = (b->at + 31) / 32 * 32;
    for (uint64_t i = 0; i < tensors; i++) {
        str_addf(out, "%s] %.6g\n", str_text(&lines[i]), sum_of(b->s + start + offsets[i], counts[i]));
        b->at = (start + offsets[i] + 4 * counts[i] + 31) / 32 * 32;
        str_free(&lines[i]);
    }
}

static void read_back(const char *folder, const char *format, str *out)
{
    static const struct {
        const char *format, *file;
        void (*read)(bytes *, str *);
    } readers[] = {{"ctranslate2", "model.bin", read_ctranslate2},
                   {"huggingface", "model.safetensors", read_safetensors},
                   {"gguf", "model.gguf", read_gguf}};
    for (size_t i = 0; i < LENGTH(readers); i++) {
        if (!same(readers[i].format, format)) continue;
        err e = {0};
        str file = {0};
        char *path = xprintf("%s/%s", folder, readers[i].file);
        CHECK_INT(file_read(path, &file, &e), 0);
        bytes b = {(const unsigned char *)file.s, file.n, 0};
        readers[i].read(&b, out);
        CHECK_INT(b.at, file.n);
        str_free(&file);
        free(path);
    }
}

/* ---- the tests ---- */

static vocab *open_case(const model_case *k, model *m, arena *a)
{
    err e = {0};
    settings set = {0};
    settings_of(k, &set, a);
    vocab *v = vocab_train(k->vocab, k->size, false, text, LENGTH(text), &e);
    if (!v || model_open(m, &set, k->decoder ? 0 : vocab_size(v), vocab_size(v), F32, &cpu_backend, &e))
        broken("%s: %s", k->name, e.text);
    shake(m);
    return v;
}

static void export_case(const model_case *k, const char *base, str *all)
{
    arena a = {0};
    model m;
    vocab *v = open_case(k, &m, &a);
    char *folder = xprintf("%s/%s", base, k->name), *formats = xstrdup(k->formats), *rest = formats;
    keep_logits(&m, folder);
    for (char *format; (format = strsep(&rest, " "));) {
        err e = {0};
        size_t files = 0;
        char *to = xprintf("%s/%s", folder, format);
        int rc = model_export(&m, k->decoder ? NULL : v, v, format, to, &files, &e);
        CHECK_TEXT(e.text, "");
        CHECK_INT(rc, 0);
        str_addf(all, "# %s %s, %zu files\n", k->name, format, files);
        if (!rc) read_back(to, format, all);
        free(to);
    }
    free(formats);
    free(folder);
    model_free(&m);
    vocab_free(v);
    arena_free(&a);
}

static void test_tensors(const char *base)
{
    err e = {0};
    str all = {0}, expected = {0};
    for (size_t i = 0; i < LENGTH(cases); i++) export_case(&cases[i], base, &all);
    const char *golden = SOURCE_DIR "/tests/unit/formats/formats.expected";
    if (getenv("ABLATE_WRITE")) CHECK_INT(file_write(golden, all.s, all.n, &e), 0);
    CHECK_INT(file_read(golden, &expected, &e), 0);
    char *found = all.s, *want = expected.s;
    for (int line = 1; found || want; line++) {
        const char *f = found ? strsep(&found, "\n") : "(end)", *w = want ? strsep(&want, "\n") : "(end)";
        CHECK_THAT(same(f, w), "formats.expected:%d: found %s, expected %s", line, f, w);
    }
    str_free(&all);
    str_free(&expected);
}

static void refused(const char *name, const char *format, vocab_kind kind, const char *const (*set)[2], size_t n,
                    const char *expected)
{
    model_case k = {.name = name, .vocab = kind, .size = kind == TOKENS_BPE ? 40 : 0, .decoder = same(name, "lm")};
    for (size_t i = 0; i < n; i++) k.set[i][0] = set[i][0], k.set[i][1] = set[i][1];
    arena a = {0};
    model m;
    err e = {0};
    size_t files = 0;
    struct stat st;
    vocab *v = open_case(&k, &m, &a);
    CHECK_INT(model_export(&m, k.decoder ? NULL : v, v, format, "/nonexistent/refused", &files, &e), -1);
    CHECK_TEXT(e.text, expected);
    CHECK_INT(files, 0);
    CHECK_INT(stat("/nonexistent", &st), -1);
    model_free(&m);
    vocab_free(v);
    arena_free(&a);
}

static void test_refusals(void)
{
    static const char *const many[][2] = {{"attention_encoder", "additive"},
                                          {"attention_decoder", "additive"},
                                          {"attention_cross", "additive"},
                                          {"position", "alibi"},
                                          {"block", "pre_norm"},
                                          {"norm", "rms_norm"},
                                          {"feed_forward", "moe"},
                                          {"d_k", "8"}};
    refused("many", "huggingface", TOKENS_WORDS, many, 3,
            "attention = additive has no counterpart in MarianMT\n"
            "vocab = words has no counterpart in MarianMT: its tokenizer is SentencePiece's");
    refused("many", "ctranslate2", TOKENS_BPE, many + 5, 3,
            "feed_forward = moe has no counterpart in CTranslate2\n"
            "d_k = 8 has no counterpart in CTranslate2: it has d_model / heads");
    refused("many", "huggingface", TOKENS_BPE, many + 2, 4,
            "attention_cross = additive has no counterpart in MarianMT\n"
            "position = alibi has no counterpart in MarianMT\n"
            "norm = rms_norm has no counterpart in MarianMT\n"
            "block = pre_norm has no counterpart in MarianMT");
    refused("lm", "gguf", TOKENS_WORDS, NULL, 0,
            "position = sinusoid has no counterpart in GGUF's llama\n"
            "feed_forward = relu has no counterpart in GGUF's llama\n"
            "norm = layer_norm has no counterpart in GGUF's llama\n"
            "block = post_norm has no counterpart in GGUF's llama\n"
            "vocab = words has no counterpart in GGUF's llama: ablate writes SentencePiece's tokenizers only");
    refused("lm", "ctranslate2", TOKENS_BPE, NULL, 0,
            "the model is decoder-only, which CTranslate2 does not open: expected --format huggingface or gguf");
    refused("many", "onnx", TOKENS_BPE, NULL, 0, "--format onnx: expected ctranslate2, huggingface or gguf");
    static const char *const eps[][2] = {{"layer_norm.eps", "0.001"}, {"sinusoid.base", "500"}, {"char_ngrams", "10"}};
    refused("many", "huggingface", TOKENS_BPE, eps, 3,
            "char_ngrams = 10 has no counterpart in MarianMT\n"
            "sinusoid.base = 500 has no counterpart in MarianMT: it has 10000\n"
            "layer_norm.eps = 0.001 has no counterpart in MarianMT: it has 1e-05");
    static const char *const base[][2] = {{"base_d_model", "8"}, {"base_d_k", "2"}, {"base_layers", "1"}};
    /* each of these settings alone differs from the model's base, where d_model is 16 and d_k is 4 */
    for (size_t i = 0; i < LENGTH(base); i++) {
        const char *mup[][2] = {{"parametrization", "mup"},
                                {"block", "pre_norm"},
                                {"schedule", "constant"},
                                {"base_d_model", "16"},
                                {base[i][0], base[i][1]}};
        refused("many", "ctranslate2", TOKENS_BPE, (const char *const(*)[2])mup, LENGTH(mup),
                "parametrization = mup has no counterpart in CTranslate2: it does not scale embeddings and logits by "
                "the width");
    }
}

int main(void)
{
    plugin_add_folder(BUILD_DIR "/plugins");
    log_to(NULL, LOG_ERROR);
    char own[] = "/tmp/test_formats.XXXXXX";
    const char *base = getenv("ABLATE_KEEP");
    if (!base) base = mkdtemp(own);
    test_tensors(base);
    test_refusals();
    if (base == own) {
        char *rm = xprintf("rm -rf %s", own);
        CHECK_INT(system(rm), 0);
        free(rm);
    }
    return test_end();
}
