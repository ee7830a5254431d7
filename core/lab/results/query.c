/* query.c - runs read-only SQL and prints the rows. */
#include "lab/results/query.h"
#include "lab/results/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Is it a pragma that only reads? Some change a setting if they have a value. */
static bool harmless_pragma(const char *name, const char *value)
{
    static const char *const tell[] = {"user_version", "application_id",  "page_count",  "page_size",
                                       "table_list",   "compile_options", "quick_check", "integrity_check"};
    static const char *const tell_of[] = {"table_info",  "table_xinfo", "index_list",       "index_info",
                                          "index_xinfo", "table_list",  "foreign_key_list", "foreign_key_check"};
    for (size_t i = 0; i < LENGTH(tell); i++)
        if (same(name, tell[i]) && !value) return true;
    for (size_t i = 0; i < LENGTH(tell_of); i++)
        if (same(name, tell_of[i])) return true;
    return false;
}

/* SQLite's authorizer: allows only reading statements. ATTACH would create files even on a read-only connection. */
static int allow(void *refused, int action, const char *a, const char *b, const char *database, const char *trigger)
{
    (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_UPDATE:
        /* json_each declares itself by an UPDATE that never runs; SQLite refuses a user's UPDATE of this table. */
        if (same(a, "sqlite_master")) return SQLITE_OK;
        break;
    case SQLITE_PRAGMA:
        if (harmless_pragma(a, b)) return SQLITE_OK;
        break;
    default: break;
    }
    *(bool *)refused = true;
    return SQLITE_DENY;
}

static void PRINTF_LIKE(2, 3) add_to(err *e, const char *fmt, ...)
{
    size_t used = strlen(e->text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text + used, sizeof e->text - used, fmt, ap);
    va_end(ap);
}

/* Adds the tables and views with this column, which the statement does not read, to SQLite's message. */
static bool suggest_tables(sqlite3 *q, const char *column, err *e)
{
    sqlite3_stmt *s = sql_open(q, NULL,
                               "SELECT group_concat(name,', ') FROM (SELECT DISTINCT m.name FROM sqlite_master m,"
                               "pragma_table_info(m.name) c WHERE c.name=?1 COLLATE NOCASE ORDER BY m.name='settings' "
                               "DESC LIMIT 4)",
                               "s", column);
    bool any = sql_next(s, NULL) == 1 && sqlite3_column_text(s, 0);
    if (any) add_to(e, "; these have it: %s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    return any;
}

/* Adds the nearest known name to SQLite's message "no such table: NAME" or "no such column: NAME". */
static void suggest(sqlite3 *q, const char *said, err *e)
{
    const char *name = strrchr(said, ' '), **known = NULL;
    bool table = has_prefix(said, "no such table"), column = has_prefix(said, "no such column");
    size_t n = 0;
    int rc = 0;
    CLEANUP(arena_free) arena mem = {0};
    if (!name || (!table && !column)) return;
    sqlite3_stmt *s = sql_open(q, NULL,
                               table ? "SELECT name FROM sqlite_master WHERE type IN('table','view')"
                                     : "SELECT DISTINCT c.name FROM sqlite_master m,pragma_table_info(m.name) c",
                               "");
    const char *dot = strrchr(name, '.'), *typed = dot ? dot + 1 : name + 1;
    while (sql_each(s, "", &rc, NULL)) {
        known = list_grow(&mem, known, n, sizeof *known);
        known[n] = sql_text(s, 0, &mem);
        n += strcasecmp(known[n], typed) != 0; /* the typed word is no suggestion */
    }
    if (!(column && suggest_tables(q, typed, e))) add_to(e, "%s", suggestion(typed, known, n, "\""));
}

/* If the statement names an experiment that SQL cannot read, such as table3-small, adds the name of its view. */
static void suggest_view(sqlite3 *q, const char *sql, err *e)
{
    sqlite3_stmt *s = sql_open(
        q, NULL,
        "SELECT name,view_name FROM experiment WHERE instr(?1,name) AND name<>view_name ORDER BY length(name) DESC",
        "s", sql);
    if (sql_next(s, NULL) == 1)
        add_to(e, "; in SQL, %s is called %s", (const char *)sqlite3_column_text(s, 0),
               (const char *)sqlite3_column_text(s, 1));
    sqlite3_finalize(s);
}

static sqlite3_stmt *prepare(sqlite3 *q, const char *sql, err *e)
{
    sqlite3_stmt *s = NULL;
    const char *rest = NULL;
    bool refused = false;
    sqlite3_set_authorizer(q, allow, &refused);
    int rc = sqlite3_prepare_v2(q, sql, -1, &s, &rest);
    sqlite3_set_authorizer(q, NULL, NULL);             /* the authorizer's argument lives only in this function */
    if (refused || (s && !sqlite3_stmt_readonly(s))) { /* VACUUM calls no authorizer */
        fail(e, "query: found a statement that would change the database, expected one that reads (SELECT, "
                "WITH, EXPLAIN or a reading PRAGMA); `ablate rm` removes runs");
    } else if (rc != SQLITE_OK) {
        AUTOFREE char *said = xstrdup(sqlite3_errmsg(q));
        int at = sqlite3_error_offset(q);
        if (at >= 0)
            fail(e, "query: %s, at \"%.24s\"", said, sql + at);
        else
            fail(e, "query: %s", said);
        suggest(q, said, e);
        suggest_view(q, sql, e);
    } else if (!s) {
        fail(e, "query: found no SQL, expected a statement such as \"SELECT * FROM results\"");
    } else if (rest[strspn(rest, " \t\r\n;")]) {
        fail(e, "query: found a second statement at \"%.24s\", expected one", rest + strspn(rest, " \t\r\n;"));
    } else {
        return s;
    }
    sqlite3_finalize(s);
    return NULL;
}

/* ---- printing ---- */

typedef struct {
    char **cell;  /* rows x columns, malloc; the first row has the columns' names */
    bool *number; /* by column: all values are numbers, so it is aligned right */
    size_t *width;
    size_t rows, columns;
} sheet;

/* Returns the text with control characters escaped, and frees `text`. */
static char *escape_freed(char *text)
{
    str out = {0};
    str_add_shown(&out, text, false);
    free(text);
    return out.s;
}

/* Returns a value as text: NULL as "", blobs by their size. For people reals have six digits (large ones, as times are,
 * all digits) and line breaks become blanks; for programs reals are exact. */
static char *cell_text(sqlite3_stmt *s, int i, bool people)
{
    char real[32];
    double x = sqlite3_column_double(s, i);
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_NULL: return xstrdup("");
    case SQLITE_FLOAT: return people && fabs(x) < 1e6 ? xprintf("%.6g", x) : xstrdup(format_real(x, real));
    case SQLITE_BLOB: return xprintf("(%d bytes)", sqlite3_column_bytes(s, i));
    default: break;
    }
    char *text = xstrdup((const char *)sqlite3_column_text(s, i));
    for (char *p = text; *p && people; p++)
        if (*p == '\n' || *p == '\r' || *p == '\t') *p = ' ';
    return people ? escape_freed(text) : text;
}

static int fill(sheet *t, sqlite3_stmt *s, err *e)
{
    size_t cap = 0;
    int rc;
    t->columns = (size_t)sqlite3_column_count(s);
    t->number = xcalloc(t->columns, sizeof *t->number);
    t->width = xcalloc(t->columns, sizeof *t->width);
    t->cell = grow(NULL, &cap, t->columns, sizeof *t->cell);
    for (size_t j = 0; j < t->columns; j++) {
        t->number[j] = true;
        t->cell[j] = escape_freed(xstrdup(sqlite3_column_name(s, (int)j)));
        t->width[j] = utf8_count(t->cell[j], SIZE_MAX);
    }
    t->rows = 1;
    while ((rc = sql_next(s, e)) == 1) {
        t->cell = grow(t->cell, &cap, (t->rows + 1) * t->columns, sizeof *t->cell);
        for (size_t j = 0; j < t->columns; j++) {
            int type = sqlite3_column_type(s, (int)j);
            char *text = cell_text(s, (int)j, true);
            if (type == SQLITE_TEXT || type == SQLITE_BLOB) t->number[j] = false;
            if (utf8_count(text, SIZE_MAX) > t->width[j]) t->width[j] = utf8_count(text, SIZE_MAX);
            t->cell[t->rows * t->columns + j] = text;
        }
        t->rows++;
    }
    return rc;
}

static void sheet_free(sheet *t)
{
    for (size_t i = 0; i < t->rows * t->columns; i++) free(t->cell[i]);
    free(t->cell);
    free(t->number);
    free(t->width);
}

static void pad(FILE *out, const char *text, size_t to, bool right, bool last)
{
    size_t fill = to - utf8_count(text, SIZE_MAX);
    if (right) fprintf(out, "%*s", (int)fill, "");
    fputs(text, out);
    if (!right && !last) fprintf(out, "%*s", (int)fill, "");
}

static int print_text(sqlite3_stmt *s, FILE *out, err *e)
{
    CLEANUP(sheet_free) sheet t = {0};
    int rc = fill(&t, s, e);
    for (size_t i = 0; i < t.rows && !rc; i++)
        for (size_t j = 0; j < t.columns; j++) {
            bool last = j + 1 == t.columns;
            pad(out, t.cell[i * t.columns + j], t.width[j], t.number[j] && t.rows > 1, last);
            fputs(last ? "\n" : "  ", out);
        }
    return rc;
}

static void md_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    for (; *text; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text, out);
    }
    fputs(" |", out);
}

static int print_md(sqlite3_stmt *s, FILE *out, err *e)
{
    CLEANUP(sheet_free) sheet t = {0};
    int rc = fill(&t, s, e);
    for (size_t i = 0; i < t.rows && !rc; i++) {
        fputc('|', out);
        for (size_t j = 0; j < t.columns; j++) md_cell(out, t.cell[i * t.columns + j]);
        fputc('\n', out);
        for (size_t j = 0; j < t.columns && !i; j++)
            fprintf(out, "%s%s", j ? "" : "|", t.number[j] && t.rows > 1 ? "---:|" : "---|");
        if (!i) fputc('\n', out);
    }
    return rc;
}

static int print_csv(sqlite3_stmt *s, FILE *out, err *e)
{
    int columns = sqlite3_column_count(s), rc = 1;
    CLEANUP(str_free) str line = {0};
    for (bool first = true; rc == 1; first = false) {
        str_clear(&line);
        for (int j = 0; j < columns; j++) {
            char *text = first ? xstrdup(sqlite3_column_name(s, j)) : cell_text(s, j, false);
            if (j) str_addc(&line, ',');
            str_add_csv(&line, text);
            free(text);
        }
        fprintf(out, "%s\r\n", line.s);
        rc = sql_next(s, e);
    }
    return rc;
}

static int print_json(sqlite3_stmt *s, FILE *out, err *e)
{
    int columns = sqlite3_column_count(s), rc;
    CLEANUP(str_free) str line = {0};
    fputc('[', out);
    for (int n = 0; (rc = sql_next(s, e)) == 1; n++) {
        str_clear(&line);
        for (int j = 0; j < columns; j++) {
            if (!j) str_add(&line, n ? ",\n{" : "\n{");
            json_key(&line, sqlite3_column_name(s, j));
            sql_add_json(&line, s, j);
        }
        str_addc(&line, '}');
        fputs(line.s, out);
    }
    fputs("\n]\n", out);
    return rc;
}

/* SQLite's progress handler: true ends the statement. */
static int is_over(void *until) { return ticks() > *(double *)until; }

int query_print(const db_options *o, const char *sql, enum query_format format, double limit, FILE *out, err *e)
{
    static int (*const print[])(sqlite3_stmt *, FILE *, err *) = {print_text, print_csv, print_json, print_md};
    bool recorded = strcasestr(sql, "recorded.");
    CLEANUP(reader_end) reader *r = (recorded ? reader_open_any : reader_open)(o, e);
    if (!r || (recorded && recorded_attach(r, e))) return -1;
    double until = ticks() + limit;
    if (limit > 0) sqlite3_progress_handler(r->q, 100000, is_over, &until);
    sqlite3_stmt *s = prepare(r->q, sql, e);
    int rc = s ? print[format](s, out, e) : -1;
    if (rc && sqlite3_errcode(r->q) == SQLITE_INTERRUPT) {
        *e = (err){0};
        fail(e, "query: not finished after %g s; --time-limit SECONDS sets another limit (0: none)", limit);
    }
    sqlite3_finalize(s);
    return rc;
}
