// The C++ contenders of `torqued bench rtt`, one a process:
//
//     latency session ENDPOINT    a session's state to its torque, on arrival, in shared memory
//     latency futex               a bare futex ping-pong with a process of the same kind
//
// A line "COUNT PERIOD" on standard input asks for so many exchanges, begun PERIOD ns apart; a line
// with their times in ns is the answer.
#include <sys/prctl.h>

#include <cstdio>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <torqued.hpp>
#include <vector>

namespace {

using torqued::detail::now;

void measure(const std::function<void()>& exchange) {
    long count = 0, period = 0;
    while (std::scanf("%ld %ld", &count, &period) == 2) {
        std::vector<std::int64_t> times;
        std::int64_t deadline = now();
        for (long k = 0; k < count; ++k) {
            deadline += period;
            const timespec until{static_cast<time_t>(deadline / 1000000000),
                                 static_cast<long>(deadline % 1000000000)};
            ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
            const std::int64_t begin = now();
            exchange();
            times.push_back(now() - begin);
        }
        for (const std::int64_t time : times) std::printf("%lld ", static_cast<long long>(time));
        std::printf("\n");
        std::fflush(stdout);
    }
}

void session(const std::string& endpoint) {
    constexpr long most_fallen = 100;  // while states begin to come again
    long fallen = 0;
    torqued::Client client(endpoint, 10.0);
    const torqued::Hello robot = client.hello();
    torqued::Session session =
        client.session("passivity", {{"transport", "memory"}, {"clock", "state"}, {"hold", 10.0}});
    const std::vector<double> q = robot.neutral.values, v(robot.nv, 0.0);
    measure([&] {
        session.step(q.data(), v.data(), 10.0);
        // Where the fallback acts, the law is not computed: there is nothing to measure then.
        if (session.head().status & torqued::FALLBACK) ++fallen;
        if (fallen > most_fallen) throw torqued::Error("the session has fallen back");
    });
}

/// Two words of shared memory, each on a line of its own; one side counts up, the other follows.
class Words {
public:
    Words()
        : words_(static_cast<std::uint32_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    void put(int side, std::uint32_t value) {
        __atomic_store_n(words_ + 16 * side, value, __ATOMIC_SEQ_CST);
        ::syscall(SYS_futex, words_ + 16 * side, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    void wait(int side, std::uint32_t old) {
        while (__atomic_load_n(words_ + 16 * side, __ATOMIC_SEQ_CST) == old)
            ::syscall(SYS_futex, words_ + 16 * side, FUTEX_WAIT, old, nullptr, nullptr, 0);
    }

private:
    std::uint32_t* words_;
};

void ping_pong() {
    Words words;
    if (::fork() == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::uint32_t count = 0;; ++count) {
            words.wait(0, count);
            words.put(1, count + 1);
        }
    }
    std::uint32_t count = 0;
    measure([&] {
        words.put(0, count + 1);
        words.wait(1, count);
        ++count;
    });
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 3 && std::strcmp(argv[1], "session") == 0) session(argv[2]);
    else if (argc == 2 && std::strcmp(argv[1], "futex") == 0) ping_pong();
    else return 2;
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
