#include "text/metric/evalb/evalb.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

static void list_add(evalb_params *p, evalb_list *list, const char *text)
{
    list->text = grow(list->text, &list->cap, list->n + 1, sizeof *list->text);
    list->text[list->n++] = arena_strdup(&p->memory, text);
}

void evalb_params_default(evalb_params *p)
{
    static const char *const deleted[] = {"TOP", "-NONE-", ",", ":", "``", "''", "."};
    *p = (evalb_params){.max_error = -1, .cutoff = 40, .labeled = true};
    for (size_t i = 0; i < LENGTH(deleted); i++) list_add(p, &p->delete_label, deleted[i]);
    list_add(p, &p->delete_for_length, "-NONE-");
    list_add(p, &p->eq_label, "ADVP");
    list_add(p, &p->eq_label, "PRT");
}

void evalb_params_free(evalb_params *p)
{
    free(p->delete_label.text);
    free(p->delete_for_length.text);
    free(p->quote_label.text);
    free(p->eq_label.text);
    free(p->eq_word.text);
    arena_free(&p->memory);
    *p = (evalb_params){0};
}

/* ---- the file ---- */

enum kind { NUMBER, FLAG, ONE, PAIR };
#define LIST(field) offsetof(evalb_params, field)
static const struct {
    const char *name;
    enum kind kind;
    size_t at; /* offset of the list in evalb_params */
} keys[] = {
    {"DEBUG", NUMBER, 0},
    {"MAX_ERROR", NUMBER, 0},
    {"CUTOFF_LEN", NUMBER, 0},
    {"LABELED", FLAG, 0},
    {"DELETE_LABEL", ONE, LIST(delete_label)},
    {"DELETE_LABEL_FOR_LENGTH", ONE, LIST(delete_for_length)},
    {"QUOTE_LABEL", ONE, LIST(quote_label)},
    {"EQ_LABEL", PAIR, LIST(eq_label)},
    {"EQ_WORD", PAIR, LIST(eq_word)},
};

static int unknown_key(const char *key, err *e)
{
    const char *names[LENGTH(keys)];
    for (size_t i = 0; i < LENGTH(keys); i++) names[i] = keys[i].name;
    return fail(e, "unknown parameter \"%s\"%s", key, suggestion(key, names, LENGTH(keys), ""));
}

/* Reads a line that is neither blank nor a comment, and overwrites it. */
static int read_parameter(evalb_params *p, char *line, err *e)
{
    static const char blanks[] = " \t\r\v\f";
    char *rest = line, *words[4] = {NULL};
    size_t n = 0, k = 0;
    for (char *w; n < LENGTH(words) && (w = strtok_r(NULL, blanks, &rest));) words[n++] = w;
    while (k < LENGTH(keys) && !same(words[0], keys[k].name)) k++;
    if (k == LENGTH(keys)) return unknown_key(words[0], e);
    size_t wanted = keys[k].kind == PAIR ? 2 : 1;
    if (n != wanted + 1)
        return fail(e, "%s: found %zu%s values, expected %zu", words[0], n - 1, n == LENGTH(words) ? " or more" : "",
                    wanted);
    if (keys[k].kind == ONE || keys[k].kind == PAIR) {
        evalb_list *list = (evalb_list *)((char *)p + keys[k].at);
        for (size_t i = 1; i < n; i++) list_add(p, list, words[i]);
        return 0;
    }
    int64_t value;
    if (!parse_int(words[1], &value) || value < 0 || (keys[k].kind == FLAG && value > 1))
        return fail(e, "%s: found \"%s\", expected %s", words[0], words[1],
                    keys[k].kind == FLAG ? "0 or 1" : "a whole number of 0 or more");
    if (same(words[0], "MAX_ERROR")) p->max_error = value;
    if (same(words[0], "CUTOFF_LEN")) p->cutoff = value;
    if (same(words[0], "LABELED")) p->labeled = value == 1;
    return 0;
}

int evalb_params_load(evalb_params *p, const char *path, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char **lines = NULL;
    size_t n = 0;
    *p = (evalb_params){.max_error = 10, .cutoff = 40, .labeled = true};
    int status = file_lines(path, &text, &lines, &n, e);
    for (size_t i = 0; i < n && !status; i++) {
        char *line = trim(lines[i]);
        if (!*line || *line == '#') continue;
        err inner = {0};
        if ((status = read_parameter(p, line, &inner))) fail(e, "%s:%zu: %s", path, i + 1, inner.text);
    }
    return status;
}
