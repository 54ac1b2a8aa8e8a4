# Which backends this build can have. A missing header turns one off, with a message: the library then
# gives that reason when devices are listed.
include_guard()

set(ANYMAX_HAVE_OPENCL FALSE)
set(ANYMAX_HAVE_VULKAN FALSE)

file(GLOB ANYMAX_OPENCL_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/opencl/*.c")
file(GLOB ANYMAX_VULKAN_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/vulkan/*.c")

if(ANYMAX_OPENCL)
  find_path(ANYMAX_OPENCL_INCLUDE_DIR CL/cl.h)
  mark_as_advanced(ANYMAX_OPENCL_INCLUDE_DIR)
  if(ANYMAX_OPENCL_INCLUDE_DIR)
    set(ANYMAX_HAVE_OPENCL TRUE)
  else()
    message(WARNING "No CL/cl.h (Debian: opencl-headers): building without the OpenCL backend")
  endif()
endif()

if(ANYMAX_VULKAN)
  find_path(ANYMAX_VULKAN_INCLUDE_DIR vulkan/vulkan.h)
  find_program(ANYMAX_GLSLANG NAMES glslangValidator glslang)
  mark_as_advanced(ANYMAX_VULKAN_INCLUDE_DIR ANYMAX_GLSLANG)
  if(NOT ANYMAX_VULKAN_INCLUDE_DIR)
    message(WARNING "No vulkan/vulkan.h (Debian: libvulkan-dev): building without the Vulkan backend")
  elseif(NOT ANYMAX_GLSLANG)
    message(WARNING "No glslangValidator (Debian: glslang-tools): building without the Vulkan backend")
  else()
    set(ANYMAX_HAVE_VULKAN TRUE)
  endif()
endif()

message(STATUS "anymax: OpenCL ${ANYMAX_HAVE_OPENCL}, Vulkan ${ANYMAX_HAVE_VULKAN}")
