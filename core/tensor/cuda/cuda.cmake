# The CUDA backend, twice: as a module for GPUs, built by nvcc (target ablate_cuda: where there is a GPU, the launcher
# builds it after the program; ABLATE_CUDA=ON makes it a part of every build), and as a library of the same kernels
# built by the C++ compiler for the CPU (gpu.h), which the tests in tests/shim link.
file(GLOB cuda_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.cu)
file(GLOB cuda_host CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.c
  ${CMAKE_SOURCE_DIR}/core/tensor/cuda/cudnn/*.c)

# cuDNN is called where its header is; the library itself is looked for at run time (library.c).
find_path(CUDNN_HEADER cudnn.h HINTS ENV CUDNN_HOME ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
find_path(CUDA_HEADER cuda_runtime.h HINTS ${CUDNN_HEADER} ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
set(have_cudnn)
if(CUDNN_HEADER AND CUDA_HEADER)
  set(have_cudnn HAVE_CUDNN)
endif()

find_path(CUBLASLT_HEADER cublasLt.h HINTS ${CUDA_HEADER} ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)

# What NVRTC compiles generated programs with, inside of the module.
set(nvrtc_headers api/ab_plugin.h api/ab_task.h api/ab_host.h tensor/graph/op.h tensor/cuda/gpu.h tensor/cuda/runtime.h
  tensor/cuda/vec8.h tensor/cuda/attention.h tensor/cuda/attend_tile.h tensor/cuda/functions.h tensor/cuda/score.h
  tensor/cuda/score_tile.h tensor/cuda/attend_score.h tensor/cuda/hopper.h tensor/cuda/attend_wgmma.h)
list(TRANSFORM nvrtc_headers PREPEND ${CMAKE_SOURCE_DIR}/core/ OUTPUT_VARIABLE nvrtc_files)
set(embedded ${CMAKE_BINARY_DIR}/kernel_headers.c)
add_custom_command(OUTPUT ${embedded} DEPENDS ${nvrtc_files} ${CMAKE_SOURCE_DIR}/core/tensor/cuda/embed_headers.cmake
  VERBATIM COMMENT "headers for NVRTC"
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR}/core "-DHEADERS=${nvrtc_headers}" -DTO=${embedded} -P
  ${CMAKE_SOURCE_DIR}/core/tensor/cuda/embed_headers.cmake)
list(APPEND cuda_host ${embedded})

# ---- for tests: kernels on the CPU -----------------------------------------------------------------------------------
set(shim_kernels ${cuda_kernels})
list(FILTER shim_kernels EXCLUDE REGEX "/runtime\\.cu$")
add_library(ab_shim_objects OBJECT ${shim_kernels} ${cuda_host} tests/shim/gpu_emulation.cc tests/shim/gpu_streams.cc
  tests/shim/gpu_fibers.cc tests/shim/gpu_shared.cc tests/shim/gpu_hopper.cc)
set_source_files_properties(${shim_kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
  "-xc++;-Wno-unused-function;-ffp-contract=off")
target_compile_definitions(ab_shim_objects PRIVATE GPU_ON_CPU)
target_include_directories(ab_shim_objects PUBLIC ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
set_target_properties(ab_shim_objects PROPERTIES EXCLUDE_FROM_ALL ON)
add_library(ab_shim STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ab_shim_objects>)
target_include_directories(ab_shim PUBLIC ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
target_link_libraries(ab_shim PUBLIC ab_graph ab_comm)
# Stand-ins for NVIDIA's libraries, where their headers are. What they need of the kernels' runtime is in the program
# that loads them.
function(ab_stand_in name) # sources...
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_compile_definitions(${name} PRIVATE GPU_ON_CPU)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
  target_include_directories(${name} SYSTEM PRIVATE ${CUDNN_HEADER} ${CUDA_HEADER})
  set(stand_ins ${stand_ins} ${name} PARENT_SCOPE)
endfunction()
set(stand_ins)
if(have_cudnn)
  target_compile_definitions(ab_shim_objects PRIVATE CUDNN_FILE="${CMAKE_BINARY_DIR}/fake_cudnn.so")
  foreach(target ab_shim_objects ab_shim)
    target_compile_definitions(${target} PUBLIC HAVE_CUDNN)
    target_include_directories(${target} SYSTEM PUBLIC ${CUDNN_HEADER} ${CUDA_HEADER})
  endforeach()
  ab_stand_in(fake_cudnn tests/shim/fake_cudnn.c tests/shim/fake_graph.c)
endif()
if(CUBLASLT_HEADER AND CUDA_HEADER) # asked for by ABLATE_PRODUCT=library
  foreach(target ab_shim_objects ab_shim)
    target_compile_definitions(${target} PUBLIC HAVE_CUBLASLT)
    target_include_directories(${target} SYSTEM PUBLIC ${CUDA_HEADER})
  endforeach()
  ab_stand_in(fake_cublaslt tests/shim/fake_cublaslt.c)
endif()
# A library in the place of NCCL's, for ranks on GPUs.
add_library(standin_nccl MODULE tests/shim/standin_nccl.c)
set_target_properties(standin_nccl PROPERTIES PREFIX "" OUTPUT_NAME libnccl SUFFIX .so.2 LIBRARY_OUTPUT_DIRECTORY
  ${CMAKE_BINARY_DIR}/tests)
target_compile_definitions(standin_nccl PRIVATE GPU_ON_CPU)
target_include_directories(standin_nccl PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(standin_nccl PRIVATE dl rt)
list(APPEND stand_ins standin_nccl)
# The same as the program's backend: ABLATE_CUDA_MODULE=build/tests/emulated_cuda.so gives `ablate --device cuda` a GPU
# that is none.
add_library(emulated_cuda MODULE $<TARGET_OBJECTS:ab_shim_objects> tests/shim/emulated_module.c)
set_target_properties(emulated_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY
  ${CMAKE_BINARY_DIR}/tests)
target_compile_definitions(emulated_cuda PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_include_directories(emulated_cuda PRIVATE ${CMAKE_SOURCE_DIR}/core)
target_link_libraries(emulated_cuda PRIVATE dl)
# a module takes errors, tapes and strings from the program that opens it
set_target_properties(ablate PROPERTIES ENABLE_EXPORTS ON)
add_dependencies(unit_tests emulated_cuda)
if(stand_ins)
  add_dependencies(emulated_cuda ${stand_ins})
endif()
# NCCL's header, where it is, is held against our declarations.
find_path(NCCL_HEADER nccl.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES include)
if(NCCL_HEADER AND CUDA_HEADER)
  add_library(nccl_header OBJECT tests/shim/nccl_header.c)
  target_include_directories(nccl_header PRIVATE ${CMAKE_SOURCE_DIR}/core)
  target_include_directories(nccl_header SYSTEM PRIVATE ${NCCL_HEADER} ${CUDA_HEADER})
  add_dependencies(unit_tests nccl_header)
endif()
# runtime.cu by the C++ compiler, against stand-ins for the CUDA runtime
if(CUDA_HEADER)
  add_executable(cuda_test_runtime tests/cuda/test_runtime.cc)
  target_include_directories(cuda_test_runtime PRIVATE ${CMAKE_SOURCE_DIR}/core)
  target_include_directories(cuda_test_runtime SYSTEM PRIVATE ${CUDA_HEADER})
  add_dependencies(unit_tests cuda_test_runtime)
  add_test(NAME cuda/test_runtime COMMAND cuda_test_runtime)
  set_tests_properties(cuda/test_runtime PROPERTIES LABELS unit)
endif()
# a library with a name of its own, for test_lt
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/stand_in.c CONTENT "int stand_in(void);\nint stand_in(void) { return 7; }\n")
add_library(stand_in MODULE ${CMAKE_BINARY_DIR}/stand_in.c)
set_target_properties(stand_in PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINK_FLAGS
  -Wl,-soname,libablate_stand_in.so.7)
set(stand_ins ${stand_ins} stand_in)
file(GLOB shim_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/shim/test_*.c)
foreach(source ${shim_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(shim_${name} ${source})
  target_compile_definitions(shim_${name} PRIVATE GPU_ON_CPU SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_include_directories(shim_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/tests/shim)
  target_link_libraries(shim_${name} PRIVATE ab_shim ab_check ab_decode ab_train stdc++)
  set_target_properties(shim_${name} PROPERTIES ENABLE_EXPORTS ON) # for the stand-ins
  add_dependencies(unit_tests shim_${name})
  if(stand_ins)
    add_dependencies(shim_${name} ${stand_ins})
  endif()
  add_test(NAME shim/${name} COMMAND shim_${name})
  set_tests_properties(shim/${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT ${test_seconds} ENVIRONMENT
    "${test_environment}")
endforeach()
# the emulation alone, with the kernel of uploads
set(emulation "$<FILTER:$<TARGET_OBJECTS:ab_shim_objects>,INCLUDE,/(gpu_[a-z]+[.]cc|uploads[.]cu)[.]o$>")
add_executable(shim_planted tests/shim/planted.cu ${emulation})
set_source_files_properties(tests/shim/planted.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
target_compile_definitions(shim_planted PRIVATE GPU_ON_CPU)
target_include_directories(shim_planted PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
add_dependencies(unit_tests shim_planted)
add_test(NAME shim/planted COMMAND bash ${CMAKE_SOURCE_DIR}/tests/shim/planted.sh $<TARGET_FILE:shim_planted>
  ${ABLATE_SANITIZE})
set_tests_properties(shim/planted PROPERTIES LABELS unit)
add_test(NAME shim/wgmma_breaks COMMAND bash ${CMAKE_SOURCE_DIR}/tests/shim/wgmma_breaks.sh
  $<TARGET_FILE:shim_test_wgmma>)
set_tests_properties(shim/wgmma_breaks PROPERTIES LABELS long SKIP_RETURN_CODE 77)
# it opens cuBLASLt, whose start leaks
set_tests_properties(shim/test_lt PROPERTIES ENVIRONMENT "${test_environment};ASAN_OPTIONS=detect_leaks=0")
include(${CMAKE_SOURCE_DIR}/tests/shim/races.cmake)

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
set(flags_attend_score --fmad=false) # the bits of NVRTC's kernels, whatever its version (compiled.c)
set(module_objects)
foreach(source ${cuda_kernels})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/tensor/cuda/*.h
    ${CMAKE_SOURCE_DIR}/core/tensor/cuda/cudnn/*.h ${CMAKE_SOURCE_DIR}/tests/shim/gpu_emulation.h)
  # the log says what each kernel takes of the machine; tests/cuda/spills.sh reads it
  add_custom_command(OUTPUT ${object} DEPENDS ${source} ${headers} VERBATIM COMMENT "nvcc ${name}.cu"
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
    COMMAND ${NVCC} -std=c++17 -O3 -lineinfo ${arch_flags} ${flags_${name}} -I${CMAKE_SOURCE_DIR}/core
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
target_compile_definitions(ablate_cuda PRIVATE ${have_cudnn})
target_include_directories(ablate_cuda SYSTEM PRIVATE ${CUDNN_HEADER})
target_link_libraries(ablate_cuda PRIVATE ${cuda_home}/lib64/libcudart_static.a dl rt pthread)
set(where_built OPTIONAL) # installed if somebody built it
if(ABLATE_CUDA STREQUAL "ON")
  set(where_built)
else()
  set_target_properties(ablate_cuda PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
install(TARGETS ablate_cuda DESTINATION lib/ablate/backends ${where_built})
add_dependencies(all_tests ablate_cuda)
# what NVRTC makes of attend_wgmma.h, for the log
set(source ${CMAKE_SOURCE_DIR}/tests/cuda/wgmma.cu)
set(object ${CMAKE_BINARY_DIR}/cuda/wgmma.o)
add_custom_command(OUTPUT ${object} DEPENDS ${source} ${nvrtc_files} VERBATIM COMMENT "nvcc wgmma.cu"
  COMMAND ${NVCC} -std=c++17 -O3 --fmad=false -gencode arch=compute_90a,code=sm_90a -I${CMAKE_SOURCE_DIR}/core
    -Xptxas -v -c ${source} -o ${object} > ${CMAKE_BINARY_DIR}/cuda/wgmma.log 2>&1)
add_custom_target(cuda_wgmma DEPENDS ${object})
add_dependencies(all_tests cuda_wgmma)
add_test(NAME cuda/spills COMMAND bash ${CMAKE_SOURCE_DIR}/tests/cuda/spills.sh ${CMAKE_BINARY_DIR}/cuda
  ${CMAKE_BINARY_DIR}/backends/ablate_cuda.so ${object})
add_test(NAME cuda/module COMMAND bash ${CMAKE_SOURCE_DIR}/tests/cuda/module.sh ${CMAKE_BINARY_DIR}/ablate
  ${CMAKE_BINARY_DIR}/backends/ablate_cuda.so)
include(${CMAKE_SOURCE_DIR}/core/tensor/cuda/gpu_tests.cmake)
# Has the real cuDNN plans for our graphs? It asks for a driver's library, of which a stub is enough.
add_executable(cuda_test_dnn EXCLUDE_FROM_ALL tests/cuda/test_dnn.c)
target_link_libraries(cuda_test_dnn PRIVATE ab_gpu stdc++)
add_dependencies(all_tests cuda_test_dnn)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
file(CREATE_LINK ${cuda_home}/lib64/stubs/libcuda.so ${CMAKE_BINARY_DIR}/cuda/libcuda.so.1 SYMBOLIC)
add_test(NAME cuda/test_dnn COMMAND cuda_test_dnn)
set_tests_properties(cuda/test_dnn PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
  "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/cuda:${cuda_home}/lib64:$ENV{LD_LIBRARY_PATH}")
set_tests_properties(cuda/spills cuda/module cuda/test_dnn PROPERTIES LABELS long) # they need nvcc's objects
