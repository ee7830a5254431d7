/* published_write.c - writes the published tables into the database, for SQL. */
#include "lab/results/internal.h"
#include <string.h>

static int write_cell(sqlite3 *q, const read_published *p, size_t row, size_t column, err *e)
{
    static const char sql[] = "INSERT INTO published(table_name,place,row,col_place,col,is_result,printed,value) "
                              "VALUES(?1,?2,?3,?4,?5,?6,?7,?8)";
    const char *text = p->cells[row * p->n_columns + column], *key = p->cells[row * p->n_columns],
               *name = p->columns[column];
    int64_t ord = (int64_t)row, at = (int64_t)column, result = p->is_result[column], i;
    double r;
    if (parse_int(text, &i)) return sql_do(q, e, sql, "sisisisi", p->table, ord, key, at, name, result, text, i);
    if (parse_real(text, &r)) return sql_do(q, e, sql, "sisisisd", p->table, ord, key, at, name, result, text, r);
    return sql_do(q, e, sql, "sisisiss", p->table, ord, key, at, name, result, text, *text ? text : NULL);
}

/* Makes a view: SELECT * FROM published_table3 shows the paper's table. */
static int make_view(sqlite3 *q, const read_published *p, err *e)
{
    CLEANUP(str_free) str sql = {0}, view = {0};
    str_addf(&view, "published_%s", p->table);
    str_add(&sql, "DROP VIEW IF EXISTS ");
    sql_quote(&sql, view.s);
    str_add(&sql, ";CREATE VIEW ");
    sql_quote(&sql, view.s);
    str_add(&sql, " AS SELECT row AS ");
    sql_quote(&sql, p->columns[0]);
    for (size_t c = 1; c < p->n_columns; c++) {
        str_add(&sql, ",max(CASE col WHEN ");
        sql_literal(&sql, p->columns[c]);
        str_add(&sql, " THEN value END) ");
        sql_quote(&sql, p->columns[c]);
    }
    str_add(&sql, " FROM published WHERE table_name=");
    sql_literal(&sql, p->table);
    str_add(&sql, " GROUP BY row ORDER BY place");
    return sql_script(q, sql.s, e);
}

static int write_table(sqlite3 *q, const published_text *t, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_published p;
    int rc =
        published_parse(t->name, t->text, &a, &p, e) ||
        sql_do(q, e, "DELETE FROM published WHERE table_name=?1", "s", p.table) ||
        sql_do(q, e, "DELETE FROM paper_table WHERE name=?1", "s", p.table) ||
        sql_do(q, e, "INSERT INTO paper_table(name,paper,title) VALUES(?1,?2,?3)", "sss", p.table, p.paper, p.title);
    for (size_t i = 0; i < p.n_rows && !rc; i++)
        for (size_t c = 1; c < p.n_columns && !rc; c++) rc = write_cell(q, &p, i, c, e);
    if (!rc) rc = make_view(q, &p, e);
    return rc ? -1 : 0;
}

static void digest(char out[65])
{
    sha256 s;
    sha256_init(&s);
    for (const published_text *t = published_tables; t->name; t++)
        sha256_add(&s, t->name, strlen(t->name) + 1), sha256_add(&s, t->text, strlen(t->text) + 1);
    sha256_hex(&s, out);
}

int published_refresh(db *d, err *e)
{
    char now_sha[65];
    int64_t known = 0;
    digest(now_sha);
    if (sql_int(d->q, e, &known, "SELECT count(*) FROM meta WHERE key='published' AND value=?1", "s", now_sha) < 0)
        return -1;
    if (known) return 0;
    bool inside = !sqlite3_get_autocommit(d->q);
    if (!inside && tx_begin(d, true, e)) return -1;
    int rc = 0;
    for (const published_text *t = published_tables; t->name && !rc; t++) rc = write_table(d->q, t, e);
    if (!rc) rc = sql_do(d->q, e, "INSERT OR REPLACE INTO meta(key,value) VALUES('published',?1)", "s", now_sha);
    return inside ? rc : tx_end(d, rc, e);
}
