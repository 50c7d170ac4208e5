// Where a daemon's sockets are, who may have put them there, and keys for TCP.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "errors.hpp"

namespace torqued {

/// A client's key pair and the public key of the daemon, 40 characters (Z85) each.
struct Keys {
    std::string public_key, secret_key, server_key;

    bool present() const { return !secret_key.empty(); }

    /// The keys in a file that `torqued keys new` has written.
    static Keys from_file(const std::string& path) {
        struct stat info {};
        if (::stat(path.c_str(), &info) != 0) throw InputError("key file " + path + " does not exist");
        if (info.st_mode & 077)
            throw InputError("key file " + path + ": others can read the secret, expected mode 0600");
        Keys keys;
        keys.public_key = value_in(path, "public");
        keys.secret_key = value_in(path, "secret");
        keys.server_key = value_in(path, "server");
        return keys;
    }

private:
    /// Of a line `name = "…"`.
    static std::string value_in(const std::string& path, const std::string& name) {
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);) {
            const std::size_t first = line.find('"'), last = line.rfind('"');
            std::string key = line.substr(0, line.find('='));
            while (!key.empty() && std::isspace(static_cast<unsigned char>(key.back())))
                key.pop_back();
            if (key == name && first != std::string::npos && last == first + 41)
                return line.substr(first + 1, 40);
        }
        throw InputError("key file " + path + ": '" + name +
                         "' is missing or not 40 characters (Z85)");
    }
};

namespace detail {

inline bool starts_with(const std::string& text, const std::string& start) {
    return text.compare(0, start.size(), start) == 0;
}

/// Whether a process listens at an endpoint; over TCP, which may lose messages, always.
inline bool listens(const std::string& endpoint) {
    sockaddr_un address{};
    if (!starts_with(endpoint, "ipc:///")) return true;
    const std::string path = endpoint.substr(6);
    if (path.size() >= sizeof(address.sun_path)) return true;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) return true;
    const bool refused =
        ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
        errno != EAGAIN && errno != EACCES;
    ::close(probe);
    return !refused;
}

inline std::string without_ending(const std::string& text, const std::string& ending) {
    const bool has = text.size() >= ending.size() &&
                     text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
    return has ? text.substr(0, text.size() - ending.size()) : text;
}

/// $TORQUED_FOLDER, else torqued in $XDG_RUNTIME_DIR, else torqued-<user id> in $TMPDIR or /tmp.
inline std::string default_folder() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    if (const std::string chosen = variable("TORQUED_FOLDER"); !chosen.empty()) return chosen;
    if (const std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty())
        return runtime + "/torqued";
    const std::string temporary = variable("TMPDIR");
    return (temporary.empty() ? "/tmp" : temporary) + "/torqued-" + std::to_string(::getuid());
}

/// The request endpoint that is meant by `panda`, `ipc:///…/panda.sock` or `tcp://HOST:PORT`.
inline std::string endpoint_for(const std::string& daemon) {
    if (starts_with(daemon, "ipc://") || starts_with(daemon, "tcp://")) return daemon;
    for (const char letter : daemon)
        if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '-' && letter != '_')
            throw InputError("'" + daemon + "' is neither a daemon's name nor an endpoint: "
                             "ipc://FILE or tcp://HOST:PORT");
    return "ipc://" + default_folder() + "/" + daemon + ".sock";
}

inline std::string host_of(const std::string& endpoint) {
    return endpoint.substr(6, endpoint.rfind(':') - 6);
}

/// The control endpoint beside a request endpoint.
inline std::string control_endpoint(const std::string& request) {
    if (!starts_with(request, "tcp://"))
        return without_ending(request, ".sock") + ".control.sock";
    const int port = std::atoi(request.c_str() + request.rfind(':') + 1);
    return "tcp://" + host_of(request) + ":" + std::to_string(port + 1);
}

/// An endpoint that a daemon named, as the client reaches it.
inline std::string reachable(const std::string& endpoint, const std::string& request) {
    if (starts_with(endpoint, "ipc://") && starts_with(request, "ipc://"))
        return request.substr(0, request.rfind('/')) + endpoint.substr(endpoint.rfind('/'));
    if (starts_with(endpoint, "tcp://*:"))
        return "tcp://" + host_of(request) + endpoint.substr(endpoint.rfind(':'));
    return endpoint;
}

/// Refuses a local socket that another user may have made to impersonate the daemon: only the owner
/// of its directory may write to it, and in the default place that is this user, or root.
inline void check_local(const std::string& endpoint) {
    if (!starts_with(endpoint, "ipc://")) return;
    const std::string path = endpoint.substr(6), folder = path.substr(0, path.rfind('/'));
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0) return;  // connecting reports it
    const bool is_default = !std::getenv("TORQUED_FOLDER") && folder == default_folder();
    const auto trusted = [](uid_t user) { return user == ::getuid() || user == 0; };
    if (S_ISLNK(info.st_mode)) {
        if (is_default || !trusted(info.st_uid))
            throw ConnectionError("folder " + folder + " of the sockets is a symbolic link");
        if (::stat(folder.c_str(), &info) != 0) return;
    }
    if (!S_ISDIR(info.st_mode)) throw ConnectionError(folder + " is not a directory");
    if (info.st_mode & 022)
        throw ConnectionError("folder " + folder + " of the sockets: others may write to it and "
                              "pass for the daemon; expected mode 0700, or 0750 for a group");
    if (is_default && !trusted(info.st_uid))
        throw ConnectionError("folder " + folder + " of the sockets belongs to another user");
    struct stat file {};
    if (::lstat(path.c_str(), &file) != 0) return;
    if (!S_ISSOCK(file.st_mode)) throw ConnectionError(path + " is not a socket");
    if (file.st_uid != info.st_uid && !trusted(file.st_uid))
        throw ConnectionError("socket " + path + " belongs to another user than its folder");
}

}  // namespace detail
}  // namespace torqued
