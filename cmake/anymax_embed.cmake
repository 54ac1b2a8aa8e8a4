# anymax_embed_opencl(target): the OpenCL C sources, and the maths that they share, as arrays in
# am_cl_sources.c. Run as a script (cmake -D OUT=... -D ROOT=... -D FILES=... -P), it writes that file.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include_guard()
  set(ANYMAX_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

  function(anymax_embed_opencl target)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/math/*.h"
         "${PROJECT_SOURCE_DIR}/cl/*.cl" "${PROJECT_SOURCE_DIR}/cl/*.h")
    list(SORT files)
    set(out "${ANYMAX_GENERATED}/am_cl_sources.c")
    add_custom_command(
      OUTPUT "${out}"
      COMMAND ${CMAKE_COMMAND} -D "OUT=${out}" -D "ROOT=${PROJECT_SOURCE_DIR}" -D "FILES=${files}"
              -P "${ANYMAX_EMBED_SCRIPT}"
      DEPENDS ${files} "${ANYMAX_EMBED_SCRIPT}"
      COMMENT "Embedding OpenCL C sources"
      VERBATIM)
    target_sources(${target} PRIVATE "${out}")
  endfunction()
  return()
endif()

# Byte arrays rather than string literals: compilers limit the length of those.
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH path "${ROOT}" "${file}")
  string(REGEX REPLACE "^runtime/" "" path "${path}")
  file(READ "${file}" hex HEX)
  if(hex STREQUAL "")
    continue()
  endif()
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  # A newline of the text ends a line here too.
  string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}};\n")
  string(APPEND table "    {\"${path}\", file_${number}, sizeof file_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "/* Made by cmake/anymax_embed.cmake. */
#include \"embedded.h\"

${arrays}
const am_embedded am_cl_sources[] = {
${table}};
const size_t am_cl_sources_count = ${number};
")
