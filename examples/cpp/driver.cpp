// A robot's driver that answers within its control cycle, as libfranka's callbacks and EtherCAT
// cycles have to: a state comes, its torque goes back.
//
//     torqued serve --robot panda                      (in another terminal)
//     ./driver panda [cycles]
//
// Torques are computed when the state arrives (clock = "state"), not at the loop's next tick.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <torqued.hpp>
#include <vector>

namespace {

constexpr double cycle = 1e-3;  // s

/// What the robot's library would call: torques for a state, or nothing where there are none.
class Callback {
public:
    Callback(torqued::Client& client)
        : session_(client.session("gravity", {{"transport", "memory"}, {"clock", "state"}})),
          tau_(session_.output("tau")) {}

    /// Neither throws nor allocates.
    const double* operator()(const double* q, const double* v) noexcept {
        const torqued::Answer answer = session_.step(q, v, 10 * cycle);
        return answer == torqued::Answer::answered ? tau_.data : nullptr;
    }

private:
    torqued::Session session_;
    torqued::View tau_;
};

}  // namespace

int main(int argc, char** argv) try {
    torqued::Client client(argc > 1 ? argv[1] : "panda", 5.0);
    const int cycles = argc > 2 ? std::atoi(argv[2]) : 1000;
    const torqued::Hello robot = client.hello();
    std::vector<double> q = robot.neutral.values, v(robot.nv, 0.0), times;
    times.reserve(static_cast<std::size_t>(cycles));
    Callback callback(client);

    std::int64_t deadline = torqued::detail::now();
    int unanswered = 0;
    for (int k = 0; k < cycles; ++k) {
        deadline += static_cast<std::int64_t>(cycle * 1e9);
        const timespec until{static_cast<time_t>(deadline / 1000000000),
                             static_cast<long>(deadline % 1000000000)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
        const std::int64_t begin = torqued::detail::now();
        const double* tau = callback(q.data(), v.data());
        times.push_back(static_cast<double>(torqued::detail::now() - begin) * 1e-3);
        if (!tau) ++unanswered;  // here the robot's own safety takes over
    }
    std::sort(times.begin(), times.end());
    std::printf("%d states, %d unanswered; state to torque: median %.0f µs, 99 %% within %.0f µs\n",
                cycles, unanswered, times[times.size() / 2], times[times.size() * 99 / 100]);
    return 0;
} catch (const torqued::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
