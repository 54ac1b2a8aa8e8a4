# anymax_add_shaders(target): compiles the shaders and embeds them in the target.
#
# A module is made of one of the kernels in shaders/, in two flavours: `full`, which uses 16-bit
# storage, sub-groups and 8 storage buffers, and `floor`, which needs nothing beyond Vulkan 1.1. The
# kernel `row` is compiled for each row program, in both directions. glslangValidator writes each
# module as an array of 32-bit words, and one C file includes them all.
include_guard()

# A source that pulls the parts of one module together, and the command that compiles it.
function(anymax_shader name kernel parts out_headers)
  set(headers ${${out_headers}})
  foreach(full 0 1)
    if(full)
      set(flavour full)
    else()
      set(flavour floor)
    endif()
    set(source "${ANYMAX_GENERATED}/shaders/${name}.${flavour}.comp")
    set(header "${ANYMAX_GENERATED}/shaders/${name}_${flavour}.h")
    anymax_write("${source}" "#version 450
#extension GL_GOOGLE_include_directive : require
#define FULL ${full}
#include \"common.glsl\"
${parts}#include \"${kernel}.comp\"
")
    # -w: `precise` on a parameter has no effect, and says so each time.
    add_custom_command(
      OUTPUT "${header}"
      COMMAND ${ANYMAX_GLSLANG} -w -V -g0 --quiet --target-env vulkan1.1
              "-I${PROJECT_SOURCE_DIR}/shaders" "-I${PROJECT_SOURCE_DIR}/runtime/math"
              --vn am_spirv_${name}_${flavour} -o "${header}" "${source}"
      DEPENDS "${source}" ${ANYMAX_SHADER_FILES} ${ARGN}
      COMMENT "Compiling shader ${name}.${flavour}"
      VERBATIM)
    list(APPEND headers "${header}")
  endforeach()
  set(${out_headers} ${headers} PARENT_SCOPE)
endfunction()

function(anymax_add_shaders target)
  set(math "${PROJECT_SOURCE_DIR}/runtime/math")
  file(GLOB ANYMAX_SHADER_FILES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/shaders/*.comp"
       "${PROJECT_SOURCE_DIR}/shaders/*.glsl" "${math}/*.h")
  set(headers "")
  set(names product)
  anymax_shader(product product "" headers)
  foreach(program IN LISTS ANYMAX_PROGRAMS)
    foreach(way forward backward)
      string(TOUPPER ${way} upper)
      anymax_shader(${program}_${way} row "#define ROW_${upper}
#include \"row_args.glsl\"
#include \"lane.glsl\"
#include \"rows/${program}.h\"
#include \"row.h\"
" headers "${math}/rows/${program}.h")
      list(APPEND names ${program}_${way})
    endforeach()
  endforeach()
  set(includes "")
  set(entries "")
  foreach(name IN LISTS names)
    foreach(flavour full floor)
      set(array am_spirv_${name}_${flavour})
      string(APPEND includes "#include \"shaders/${name}_${flavour}.h\"\n")
      string(APPEND entries "    {\"${name}.${flavour}\", (const unsigned char *)${array},\n"
                            "     sizeof ${array}},\n")
    endforeach()
  endforeach()
  list(LENGTH headers count)
  set(table "${ANYMAX_GENERATED}/am_spirv_modules.c")
  anymax_write("${table}" "/* Made by cmake/shaders.cmake. Words, aligned as Vulkan wants. */
#include <stdint.h>

#include \"embedded.h\"

${includes}
const am_embedded am_spirv_modules[] = {
${entries}};
const size_t am_spirv_modules_count = ${count};
")
  set_source_files_properties("${table}" PROPERTIES OBJECT_DEPENDS "${headers}")
  target_sources(${target} PRIVATE "${table}" ${headers})
endfunction()
