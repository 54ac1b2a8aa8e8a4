# What the build derives from the list of row programs, runtime/math/rows/*.h:
#   am_programs.inc        AM_PROGRAM(NAME), one a line
#   am_program_files.inc   includes each file in both directions, for runtime/program.c
#   row_NAME_LEVEL.c       the skeleton runtime/cpu/row.c for one program and instruction-set level
# A new file is found by the next build, and needs no line anywhere.
include_guard()

set(ANYMAX_GENERATED "${PROJECT_BINARY_DIR}/generated")
file(GLOB row_files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/runtime/math/rows"
     "${PROJECT_SOURCE_DIR}/runtime/math/rows/*.h")
list(SORT row_files)
set(ANYMAX_PROGRAMS "")
foreach(file IN LISTS row_files)
  string(REGEX REPLACE "\\.h$" "" name "${file}")
  list(APPEND ANYMAX_PROGRAMS ${name})
endforeach()

# Leaves a file alone that is as it should be, so that nothing is compiled again.
function(anymax_write path content)
  if(EXISTS "${path}")
    file(READ "${path}" old)
    if(old STREQUAL content)
      return()
    endif()
  endif()
  file(WRITE "${path}" "${content}")
endfunction()

set(list "")
set(files "")
foreach(name IN LISTS ANYMAX_PROGRAMS)
  string(APPEND list "AM_PROGRAM(${name})\n")
  string(APPEND files "#define AM_PROGRAM_NAME ${name}\n")
  foreach(way forward backward)
    string(TOUPPER ${way} upper)
    string(APPEND files "#define AM_PROGRAM_WAY _${way}\n#define ROW_${upper}\n"
           "#include \"math/rows/${name}.h\"\n#include AM_PROGRAM_USE\n#undef AM_PROGRAM_WAY\n")
  endforeach()
  string(APPEND files "#undef AM_PROGRAM_NAME\n")
endforeach()
anymax_write("${ANYMAX_GENERATED}/am_programs.inc" "${list}")
anymax_write("${ANYMAX_GENERATED}/am_program_files.inc" "${files}")

# Instruction-set levels of the processor that the build is for.
if(CMAKE_OSX_ARCHITECTURES)
  set(processor "${CMAKE_OSX_ARCHITECTURES}")
else()
  set(processor "${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(processor MATCHES "^(x86_64|amd64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(ANYMAX_LEVELS v2 v3 v4)
  if(MSVC AND NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    set(ANYMAX_FLAGS_v2 "")
    set(ANYMAX_FLAGS_v3 /arch:AVX2)
    set(ANYMAX_FLAGS_v4 /arch:AVX512)
  else()
    # By features, not by -march=x86-64-v3, which older compilers do not know.
    set(ANYMAX_FLAGS_v2 -msse3 -mssse3 -msse4.1 -msse4.2 -mpopcnt)
    set(ANYMAX_FLAGS_v3 ${ANYMAX_FLAGS_v2} -mavx -mavx2 -mbmi -mbmi2 -mf16c -mfma -mlzcnt -mmovbe)
    set(ANYMAX_FLAGS_v4 ${ANYMAX_FLAGS_v3} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
                        -mprefer-vector-width=512)
  endif()
elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
  set(ANYMAX_LEVELS neon)
  set(ANYMAX_FLAGS_neon "")
else()
  set(ANYMAX_LEVELS generic)
  set(ANYMAX_FLAGS_generic "")
endif()

# Objects of one level: the row skeleton for each program, and runtime/cpu/level_*.c.
function(anymax_add_level level out_objects)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/cpu/level_*.c")
  foreach(name IN LISTS ANYMAX_PROGRAMS)
    set(stub "${ANYMAX_GENERATED}/row_${name}_${level}.c")
    anymax_write("${stub}" "#define AM_ROW_NAME ${name}
#define AM_ROW_FILE \"math/rows/${name}.h\"
#include \"cpu/row.c\"
")
    list(APPEND sources "${stub}")
  endforeach()
  add_library(anymax_cpu_${level} OBJECT ${sources})
  anymax_runtime_options(anymax_cpu_${level})
  target_compile_definitions(anymax_cpu_${level} PRIVATE AM_LEVEL=${level})
  target_compile_options(anymax_cpu_${level} PRIVATE ${ANYMAX_FLAGS_${level}})
  if(ANYMAX_FUZZ)
    # Inputs differ in how a call is laid out, not in how a loop runs; counting in loops takes half the time.
    target_compile_options(anymax_cpu_${level} PRIVATE -fno-sanitize=fuzzer-no-link)
  elseif(ANYMAX_GNU_LIKE AND NOT ANYMAX_SANITIZE)
    target_compile_options(anymax_cpu_${level} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  endif()
  set(${out_objects} $<TARGET_OBJECTS:anymax_cpu_${level}> PARENT_SCOPE)
endfunction()
