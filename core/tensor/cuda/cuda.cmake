# The CUDA backend, twice: as a module for GPUs, built by nvcc (target ablate_cuda: if there is a GPU, the launcher
# builds it after the program; ABLATE_CUDA=ON makes it a part of every build), and as a library of the same kernels
# built by the C++ compiler for the CPU (gpu.h), which the tests in tests/shim link (tests/shim/shim.cmake).
file(GLOB cuda_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.cu)
file(GLOB cuda_host CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.c
  ${CMAKE_SOURCE_DIR}/core/tensor/cuda/cudnn/*.c)

# cuDNN is used if its header is found; the library itself is searched for at run time (library.c).
find_path(CUDNN_HEADER cudnn.h HINTS ENV CUDNN_HOME ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
find_path(CUDA_HEADER cuda_runtime.h HINTS ${CUDNN_HEADER} ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
set(have_cudnn)
if(CUDNN_HEADER AND CUDA_HEADER)
  set(have_cudnn HAVE_CUDNN)
endif()

find_path(CUBLASLT_HEADER cublasLt.h HINTS ${CUDA_HEADER} ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)

# Headers inside the module with which NVRTC compiles generated programs.
set(nvrtc_headers api/ab_plugin.h api/ab_task.h api/ab_host.h base/linkage.h tensor/graph/op.h tensor/cuda/gpu.h
  tensor/cuda/runtime.h tensor/cuda/vec8.h tensor/cuda/attention.h tensor/cuda/attend_tile.h tensor/cuda/functions.h
  tensor/cuda/score.h tensor/cuda/score_tile.h tensor/cuda/attend_score.h tensor/cuda/hopper.h
  tensor/cuda/attend_wgmma.h)
list(TRANSFORM nvrtc_headers PREPEND ${CMAKE_SOURCE_DIR}/core/ OUTPUT_VARIABLE nvrtc_files)
set(embedded ${CMAKE_BINARY_DIR}/kernel_headers.c)
add_custom_command(OUTPUT ${embedded} DEPENDS ${nvrtc_files} ${CMAKE_SOURCE_DIR}/core/tensor/cuda/embed_headers.cmake
  VERBATIM COMMENT "headers for NVRTC"
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}/core "-DHEADERS=${nvrtc_headers}" -DTO=${embedded} -P
  ${CMAKE_SOURCE_DIR}/core/tensor/cuda/embed_headers.cmake)
list(APPEND cuda_host ${embedded})

include(${CMAKE_SOURCE_DIR}/tests/shim/shim.cmake)

# ---- for GPUs --------------------------------------------------------------------------------------------------------
if(ABLATE_SANITIZE OR ABLATE_CUDA STREQUAL "OFF")
  return()
endif()
find_program(NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda/bin)
if(NOT NVCC)
  if(NOT ABLATE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "ABLATE_CUDA=${ABLATE_CUDA}, but nvcc was not found; set CUDA_HOME or PATH, or ABLATE_CUDA=OFF")
  endif()
  return()
endif()
set(CMAKE_CUDA_COMPILER_LAUNCHER "$ENV{CMAKE_CUDA_COMPILER_LAUNCHER}" CACHE STRING "in front of nvcc, such as ccache")
set(nvcc ${CMAKE_CUDA_COMPILER_LAUNCHER} ${NVCC})
execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE nvcc_version)
string(REGEX MATCH "release ([0-9.]+)" nvcc_version "${nvcc_version}")
if(CMAKE_MATCH_1 VERSION_LESS 12.8) # kernels compiled at run time are loaded by cudaLibrary*
  message(FATAL_ERROR "nvcc: ${NVCC} is of CUDA ${CMAKE_MATCH_1}, expected 12.8 or newer, or ABLATE_CUDA=OFF")
endif()
get_filename_component(cuda_home ${NVCC} REALPATH)
get_filename_component(cuda_home ${cuda_home} DIRECTORY)
get_filename_component(cuda_home ${cuda_home} DIRECTORY)
# One pass of the front end serves all: machine code for these GPUs, and PTX, from which a driver makes code for any
# other at or above it.
set(ABLATE_CUDA_PTX 80 CACHE STRING "compute capability of the module's PTX, the least it runs on")
set(ABLATE_CUDA_GPUS 90 CACHE STRING "GPUs that the module has machine code for: 90, or 80;90")
set(codes compute_${ABLATE_CUDA_PTX})
foreach(gpu ${ABLATE_CUDA_GPUS})
  string(APPEND codes ",sm_${gpu}")
endforeach()
set(arch_flags -gencode arch=compute_${ABLATE_CUDA_PTX},code=[${codes}])
foreach(name attend_score attend_score_delta)
  set(flags_${name} --fmad=false) # the bits of NVRTC's kernels, whatever its version (compiled.c)
endforeach()
set(module_objects)
foreach(source ${cuda_kernels})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.h
    ${CMAKE_SOURCE_DIR}/core/tensor/cuda/cudnn/*.h ${CMAKE_SOURCE_DIR}/tests/shim/gpu_emulation.h)
  # the log lists each kernel's registers and memory; tests/cuda/spills.sh reads it
  add_custom_command(OUTPUT ${object} DEPENDS ${source} ${headers} VERBATIM COMMENT "nvcc ${name}.cu"
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
    COMMAND ${nvcc} -std=c++17 -O3 -lineinfo ${arch_flags} ${flags_${name}} -I${CMAKE_SOURCE_DIR}/core
    --compiler-options=-fPIC,-fvisibility=hidden,-Wall
      -Xptxas -v -c ${source} -o ${object} > ${CMAKE_BINARY_DIR}/cuda/${name}.log 2>&1 || ${CMAKE_COMMAND}
      -DLOG=${CMAKE_BINARY_DIR}/cuda/${name}.log -P ${CMAKE_SOURCE_DIR}/core/tensor/cuda/show_log.cmake)
  list(APPEND module_objects ${object})
endforeach()
add_library(ablate_cuda MODULE ${cuda_host} ${module_objects})
set_source_files_properties(${module_objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(ablate_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE CXX C_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/backends)
target_include_directories(ablate_cuda PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_include_directories(ablate_cuda SYSTEM PRIVATE ${cuda_home}/include)
target_compile_definitions(ablate_cuda PRIVATE ${have_cudnn} "CUDA_GPUS=$<JOIN:${ABLATE_CUDA_GPUS},$<COMMA>>")
target_include_directories(ablate_cuda SYSTEM PRIVATE ${CUDNN_HEADER})
target_link_libraries(ablate_cuda PRIVATE ${cuda_home}/lib64/libcudart_static.a dl rt pthread)
set(where_built OPTIONAL) # installed only if it was built
if(ABLATE_CUDA STREQUAL "ON")
  set(where_built)
else()
  set_target_properties(ablate_cuda PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
install(TARGETS ablate_cuda DESTINATION lib/ablate/backends ${where_built})
include(${CMAKE_SOURCE_DIR}/tests/shim/gpu_tests.cmake)
