/* progress.c - the progress display of runs, on standard error.
 *
 * On a terminal, a header and one line per running run are redrawn in place. Elsewhere there is one line per
 * start, evaluation, end and failure, and never a carriage return. The mode json prints one object per line.
 * Respects NO_COLOR. */
#include "lab/launch/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void progress_begin(progress *p, const launch_options *o)
{
    p->mode = o->progress;
    const char *term = getenv("TERM");
    if (p->mode == PROGRESS_AUTO)
        p->mode = isatty(2) && term && *term && !same(term, "dumb") ? PROGRESS_TTY : PROGRESS_PLAIN;
    p->started = ticks();
}

const char *launch_span(double seconds, char out[24])
{
    if (!isfinite(seconds) || seconds < 0) return NULL;
    long s = lround(seconds);
    if (s >= 3600)
        snprintf(out, 24, "%ldh%02ld", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, 24, "%ldm%02ld", s / 60, s % 60);
    else
        snprintf(out, 24, "%lds", s);
    return out;
}
static const char *span(double seconds, char out[24])
{
    const char *known = launch_span(seconds, out);
    return known ? known : "?";
}

static const char *many(double x, char out[24]) /* 28.1k */
{
    if (x >= 999500)
        snprintf(out, 24, "%.1fM", x / 1e6);
    else if (x >= 1000)
        snprintf(out, 24, "%.1fk", x / 1e3);
    else
        snprintf(out, 24, "%.0f", x);
    return out;
}

double progress_left(const worker *w)
{
    if (!w->total || w->step <= w->first_step) return NAN;
    double rate = (double)(w->step - w->first_step) / (ticks() - w->first_tick);
    return (double)(w->total - w->step) / rate;
}

/* Estimates the seconds until all runs have ended from the running runs' rates; NaN before any rate is known. */
static double left_of_all(const progress *p, const worker *w, size_t n)
{
    double sum = 0, whole = 0;
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        double rest = w[i].pid ? progress_left(&w[i]) : NAN;
        if (!isfinite(rest)) continue;
        sum += rest;
        whole += rest + ticks() - w[i].started;
        known++;
    }
    double mean = p->finished ? p->finished_seconds / (double)p->finished : whole / (double)known;
    if (p->running > known) sum += mean * (double)(p->running - known); /* runs that have not made a step yet */
    size_t queued = p->total - p->done - p->failed - p->killed - p->skipped - p->running;
    if (queued) sum += mean * (double)queued;
    return sum / (double)(p->workers > 0 ? p->workers : 1);
}

static void erase(progress *p)
{
    for (int i = 0; i < p->lines_drawn; i++) fprintf(stderr, "\033[A\033[2K");
    p->lines_drawn = 0;
}

/* Describes a run in `out`. Leaves out device, perplexity and speed if the line exceeds `columns` characters. */
static void describe(const worker *w, int columns, char *out, size_t n)
{
    char step[24], total[24], speed[24], eta[24];
    int most = columns - 32 > 8 ? columns - 32 : 8; /* characters of the row's name */
    if (!same(w->phase, "train") || !w->total)
        snprintf(out, n, "%s s%lld  %s  %s", w->claim.name, (long long)w->claim.seed, w->device, w->phase);
    else
        snprintf(out, n, "%s s%lld  %s  %s/%s  %s PPL %.4g  %s tok/s  ETA %s", w->claim.name, (long long)w->claim.seed,
                 w->device, many((double)w->step, step), many((double)w->total, total),
                 w->dev_ppl > 0 ? "dev" : "train", w->dev_ppl > 0 ? w->dev_ppl : w->ppl,
                 many(w->tokens_per_second, speed), span(progress_left(w), eta));
    if (strlen(out) > (size_t)columns && same(w->phase, "train") && w->total)
        snprintf(out, n, "%.*s s%lld  %s/%s  ETA %s", most, w->claim.name, (long long)w->claim.seed,
                 many((double)w->step, step), many((double)w->total, total), span(progress_left(w), eta));
}

void progress_draw(progress *p, const worker *w, size_t n, bool now)
{
    if (p->mode != PROGRESS_TTY || (!now && ticks() - p->last_draw < 0.25)) return;
    p->last_draw = ticks();
    struct winsize size = {0};
    if (ioctl(2, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    char eta[24], line[512];
    const char *plain = getenv("NO_COLOR");
    bool color = !plain || !*plain;
    erase(p);
    size_t queued = p->total - p->done - p->failed - p->killed - p->skipped - p->running;
    snprintf(line, sizeof line, "%zu run%s: %zu done, %zu running, %zu queued, %zu failed, %zu skipped  ETA %s",
             p->total, p->total == 1 ? "" : "s", p->done, p->running, queued, p->failed, p->skipped,
             span(left_of_all(p, w, n), eta));
    if (strlen(line) >= size.ws_col)
        snprintf(line, sizeof line, "%zu of %zu runs done, %zu failed  ETA %s", p->done, p->total, p->failed, eta);
    fprintf(stderr, "%s%.*s%s\n", color ? "\033[1m" : "", (int)utf8_prefix(line, size.ws_col - 1u), line,
            color ? "\033[0m" : "");
    p->lines_drawn = 1;
    for (size_t i = 0; i < n && p->lines_drawn < size.ws_row - 1; i++) {
        if (!w[i].pid) continue;
        describe(&w[i], size.ws_col - 3, line, sizeof line);
        fprintf(stderr, "  %.*s\n", (int)utf8_prefix(line, size.ws_col - 3u), line);
        p->lines_drawn++;
    }
    fflush(stderr);
}

void progress_line(progress *p, const char *fmt, ...)
{
    if (p->mode == PROGRESS_NONE || p->mode == PROGRESS_JSON) return;
    erase(p);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

static void json_event(const worker *w, const char *what, double value)
{
    CLEANUP(str_free) str line = {0};
    json_open(&line, NULL, '{');
    json_key_text(&line, "event", what);
    json_key_whole(&line, "run", w->claim.run);
    json_key_text(&line, "row", w->claim.name);
    json_key_whole(&line, "seed", w->claim.seed);
    json_key_whole(&line, "step", w->step);
    json_key_whole(&line, "total", w->total);
    json_key_real(&line, "value", value);
    json_key_real(&line, "tokens_second", w->tokens_per_second);
    if (*w->error) {
        json_key_text(&line, "error", w->error);
        json_key_text(&line, "log", w->log ? w->log : "");
    }
    fprintf(stderr, "%s}\n", str_text(&line));
}

void progress_event(progress *p, const worker *w, const char *what, double value)
{
    char took[24], speed[24];
    if (p->mode == PROGRESS_JSON)
        json_event(w, what, value);
    else if (same(what, "start")) {
        if (p->mode == PROGRESS_PLAIN)
            progress_line(p, "%s  %s s%lld", w->claim.attempt > 1 && !w->claim.anew ? "resume" : "start ",
                          w->claim.name, (long long)w->claim.seed);
    } else if (same(what, "eval")) {
        if (p->mode == PROGRESS_PLAIN)
            progress_line(p, "eval    %s s%lld  step %lld/%lld  dev PPL %.4g  %s tok/s", w->claim.name,
                          (long long)w->claim.seed, (long long)w->step, (long long)w->total, value,
                          many(w->tokens_per_second, speed));
    } else {
        progress_line(p, "%-7s %s s%lld  %s%s%s%s", what, w->claim.name, (long long)w->claim.seed,
                      span(ticks() - w->started, took), same(what, "done") ? w->scores : "", *w->error ? "  " : "",
                      w->error);
    }
}

void progress_interrupted(progress *p, int times, int workers)
{
    const char *first = "interrupted: workers write their checkpoints and exit; "
                        "interrupt again to stop them at once, a third time to kill";
    const char *message = !workers     ? "interrupted"
                          : times == 1 ? first
                          : times == 2 ? "interrupted again: workers stop now"
                                       : "killing the workers";
    if (p->mode == PROGRESS_JSON) {
        fprintf(stderr, "{\"event\":\"interrupted\",\"times\":%d,\"running\":%d}\n", times, workers);
        return;
    }
    progress_line(p, "%s", message);
}

void progress_end(progress *p, const char *resume)
{
    char took[24], speed[24];
    double seconds = ticks() - p->started, rate = p->tokens / seconds; /* the time includes evaluation and decoding */
    CLEANUP(str_free) str json = {0}, killed = {0}, together = {0};
    if (p->mode == PROGRESS_TTY) erase(p);
    if (p->mode == PROGRESS_JSON) {
        str_addf(&json, "{\"event\":\"end\",\"total\":%zu,\"done\":%zu,\"failed\":%zu,\"killed\":%zu,\"skipped\":%zu",
                 p->total, p->done, p->failed, p->killed, p->skipped);
        json_key_real(&json, "tokens_second", rate);
        if (resume) json_key_text(&json, "resume", resume);
        fprintf(stderr, "%s}\n", str_text(&json));
    }
    if (p->killed) str_addf(&killed, "%zu killed, ", p->killed);
    if (p->tokens > 0) str_addf(&together, ", %s tokens/s together", many(rate, speed));
    if (p->total)
        progress_line(p, "%zu run%s: %zu done, %zu failed, %s%zu skipped  in %s%s", p->total, p->total == 1 ? "" : "s",
                      p->done, p->failed, str_text(&killed), p->skipped, span(seconds, took), str_text(&together));
    if (resume && p->mode != PROGRESS_JSON) fprintf(stderr, "interrupted; to resume: %s\n", resume);
}
