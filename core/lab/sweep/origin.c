/* origin.c - start_from = EXPERIMENT/ROW@SEED: the model that a run has left becomes the row's file. */
#include "lab/sweep/sweep.h"
#include "lab/results/read.h"
#include <stdlib.h>

static const char *origin_of(const spec_row *row)
{
    const char *text = settings_get(&row->settings, "start_from");
    return row->run && text && *text && !file_exists(text) ? text : NULL;
}

int check_origins(const spec *s, const db_options *where, prepared *out, err *e)
{
    reader *r = NULL;
    int rc = 0;
    for (size_t i = 0; i < s->n_rows && !rc; i++) {
        const char *text = origin_of(&s->rows[i]);
        err why = {0};
        if (!text) continue;
        if (!r) r = reader_open_any(where, &why);
        char *path = r ? reader_model(r, text, &why) : NULL;
        if (!path)
            rc = fail(e, "row %s: start_from = %s: found no such file, nor such a run: %s", s->rows[i].name, text,
                      why.text);
        else if (out)
            prepared_choose(out, s->rows[i].name, "start_from", path);
        free(path);
    }
    reader_close(r);
    return rc;
}
