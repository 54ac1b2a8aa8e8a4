# The file readers of the command, .npy and .safetensors, as a library: anymax_io. The command, the tests
# and the fuzz targets link it; it needs cJSON and no part of anymax.
include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ANYMAX_CJSON REQUIRED libcjson)

set(readers "${PROJECT_SOURCE_DIR}/bench")
add_library(anymax_io STATIC "${readers}/array.c" "${readers}/source.c" "${readers}/npy.c"
                             "${readers}/safetensors.c" "${readers}/safetensors_put.c")
anymax_compile_options(anymax_io)
target_include_directories(anymax_io PUBLIC "${readers}" PRIVATE ${ANYMAX_CJSON_INCLUDE_DIRS})
target_link_directories(anymax_io PUBLIC ${ANYMAX_CJSON_LIBRARY_DIRS})
target_link_libraries(anymax_io PUBLIC ${ANYMAX_CJSON_LIBRARIES})
if(NOT WIN32)
  target_link_libraries(anymax_io PUBLIC m)
endif()
