/* linkage.h - gives the declarations between C_BEGIN and C_END C linkage when C++ includes them. */
#ifndef ABLATE_LINKAGE_H
#define ABLATE_LINKAGE_H
#ifdef __cplusplus
#define C_BEGIN extern "C" {
#define C_END   }
#else
#define C_BEGIN
#define C_END
#endif
#endif
