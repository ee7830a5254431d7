# Writes the headers of the kernels that NVRTC compiles (compiled.c) as a C file: cmake -DROOT=core -DHEADERS=a;b
# -DTO=file.c -P this
set(text "/* made by core/tensor/cuda/embed_headers.cmake */\ntypedef struct {\n    const char *name, *text;\n} kernel_header;\nextern const kernel_header kernel_headers[];\n")
set(list "")
set(number 0)
foreach(header ${HEADERS})
  file(READ ${ROOT}/${header} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "static const char header_${number}[] = {${bytes}0};\n")
  string(REGEX REPLACE "^api/(ab_(task|host).h)" "\\1" name ${header}) # as ab_plugin.h includes them
  string(APPEND list "    {\"${name}\", header_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${TO} "${text}const kernel_header kernel_headers[] = {\n${list}    {0, 0}};\n")
