/* test_config.c - parameters as text, binding, resolving, JSON, hashes; and INIs that cannot be stored as files. */
#include "cases.h"
#include "test.h"

static arena mem;

static const char *canonical(const ab_option *p, const char *text)
{
    const char *out;
    err e = {{0}};
    return param_canonical(p, text, &out, &mem, &e) ? arena_strdup(&mem, e.text) : out;
}

static const ab_option *core(const char *name)
{
    for (const ab_option *p = config_params; p->name; p++)
        if (same(p->name, name)) return p;
    return NULL;
}

static void check_canonical(void)
{
    CHECK_TEXT(canonical(core("steps"), "1e3"), "1000");
    CHECK_TEXT(canonical(core("steps"), "100k"), "100000");
    CHECK_TEXT(canonical(core("d_k"), "auto"), "auto");
    CHECK_TEXT(canonical(core("d_k"), "064"), "64");
    CHECK_TEXT(canonical(core("dropout"), "0.10"), "0.1");
    CHECK_TEXT(canonical(core("dropout"), "-0"), "0");
    CHECK_TEXT(canonical(core("bias"), "yes"), "true");
    CHECK_TEXT(canonical(core("bias"), "off"), "false");
    CHECK_TEXT(canonical(core("share_embeddings"), "none"), "none");
    CHECK_TEXT(canonical(core("d_k"), "-1"), "found \"-1\", expected an integer from 1 to 65536, or auto");
    CHECK_TEXT(canonical(core("heads"), "0"), "found \"0\", expected an integer from 1 to 1024");
    CHECK_TEXT(canonical(core("heads"), "8x"), "found \"8x\", expected an integer from 1 to 1024");
    CHECK_TEXT(canonical(core("heads"), "2.5"), "found \"2.5\", expected an integer from 1 to 1024");
    CHECK_TEXT(canonical(core("dropout"), "nan"), "found \"nan\", expected a number from 0 to 0.99");
    CHECK_TEXT(canonical(core("share_embeddings"), "trget"),
               "found \"trget\", expected all, target or none; did you mean target?");
    CHECK_TEXT(canonical(core("bias"), "2"), "found \"2\", expected true or false");
}

/* Each default is legal, each key has a description, each offset is its own. */
static void check_table(void)
{
    for (const ab_option *p = config_params; p->name; p++) {
        const char *def = param_default(p, &mem);
        CHECK_TEXT(canonical(p, def), def);
        CHECK(p->doc && *p->doc);
        CHECK(p->offset + 8 <= sizeof(config));
        for (const ab_option *q = config_params; q != p; q++) CHECK(q->offset != p->offset && !same(q->name, p->name));
    }
    CHECK_TEXT(config_plugin_kind("attention_cross"), "attention");
    CHECK(!config_plugin_kind("heads"));
}

static settings make(const char *const (*pairs)[2], size_t n)
{
    settings s = {0};
    for (size_t i = 0; i < n; i++) settings_set(&s, pairs[i][0], pairs[i][1], &mem);
    return s;
}

static void check_bind(void)
{
    static const char *const pairs[][2] = {{"heads", "4"},        {"dropout", "0.25"},
                                           {"block", "pre_norm"}, {"attention", "additive"},
                                           {"lowercase", "true"}, {"rotary.base", "500"}};
    settings s = make(pairs, LENGTH(pairs)), out = {0};
    config c;
    base_cfg rotary;
    err e = {{0}};
    CHECK_INT(config_from_settings(&s, &c, &mem, &e), 0);
    CHECK_INT(c.heads, 4);
    CHECK_INT(c.d_k, 128);
    CHECK_INT(c.d_v, 128);
    CHECK_NEAR(c.dropout, 0.25, 0);
    CHECK_TEXT(c.block, "pre_norm");
    CHECK_INT(c.lowercase, 1);
    CHECK_INT(c.layers_encoder, 6);
    CHECK_TEXT(c.attention_cross, "additive");
    CHECK_TEXT(c.position, "sinusoid");
    CHECK_INT(c.seed, 1);
    CHECK_INT(config_bind(&s, "rotary", rotary_params, &rotary, &mem, &e), 0);
    CHECK_NEAR(rotary.base, 500, 0);
    width_cfg width;
    CHECK_INT(config_bind(&s, "restricted", restricted_params, &width, &mem, &e), 0);
    CHECK_INT(width.width, 8);
    CHECK_INT(width.period, -1);
    config_unbind(&width, "restricted", restricted_params, &out, &mem);
    CHECK_TEXT(settings_get(&out, "restricted.period"), "never");
    settings_set(&s, "rotary.bsae", "1", &mem);
    CHECK_INT(config_bind(&s, "rotary", rotary_params, &rotary, &mem, &e), -1);
    CHECK_TEXT(e.text, "rotary.bsae: unknown key; did you mean base?");
}

static void check_resolve(void)
{
    static const char *const bad[][2] = {{"heads", "3"}}, *const average[][2] = {{"average_checkpoints", "20"}};
    settings s = make(bad, 1);
    config c;
    err e = {{0}};
    CHECK_INT(config_from_settings(&s, &c, &mem, &e), -1);
    CHECK_HAS(e.text, "d_k = auto is d_model / heads, but found d_model = 512, heads = 3");
    e.text[0] = 0;
    s = make(average, 1);
    CHECK_INT(config_from_settings(&s, &c, &mem, &e), -1);
    CHECK_HAS(e.text, "average_checkpoints: found 20 with keep_checkpoints = 5");
}

static const char *back(const char *json, settings *s)
{
    err e = {{0}};
    *s = (settings){0};
    return config_from_json(json, s, &mem, &e) ? arena_strdup(&mem, e.text) : "";
}

static void check_json(void)
{
    settings s;
    CHECK_TEXT(back(" { \"a\" : \"x\\\"\\n\\u00e4\\ud83d\\ude00\" , \"b.c\":1e-9,\"d\":true }\n", &s), "");
    CHECK_INT(s.n, 3);
    CHECK_TEXT(settings_get(&s, "a"), "x\"\n\xc3\xa4\xf0\x9f\x98\x80");
    CHECK_TEXT(settings_get(&s, "b.c"), "1e-9");
    CHECK_TEXT(settings_get(&s, "d"), "true");
    CHECK_TEXT(back("{}", &s), "");
    CHECK_HAS(back("", &s), "expected {");
    CHECK_HAS(back("{\"a\":[1]}", &s), "character 6: found \"[1]}\", expected a text, a number, true or false");
    CHECK_HAS(back("{\"a\":1,\"a\":2}", &s), "found a twice");
    CHECK_HAS(back("{\"a\":\"x", &s), "expected the closing quote");
    CHECK_HAS(back("{\"a\":\"\\ud83dx\"}", &s), "surrogate");
    CHECK_HAS(back("{\"a\":1", &s), "expected , or }");
    CHECK_HAS(back("{\"a\":1} x", &s), "expected nothing more");
    CHECK_HAS(back("{\"a\":null}", &s), "expected a text");
}

/* A run rebuilt from its stored JSON has the same settings. */
static void check_rebuild(void)
{
    spec s;
    str errors = {0};
    err e = {{0}};
    static const char text[] = "[base]\nposition = rotary\nrotary.base = 1e3\ntranslation.languages = \"de, en\"\n"
                               "[sweep A]\nheads = 1, 4\n";
    CHECK_INT(spec_parse(&s, text, "x.ini", NULL, &case_plugins, &errors), 0);
    for (size_t i = 0; i < s.n_rows; i++) {
        settings again = {0};
        config c;
        char hash[65];
        CHECK_INT(config_from_json(s.rows[i].json, &again, &mem, &e), 0);
        config_hash(&again, hash);
        CHECK_TEXT(hash, s.rows[i].hash);
        CHECK_INT(config_from_settings(&again, &c, &mem, &e), 0);
        CHECK_INT(c.heads, s.rows[i].config.heads);
        CHECK_TEXT(settings_get(&again, "rotary.base"), "1000");
        CHECK_TEXT(settings_get(&again, "translation.languages"), "de, en");
        CHECK_INT(again.n, s.rows[i].settings.n);
        CHECK(!settings_get(&again, "seed"));
    }
    CHECK_HAS(s.rows[0].json, "\"layers\":6,");
    CHECK_HAS(s.rows[0].json, "\"bias\":true,");
    CHECK_HAS(s.rows[0].json, "\"rotary.base\":1000");
    CHECK_HAS(s.rows[0].json, "\"norm\":\"layer_norm\",");
    spec_free(&s);
    str_free(&errors);
}

/* The hash does not depend on the order of settings, and ignores keys that cannot change a result, and newer keys at
 * their defaults. */
static void check_hash(void)
{
    static const char *const one[][2] = {{"heads", "4"}, {"layers", "2"}, {"device", "cpu"}, {"learned.std", "0"}},
                             *const two[][2] = {{"threads", "3"}, {"layers", "2"}, {"heads", "4"}, {"seed", "9"}},
                             *const three[][2] = {{"heads", "4"}, {"layers", "3"}};
    char a[65], b[65], c[65], expected[65];
    settings s = make(one, 4), t = make(two, 4), u = make(three, 2);
    config_hash(&s, a);
    config_hash(&t, b);
    config_hash(&u, c);
    sha256_of("heads=4\nlayers=2\n", 17, expected);
    CHECK_TEXT(a, expected);
    CHECK_TEXT(b, a);
    CHECK(!same(a, c));
    static const char *const renamed[][2] = {{"beam_size", "4"}, {"checkpoint", "best"}, {"heads", "4"}};
    settings v = make(renamed, 3);
    config_hash(&v, a);
    sha256_of("beam=4\nheads=4\nselect=best\n", 27, expected);
    CHECK_TEXT(a, expected);
}

/* Settings stored under a key's old name are read as settings of the new name. */
static void check_renamed(void)
{
    arena a = {0};
    settings s = {0};
    err e = {0};
    CHECK_INT(config_from_json("{\"beam\":4,\"relu_dropout\":0.1,\"select\":\"best\"}", &s, &a, &e), 0);
    CHECK_TEXT(settings_get(&s, "beam_size"), "4");
    CHECK_TEXT(settings_get(&s, "activation_dropout"), "0.1");
    CHECK_TEXT(settings_get(&s, "checkpoint"), "best");
    CHECK(!settings_get(&s, "beam"));
    CHECK_INT(config_from_json("{\"beam\":4,\"beam_size\":5}", &(settings){0}, &a, &e), -1);
    CHECK_HAS(e.text, "found beam_size twice");
    arena_free(&a);
}

static const char *errors_of(const char *text, size_t n)
{
    spec s;
    str errors = {0};
    char *copy = xstrndup(text, n);
    CHECK_INT(spec_parse(&s, copy, "x.ini", NULL, &case_plugins, &errors), -1);
    CHECK_INT(s.n_rows, 0);
    const char *out = arena_strdup(&mem, str_text(&errors));
    str_free(&errors);
    free(copy);
    return out;
}

/* Bytes that version control would change, such as line ends. */
static void check_bytes(void)
{
    spec s;
    str errors = {0};
    CHECK_INT(spec_parse(&s, "\xef\xbb\xbf[base]\r\n\theads = 4 ; x\r\n\r\n", "crlf.ini", NULL, &case_plugins, &errors),
              0);
    CHECK_INT(s.rows[0].config.heads, 4);
    CHECK_TEXT(s.name, "crlf");
    spec_free(&s);
    CHECK_INT(spec_parse(&s, "", "empty.ini", NULL, &case_plugins, &errors), 0);
    CHECK_INT(s.n_rows, 1);
    CHECK_INT(s.n_runs, 1);
    spec_free(&s);
    CHECK_TEXT(str_text(&errors), "");
    CHECK_TEXT(errors_of("[base]\nheads = 4\r5\n", 18),
               "x.ini:2: found a control character (byte 13, column 10), expected text\n");
    /* Long entries are read whole, wherever their length meets a buffer's end. */
    for (int n = 150; n < 1200; n++) {
        char text[1400], path[1300];
        for (int i = 0; i < n; i++) path[i] = " ;#\t[x=:"[(i * i + n) % 8];
        path[0] = path[n - 1] = 'x', path[n] = 0;
        snprintf(text, sizeof text, "[base]\nplugin_path = \"%s\"\nheads = 4", path);
        CHECK_INT(spec_parse(&s, text, "x.ini", NULL, &case_plugins, &errors), 0);
        CHECK_TEXT(s.rows[0].config.plugin_path, path);
        CHECK_INT(s.rows[0].config.heads, 4);
        spec_free(&s);
    }
    CHECK_INT(spec_read(&s, "/nowhere/x.ini", NULL, &case_plugins, &errors), -1);
    CHECK_HAS(str_text(&errors), "/nowhere/x.ini");
    /* a zero byte in a file */
    err e = {{0}};
    char path[] = "/tmp/ablate-nul-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_INT(file_write(path, "[base]\nheads = 4\0\n", 18, &e), 0);
    str_clear(&errors);
    CHECK_INT(spec_read(&s, path, NULL, &case_plugins, &errors), -1);
    CHECK_HAS(str_text(&errors), ":2: found a zero byte, expected text");
    str large = {0}; /* longer than the buffer that a text without zero bytes would need */
    str_addn(&large, "[base]\0", 7);
    for (int i = 0; i < 100000; i++) str_add(&large, "heads = 4\n");
    CHECK_INT(file_write(path, large.s, large.n, &e), 0);
    str_clear(&errors);
    CHECK_INT(spec_read(&s, path, NULL, &case_plugins, &errors), -1);
    CHECK_HAS(str_text(&errors), ":1: found a zero byte, expected text");
    str_addn(&large, large.s, 100000);
    CHECK_INT(file_write(path, large.s, large.n, &e), 0);
    str_clear(&errors);
    CHECK_INT(spec_read(&s, path, NULL, &case_plugins, &errors), -1);
    CHECK_HAS(str_text(&errors), "found a file of 1100007 bytes, expected at most 1048576");
    str_free(&large);
    remove(path);
    str_free(&errors);
}

/* A row whose plugin is unavailable is refused: without the plugin's parameters it would be a different row. */
static void check_not_loaded(void)
{
    plugin_schemas fewer = case_plugins;
    plugin_schema list[64];
    spec s;
    str errors = {0};
    fewer.n = 0;
    for (size_t i = 0; i < case_plugins.n; i++)
        if (!same(case_plugins.list[i].name, "adam")) list[fewer.n++] = case_plugins.list[i];
    fewer.list = list;
    CHECK_INT(spec_parse(&s, "[base]\nheads = 4\n", "x.ini", NULL, &fewer, &errors), -1);
    CHECK_TEXT(
        str_text(&errors),
        "x.ini:1: base: found optimizer = adam, which is not loaded, expected an available plugin of kind optimizer\n");
    str_free(&errors);
}

/* Large INIs of each shape that once took quadratic time (39 s for the first): they now take seconds together, and
 * their messages fit a page. */
static void check_large(void)
{
    static const struct {
        const char *head, *unit, *tail;
    } shapes[] = {{"[base]\nplugin_path = ", "x", ""},   {"[base]\n", "k%d=1\n", ""},
                  {"[experiment]\n", "k%d=1\n", ""},     {"[base]\n", "[s%d]\n", ""},
                  {"[sweep a]\nwarmup = ", "%d,", "x"},  {"[experiment]\nseeds = ", "%d,", "x"},
                  {"[experiment]\nonly = ", "a%d,", "x"}};
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        str text = {0}, errors = {0};
        spec s;
        str_add(&text, shapes[i].head);
        for (int k = 0; text.n < 1000000; k++) {
            char unit[24];
            snprintf(unit, sizeof unit, shapes[i].unit, k);
            str_add(&text, unit);
        }
        str_add(&text, shapes[i].tail);
        int rc = spec_parse(&s, str_text(&text), "large.ini", NULL, &case_plugins, &errors);
        if (!rc) spec_free(&s);
        CHECK_INT(rc, i ? -1 : 0);
        CHECK(errors.n < 200000);
        str_free(&text);
        str_free(&errors);
    }
}

/* A name need not be valid in SQL: results/view.c derives the view's name. */
static void check_name(void)
{
    CHECK_TEXT(
        errors_of("[experiment]\nname = a/b\n", 25),
        "x.ini:2: name: found \"a/b\", expected only letters, digits, _ - and ., starting with a letter or digit\n");
}

/* A frozen INI does not depend on defaults: it lists every key, and every parameter of the plugins in use. */
static void check_frozen(void)
{
    char *text = NULL;
    size_t n = 0;
    spec s;
    str errors = {0};
    static const char ini[] = "[sweep A]\nposition = sinusoid, rotary\n";
    CHECK_INT(spec_parse(&s, ini, "x.ini", NULL, &case_plugins, &errors), 0);
    FILE *f = open_memstream(&text, &n);
    spec_print(&s, f);
    fclose(f);
    for (const ab_option *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) CHECK_HAS(text, arena_printf(&mem, "\n%s = ", p->name));
    CHECK_HAS(text, "\nd_k = auto\n");
    CHECK_HAS(text, "\nadam.beta1 = 0.9\n");
    CHECK_HAS(text, "\nrotary.base = 10000\n");
    free(text);
    spec_free(&s);
    str_free(&errors);
}

static void check_reference(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    config_reference(f, &case_plugins);
    fclose(f);
    for (const ab_option *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) CHECK_HAS(text, arena_printf(&mem, "| `%s`", p->name));
    CHECK_HAS(text, "| `rotary.base` | `10000` | a number from 1 to 1000000000 | longest wavelength [tokens / 2 pi] |");
    CHECK_HAS(text, "## attention/scaled_dot\n\nNo parameters.");
    CHECK_HAS(text, "combine = grid");
    free(text);
}

int main(void)
{
    check_canonical();
    check_table();
    check_bind();
    check_resolve();
    check_json();
    check_rebuild();
    check_hash();
    check_renamed();
    check_bytes();
    check_large();
    check_not_loaded();
    check_name();
    check_frozen();
    check_reference();
    arena_free(&mem);
    return test_end();
}
