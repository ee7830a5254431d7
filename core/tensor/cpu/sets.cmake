# One build for every processor of a family: kernels are compiled once per instruction set, and the best set is chosen
# at run time (core/tensor/cpu/isa.h).
#
# ab_sets(TARGET TABLE source...) compiles the sources once per set and adds the results to TARGET. All sources of a set
# become one object in which only TABLE, a constant that they define, stays global, under the name TABLE_<set>. So the
# sources need no suffixes, and no function compiled with AVX-512 can be linked into code that runs without.
set(ABLATE_SETS generic)
set(flags_generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND ABLATE_SETS avx2 avx512 avx512_bf16)
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512)
  set(flags_avx512_bf16 ${flags_avx512} -mavx512bf16 -mamx-tile -mamx-bf16) # AMX: only where isa.h says so
endif()
set(level -O3)
if(ABLATE_SANITIZE)
  set(level -O1) # instrumented loops take minutes to optimise
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(level)
endif()
set(ABLATE_FAST ${level} -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi)
if(ABLATE_FUZZ) # fuzzed are readers of files; under coverage a file of kernels takes minutes
  list(APPEND ABLATE_FAST -fno-sanitize=all)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # a b + c is one instruction in every set that has it, in chains too: gcc 14 would leave them apart in AVX2 alone, and
  # the sets would differ
  list(APPEND ABLATE_FAST --param=avoid-fma-max-bits=0)
endif()

function(ab_sets target table)
  foreach(set ${ABLATE_SETS})
    set(objects ${target}_${set})
    add_library(${objects} OBJECT ${ARGN})
    target_include_directories(${objects} PRIVATE ${CMAKE_SOURCE_DIR}/core)
    target_link_libraries(${objects} PRIVATE OpenMP::OpenMP_C)
    target_compile_options(${objects} PRIVATE ${ABLATE_FAST} ${flags_${set}})
    set(one ${CMAKE_BINARY_DIR}/sets/${objects}.o)
    add_custom_command(OUTPUT ${one}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/sets
      COMMAND ${CMAKE_LINKER} -r -o ${one}.all $<TARGET_OBJECTS:${objects}>
      COMMAND ${CMAKE_OBJCOPY} --redefine-sym ${table}=${table}_${set} # LLVM's keeps the old name, GNU's the new one
      # clang's locks of critical sections are common symbols, which must not become local: they would get no memory
      --wildcard --keep-global-symbol=.gomp_critical*
      --keep-global-symbol=${table} --keep-global-symbol=${table}_${set} ${one}.all ${one}
      DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Linking the kernels for ${set}")
    set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${one})
  endforeach()
endfunction()
