# Headers, libraries, the CMake package and the pkg-config file. All of them find each other from where
# they lie, so that an installed tree can be moved.
include_guard()
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/anymax")

file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/anymax/*.h")
install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/anymax" COMPONENT development)
install(TARGETS ${ANYMAX_TARGETS} EXPORT anymax-targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT anymax-targets NAMESPACE anymax:: DESTINATION "${package_dir}" COMPONENT development)

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/anymax-config.cmake.in"
  "${PROJECT_BINARY_DIR}/anymax-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/anymax-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/anymax-config.cmake"
  "${PROJECT_BINARY_DIR}/anymax-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# The prefix of the .pc file is the way back from its own folder.
file(RELATIVE_PATH ANYMAX_PC_BACK "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" ANYMAX_PC_BACK "${ANYMAX_PC_BACK}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  message(WARNING "Absolute install folders: the pkg-config file cannot be moved")
endif()
set(ANYMAX_PC_PRIVATE "${CMAKE_THREAD_LIBS_INIT}")
foreach(library IN LISTS ANYMAX_PRIVATE_LIBRARIES)
  string(APPEND ANYMAX_PC_PRIVATE " -l${library}")
endforeach()
string(STRIP "${ANYMAX_PC_PRIVATE}" ANYMAX_PC_PRIVATE)
configure_file("${PROJECT_SOURCE_DIR}/cmake/anymax.pc.in" "${PROJECT_BINARY_DIR}/anymax.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/anymax.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)

# What the command reads: `anymax verify` needs the golden files, `anymax digits` the data set.
file(GLOB golden CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/golden/*.safetensors")
file(GLOB data CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/data/*.safetensors")
if(ANYMAX_BENCH)
  install(FILES ${golden} DESTINATION "${CMAKE_INSTALL_DATADIR}/anymax/golden" COMPONENT runtime)
  install(FILES ${data} DESTINATION "${CMAKE_INSTALL_DATADIR}/anymax/data" COMPONENT runtime)
  if(TARGET anymax_command)
    if(NOT APPLE)
      set_target_properties(anymax_command PROPERTIES
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    endif()
    install(TARGETS anymax_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
  endif()
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
