/* schema.c - the tables and views, as text. After a change here, raise DB_VERSION and add to db_steps
 * (open.c) the step that upgrades the previous version. */
#include "lab/results/internal.h"

/* SQL is laid out by hand: the formatter would split its lines. */
/* clang-format off */
/* Version 2 added these: `comparison` stores the statistics that tables print, `trial` the trials that tuned a row. */
#define TABLES_2 \
    /* One row of a table against base in one metric (docs/statistics.md). delta, low, high are in `unit`. */ \
    "CREATE TABLE comparison(\n" \
    "  variant_id INTEGER NOT NULL REFERENCES variant(id) ON DELETE CASCADE," \
    " metric_id INTEGER NOT NULL REFERENCES metric(id),\n" \
    "  base TEXT NOT NULL, base_hash TEXT NOT NULL, n INTEGER NOT NULL, n_base INTEGER NOT NULL," \
    " unit TEXT NOT NULL,\n" \
    "  delta REAL, low REAL, high REAL, p REAL, p_adjusted REAL, tests INTEGER, rule TEXT, variance_seeds REAL,\n" \
    "  variance_sentences REAL, df REAL, seed_sd REAL, least_detectable REAL, p_models REAL, p_outside_base REAL,\n" \
    "  p_permutation REAL, beats_base REAL, beats_base_low REAL, beats_base_high REAL, verdict TEXT, refused TEXT,\n" \
    "  computed_at REAL NOT NULL, PRIMARY KEY(variant_id,metric_id)) STRICT, WITHOUT ROWID;\n" \
    /* Identifies the results from which an experiment's comparisons were computed. */ \
    "CREATE TABLE compared(\n" \
    "  experiment_id INTEGER PRIMARY KEY REFERENCES experiment(id) ON DELETE CASCADE," \
    " results TEXT NOT NULL) STRICT;\n" \
    /* One trial of a search: settings is JSON. rung counts from 0; a pruned trial was not promoted to the next. */ \
    "CREATE TABLE trial(\n" \
    "  experiment_id INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE, row TEXT NOT NULL," \
    " n INTEGER NOT NULL,\n" \
    "  rung INTEGER NOT NULL, settings TEXT NOT NULL CHECK(json_valid(settings)), seed INTEGER NOT NULL," \
    " steps INTEGER,\n" \
    "  metric TEXT NOT NULL, value REAL, seconds REAL, flops REAL, outcome TEXT NOT NULL\n" \
    "    CHECK(outcome IN('pruned','promoted','chosen','failed')),\n" \
    "  PRIMARY KEY(experiment_id,row,rung,n,seed)) STRICT, WITHOUT ROWID;\n"
#define TABLES_3 "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) STRICT;\n"
#define INDEX_4 \
    "CREATE INDEX result_value ON result(run_id,metric_id,value,step,checkpoint,signature,unit,aggregation);\n"

const char *const results_tables[] = {
    "PRAGMA application_id = 1094861651;\n"
    "PRAGMA user_version = 7;\n"

    "CREATE TABLE experiment(\n"
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, note TEXT, headline TEXT, paper_table TEXT,\n"
    "  spec_sha256 TEXT NOT NULL, spec_ini TEXT NOT NULL, argv TEXT NOT NULL, created_at REAL NOT NULL,\n"
    "  archived INTEGER NOT NULL DEFAULT 0, view_name TEXT,\n"
    /* The analysis as JSON: criterion, factorial, scale, match. */
    "  analysis TEXT CHECK(analysis IS NULL OR json_valid(analysis))) STRICT;\n"

    /* One row of the ablation table: a configuration without the seed. A name is unique unless archived. */
    "CREATE TABLE variant(\n"
    "  id INTEGER PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,\n"
    "  group_name TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, change TEXT NOT NULL,\n"
    "  is_base INTEGER NOT NULL DEFAULT 0, paper_row TEXT, not_applicable TEXT,\n"
    "  config_hash TEXT NOT NULL, config_json TEXT NOT NULL CHECK(json_valid(config_json)),\n"
    "  archived INTEGER NOT NULL DEFAULT 0, "
    /* 1: frozen when the experiment already had a result, so not planned before it */
    "exploratory INTEGER NOT NULL DEFAULT 0,\n"
    "  UNIQUE(experiment_id,config_hash)) STRICT;\n"
    "CREATE UNIQUE INDEX variant_name ON variant(experiment_id,name) WHERE archived=0;\n"
    /* Another name and place at which the table shows a variant. */
    "CREATE TABLE alias(\n"
    "  variant_id INTEGER NOT NULL REFERENCES variant(id) ON DELETE CASCADE, name TEXT NOT NULL,\n"
    "  group_name TEXT NOT NULL, place INTEGER NOT NULL, change TEXT NOT NULL, paper_row TEXT,\n"
    "  PRIMARY KEY(variant_id,name)) STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE param(\n"
    "  variant_id INTEGER NOT NULL REFERENCES variant(id) ON DELETE CASCADE,\n"
    "  key TEXT NOT NULL, value ANY, is_swept INTEGER NOT NULL DEFAULT 0,\n"
    "  PRIMARY KEY(variant_id,key)) STRICT, WITHOUT ROWID;\n"
    "CREATE INDEX param_kv ON param(key,value,variant_id);\n"

    /* place: the order in which runs are claimed. generation: the number of restarts from scratch. */
    "CREATE TABLE run(\n"
    "  id INTEGER PRIMARY KEY, variant_id INTEGER NOT NULL REFERENCES variant(id) ON DELETE CASCADE,\n"
    "  seed INTEGER NOT NULL, place INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'queued'\n"
    "    CHECK(status IN('queued','running','done','failed','killed','skipped')),\n"
    "  attempt INTEGER NOT NULL DEFAULT 0, generation INTEGER NOT NULL DEFAULT 0,\n"
    "  owner TEXT, lease_until REAL, heartbeat_at REAL, step INTEGER, total_steps INTEGER,\n"
    "  queued_at REAL NOT NULL, started_at REAL, ended_at REAL,\n"
    "  recorded INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0,\n"
    "  UNIQUE(variant_id,seed)) STRICT;\n"
    "CREATE INDEX run_claim ON run(status,lease_until);\n"
    "CREATE TABLE attempt(\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, n INTEGER NOT NULL,\n"
    "  host TEXT, device TEXT, pid INTEGER, slurm_job TEXT, git_commit TEXT, git_dirty INTEGER, diff_sha256 "
    "TEXT,\n"
    "  build_json TEXT, plugins_json TEXT, argv TEXT, parameters INTEGER, flops_step REAL, tokens_second "
    "REAL,\n"
    "  peak_memory INTEGER, started_at REAL, ended_at REAL, exit_code INTEGER, term_signal INTEGER, error "
    "TEXT,\n"
    "  log_path TEXT, PRIMARY KEY(run_id,n)) STRICT, WITHOUT ROWID;\n",

    "CREATE TABLE metric(\n"
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, direction TEXT CHECK(direction IN('min','max'))) STRICT;\n"
    /* Curves. A value that was not finite is NULL. seconds: since the experiment was created. */
    "CREATE TABLE point(\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, metric_id INTEGER NOT NULL REFERENCES "
    "metric(id),\n"
    "  step INTEGER NOT NULL, value REAL, seconds REAL, PRIMARY KEY(run_id,metric_id,step)) STRICT, WITHOUT "
    "ROWID;\n"
    /* The number in the table; NULL: the run diverged. The signature is here, not with the metric, because two
     * experiments may score one metric in two ways. */
    "CREATE TABLE result(\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, metric_id INTEGER NOT NULL REFERENCES "
    "metric(id),\n"
    "  value REAL, step INTEGER, checkpoint TEXT NOT NULL DEFAULT 'final', signature TEXT, stats BLOB,\n"
    /* Declared by the task: the value's unit, and how its sentences add up (core/text/metric/metric.h). */
    "  unit TEXT, aggregation TEXT,\n"
    "  PRIMARY KEY(run_id,metric_id)) STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE artifact(\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, kind TEXT NOT NULL, path TEXT NOT "
    "NULL,\n"
    "  bytes INTEGER, sha256 TEXT, PRIMARY KEY(run_id,path)) STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE tag(\n"
    "  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, tag TEXT NOT NULL, value TEXT,\n"
    "  PRIMARY KEY(run_id,tag)) STRICT, WITHOUT ROWID;\n"
    "CREATE TABLE blob(sha256 TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;\n"

    /* Numbers of papers: paper_table is a table of a paper, published one cell of it; value is typed for SQL,
     * printed is the paper's own text ("5.00", "100k"). */
    "CREATE TABLE paper_table(\n"
    "  name TEXT PRIMARY KEY, paper TEXT NOT NULL, title TEXT NOT NULL) STRICT;\n"
    "CREATE TABLE published(\n"
    "  table_name TEXT NOT NULL REFERENCES paper_table(name) ON DELETE CASCADE, place INTEGER NOT NULL, row TEXT NOT "
    "NULL,\n"
    "  col_place INTEGER NOT NULL, col TEXT NOT NULL, is_result INTEGER NOT NULL, value ANY,\n"
    "  printed TEXT NOT NULL,\n"
    "  PRIMARY KEY(table_name,row,col)) STRICT, WITHOUT ROWID;\n",
    TABLES_2 TABLES_3 INDEX_4, NULL};

/* Views for people's queries. An upgrade drops all views and creates these. */
#define LAST_ATTEMPT " LEFT JOIN attempt a ON a.run_id=r.id AND a.n=(SELECT max(n) FROM attempt WHERE run_id=r.id)\n"
#define RUNS_OF \
    " FROM experiment e JOIN variant v ON v.experiment_id=e.id JOIN run r ON r.variant_id=v.id\n"
#define IN_FORCE " WHERE r.archived=0 AND v.archived=0 AND e.archived=0;\n"
#define ISO(t) "strftime('%Y-%m-%dT%H:%M:%SZ'," t ",'unixepoch')"
/* SQL: a run's status for people: a done run without a finite number has diverged. */
#define STATUS \
    "CASE WHEN r.status='done' AND EXISTS(SELECT 1 FROM result q WHERE q.run_id=r.id) AND NOT EXISTS(SELECT 1 FROM" \
    " result q WHERE q.run_id=r.id AND q.value NOT NULL) THEN 'diverged' ELSE r.status END status"
const char *const results_views[] = {
    /* One row per run and metric, with names instead of ids. */
    "CREATE VIEW results AS\n"
    " SELECT e.name experiment,v.group_name,v.place,v.name variant,v.is_base,r.seed," STATUS ",m.name "
    "metric,q.value,q.step,\n"
    "  r.id run_id,v.id variant_id,e.id experiment_id,m.id metric_id\n"
    " FROM experiment e JOIN variant v ON v.experiment_id=e.id JOIN run r ON r.variant_id=v.id\n"
    " LEFT JOIN result q ON q.run_id=r.id LEFT JOIN metric m ON m.id=q.metric_id\n"
    " WHERE r.archived=0 AND v.archived=0 AND e.archived=0;\n"
    /* One row per variant and metric: n, mean, sample standard deviation, difference from base. */
    "CREATE VIEW summary AS\n"
    " WITH a AS (SELECT experiment,experiment_id,group_name,place,variant,variant_id,is_base,metric,metric_id,\n"
    "   count(value) n,count(*) n_runs,avg(value) mean,min(value) lo,max(value) hi\n"
    "   FROM results WHERE status IN('done','diverged') AND metric_id IS NOT NULL GROUP BY variant_id,metric_id),\n"
    " s AS (SELECT a.*,sqrt((SELECT sum((q.value-a.mean)*(q.value-a.mean)) FROM run r JOIN result q ON "
    "q.run_id=r.id\n"
    "   WHERE r.variant_id=a.variant_id AND q.metric_id=a.metric_id AND r.status='done' AND r.archived=0)\n"
    "   /nullif(a.n-1,0)) std FROM a)\n"
    " SELECT s.*,s.mean-b.mean delta FROM s\n"
    " LEFT JOIN s b ON b.experiment_id=s.experiment_id AND b.metric_id=s.metric_id AND b.is_base=1;\n"
    /* The changes of a variant against base: 'heads=1 d_k=512'. */
    "CREATE VIEW changed AS\n"
    " SELECT p.variant_id,group_concat(p.key||'='||p.value,' ') what FROM param p\n"
    " WHERE is_swept=1 GROUP BY p.variant_id;\n"
    /* The rows of every table as printed: variants that are not archived, and their aliases. */
    "CREATE VIEW table_row AS\n"
    " SELECT experiment_id,place,group_name,name,change,is_base,paper_row,not_applicable,id variant_id,NULL same_as\n"
    " FROM variant WHERE archived=0\n"
    " UNION ALL SELECT "
    "v.experiment_id,a.place,a.group_name,a.name,a.change,0,a.paper_row,v.not_applicable,v.id,v.name\n"
    " FROM alias a JOIN variant v ON v.id=a.variant_id WHERE v.archived=0;\n",
    "CREATE VIEW paired AS\n"
    " SELECT e.name experiment,t.place,t.group_name,t.name row,t.change,m.name metric,c.n,c.n_base,c.unit,c.delta,"
    "c.low,c.high,c.p,\n"
    "  c.p_adjusted,(SELECT max(q.exploratory) FROM variant q"
    " WHERE q.experiment_id=e.id AND q.archived=0 AND (q.id=c.variant_id OR q.is_base=1)) exploratory,"
    "c.tests,c.rule,c.verdict,c.least_detectable,c.variance_seeds,"
    "c.variance_sentences,c.df,c.seed_sd,\n"
    "  c.p_models,c.p_outside_base,c.p_permutation,c.beats_base,c.beats_base_low,c.beats_base_high,c.refused,"
    "c.base,\n"
    "  c.base_hash,c.computed_at,c.variant_id,c.metric_id,e.id experiment_id\n"
    " FROM comparison c JOIN table_row t ON t.variant_id=c.variant_id JOIN experiment e ON e.id=t.experiment_id\n"
    " JOIN metric m ON m.id=c.metric_id WHERE e.archived=0;\n"
    "CREATE VIEW runs AS\n"
    " SELECT r.id run,e.name experiment,v.name row,v.change,r.seed," STATUS ",r.recorded,r.attempt attempts,"
    "r.step,r.total_steps steps,\n"
    "  " ISO("r.queued_at") " queued," ISO("r.started_at") " started," ISO("r.ended_at") " ended,\n"
    "  round(coalesce((SELECT CAST(value AS REAL) FROM tag WHERE run_id=r.id AND tag='run_seconds'),"
    "r.ended_at-r.started_at),1) seconds,a.host,a.device,a.git_commit,a.git_dirty,a.parameters,"
    "a.flops_step,a.tokens_second,\n"
    "  a.peak_memory,a.exit_code,a.term_signal signal,a.error,a.log_path log,v.config_hash,v.config_json settings\n"
    RUNS_OF LAST_ATTEMPT IN_FORCE
    "CREATE VIEW curves AS\n"
    " SELECT r.id run,e.name experiment,v.name row,r.seed,m.name metric,p.step,p.value\n"
    RUNS_OF " JOIN point p ON p.run_id=r.id JOIN metric m ON m.id=p.metric_id\n" IN_FORCE
    "CREATE VIEW plugins_used AS\n"
    " SELECT r.id run,e.name experiment,v.name row,r.seed,j.key setting,\n"
    "  CASE j.type WHEN 'object' THEN json_extract(j.value,'$.name') ELSE j.key END plugin,\n"
    "  CASE j.type WHEN 'object' THEN json_extract(j.value,'$.sha256') ELSE j.value END sha256,\n"
    "  CASE j.type WHEN 'object' THEN json_extract(j.value,'$.file') END file\n"
    RUNS_OF LAST_ATTEMPT " JOIN json_each(a.plugins_json) j\n" IN_FORCE, NULL};

/* ---- Migrations from each older version, called by db_steps in open.c; results_views makes the views ---- */

const char results_from_1[] =
    "ALTER TABLE experiment ADD COLUMN analysis TEXT CHECK(analysis IS NULL OR json_valid(analysis));\n" TABLES_2;

const char results_from_2[] = TABLES_3 "ALTER TABLE experiment ADD COLUMN view_name TEXT;\n";

/* Times of points count from the experiment's creation: SQLite stores them in 2 or 3 bytes instead of 4. */
const char results_from_3[] =
    "ALTER TABLE point RENAME COLUMN t TO seconds;\n"
    "UPDATE point SET seconds=CAST(seconds AS INTEGER)-" CREATED_OF("run_id") " WHERE seconds IS NOT NULL;\n";

/* Columns get full words as names; `place`, since `position` is a setting. Published numbers are written again. */
const char results_from_4[] =
    "DROP INDEX IF EXISTS result_value;\n"
    "ALTER TABLE variant RENAME COLUMN grp TO group_name; ALTER TABLE variant RENAME COLUMN ord TO place;\n"
    "ALTER TABLE alias RENAME COLUMN grp TO group_name; ALTER TABLE alias RENAME COLUMN ord TO place;\n"
    "ALTER TABLE run RENAME COLUMN ord TO place; ALTER TABLE metric RENAME COLUMN goal TO direction;\n"
    "ALTER TABLE result RENAME COLUMN how TO checkpoint; ALTER TABLE published RENAME COLUMN tbl TO table_name;\n"
    "ALTER TABLE published RENAME COLUMN ord TO place; ALTER TABLE published RENAME COLUMN col_ord TO col_place;\n";

/* Rows of older databases count as planned, because nobody knows when they were added. */
const char results_from_5[] = "ALTER TABLE variant ADD COLUMN exploratory INTEGER NOT NULL DEFAULT 0;\n"
                              "DELETE FROM compared;\n" /* this version computes comparisons differently */
                              "DROP INDEX IF EXISTS result_value;\n"
                              "ALTER TABLE result ADD COLUMN unit TEXT;\n"
                              "ALTER TABLE result ADD COLUMN aggregation TEXT;\n" INDEX_4;

/* Only views change: they show diverged runs, and run times by a monotonic clock. */
const char results_from_6[] = "";
