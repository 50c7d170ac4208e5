// Operations, status bits and heads of frames: tables of the Python client, written by
// `python -m torqued.client.cpp_tables`. Do not edit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace torqued {

namespace detail {

/// Operations of the control socket, which never wait behind work.
inline const std::set<std::string> on_control{
    "ping",
    "stats",
    "stop",
    "recover",
    "sessions",
    "reload",
    "log_level",
    "recorder",
    "shutdown",
};

/// Operations that are sent once, never again after a silence.
inline const std::set<std::string> once{
    "assemble",
    "batch",
    "simulate",
    "open",
    "take",
    "move",
    "close",
    "reload",
};

/// Operations that are long work: s that a client waits at least.
inline const std::map<std::string, double> patience{
    {"assemble", 60.0},
    {"batch", 60.0},
    {"simulate", 60.0},
    {"open", 10.0},
    {"tune", 10.0},
    {"reload", 60.0},
};

}  // namespace detail

enum Status : std::uint64_t {
    STALE = 1,  // the newest state is older than `stale_after`, or none has come yet
    CLAMPED = 2,  // a torque was cut to its limit, or to the limit of its rate
    FALLBACK = 4,  // the torque is not the law's: the last one held, or the fallback's
    SOLVER = 8,  // a solver did not succeed
    NONFINITE = 16,  // the newest state, or the result, had NaN or infinity in it
    INVALID = 32,  // a state was refused: its form, its quaternion, its sequence number or its stamp
    OVERRUN = 64,  // the session had used up its time and was not computed in this tick
    LAST = 128,  // the session has ended: no frame follows
    WALL = 256,  // a wall changed the torque: a joint or a frame is at its limit
    LIMITED_REFERENCE = 512,  // the reference in effect is on its way to the one that was given: that was too far, too fast, or beyond a limit
    OSCILLATING = 1024,  // a torque swings to and fro by more than 3 % of its limit: gains too high for the delay, or backlash
    STOPPED = 2048,  // a `stop` holds all sessions in their fallbacks until `recover`
    FROZEN = 4096,  // an encoder has stopped: q moves otherwise than v says, or neither changes while the torque does
    LAGGING = 8192,  // the robot is not where the positions commanded to it (`admittance`) lead
};

/// Names of the bits that are set, as "STALE INVALID", for people.
inline std::string status_names(std::uint64_t bits) {
    static constexpr std::pair<std::uint64_t, const char*> table[] = {
        {1, "STALE"},
        {2, "CLAMPED"},
        {4, "FALLBACK"},
        {8, "SOLVER"},
        {16, "NONFINITE"},
        {32, "INVALID"},
        {64, "OVERRUN"},
        {128, "LAST"},
        {256, "WALL"},
        {512, "LIMITED_REFERENCE"},
        {1024, "OSCILLATING"},
        {2048, "STOPPED"},
        {4096, "FROZEN"},
        {8192, "LAGGING"},
    };
    std::string found;
    for (const auto& [bit, name] : table)
        if (bits & bit) found += found.empty() ? name : std::string(" ") + name;
    return found;
}

/// Bits with which a torque is not the law's, of a fresh state.
constexpr std::uint64_t unusable = 14589;

/// The head of a state frame.
struct StateHead {
    std::uint64_t sequence;  // number of this state, larger than that of any before
    double stamp;  // s, when it was measured, by the sender's monotonic clock
    double at;  // s, the same in the time of the robot: for laws that learn, and observers
};

/// The head of an output frame.
struct Head {
    std::uint64_t tick;  // number of the tick; what is missing was not received
    std::int64_t sequence;  // of the state that was used, -1 before the first
    std::int64_t seen;  // of the newest state that came, used or refused, -1 before the first
    std::uint64_t status;  // bits; 0 is good
    double age;  // s, of the state that was used, at the tick
    double compute;  // s that computing this output took
    double time;  // s, when the tick began, by the daemon's CLOCK_MONOTONIC
    double deadline;  // s, when it should have begun: ticks are whole periods apart
    double stamp;  // s, of the state that was used, as its sender wrote it
    double success_rate;  // share of the last 100 ticks that had a torque of the law
    std::uint64_t reason;  // status bits for which the torque is not the law's, until it is again

    /// Nothing is wrong.
    bool ok() const noexcept { return status == 0; }
    /// The torque is the law's, computed from a fresh state, perhaps cut to its limits.
    bool usable() const noexcept { return (status & unusable) == 0; }
};
static_assert(sizeof(Head) == 88, "as docs/PROTOCOL.md has it");

}  // namespace torqued
