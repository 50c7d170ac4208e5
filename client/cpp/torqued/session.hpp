// A session: state frames out, output frames in, at the daemon's rate or on arrival.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec.hpp"
#include "errors.hpp"
#include "tables.hpp"
#include "transports.hpp"

namespace torqued {

/// Numbers inside of a session's frames; valid as long as the session, and after it was moved.
struct View {
    const double* data;
    std::size_t size;
};
struct Reference {
    double* data;
    std::size_t size;
};

/// Outcome of a state.
enum class Answer {
    answered,  // the output has seen it: `head().status` tells whether its torque is the law's
    late,      // nothing within the time given
    ended,     // the session is over: its torque is zero from now on
    not_sent,  // the daemon does not accept states
};

/// An open session. Do not share it between threads; the destructor closes it.
class Session {
public:
    using Close = std::function<void(std::int64_t)>;

    Session(const Map& opened, std::unique_ptr<detail::Transport> transport, bool same_clock,
            Close close)
        : number_(opened.integer("session")), law_(opened.text("law")),
          period_(opened.number("period")), transport_(std::move(transport)),
          close_(std::move(close)), same_clock_(same_clock),
          state_(frame_of(opened.integer("state_bytes"))),
          sent_(state_),
          output_(frame_of(opened.integer("output_bytes"))),
          scratch_(output_.size()), outputs_(parts_in(opened, "outputs", output_.size())),
          references_(parts_in(opened, "references", state_.size())) {
        for (const Part& part : parts_in(opened, "state", state_.size()))  // q and v
            (part.name == "q" ? q_ : v_) = part;
        write_prefix();
        const std::string clock = opened.text_or("clock", "");
        if (clock == "state")
            max_output_age = std::max(max_output_age, opened.number("stale_after"));
        if (clock == "lockstep") max_output_age = std::numeric_limits<double>::infinity();
        const std::vector<msgpack::object> references = opened.list("references");
        for (std::size_t k = 0; k < references_.size(); ++k) {
            double* place = numbers(state_, references_[k]);
            std::fill(place, place + references_[k].size,
                      std::numeric_limits<double>::quiet_NaN());  // not given: held
            const Map part(references[k]);
            if (part.find("momentary")) momentary_.push_back(references_[k]);
            if (part.find("default")) {
                const Array given = part.array("default");
                std::copy(given.values.begin(), given.values.end(), place);
            }
        }
    }
    Session(Session&& other) noexcept = default;
    Session& operator=(Session&&) = delete;
    Session(const Session&) = delete;
    ~Session() {
        if (!transport_) return;
        try {
            close();
        } catch (const Error&) {
            // A daemon that has ended has no such session.
        }
    }

    std::int64_t number() const noexcept { return number_; }
    const std::string& law() const noexcept { return law_; }
    double period() const noexcept { return period_; }
    std::size_t nq() const noexcept { return q_.size; }
    std::size_t nv() const noexcept { return v_.size; }

    /// Where to write a reference, by its name; it goes out with the next state.
    Reference reference(const std::string& name) {
        const Part& part = find(references_, name, "reference");
        return {numbers(state_, part), part.size};
    }

    /// Where an output's numbers are after `step` or `receive`, by name.
    View output(const std::string& name) const {
        const Part& part = find(outputs_, name, "output");
        return {numbers(output_, part), part.size};
    }

    const Head& head() const noexcept { return head_; }

    /// Outputs older than this when they are read, s, are skipped and counted in `late`. With
    /// `clock` "state", where each state is answered once, it is at least `stale_after`.
    double max_output_age = 0.02;
    std::uint64_t late = 0;

    /// Sends a state, nq and nv numbers, and waits for the output that has seen it.
    Answer step(const double* q, const double* v, double timeout) noexcept {
        return step_at(q, v, std::numeric_limits<double>::quiet_NaN(), timeout);
    }

    /// The same with the robot's own time `at`, s, where that is not the clock's.
    Answer step_at(const double* q, const double* v, double at, double timeout) noexcept {
        if (ended_) return Answer::ended;
        if (!send_at(q, v, at)) return Answer::not_sent;
        // ZeroMQ may lose a state, and the daemon ignores a copy: docs/PROTOCOL.md.
        const std::int64_t begun = detail::now(), wait = static_cast<std::int64_t>(timeout * 1e9);
        const std::int64_t deadline = begun + wait, pause = std::min<std::int64_t>(wait / 4, 100000000);
        std::int64_t again = begun + pause;
        while (true) {
            const bool came = next(std::min(again, deadline));
            if (ended_) return Answer::ended;
            if (came && head_.seen >= sequence_) return Answer::answered;
            const std::int64_t now = detail::now();
            if (now >= deadline) return Answer::late;
            if (now >= again) {
                transport_->send(sent_.data(), sent_.size());
                again = now + pause;
            }
        }
    }

    /// Sends a state without waiting; false if the daemon does not accept it.
    bool send(const double* q, const double* v) noexcept {
        return send_at(q, v, std::numeric_limits<double>::quiet_NaN());
    }

    bool send_at(const double* q, const double* v, double at) noexcept {
        std::memcpy(numbers(state_, q_), q, 8 * q_.size);
        std::memcpy(numbers(state_, v_), v, 8 * v_.size);
        ++sequence_;
        const double stamp = static_cast<double>(detail::now()) * 1e-9;
        const StateHead head{static_cast<std::uint64_t>(sequence_), stamp,
                             std::isnan(at) ? stamp : at};
        std::memcpy(&state_[8], &head, sizeof(head));
        sent_ = state_;
        for (const Part& part : momentary_)  // torques count for one state
            std::fill_n(numbers(state_, part), part.size, std::numeric_limits<double>::quiet_NaN());
        return transport_->send(sent_.data(), sent_.size());
    }

    /// Waits for the next output that is fresh.
    Answer receive(double timeout) noexcept {
        if (ended_) return Answer::ended;
        if (!next(detail::now() + static_cast<std::int64_t>(timeout * 1e9))) return Answer::late;
        return ended_ ? Answer::ended : Answer::answered;
    }

    /// Sleeps until `lead` s before the loop's next tick, so that a state sent then waits little;
    /// when that is due, s by CLOCK_MONOTONIC. NaN over TCP, where clocks differ, and before the
    /// first output.
    double align(double lead) noexcept {
        if (!same_clock_ || head_.deadline <= 0.0) return std::numeric_limits<double>::quiet_NaN();
        const double now = static_cast<double>(detail::now()) * 1e-9;
        const double due =
            head_.deadline + std::ceil((now + lead - head_.deadline) / period_) * period_;
        const double until = due - lead;
        const timespec time{static_cast<time_t>(until),
                            static_cast<long>((until - std::floor(until)) * 1e9)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
        return due;
    }

    /// Ends the session; its last output has zero torque.
    void close() {
        const std::unique_ptr<detail::Transport> transport = std::move(transport_);
        if (transport && !ended_) {
            ended_ = true;
            close_(number_);
        }
    }

private:
    struct Part {
        std::string name;
        std::size_t offset = 0, size = 0;  // bytes from the frame's first; numbers
    };

    bool next(std::int64_t deadline) noexcept {
        while (transport_->receive(scratch_.data(), scratch_.size(), deadline)) {
            Head head;
            std::memcpy(&head, &scratch_[8], sizeof(head));
            const bool last = (head.status & LAST) != 0;
            if (!last && age(head.time) > max_output_age) {
                ++late;
                continue;
            }
            std::memcpy(output_.data(), scratch_.data(), output_.size());
            head_ = head;
            ended_ = last;
            return true;
        }
        return false;
    }

    /// Of an output, s. Where clocks differ, the one that came fastest so far took no time.
    double age(double made) noexcept {
        constexpr double drift = 5e-4;  // by which the daemon's clock may be slower
        const double difference = static_cast<double>(detail::now()) * 1e-9 - made;
        if (same_clock_) return difference;
        const double slower = drift * std::max(0.0, made - newest_);
        offset_ = std::min(offset_ + slower, difference);
        newest_ = std::max(newest_, made);
        return difference - offset_;
    }

    /// A frame's memory, aligned for numbers of 8 bytes, as that of a vector is.
    static std::vector<char> frame_of(std::int64_t bytes) {
        if (bytes < 8 || bytes > (1 << 21) || bytes % 8 != 0)
            throw MessageError("bad_message", "frames of " + std::to_string(bytes) + " bytes", "",
                               "");
        return std::vector<char>(static_cast<std::size_t>(bytes));
    }

    void write_prefix() {
        const std::size_t payload = state_.size() - 8;
        char* place = state_.data();
        if (payload < 256) {
            std::memcpy(place, "\x92\xa4tqrd\xc4", 7);
            place[7] = static_cast<char>(payload);
        } else if (payload < 65536) {
            std::memcpy(place, "\x92\xa3tqd\xc5", 6);
            for (int k = 0; k < 2; ++k) place[6 + k] = static_cast<char>(payload >> (8 * (1 - k)));
        } else {
            std::memcpy(place, "\x92\xa1t\xc6", 4);
            for (int k = 0; k < 4; ++k) place[4 + k] = static_cast<char>(payload >> (8 * (3 - k)));
        }
    }

    static std::vector<Part> parts_in(const Map& opened, const std::string& name,
                                      std::size_t frame) {
        std::vector<Part> parts;
        for (const msgpack::object& object : opened.list(name)) {
            const Map map(object);
            Part part{map.text("name"), static_cast<std::size_t>(map.integer("offset")), 1};
            for (const msgpack::object& length : map.list("shape"))
                part.size *= length.as<std::size_t>();
            if (part.offset + 8 * part.size > frame)
                throw MessageError("bad_message", "'" + part.name + "' is not in its frame", "", "");
            parts.push_back(part);
        }
        return parts;
    }

    static const Part& find(const std::vector<Part>& parts, const std::string& name,
                            const std::string& kind) {
        std::string known;
        for (const Part& part : parts) {
            if (part.name == name) return part;
            known += (known.empty() ? "" : ", ") + part.name;
        }
        throw InputError("no " + kind + " '" + name + "', this session has: " +
                         (known.empty() ? "none" : known));
    }

    static double* numbers(std::vector<char>& frame, const Part& part) {
        return reinterpret_cast<double*>(frame.data() + part.offset);
    }
    static const double* numbers(const std::vector<char>& frame, const Part& part) {
        return reinterpret_cast<const double*>(frame.data() + part.offset);
    }

    std::int64_t number_;
    std::string law_;
    double period_;
    std::unique_ptr<detail::Transport> transport_;
    Close close_;
    bool same_clock_;
    std::vector<char> state_, sent_, output_, scratch_;  // frames
    std::vector<Part> outputs_, references_, momentary_;
    Part q_, v_;
    Head head_{};
    std::int64_t sequence_ = 0;
    bool ended_ = false;
    double offset_ = std::numeric_limits<double>::infinity(), newest_ = 0.0;
};

}  // namespace torqued
