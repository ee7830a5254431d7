/* run.h - the main job of ablate: a sweep from its INI to its table. */
#ifndef ABLATE_RUN_H
#define ABLATE_RUN_H
#include "config/spec.h"
#include "graph/tape.h"
#include "results/db.h"

typedef struct {          /* where things are; all absolute */
    const char *program;  /* this executable */
    const char *root;     /* folder of runs/ and results.db: the checkout, or the working folder */
    const char *data_dir; /* $ABLATE_DATA, or root/data */
    db_options db;
} places;

/* Services for plugins, plugin folders. To be called once, first. */
void run_setup(const places *p);
/* Path of the trained model of a run (its id or experiment/row), as the database knows it; NULL and words.
 * The caller frees. */
char *run_model_path(const char *run, const places *p, err *e);
/* An option's number from 1 to `most`, as the INI has it for the key of that name. */
enum { MOST_THREADS = 4096, MOST_BEAM = 1000, MOST_BATCH = 65536 };
int take_count(const char *name, const char *value, int64_t most, int64_t *out, err *e);

/* The plugins at hand, as the INI reader wants them. */
const plugin_schemas *run_schemas(void);

int run_command(int argc, char **argv, const places *p);    /* ablate run SPEC.ini ... */
int worker_command(int argc, char **argv, const places *p); /* ablate worker: one run, started by the host */
int translate_command(int argc, char **argv, const places *p); /* ablate translate */
int attention_command(int argc, char **argv, const places *p); /* ablate attention */
int parse_command(int argc, char **argv, const places *p);     /* ablate parse */
/* ablate completion bash; names: [n_names] of all commands. */
int completion_words(int argc, char **argv, const char *const *names, size_t n_names, const places *p);
int agree_command(int argc, char **argv, const places *p);     /* ablate agree FILE FILE... */
int plugins_command(int argc, char **argv, const places *p);
int bench_command(int argc, char **argv, const places *p); /* ablate bench: speed */
int devices_command(int argc, char **argv, const places *p);
#endif
