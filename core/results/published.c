/* published.c - numbers of papers, from tab-separated text files.
 *
 * One file a table, named like the table (table3.tsv). Lines that begin with # are comments, of which three
 * speak:
 * "# paper: ...", "# title: ...", and "# results: A, B" which names the columns that are results and not
 * settings. Then a line of column names and a line a row; the first column is the row's key. Empty cells are
 * left out. */
#include "results/internal.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int folder_files(const char *folder, const char *suffix, char ***paths, size_t *n, err *e)
{
    *paths = NULL, *n = 0;
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT) return 0;
    if (!dir) return fail(e, "%s: %s", folder, strerror(errno));
    size_t cap = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || !has_suffix(entry->d_name, suffix)) continue;
        *paths = grow(*paths, &cap, *n + 1, sizeof **paths);
        (*paths)[(*n)++] = path_join(folder, entry->d_name);
    }
    closedir(dir);
    if (*n) qsort(*paths, *n, sizeof **paths, by_name);
    return 0;
}

/* Cut `line` at its tabs, in place; at most `max` cells, returns how many there are. */
static size_t cut(char *line, char **cells, size_t max)
{
    size_t n = 0;
    for (char *p = line; p; n++) {
        char *tab = strchr(p, '\t');
        if (tab) *tab++ = 0;
        if (n < max) cells[n] = trim(p);
        p = tab;
    }
    return n;
}

/* Is `name` one of the comma-separated names in `list`? */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p && *p;) {
        while (*p == ' ' || *p == ',') p++;
        size_t k = strcspn(p, ",");
        size_t bare = k;
        while (bare && p[bare - 1] == ' ') bare--;
        if (bare == n && !strncmp(p, name, n)) return true;
        p += k;
    }
    return false;
}

/* The words after "# key:" if the comment `line` says that key, else NULL. */
static char *comment_value(char *line, const char *key)
{
    char *p = trim(line + 1);
    size_t n = strlen(key);
    return !strncmp(p, key, n) && p[n] == ':' ? trim(p + n + 1) : NULL;
}

static int put_cell(sqlite3 *q, const char *table, int64_t ord, const char *row, int64_t column,
                    const char *name, bool is_result, const char *text, err *e)
{
    static const char sql[] = "INSERT INTO published(tbl,ord,row,col_ord,col,is_result,printed,value)"
                              " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)";
    int64_t result = is_result, i;
    double r;
    if (parse_int(text, &i))
        return sql_do(q, e, sql, "sisisisi", table, ord, row, column, name, result, text, i);
    if (parse_real(text, &r))
        return sql_do(q, e, sql, "sisisisd", table, ord, row, column, name, result, text, r);
    return sql_do(q, e, sql, "sisisiss", table, ord, row, column, name, result, text, *text ? text : NULL);
}

/* SELECT * FROM published_table3 reads like the paper's table. */
static int make_view(sqlite3 *q, const char *table, char **names, size_t n, err *e)
{
    str sql = {0}, view = {0};
    str_addf(&view, "published_%s", table);
    str_add(&sql, "CREATE VIEW ");
    sql_quote(&sql, view.s);
    str_add(&sql, " AS SELECT row AS ");
    sql_quote(&sql, names[0]);
    for (size_t c = 1; c < n; c++) {
        str_add(&sql, ",max(CASE col WHEN ");
        sql_literal(&sql, names[c]);
        str_add(&sql, " THEN value END) ");
        sql_quote(&sql, names[c]);
    }
    str_add(&sql, " FROM published WHERE tbl=");
    sql_literal(&sql, table);
    str_add(&sql, " GROUP BY row ORDER BY ord");
    int rc = sql_script(q, sql.s, e);
    str_free(&sql);
    str_free(&view);
    return rc;
}

enum { MAX_COLUMNS = 32 };

static int fill_rows(sqlite3 *q, const char *table, char **lines, size_t n, const char *results, err *e)
{
    char *names[MAX_COLUMNS], *cells[MAX_COLUMNS];
    size_t columns = 0;
    int64_t ord = 0;
    for (size_t i = 0; i < n; i++) {
        if (lines[i][0] == '#' || !*lines[i]) continue;
        size_t found = cut(lines[i], columns ? cells : names, MAX_COLUMNS);
        if (found > MAX_COLUMNS || (columns && found != columns))
            return fail(e, "line %zu: found %zu cells, expected %zu", i + 1, found,
                        columns ? columns : MAX_COLUMNS);
        if (!columns) {
            columns = found;
            continue;
        }
        if (!*cells[0]) return fail(e, "line %zu: the row's key is empty", i + 1);
        for (size_t c = 1; c < columns; c++)
            if (put_cell(q, table, ord, cells[0], (int64_t)c, names[c], listed(results, names[c]), cells[c],
                         e)) {
                fail_in(e, "line %zu: ", i + 1);
                return -1;
            }
        ord++;
    }
    if (columns < 2 || !ord) return fail(e, "found no rows");
    return make_view(q, table, names, columns, e);
}

static int fill_file(sqlite3 *q, const char *path, err *e)
{
    str text = {0};
    char **lines = NULL;
    size_t n = 0;
    if (file_lines(path, &text, &lines, &n, e)) return -1;
    const char *paper = "", *title = "", *results = NULL;
    for (size_t i = 0; i < n; i++) {
        char *v;
        if (lines[i][0] != '#') continue;
        if ((v = comment_value(lines[i], "paper"))) paper = v;
        if ((v = comment_value(lines[i], "title"))) title = v;
        if ((v = comment_value(lines[i], "results"))) results = v;
    }
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *table = xstrndup(base, strlen(base) - strlen(".tsv"));
    int rc = sql_do(q, e, "INSERT INTO paper_table(name,paper,title) VALUES(?1,?2,?3)", "sss", table, paper,
                    title);
    if (!rc) rc = fill_rows(q, table, lines, n, results, e);
    if (rc) fail_in(e, "%s: ", path);
    free(table);
    free(lines);
    str_free(&text);
    return rc;
}

int published_fill(sqlite3 *q, const char *folder, err *e)
{
    char **paths = NULL;
    size_t n = 0;
    int rc = folder_files(folder, ".tsv", &paths, &n, e);
    for (size_t i = 0; i < n; i++) {
        if (!rc) rc = fill_file(q, paths[i], e);
        free(paths[i]);
    }
    free(paths);
    return rc;
}
