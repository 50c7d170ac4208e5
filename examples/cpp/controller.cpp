// A controller at 1 kHz: follows a slow sine with every joint, against a robot that it imagines.
//
//     torqued serve --robot panda                      (in another terminal)
//     ./controller panda [memory|socket]
//
// In place of the imagined robot, read q and v from yours and give it tau.
#include <cmath>
#include <cstdio>
#include <string>
#include <torqued.hpp>
#include <vector>

namespace {

constexpr double period = 1e-3;  // s
constexpr int ticks = 1000;

}  // namespace

int main(int argc, char** argv) try {
    const std::string daemon = argc > 1 ? argv[1] : "panda";
    const std::string transport = argc > 2 ? argv[2] : "memory";
    torqued::Client client(daemon, 5.0);
    const torqued::Hello robot = client.hello();
    std::printf("robot %s: nq %zu, nv %zu, %g Hz\n", robot.name.c_str(), robot.nq, robot.nv,
                robot.rate);

    // Everything that may throw or allocate comes before the loop.
    torqued::Session session = client.session("passivity", {{"transport", transport}});
    const torqued::View tau = session.output("tau");
    const torqued::Reference q_ref = session.reference("q_ref");
    const torqued::Reference v_ref = session.reference("v_ref");
    std::vector<double> q = robot.neutral.values, v(robot.nv, 0.0);
    const std::vector<double> start = q;

    int good = 0, answered = 0;
    timespec deadline{};
    ::clock_gettime(CLOCK_MONOTONIC, &deadline);
    for (int k = 0; k < ticks; ++k) {
        deadline.tv_nsec += static_cast<long>(period * 1e9);
        if (deadline.tv_nsec >= 1000000000) {
            deadline.tv_nsec -= 1000000000;
            ++deadline.tv_sec;
        }
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
        const double t = k * period, angle = 0.05 * (1.0 - std::cos(t)), rate = 0.05 * std::sin(t);
        for (std::size_t j = 0; j < q_ref.size; ++j) {
            q_ref.data[j] = start[j] + angle;
            v_ref.data[j] = rate;
            q[j] = start[j] + angle;  // the imagined robot is where it should be
            v[j] = rate;
        }
        const torqued::Answer answer = session.step(q.data(), v.data(), 0.1);
        if (answer == torqued::Answer::ended) break;
        if (answer != torqued::Answer::answered) continue;  // your robot's own fallback
        ++answered;
        if (session.head().usable()) ++good;
        // apply(tau.data, tau.size);
    }
    std::printf("%d of %d states answered, %d with the law's torque; tau[1] %.3f N m\n", answered,
                ticks, good, tau.data[1]);
    return 0;
} catch (const torqued::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
