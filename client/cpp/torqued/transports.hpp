// The transports of a session's frames: a ZeroMQ socket, or shared memory.
//
// What is marked noexcept here neither throws nor allocates; libzmq allocates its own messages.
#pragma once

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codec.hpp"
#include "endpoints.hpp"
#include "errors.hpp"

namespace torqued {
namespace detail {

/// ns of CLOCK_MONOTONIC: the clock that states are stamped with.
inline std::int64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

class Transport {
public:
    virtual ~Transport() = default;
    /// Hands over a state without waiting; whether it was taken.
    virtual bool send(const char* frame, std::size_t size) noexcept = 0;
    /// The newest output that was not received before; false if none comes until `deadline` ns.
    virtual bool receive(char* frame, std::size_t size, std::int64_t deadline) noexcept = 0;
};

/// A socket with its options; closed with this object.
class Socket {
public:
    Socket(void* context, int type) : socket_(::zmq_socket(context, type)) {
        if (!socket_) throw ConnectionError(std::string("cannot create a socket: ") + ::zmq_strerror(errno));
        set(ZMQ_LINGER, 0);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { ::zmq_close(socket_); }

    void set(int option, int value) { set(option, &value, sizeof(value)); }
    void set(int option, const std::string& value) { set(option, value.data(), value.size()); }

    /// Connects, with keys where there are any; `server_key` is a session's own.
    void connect(const std::string& endpoint, const Keys& keys, const std::string& server_key = "") {
        check_local(endpoint);
        if (keys.present()) {
            const std::string& server = server_key.empty() ? keys.server_key : server_key;
            ::zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, server.c_str(), server.size() + 1);
            ::zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, keys.public_key.c_str(),
                             keys.public_key.size() + 1);
            if (::zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, keys.secret_key.c_str(),
                                 keys.secret_key.size() + 1) != 0)
                throw InputError("a key is not 40 characters (Z85), or libzmq has no CURVE");
        }
        if (starts_with(endpoint, "tcp://[")) set(ZMQ_IPV6, 1);
        if (::zmq_connect(socket_, endpoint.c_str()) != 0)
            throw ConnectionError("cannot connect to " + endpoint + ": " + ::zmq_strerror(errno));
    }

    void* get() const noexcept { return socket_; }

private:
    void set(int option, const void* value, std::size_t size) {
        if (::zmq_setsockopt(socket_, option, value, size) != 0)
            throw ConnectionError(std::string("cannot set an option of a socket: ") + ::zmq_strerror(errno));
    }
    void* socket_;
};

class SocketTransport : public Transport {
public:
    SocketTransport(void* context, const std::string& endpoint, const std::string& owner,
                    const Keys& keys, const std::string& server_key)
        : socket_(context, ZMQ_DEALER) {
        socket_.set(ZMQ_ROUTING_ID, owner);
        socket_.set(ZMQ_CONFLATE, 1);  // the newest state and the newest output win
        socket_.connect(endpoint, keys, server_key);
    }

    bool send(const char* frame, std::size_t size) noexcept override {
        return ::zmq_send(socket_.get(), frame, size, ZMQ_DONTWAIT) >= 0;
    }

    bool receive(char* frame, std::size_t size, std::int64_t deadline) noexcept override {
        while (true) {
            const int received = ::zmq_recv(socket_.get(), frame, size, ZMQ_DONTWAIT);
            if (received >= 0) return static_cast<std::size_t>(received) == size;
            const std::int64_t left = deadline - now();
            if (left <= 0) return false;
            zmq_pollitem_t item{socket_.get(), 0, ZMQ_POLLIN, 0};
            ::zmq_poll(&item, 1, static_cast<long>((left + 999999) / 1000000));
        }
    }

private:
    Socket socket_;
};

/// Where things are on a page; docs/PROTOCOL.md.
struct PageLayout {
    std::size_t page_bytes, slots, states, state_slot, outputs, output_slot;

    explicit PageLayout(const Map& map)
        : page_bytes(size_in(map, "page_bytes")), slots(size_in(map, "slots")),
          states(size_in(map, "states")), state_slot(size_in(map, "state_slot")),
          outputs(size_in(map, "outputs")), output_slot(size_in(map, "output_slot")) {}

private:
    static std::size_t size_in(const Map& map, const std::string& name) {
        return static_cast<std::size_t>(map.integer(name));
    }
};

class MemoryTransport : public Transport {
public:
    /// `spin` is how long, in ns, this thread polls for an output before it sleeps.
    MemoryTransport(const std::string& endpoint, const std::string& owner, const PageLayout& layout,
                    std::int64_t spin)
        : layout_(layout), spin_(spin) {
        const int descriptor = receive_fd(endpoint, owner);
        struct stat info {};
        const bool fits = ::fstat(descriptor, &info) == 0 &&
                          static_cast<std::size_t>(info.st_size) >= layout.page_bytes;
        void* page = fits ? ::mmap(nullptr, layout.page_bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_POPULATE, descriptor, 0)
                          : MAP_FAILED;
        ::close(descriptor);
        if (page == MAP_FAILED) throw ConnectionError("cannot map the page of this session");
        page_ = static_cast<char*>(page);
        if (std::memcmp(page_, "tqrdmem1", 8) != 0) {
            ::munmap(page_, layout_.page_bytes);
            throw ConnectionError("the page of this session has another version");
        }
        sent_ = load(word(states_word));  // where another process had the session before
        taken_ = load(word(outputs_word));
    }
    MemoryTransport(const MemoryTransport&) = delete;
    MemoryTransport& operator=(const MemoryTransport&) = delete;
    ~MemoryTransport() override { ::munmap(page_, layout_.page_bytes); }

    bool send(const char* frame, std::size_t size) noexcept override {
        const std::uint32_t count = ++sent_;
        char* slot = page_ + layout_.states + count % layout_.slots * layout_.state_slot;
        std::uint64_t* lock = reinterpret_cast<std::uint64_t*>(slot);
        __atomic_store_n(lock, 2 * std::uint64_t{count} + 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);  // the odd lock is seen before the frame
        std::memcpy(slot + sizeof(*lock), frame, size);
        __atomic_store_n(lock, 2 * std::uint64_t{count}, __ATOMIC_RELEASE);
        __atomic_store_n(word(states_word), count, __ATOMIC_RELEASE);
        // Either we see that the daemon sleeps, or it sees this state before it does.
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (load(word(daemon_sleeps)) != 0) futex(states_word, FUTEX_WAKE, INT_MAX, nullptr);
        return true;
    }

    bool receive(char* frame, std::size_t size, std::int64_t deadline) noexcept override {
        while (!newest(frame, size)) {
            const std::int64_t left = deadline - now();
            if (left <= 0) return false;
            wait(left);
        }
        return true;
    }

private:
    static constexpr std::size_t states_word = 64, daemon_sleeps = 68;
    static constexpr std::size_t outputs_word = 128, client_sleeps = 132;
    static constexpr int tries = 8;  // attempts to read an output, where the daemon overtakes each

    bool newest(char* frame, std::size_t size) noexcept {
        for (int k = 0; k < tries; ++k) {
            const std::uint32_t count = load(word(outputs_word));
            if (count == taken_) return false;
            const char* slot = page_ + layout_.outputs + count % layout_.slots * layout_.output_slot;
            const std::uint64_t* lock = reinterpret_cast<const std::uint64_t*>(slot);
            const std::uint64_t whole = 2 * std::uint64_t{count};
            if (__atomic_load_n(lock, __ATOMIC_ACQUIRE) != whole) continue;
            std::memcpy(frame, slot + sizeof(*lock), size);
            __atomic_thread_fence(__ATOMIC_SEQ_CST);  // the frame is read before the lock
            if (__atomic_load_n(lock, __ATOMIC_RELAXED) == whole) {
                taken_ = count;
                return true;
            }
        }
        return false;
    }

    /// Until there is another output, or that time, ns, is over; may return early.
    void wait(std::int64_t left) noexcept {
        if (spin_ > 0) {
            const std::int64_t until = now() + (spin_ < left ? spin_ : left);
            while (now() < until) {
                if (load(word(outputs_word)) != taken_) return;
                ::sched_yield();  // the thread that writes the output may wait for this processor
            }
        }
        __atomic_store_n(word(client_sleeps), 1u, __ATOMIC_SEQ_CST);
        const timespec limit{static_cast<time_t>(left / 1000000000),
                             static_cast<long>(left % 1000000000)};
        futex(outputs_word, FUTEX_WAIT, taken_, &limit);  // compares the word once more
        __atomic_store_n(word(client_sleeps), 0u, __ATOMIC_RELAXED);
    }

    std::uint32_t* word(std::size_t place) const noexcept {
        return reinterpret_cast<std::uint32_t*>(page_ + place);
    }
    static std::uint32_t load(const std::uint32_t* place) noexcept {
        return __atomic_load_n(place, __ATOMIC_ACQUIRE);
    }
    void futex(std::size_t place, int operation, std::uint32_t value,
               const timespec* limit) const noexcept {
        ::syscall(SYS_futex, word(place), operation, value, limit, nullptr, 0);
    }

    /// The descriptor of a session's page, from the daemon that made it.
    static int receive_fd(const std::string& endpoint, const std::string& owner) {
        check_local(endpoint);
        const std::string path = endpoint.substr(6);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        if (path.size() >= sizeof(address.sun_path))
            throw ConnectionError("path " + path + " is too long for a socket");
        std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
        const int connection = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connection < 0) throw ConnectionError("cannot create a local socket");
        const timeval timeout{5, 0};
        for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
            ::setsockopt(connection, SOL_SOCKET, option, &timeout, sizeof(timeout));
        int descriptor = -1;
        if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
            ::send(connection, owner.data(), owner.size(), MSG_NOSIGNAL) >= 0) {
            char byte = 0;
            iovec data{&byte, 1};
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
            msghdr message{};
            message.msg_iov = &data;
            message.msg_iovlen = 1;
            message.msg_control = control;
            message.msg_controllen = sizeof(control);
            if (::recvmsg(connection, &message, MSG_CMSG_CLOEXEC) > 0)
                if (const cmsghdr* head = CMSG_FIRSTHDR(&message);
                    head && head->cmsg_type == SCM_RIGHTS)
                    std::memcpy(&descriptor, CMSG_DATA(head), sizeof(descriptor));
        }
        ::close(connection);
        if (descriptor < 0)
            throw ConnectionError("no page from " + path + ": the daemon does not know this session");
        return descriptor;
    }

    PageLayout layout_;
    std::int64_t spin_;
    char* page_ = nullptr;
    std::uint32_t sent_ = 0, taken_ = 0;
};

}  // namespace detail
}  // namespace torqued
