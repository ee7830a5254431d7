/* serve.h - the page of an experiment over HTTP, for browsers on this machine. */
#ifndef ABLATE_REPORT_SERVE_H
#define ABLATE_REPORT_SERVE_H
#include "results/read.h"

enum { SERVE_PORT = 8765 };
/* Listens on 127.0.0.1 alone until the process is ended; port 0: any that is free. Prints the address on standard error. The page asks
 * for the database's state every two seconds and renews itself. Returns -1 and words when it cannot listen. */
int serve_page(reader *r, const char *name, int port, err *e);
#endif
