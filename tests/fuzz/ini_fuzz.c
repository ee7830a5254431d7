/* ini_fuzz.c - fuzzes INIs: bytes are read as an experiment, or refused with a message. What was read prints as an INI
 * that reads back to rows with the same hashes. */
#include "lab/config/spec.h"
#include "file.h"

static const ab_option width[] = {{"width", AB_INT, 0, 4, 1, 64, NULL, "of the window [tokens]"}, {0}};
static const ab_option alphabet[] = {{"alphabet", AB_INT, 0, 8, 2, 100, NULL, "symbols"}, {0}};
static const plugin_schema list[] = {{"attention", "scaled_dot", NULL, NULL}, {"attention", "restricted", width, NULL},
                                     {"position", "sinusoid", NULL, NULL},    {"position", "none", NULL, NULL},
                                     {"feed_forward", "relu", NULL, NULL},    {"norm", "layer_norm", NULL, NULL},
                                     {"block", "post_norm", NULL, NULL},      {"block", "pre_norm", NULL, NULL},
                                     {"head", "softmax", NULL, NULL},         {"optimizer", "adam", NULL, NULL},
                                     {"schedule", "noam", NULL, NULL},        {"task", "sequence", alphabet, NULL},
                                     {"task", "translation", NULL, NULL}};
static const plugin_schemas plugins = {.list = list, .n = sizeof list / sizeof *list};

static void back_and_forth(const spec *s)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    spec_print(s, f);
    fclose(f);
    spec again;
    str errors = {0};
    must(!spec_parse(&again, text, "printed.ini", NULL, &plugins, &errors), str_text(&errors));
    must(again.n_rows == s->n_rows, "another number of rows comes back");
    for (size_t i = 0; i < s->n_rows; i++)
        must(same(again.rows[i].hash, s->rows[i].hash), "a row comes back with another hash");
    spec_free(&again);
    str_free(&errors);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    spec s;
    str errors = {0}, more = {0};
    const char *path = fuzz_file(data, n);
    spec_plugin_path(path, NULL, &more);
    if (!spec_read(&s, path, NULL, &plugins, &errors))
        back_and_forth(&s);
    else
        must(errors.n > 0, "refused without a word");
    spec_free(&s);
    str_free(&errors);
    str_free(&more);
    return 0;
}
