# find_package(torqued) gives the target torqued::torqued: a folder of headers, libzmq and msgpack.
#
# Works from a checkout (-Dtorqued_DIR=<checkout>/client/cpp/cmake) and from an installation by
# client/cpp/CMakeLists.txt.
include(CMakeFindDependencyMacro)
find_dependency(Threads)

find_path(torqued_INCLUDE_DIR torqued.hpp
  PATHS ${CMAKE_CURRENT_LIST_DIR}/.. ${CMAKE_CURRENT_LIST_DIR}/../../../include
  NO_DEFAULT_PATH)
find_path(torqued_ZMQ_INCLUDE_DIR zmq.h)
find_library(torqued_ZMQ_LIBRARY zmq)
find_path(torqued_MSGPACK_INCLUDE_DIR msgpack.hpp)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(torqued
  REASON_FAILURE_MESSAGE "Debian: apt-get install libzmq3-dev libmsgpack-cxx-dev"
  REQUIRED_VARS torqued_INCLUDE_DIR torqued_ZMQ_INCLUDE_DIR torqued_ZMQ_LIBRARY
                torqued_MSGPACK_INCLUDE_DIR)

if(torqued_FOUND AND NOT TARGET torqued::torqued)
  add_library(torqued::torqued INTERFACE IMPORTED)
  set_target_properties(torqued::torqued PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES
      "${torqued_INCLUDE_DIR};${torqued_ZMQ_INCLUDE_DIR};${torqued_MSGPACK_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${torqued_ZMQ_LIBRARY};Threads::Threads"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()
