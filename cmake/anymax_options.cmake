# How everything in this build is compiled: warnings, sanitizers, floating point.
include_guard()
include(CheckLinkerFlag)

# AppleClang, Clang and GCC take the same options.
if(CMAKE_C_COMPILER_ID MATCHES "Clang|GNU")
  set(ANYMAX_GNU_LIKE TRUE)
endif()

if(ANYMAX_GNU_LIKE)
  # Sums are kept in lanes and folded in one order (see runtime/math/): the compiler may drop errno and
  # traps, which no code here looks at, but neither reorder nor contract.
  set(ANYMAX_FLOAT_OPTIONS -fno-math-errno -fno-trapping-math -ffp-contract=off)
  set(ANYMAX_WARNINGS -Wall -Wextra -Wpedantic)
elseif(MSVC)
  set(ANYMAX_FLOAT_OPTIONS /fp:precise)
  set(ANYMAX_WARNINGS /W3)
endif()
if(ANYMAX_WERROR)
  list(APPEND ANYMAX_WARNINGS $<IF:$<BOOL:${MSVC}>,/WX,-Werror>)
endif()

if(ANYMAX_SANITIZE)
  set(ANYMAX_SANITIZE_OPTIONS -fsanitize=${ANYMAX_SANITIZE} -fno-sanitize-recover=all
                              -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${ANYMAX_SANITIZE})
endif()

if(ANYMAX_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ANYMAX_FUZZ needs Clang: -DCMAKE_C_COMPILER=clang")
  endif()
  list(APPEND ANYMAX_SANITIZE_OPTIONS
       -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
       -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
endif()

# For every target of this project, tests and command included.
function(anymax_compile_options target)
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE ${ANYMAX_WARNINGS} ${ANYMAX_FLOAT_OPTIONS}
                                           ${ANYMAX_SANITIZE_OPTIONS})
  if(MSVC)
    target_compile_definitions(${target} PRIVATE _CRT_SECURE_NO_WARNINGS)
  endif()
endfunction()

# The library stays mapped when a plug-in that uses it is closed: its threads and those of drivers may
# still run in it.
if(NOT WIN32)
  check_linker_flag(C "LINKER:-z,nodelete" ANYMAX_HAVE_NODELETE)
  check_linker_flag(C "LINKER:-z,defs" ANYMAX_HAVE_DEFS)
endif()
