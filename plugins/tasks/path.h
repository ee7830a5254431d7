/* path.h - the paths of a task's files. */
#ifndef ABLATE_TASKS_PATH_H
#define ABLATE_TASKS_PATH_H
#include <stdio.h>

enum { PATH_BYTES = 4096 };
/* Writes the path of the file that the first `length` bytes of `name` name: in the data folder, unless it begins with /
 * or a dot. Returns the path's length, which may exceed the buffer. */
static inline int data_path(char path[PATH_BYTES], const char *data_dir, const char *name, int length)
{
    int own = *name == '/' || *name == '.';
    return snprintf(path, PATH_BYTES, "%s%s%.*s", own ? "" : data_dir, own ? "" : "/", length, name);
}
#endif
