/* serve.h - the page of an experiment over HTTP, for browsers on this machine. */
#ifndef ABLATE_REPORT_SERVE_H
#define ABLATE_REPORT_SERVE_H
#include "lab/results/read.h"

enum { SERVE_PORT = 8765 };
/* Listens on 127.0.0.1 only, until the process ends; port 0: any free port. Prints the address on standard error. The
 * page polls the database's state every two seconds and reloads itself. Returns -1 and a message if it cannot
 * listen. */
int serve_page(reader *r, const char *name, int port, err *e);
#endif
