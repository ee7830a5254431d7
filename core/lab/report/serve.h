/* serve.h - the page of an experiment over HTTP, for browsers on this machine. */
#ifndef ABLATE_REPORT_SERVE_H
#define ABLATE_REPORT_SERVE_H
#include "lab/results/read.h"

enum { SERVE_PORT = 8765 };
/* Listens on 127.0.0.1 only, until the process ends; port 0: any free port. Prints the address on standard error. The
 * page asks for the state every two seconds and reloads itself when there is a new page. Returns -1 and a message if it
 * cannot listen, or there is no such experiment. */
int serve_page(const db_options *o, const char *name, int port, err *e);
#endif
