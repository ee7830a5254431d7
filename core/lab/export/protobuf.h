/* protobuf.h - writes protocol buffers: appends a message's fields to a str. A nested message is first written to its
 * own str. */
#ifndef ABLATE_EXPORT_PROTOBUF_H
#define ABLATE_EXPORT_PROTOBUF_H
#include "base/base.h"

void pb_int(str *out, int field, int64_t v); /* int32, int64, enum, bool */
void pb_double(str *out, int field, double v);
void pb_float(str *out, int field, float v);
void pb_text(str *out, int field, const char *text); /* writes nothing for NULL */
void pb_message(str *out, int field, str *message);  /* appends the message and frees it */
void little_endian(str *out, uint64_t v, size_t bytes);
#endif
