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
    bool data_default;    /* $ABLATE_DATA is not set */
    db_options db;
    const char *usual_db; /* db.path without --db */
} places;

/* Services for plugins, plugin folders. To be called once, first. */
void run_setup(const places *p);
/* Path of the trained model of a run (its id or experiment/row), as the database knows it; NULL and words.
 * The caller frees. */
char *run_model_path(const char *run, const places *p, err *e);
/* The most that an option may say, as the INI has it for the key of that name. */
enum { MOST_THREADS = 4096, MOST_BEAM = 1000, MOST_BATCH = 65536 };

/* Where checkpoints, models and logs of p's database lie. The caller frees. */
char *runs_folder(const places *p);
/* The plugins at hand, as the INI reader wants them. */
const plugin_schemas *run_schemas(void);
#endif
