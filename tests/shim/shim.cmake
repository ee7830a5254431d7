# The kernels on the CPU (gpu.h), as a library and as a module, the tests of tests/shim with them, and stand-ins for
# NVIDIA's libraries. Included by cuda.cmake.
set(shim_kernels ${cuda_kernels})
list(FILTER shim_kernels EXCLUDE REGEX "/runtime\\.cu$")
add_library(ab_shim_objects OBJECT ${shim_kernels} ${cuda_host} tests/shim/gpu_emulation.cc tests/shim/gpu_streams.cc
  tests/shim/gpu_fibers.cc tests/shim/gpu_shared.cc tests/shim/gpu_hopper.cc)
# fmaf is a call of the C library unless the compiler may take the instruction of the machine, on which all this runs
set(machine)
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo machine REGEX "^flags.* fma " LIMIT_COUNT 1)
endif()
set_source_files_properties(${shim_kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
  "-xc++;-Wno-unused-function;-ffp-contract=off;$<$<BOOL:${machine}>:-mfma>")
target_compile_definitions(ab_shim_objects PRIVATE GPU_ON_CPU CUDA_GPUS=80,90)
target_include_directories(ab_shim_objects PUBLIC ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
set_target_properties(ab_shim_objects PROPERTIES EXCLUDE_FROM_ALL ON)
if(ABLATE_SANITIZE)
  target_compile_options(ab_shim_objects PRIVATE -fno-sanitize=pointer-overflow) # as core/tensor/cpu/sets.cmake has it
endif()
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
target_include_directories(standin_nccl PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
target_link_libraries(standin_nccl PRIVATE dl rt)
list(APPEND stand_ins standin_nccl)
# The emulation as the program's backend: ABLATE_CUDA_MODULE=build/tests/emulated_cuda.so gives `ablate --device cuda`
# an emulated GPU.
add_library(emulated_cuda MODULE $<TARGET_OBJECTS:ab_shim_objects> tests/shim/emulated_module.c)
set_target_properties(emulated_cuda PROPERTIES PREFIX "" LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY
  ${CMAKE_BINARY_DIR}/tests)
target_compile_definitions(emulated_cuda PRIVATE SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_include_directories(emulated_cuda PRIVATE ${CMAKE_SOURCE_DIR}/core ${CMAKE_SOURCE_DIR}/tests/shim)
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
  target_link_libraries(cuda_test_runtime PRIVATE ab_base)
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
