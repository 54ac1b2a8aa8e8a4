# The helper `anymax-probe`, which lists devices in a process of its own (runtime/probe.h). The library
# finds it beside itself, in libexec/anymax of the prefix that it lies in, or where it was installed.
include_guard()

file(RELATIVE_PATH from_lib "/p/${CMAKE_INSTALL_LIBDIR}" "/p/${CMAKE_INSTALL_LIBEXECDIR}/anymax")
file(RELATIVE_PATH from_bin "/p/${CMAKE_INSTALL_BINDIR}" "/p/${CMAKE_INSTALL_LIBEXECDIR}/anymax")
set_property(SOURCE "${PROJECT_SOURCE_DIR}/runtime/probe.c" APPEND PROPERTY COMPILE_DEFINITIONS
  "AM_PROBE_NAME=\"anymax-probe${CMAKE_EXECUTABLE_SUFFIX}\""
  "AM_PROBE_FROM_LIB=\"${from_lib}/\"" "AM_PROBE_FROM_BIN=\"${from_bin}/\""
  "AM_PROBE_INSTALLED=\"${CMAKE_INSTALL_FULL_LIBEXECDIR}/anymax/anymax-probe${CMAKE_EXECUTABLE_SUFFIX}\"")

# Apps on Android and iOS may not start programs.
if(ANDROID OR IOS)
  return()
endif()

add_executable(anymax_probe "${PROJECT_SOURCE_DIR}/runtime/probe/main.c"
                            "${PROJECT_SOURCE_DIR}/runtime/os_limits.c")
anymax_compile_options(anymax_probe)
set_target_properties(anymax_probe PROPERTIES OUTPUT_NAME anymax-probe
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
list(GET ANYMAX_TARGETS 0 library) # the shared one where it is built
target_link_libraries(anymax_probe PRIVATE ${library})
if(NOT APPLE)
  file(RELATIVE_PATH to_lib "/p/${CMAKE_INSTALL_LIBEXECDIR}/anymax" "/p/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(anymax_probe PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib};$ORIGIN")
endif()
install(TARGETS anymax_probe RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/anymax"
  COMPONENT runtime)
