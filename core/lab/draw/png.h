/* png.h - pixels as a PNG file. */
#ifndef ABLATE_DRAW_PNG_H
#define ABLATE_DRAW_PNG_H
#include "base/base.h"

/* rgb [height][width][3], 8 bits each: a PNG file, appended. */
void png_write(const unsigned char *rgb, int width, int height, str *out);
#endif
