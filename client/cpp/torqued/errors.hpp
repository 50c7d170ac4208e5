// What can go wrong, as one tree; the same as torqued.common.errors of Python.
//
//     Error
//     ├── InputError            an argument that cannot be used, found before anything is sent
//     ├── ConnectionError       a socket, a folder or a page that cannot be used
//     ├── TimeoutError          no reply in time; the request may still be under way
//     ├── VersionError          daemon and client speak different versions of the protocol
//     └── RequestError          the daemon refused; `code` says why
//         ├── MessageError      bad_message, wrong_version, too_large
//         ├── OperationError    unknown_operation, not_ready, busy, in_use, stopped, stopping,
//         │                     rate_limited
//         ├── AccessError       denied
//         ├── FieldError        missing_field, unknown_field, bad_field
//         ├── ComputationError  singular
//         ├── ReloadError       bad_model
//         └── InternalError     internal
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace torqued {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct InputError : Error {
    using Error::Error;
};
struct ConnectionError : Error {
    using Error::Error;
};
struct TimeoutError : Error {
    using Error::Error;
};
struct VersionError : Error {
    using Error::Error;
};

struct RequestError : Error {
    RequestError(std::string code_, const std::string& message, std::string field_,
                 std::string expected_)
        : Error(message), code(std::move(code_)), field(std::move(field_)),
          expected(std::move(expected_)) {}

    std::string code;
    std::string field;     // which field of the request; empty where that is not known
    std::string expected;  // what is allowed; likewise
};

struct MessageError : RequestError {
    using RequestError::RequestError;
};
struct OperationError : RequestError {
    using RequestError::RequestError;
};
struct AccessError : RequestError {
    using RequestError::RequestError;
};
struct FieldError : RequestError {
    using RequestError::RequestError;
};
struct ComputationError : RequestError {
    using RequestError::RequestError;
};
struct ReloadError : RequestError {
    using RequestError::RequestError;
};
struct InternalError : RequestError {
    using RequestError::RequestError;
};

/// Throws the error of a code; codes of newer daemons become the base class.
[[noreturn]] inline void raise_error(const std::string& code, const std::string& message,
                                     const std::string& field, const std::string& expected) {
    const auto is_one_of = [&code](std::initializer_list<const char*> codes) {
        for (const char* one : codes)
            if (code == one) return true;
        return false;
    };
    if (is_one_of({"bad_message", "wrong_version", "too_large"}))
        throw MessageError(code, message, field, expected);
    if (is_one_of({"unknown_operation", "not_ready", "busy", "in_use", "stopped", "stopping",
                   "rate_limited"}))
        throw OperationError(code, message, field, expected);
    if (is_one_of({"denied"})) throw AccessError(code, message, field, expected);
    if (is_one_of({"missing_field", "unknown_field", "bad_field"}))
        throw FieldError(code, message, field, expected);
    if (is_one_of({"singular"})) throw ComputationError(code, message, field, expected);
    if (is_one_of({"bad_model"})) throw ReloadError(code, message, field, expected);
    if (is_one_of({"internal"})) throw InternalError(code, message, field, expected);
    throw RequestError(code, message, field, expected);
}

}  // namespace torqued
