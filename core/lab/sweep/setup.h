/* setup.h - prepares every command: folders, services for plugins, plugin folders. */
#ifndef ABLATE_SETUP_H
#define ABLATE_SETUP_H
#include "lab/config/spec.h"
#include "base/cleanup.h"
#include "lab/results/db.h"

typedef struct {          /* absolute paths */
    const char *program;  /* this executable */
    const char *root;     /* folder of runs/ and results.db: $ABLATE_HOME or the working folder */
    const char *data_dir; /* $ABLATE_DATA, or root/data */
    bool data_default;    /* $ABLATE_DATA is not set */
    db_options db;
} places;

/* Sets up services for plugins and plugin folders. Call once, first. */
void run_setup(void);
/* Upper limits of options, equal to those of the INI keys. */
enum { MOST_THREADS = 4096, MOST_BEAM = 1000, MOST_BATCH = 65536 };

/* Returns the available plugins, for the INI reader. */
const plugin_schemas *run_schemas(void);
#endif
