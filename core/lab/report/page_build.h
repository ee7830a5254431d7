/* page_build.h - makes an experiment's page in a child process, so that a server can answer meanwhile. All memory that
 * the making takes goes with the child. */
#ifndef ABLATE_REPORT_PAGE_BUILD_H
#define ABLATE_REPORT_PAGE_BUILD_H
#include "lab/results/read.h"
#include <sys/types.h>

typedef struct {
    pid_t pid; /* 0: none is under way */
    int fd;    /* from which the page comes */
    str text;  /* what has come */
    double began;
} page_build;

/* Starts one, with `state` in the page; none may be under way, and no database be open here. 0, or -1 and a message. */
int page_build_start(page_build *b, const db_options *o, const char *name, const char *state, err *e);
/* Takes what has come from b->fd, without waiting unless `wait`. False: it goes on. True: it has ended, and its result
 * is in *page, which is cleared before; or *page is empty and `e` says why. */
bool page_build_take(page_build *b, bool wait, str *page, err *e);
void page_build_end(page_build *b); /* ends it, if one is under way */
#endif
