/* read_case.h - reads INI files and compares the rows with expected ones: NAME.ini and NAME.expected (README.md). A
 * file that can be read is also printed frozen and read back to the same rows. */
#ifndef ABLATE_TEST_READ_CASE_H
#define ABLATE_TEST_READ_CASE_H
#include "config/cases.h"
#include "test.h"
#include <dirent.h>
#include <math.h>

#define FOLDER SOURCE_DIR "/tests/unit/config"

/* Parses lines "#! -s heads=1" of the text as options; the options' words are in the arena. */
static inline spec_options options_of(const char *text, arena *a)
{
    const char **set = arena_alloc(a, 64 * sizeof *set), **only = arena_alloc(a, 64 * sizeof *only);
    spec_options o = {.set = set, .only = only};
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (!has_prefix(line, "#! ")) continue;
        char *words = trim(arena_strndup(a, line + 3, strcspn(line + 3, "\r\n"))), *value = strchr(words, ' ');
        if (!value) continue;
        *value++ = 0;
        if (same(words, "-s"))
            set[o.n_set++] = trim(value);
        else if (same(words, "--only"))
            only[o.n_only++] = trim(value);
        else if (same(words, "--seeds"))
            o.seeds = trim(value);
    }
    return o;
}

static inline void check_same_row(const char *file, const spec_row *a, const spec_row *b)
{
    str left = {0}, right = {0};
    const spec_row *rows[2] = {a, b};
    for (int k = 0; k < 2; k++)
        str_addf(k ? &right : &left, "%s: [%s] %s | %s | %s | %d %d %d %d | %s | %s", file, rows[k]->group,
                 rows[k]->name, rows[k]->changed, rows[k]->paper_row, rows[k]->is_base, rows[k]->selected, rows[k]->run,
                 rows[k]->same_as, rows[k]->hash, rows[k]->json);
    CHECK_TEXT(str_text(&right), str_text(&left));
    str_free(&left);
    str_free(&right);
}

/* True if [scale] gives rows at several sizes and base has more seeds than the rows: an expanded INI cannot say
 * that. */
static inline bool sizes_of_base(const spec *s)
{
    bool sizes = false;
    for (size_t i = 0; i < s->n_rows; i++) sizes = sizes || s->rows[i].size_base;
    return sizes && s->base_seeds;
}

static inline void check_round_trip(const char *file, const spec *s, const plugin_schemas *plugins)
{
    char *text[2] = {NULL, NULL};
    size_t n;
    spec again;
    str errors = {0};
    for (int k = 0; k < 2; k++) {
        FILE *f = open_memstream(&text[k], &n);
        spec_print(k ? &again : s, f);
        fclose(f);
        if (k) break;
        if (spec_parse(&again, text[0], s->path, NULL, plugins, &errors)) {
            printf("%s", text[0]);
            CHECK_TEXT(str_text(&errors), "");
            goto out;
        }
    }
    if (!sizes_of_base(s)) {
        CHECK_TEXT(text[1], text[0]);
        CHECK_INT(again.n_runs, s->n_runs);
    }
    CHECK_INT(again.n_rows, s->n_rows);
    CHECK_TEXT(again.name, s->name);
    CHECK_TEXT(again.note, s->note);
    CHECK_TEXT(again.paper, s->paper);
    comparison_criterion first = s->analysis.criterion, second = again.analysis.criterion;
    CHECK_INT(isnan(second.failed_as), isnan(first.failed_as));
    if (!isnan(first.failed_as)) CHECK_NEAR(second.failed_as, first.failed_as, 0);
    const char *analysis_json = analysis_write(&s->analysis, &again.mem);
    if (analysis_json) { /* the copy that the database keeps must read back to the same */
        analysis back = analysis_read(analysis_json, &again.mem);
        /* a criterion that `seeds = until` has set was not given in the INI */
        if (!s->analysis.criterion.given) back.criterion.given = false;
        CHECK_TEXT(analysis_write(&back, &again.mem), analysis_json);
    }
    for (size_t i = 0; i < s->n_rows && i < again.n_rows; i++) check_same_row(file, &s->rows[i], &again.rows[i]);
    spec_free(&again);
out:
    str_free(&errors);
    free(text[0]);
    free(text[1]);
}

static inline void check_case(const char *path, const char *shown, const char *expected_path, bool brief,
                              const plugin_schemas *plugins)
{
    arena a = {0};
    str text = {0}, found = {0}, expected = {0};
    err e = {{0}};
    spec s;
    const char *write = getenv("ABLATE_BASELINE");
    CHECK_INT(file_read(path, &text, &e), 0);
    spec_options o = options_of(str_text(&text), &a);
    /* messages name the file without its folder, so they do not depend on where the sources are */
    int rc = strlen(str_text(&text)) == text.n ? spec_parse(&s, str_text(&text), shown, &o, plugins, &found) : -1;
    if (!rc) {
        dump_spec(&s, brief, &found);
        check_round_trip(shown, &s, plugins);
        spec_free(&s);
    }
    if (same(write, "write") && !file_exists(expected_path)) file_write(expected_path, str_text(&found), found.n, &e);
    if (file_read(expected_path, &expected, &e)) printf("%s\n", e.text);
    CHECK_TEXT(str_text(&found), str_text(&expected));
    str_free(&text);
    str_free(&found);
    str_free(&expected);
    arena_free(&a);
}

/* Compares every NAME.ini of the folder with FOLDER/prefixNAME.expected. With a prefix it also reads the folder's
 * subfolders, and compares names of rows only. Returns the number of files. */
static inline int check_folder(const char *folder, const char *prefix, const plugin_schemas *plugins)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort), cases = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (has_suffix(name, ".ini")) {
            char *path = path_join(folder, name),
                 *expected = xprintf(FOLDER "/%s%.*s.expected", prefix, (int)strlen(name) - 4, name);
            check_case(path, name, expected, *prefix, plugins);
            free(path);
            free(expected);
            cases++;
        } else if (*prefix && !strchr(name, '.')) {
            char *path = path_join(folder, name);
            cases += check_folder(path, prefix, plugins);
            free(path);
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    return cases;
}
#endif
