// Requests to a daemon, and sessions with its loop.
#pragma once

#include <zmq.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec.hpp"
#include "endpoints.hpp"
#include "errors.hpp"
#include "session.hpp"
#include "tables.hpp"
#include "transports.hpp"

namespace torqued {

struct Hello {
    std::string name, base;
    std::size_t nq, nv;
    std::vector<std::string> joints, frames;
    Array neutral;
    double rate;  // Hz, of the loop
};

/// A connection to one daemon. Do not share it between threads; it must outlive its sessions.
class Client {
public:
    /// `daemon` is its name, as `torqued serve` prints it, or its request endpoint. A request that
    /// gets no reply within `timeout` s is sent again, `retries` times, unless it must not be. A
    /// local daemon that has ended is noticed at once.
    explicit Client(const std::string& daemon, double timeout = 1.0, int retries = 2,
                    Keys keys = {})
        : endpoint_(detail::endpoint_for(daemon)), timeout_(timeout), retries_(retries),
          keys_(std::move(keys)), context_(::zmq_ctx_new(), &::zmq_ctx_term) {
        if (!context_) throw ConnectionError("cannot create a ZeroMQ context");
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    const std::string& endpoint() const noexcept { return endpoint_; }

    /// Any operation by its name; docs/PROTOCOL.md lists them with their fields.
    Reply call(const std::string& operation, const Fields& fields = {}) {
        const std::string endpoint =
            detail::on_control.count(operation) ? detail::control_endpoint(endpoint_) : endpoint_;
        const auto longer = detail::patience.find(operation);
        const double timeout =
            longer == detail::patience.end() ? timeout_ : std::max(timeout_, longer->second);
        const int attempts = detail::once.count(operation) ? 1 : retries_ + 1;
        for (int k = 0; k < attempts; ++k) {
            if (std::unique_ptr<Reply> reply = exchange(endpoint, operation, fields, timeout))
                return checked(std::move(*reply));
            sockets_.erase(endpoint);  // a late reply is not mistaken for another
        }
        throw TimeoutError(operation + ": no reply from " + endpoint + " within " +
                           std::to_string(timeout) + " s; is the daemon running?");
    }

    Hello hello() {
        const Reply reply = call("hello");
        return {reply.text("name"),
                reply.text("base"),
                static_cast<std::size_t>(reply.integer("nq")),
                static_cast<std::size_t>(reply.integer("nv")),
                reply.texts("joints"),
                reply.texts("frames"),
                reply.array("neutral"),
                reply.number("rate")};
    }

    /// Quantities of the dynamics at q, v, by name: M, C, g, …
    std::map<std::string, Array> dynamics(const Array& q, const Array& v,
                                          const std::vector<std::string>& want) {
        const Reply reply = call("dynamics", {{"q", q}, {"v", v}, {"want", want}});
        std::map<std::string, Array> found;
        for (const std::string& name : want) found.emplace(name, reply.array(name));
        return found;
    }

    /// A session with the loop: a control law's torque, or a stream of quantities. Options are the
    /// fields of `open`: gains, transport, observer, …
    Session session(const std::string& law, Fields options = {}) {
        hello();  // may be repeated; `open` must not, and needs a working connection
        const Reply opened = call("open", options.set("law", law));
        const std::int64_t number = opened.integer("session");
        try {
            return Session(opened, transport_of(opened), !detail::starts_with(endpoint_, "tcp:"),
                           [this](std::int64_t session) { close_session(session); });
        } catch (...) {
            close_session(number);
            throw;
        }
    }

private:
    std::unique_ptr<detail::Transport> transport_of(const Reply& opened) {
        const std::string endpoint = detail::reachable(opened.text("endpoint"), endpoint_);
        const std::string owner = opened.text("owner");
        if (opened.text_or("transport", "socket") == "memory")
            return std::make_unique<detail::MemoryTransport>(
                endpoint, owner, detail::PageLayout(opened.map("memory")),
                opened.find("spin") ? static_cast<std::int64_t>(opened.number("spin") * 1e9) : 0);
        return std::make_unique<detail::SocketTransport>(context_.get(), endpoint, owner, keys_,
                                                         opened.text_or("server_key", ""));
    }

    /// A session that the daemon has ended, or a daemon that is gone: nothing to do.
    void close_session(std::int64_t number) {
        try {
            call("close", {{"session", number}});
        } catch (const TimeoutError&) {
        } catch (const FieldError&) {
        } catch (const AccessError&) {
        }
    }

    std::unique_ptr<Reply> exchange(const std::string& endpoint, const std::string& operation,
                                    const Fields& fields, double timeout) {
        detail::Socket& socket = connected(endpoint);
        const std::int64_t identity = ++identity_;
        const msgpack::sbuffer request = encode_request(identity, operation, fields);
        if (::zmq_send(socket.get(), request.data(), request.size(), ZMQ_DONTWAIT) < 0)
            return nullptr;
        const std::int64_t deadline = detail::now() + static_cast<std::int64_t>(timeout * 1e9);
        while (true) {
            const std::int64_t left = deadline - detail::now();
            zmq_pollitem_t item{socket.get(), 0, ZMQ_POLLIN, 0};
            const std::int64_t wait = std::min<std::int64_t>(left, silence);
            if (left <= 0 ||
                ::zmq_poll(&item, 1, static_cast<long>((wait + 999999) / 1000000)) <= 0) {
                if (detail::now() >= deadline) return nullptr;
                if (!detail::listens(endpoint))
                    throw TimeoutError(operation + ": no daemon at " + endpoint);
                continue;  // the daemon is slow, or a signal came
            }
            zmq_msg_t message;
            ::zmq_msg_init(&message);
            std::unique_ptr<zmq_msg_t, decltype(&::zmq_msg_close)> held(&message, &::zmq_msg_close);
            if (::zmq_msg_recv(&message, socket.get(), ZMQ_DONTWAIT) < 0) continue;
            auto reply = std::make_unique<Reply>(decode_reply(
                static_cast<const char*>(::zmq_msg_data(&message)), ::zmq_msg_size(&message)));
            const msgpack::object* id = reply->find("id");
            const bool is_mine = !id || id->type == msgpack::type::NIL ||
                                 (id->type == msgpack::type::POSITIVE_INTEGER &&
                                  id->as<std::int64_t>() == identity);
            if (is_mine) return reply;
        }
    }

    Reply checked(Reply reply) {
        if (const std::int64_t version = reply.integer("protocol"); version != protocol_version)
            throw VersionError("the daemon at " + endpoint_ + " speaks protocol version " +
                               std::to_string(version) + ", this client " +
                               std::to_string(protocol_version));
        if (!reply.truth("ok")) {
            const Map error = reply.map("error");
            raise_error(error.text("code"), error.text("message"), error.text_or("field", ""),
                        error.text_or("expected", ""));
        }
        return reply;
    }

    detail::Socket& connected(const std::string& endpoint) {
        std::unique_ptr<detail::Socket>& socket = sockets_[endpoint];
        if (!socket) {
            auto made = std::make_unique<detail::Socket>(context_.get(), ZMQ_DEALER);
            made->connect(endpoint, keys_);
            socket = std::move(made);
        }
        return *socket;
    }

    /// ns without a reply after which a client looks whether its daemon still runs.
    static constexpr std::int64_t silence = 100000000;

    std::string endpoint_;
    double timeout_;
    int retries_;
    Keys keys_;
    std::unique_ptr<void, int (*)(void*)> context_;
    std::map<std::string, std::unique_ptr<detail::Socket>> sockets_;
    std::int64_t identity_ = 0;
};

}  // namespace torqued
