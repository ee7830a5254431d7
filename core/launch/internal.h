/* internal.h - shared by launch.c (the loop), worker_process.c (one process), provenance.c (where the code
 * comes from) and progress.c (what people see). */
#ifndef ABLATE_LAUNCH_INTERNAL_H
#define ABLATE_LAUNCH_INTERNAL_H
#include "launch/event.h"
#include "launch/launch.h"
#include <sys/types.h>

typedef struct {
    db_claim claim;
    pid_t pid; /* 0: no process */
    int fd;    /* its events; -1: closed */
    bool gone; /* its process has ended and was waited for */
    char *folder, *log, *argv_json;
    str buffer; /* events not yet ended by a line end */
    char phase[24], device[24]; /* "cpu", "cuda:1" */
    int64_t step, total, first_step;
    double ppl, tokens_per_second, dev_ppl;
    double started, first_tick; /* ticks(): of the process, of its first progress */
    bool diverged, ended; /* ended: it has told its last line */
    char error[2048];
    char scores[256];    /* "  PPL 5.31  BLEU 24.9": its results so far, in words */
    db_provenance facts; /* texts owned by `texts` */
    arena texts;
} worker;

/* Starts the process with its events on fd 3 and its output in FOLDER/log.txt. */
int worker_start(worker *w, int slot, const launch_options *o, int threads, err *e);
void worker_clear(worker *w);

typedef struct {
    char host[256];
    char *commit, *diff; /* NULL: not a checkout; diff "": nothing was changed */
} provenance;

void provenance_find(provenance *p, const launch_options *o);
void provenance_put(const provenance *p, worker *w); /* into w->facts; p must outlive them */
void provenance_free(provenance *p);

typedef struct {
    enum progress_mode mode; /* never AUTO */
    size_t total, done, failed, killed, skipped, running;
    int lines_drawn;
    double started, finished_seconds; /* of runs finished in this call, added up */
    double tokens;                    /* source and target, trained on in this call by runs that finished training */
    size_t finished;
    double last_draw;
    int workers;
} progress;

void progress_begin(progress *p, const launch_options *o);
/* A lasting line; none in the modes json and none. */
void progress_line(progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* start, eval, or an end: done, diverged, failed, killed, stopped, lost. */
void progress_event(progress *p, const worker *w, const char *what, double value);
void progress_interrupted(progress *p, int times, int workers);
void progress_draw(progress *p, const worker *w, size_t n, bool now); /* tty only; a few times a second */
void progress_end(progress *p, const char *resume); /* resume: after an interrupt, the command that goes on */
#endif
