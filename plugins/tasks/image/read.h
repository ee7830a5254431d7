/* read.h - grey images and their classes from IDX files (the format of MNIST, LeCun and Cortes 1998: big-endian) and
 * PGM files (netpbm's P2 and P5; several P5 images may follow one another in a file). */
#ifndef IMAGE_READ_H
#define IMAGE_READ_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint16_t *level;          /* levels 0 .. levels - 1, [n][height][width], row by row */
    int64_t n, height, width; /* all images have the same size */
    int64_t max;              /* value of white, set before reading; 0: from the format or the file */
    int64_t levels;           /* number of grey levels, set before reading; 0: as in the first file */
    char first[256];          /* the first file, whose size all images must have */
} images;

typedef struct {
    uint8_t *class;
    int64_t n;
} classes;

/* Appends the images of a file, or of all *.pgm in a folder, by name. A value v becomes the level v levels / (max + 1),
 * rounded down. Returns 0, or -1 and why: file, byte, what was found and what was expected. */
int images_read(images *to, const char *path, char *why, size_t n_why);
/* Appends the images in a file's bytes; path is for messages. */
int images_parse(images *to, const char *path, const uint8_t *byte, size_t n, char *why, size_t n_why);
void images_free(images *x);

/* Appends the classes of an IDX file of one dimension. Errors as images_read. */
int classes_read(classes *to, const char *path, char *why, size_t n_why);
int classes_parse(classes *to, const char *path, const uint8_t *byte, size_t n, char *why, size_t n_why);
void classes_free(classes *x);
#endif
