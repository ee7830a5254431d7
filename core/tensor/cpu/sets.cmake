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
  set(flags_avx512_bf16 ${flags_avx512} -mavx512bf16 -mamx-tile -mamx-bf16) # AMX: used only if isa.h reports it
endif()
set(level -O3)
if(ABLATE_SANITIZE)
  set(level -Og) # instrumented loops take minutes to optimise
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(level)
endif()
if(level STREQUAL "-O3" AND "avx2" IN_LIST ABLATE_SETS)
  # on x86-64 only processors from before 2013 run this; a training step has 0.95 of -O3's speed, the compiler half the
  # work
  list(APPEND flags_generic -O1)
endif()
set(ABLATE_FAST ${level} -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi)
if(ABLATE_SANITIZE)
  # AddressSanitizer finds an address that wraps when it is used; this check took half the compiler's time
  list(APPEND ABLATE_FAST -fno-sanitize=pointer-overflow)
endif()
if(ABLATE_FUZZ) # fuzzing tests readers of files; with coverage a file of kernels takes minutes to compile
  list(APPEND ABLATE_FAST -fno-sanitize=all)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # a b + c is one instruction in every set that has it, in chains too: gcc 14 would leave them apart in AVX2 alone, and
  # the sets would differ
  list(APPEND ABLATE_FAST --param=avoid-fma-max-bits=0)
endif()

# Files whose code in avx512_bf16 is not that of avx512: they round to bf16, multiply it, or use AMX, and
# table.c, which tells whether they do. The others are compiled once for both.
set(bf16_files attend_rows attend_step attend_tiles ce depthwise dropout gemm_pairs gemm_tiles generic norm outer_tiles
  rotate rows table tiles)
# Small files that are compiled together, since the header of the intrinsics takes longer than each of them. Their
# static names must differ.
set(small_files attend_rows attend_tiles ce depthwise dropout elementwise floor gemm_blocks gemm_int8 gemm_outer
  gemm_tiles generic heads ids linear long_conv matmul norm order outer_tiles product qr recurrent rotate rows shape
  sums table tiled tiles unit)
# Files in which -O3 finds nothing more than -O2, and takes half as long again: most are written in vectors by hand.
set(by_hand_files attend attend_step delta_scan long_conv order)

function(ab_sets target table)
  string(REPLACE ";" "|" of_bf16 "${bf16_files}")
  string(REPLACE ";" "|" small "${small_files}")
  string(REPLACE ";" "|" by_hand "${by_hand_files}")
  foreach(set ${ABLATE_SETS})
    set(objects ${target}_${set})
    set(all)
    foreach(half both own both_by_hand own_by_hand)
      set(sources ${ARGN})
      set(pick_bf16 EXCLUDE)
      set(pick_by_hand EXCLUDE)
      set(level_by_hand)
      if(half MATCHES "own")
        set(pick_bf16 INCLUDE)
      endif()
      if(half MATCHES "by_hand")
        set(pick_by_hand INCLUDE)
        if(level STREQUAL "-O3")
          set(level_by_hand -O2)
        endif()
      endif()
      list(FILTER sources ${pick_bf16} REGEX "/(${of_bf16})[.]c$")
      list(FILTER sources ${pick_by_hand} REGEX "/(${by_hand})[.]c$")
      if(NOT sources)
        continue()
      endif()
      if(half MATCHES "both" AND set STREQUAL "avx512_bf16")
        list(APPEND all $<TARGET_OBJECTS:${target}_avx512_${half}>)
        continue()
      endif()
      set(these ${objects}_${half})
      add_library(${these} OBJECT ${sources})
      target_include_directories(${these} PRIVATE ${CMAKE_SOURCE_DIR}/core)
      target_link_libraries(${these} PRIVATE OpenMP::OpenMP_C)
      target_compile_options(${these} PRIVATE ${ABLATE_FAST} ${level_by_hand} ${flags_${set}})
      if(half MATCHES "both")
        target_compile_definitions(${these} PRIVATE $<$<STREQUAL:${set},avx512>:ONE_OBJECT_FOR_BF16>)
      endif()
      list(FILTER sources INCLUDE REGEX "/(${small})[.]c$")
      list(LENGTH sources many)
      if(many GREATER 1)
        set_target_properties(${these} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
          UNITY_BUILD_CODE_AFTER_INCLUDE "#undef S")
        set_source_files_properties(${sources} PROPERTIES UNITY_GROUP small)
      endif()
      list(APPEND all $<TARGET_OBJECTS:${these}>)
    endforeach()
    set(one ${CMAKE_BINARY_DIR}/sets/${objects}.o)
    add_custom_command(OUTPUT ${one}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/sets
      COMMAND ${CMAKE_LINKER} -r -o ${one}.all ${all}
      COMMAND ${CMAKE_OBJCOPY} --redefine-sym ${table}=${table}_${set} # LLVM's keeps the old name, GNU's the new one
      # clang's locks of critical sections are common symbols, which must not become local: they would get no memory
      --wildcard --keep-global-symbol=.gomp_critical*
      --keep-global-symbol=${table} --keep-global-symbol=${table}_${set} ${one}.all ${one}
      DEPENDS ${all} COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Linking the kernels for ${set}")
    set_source_files_properties(${one} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${one})
  endforeach()
endfunction()
