/* event.h - events that a worker process sends to the host over its pipe: one line per event, fields separated by tabs.
 *
 * Fields are texts with tab, line end and backslash escaped (\t \n \\), numbers in full precision. The host
 * alone writes the database. A worker whose host is gone gets EPIPE: events_broken becomes true, and it
 * writes a checkpoint and exits.
 *
 *   phase     NAME                                       current phase: data, train, decode, score
 *   progress  STEP TOTAL PPL TOKENS_PER_SECOND           at most a few per second
 *   point     METRIC STEP VALUE                          a point of a curve
 *   result    METRIC GOAL SIGNATURE VALUE STEP HOW N WIDTH V V V ...    per-sentence statistics at the end
 *   fact      KEY VALUE                                  device, parameters, tokens_second, plugins_json, ...
 *   artifact  KIND PATH                                  a file that the run wrote
 *   error     WORDS                                      why it failed; the exit status follows
 *   diverged  WORDS
 *   stopped                                              it was asked to stop, and its checkpoint is written
 *   end                                                  the last line of a worker that finished: without it, exit
 *                                                        status 0 means that a plugin or library called exit
 *   idle                                                 after `end`: the process waits for another run
 * A worker that stays (--stay) reads each further run as a line on its standard input: run FOLDER SEED FRESH. One that
 * may get more threads (--lend) reads their number there: threads N. */
#ifndef ABLATE_EVENT_H
#define ABLATE_EVENT_H
#include "text/metric/metric.h"
#include "base/base.h"

/* exit statuses of a worker */
enum { WORKER_DONE = 0, WORKER_FAILED = 1, WORKER_DIVERGED = 3, WORKER_STOPPED = 75 };

/* ---- worker's side ---- */
void events_open(int fd); /* from now on events are written to fd; -1: to no file. SIGPIPE is ignored */
bool events_broken(void); /* the host is gone, or a line was lost; no more events are sent */
void event_phase(const char *name);
/* sends nothing within 0.3 s of the last progress, unless the step is the last */
void event_progress(int64_t step, int64_t total, double ppl, double tokens_per_second);
void event_point(const char *metric, int64_t step, double value);
/* stats: [n][width of m->sum], or NULL */
void event_result(const metric *m, const char *signature, double value, int64_t step, const char *how, size_t n,
                  const double *stats);
void event_fact(const char *key, const char *value);
void event_fact_number(const char *key, double value);
void event_artifact(const char *kind, const char *path);
void event_error(const char *message);
void event_diverged(const char *message);
void event_stopped(void);
void event_end(void);
void event_idle(void);
/* Reads the next run from `from`. Returns 1; 0 at the end; -1 for another line. The caller frees *folder. */
int event_next(FILE *from, char **folder, int64_t *seed, bool *fresh);
/* Returns the newest number of threads since the last call, from a non-blocking descriptor; 0: none came. */
int event_threads(int fd);

/* ---- host's side ---- */
/* Write the lines that event_next and event_threads read. */
void event_run_line(str *out, const char *folder, int64_t seed, bool fresh);
void event_threads_line(str *out, int threads);
enum { EVENT_RESULT_FIELDS = 12 }; /* fields of event_result's line; the last has all statistics */
/* Splits a line in place into at most `max` unescaped fields, the last with the rest; returns their number. */
int event_split(char *line, char **field, int max);
/* Reads the rows x width numbers of a result's last field; NULL if there are fewer numbers. The caller frees. */
double *event_stats(const char *field, size_t rows, size_t width);
#endif
