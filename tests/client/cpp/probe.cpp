// What tests/client/test_cpp.py runs against a daemon: one check by its name, "ok" where it holds.
//
//     probe CHECK ENDPOINT [KEY_FILE]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <torqued.hpp>
#include <vector>

// Every allocation of this thread is counted, those of libraries too.
extern "C" void* __libc_malloc(std::size_t size);
namespace {
thread_local std::size_t allocations = 0;
}
extern "C" void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}

namespace {

using torqued::Answer;

[[noreturn]] void fail(const std::string& what) {
    std::printf("%s\n", what.c_str());
    std::exit(1);
}

void require(bool holds, const std::string& what) {
    if (!holds) fail(what);
}

std::vector<double> filled(std::size_t size, double value) { return std::vector<double>(size, value); }

/// g − d v of the law `gravity`, within effort limits that these states do not reach.
void check_session(torqued::Client& client, const torqued::Fields& options) {
    const torqued::Hello robot = client.hello();
    const std::vector<double> q = robot.neutral.values, v = filled(robot.nv, 0.01);
    const auto expected = client.dynamics(q, v, {"g"}).at("g");
    torqued::Fields fields = options;
    fields.set("gains", torqued::Fields{{"damping", 2.0}}).set("low_pass", 0.0).set("walls", false);
    torqued::Session session = client.session("gravity", fields);
    const torqued::View tau = session.output("tau");
    require(session.nq() == robot.nq && session.nv() == robot.nv && tau.size == robot.nv, "sizes");
    for (int k = 0; k < 20; ++k)
        require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "no answer");
    require(session.head().sequence == 20 && session.head().seen == 20, "sequence");
    require((session.head().status & torqued::FALLBACK) == 0, "fallback");
    for (std::size_t k = 0; k < tau.size; ++k)
        require(std::abs(tau.data[k] - (expected[k] - 2.0 * v[k])) < 1e-9, "torque");
    session.close();
}

void requests(torqued::Client& client) {
    const torqued::Hello robot = client.hello();
    const auto found = client.dynamics(robot.neutral, filled(robot.nv, 0.1), {"M", "C", "g"});
    const torqued::Array &M = found.at("M"), &C = found.at("C");
    require(M.shape == std::vector<std::size_t>{robot.nv, robot.nv}, "shape of M");
    require(C.size() == robot.nv * robot.nv, "size of C");
    for (std::size_t i = 0; i < robot.nv; ++i)
        for (std::size_t j = 0; j < robot.nv; ++j) require(M(i, j) == M(j, i), "M is symmetric");
    require(client.call("ping").truth("ready"), "ready");
}

void errors(torqued::Client& client) {
    try {
        client.dynamics(filled(2, 0.0), filled(2, 0.0), {"g"});
        fail("a wrong q was taken");
    } catch (const torqued::FieldError& error) {
        require(error.code == "bad_field" && error.field == "q", "which field");
        require(std::string(error.what()).find("expected") != std::string::npos, "what is allowed");
    }
    try {
        client.call("dance");
        fail("an unknown operation was taken");
    } catch (const torqued::OperationError& error) {
        require(error.code == "unknown_operation", "code");
    }
    torqued::Session session = client.session("gravity");
    try {
        session.output("taupe");
        fail("an unknown output was found");
    } catch (const torqued::InputError&) {
    }
    try {
        torqued::Client("ipc:///nowhere/nobody.sock", 1e5).hello();  // noticed at once
        fail("nobody answered");
    } catch (const torqued::TimeoutError& error) {
        require(std::string(error.what()).find("no daemon at") != std::string::npos, "who is dead");
    }
}

void references(torqued::Client& client) {
    const torqued::Hello robot = client.hello();
    torqued::Session session =
        client.session("computed_torque", {{"transport", "memory"}, {"reference_limits", false}});
    const torqued::Reference q_ref = session.reference("q_ref");
    require(q_ref.size == robot.nq, "size of q_ref");
    const std::vector<double> q = robot.neutral.values, v = filled(robot.nv, 0.0);
    const torqued::View tau = session.output("tau");
    require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "held");
    const double before = tau.data[0];
    for (std::size_t k = 0; k < q_ref.size; ++k) q_ref.data[k] = q[k] + 0.01;
    for (int k = 0; k < 50; ++k)
        require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "followed");
    require(tau.data[0] != before, "a reference changes the torque");
}

void no_allocation(torqued::Client& client, const torqued::Fields& options) {
    const torqued::Hello robot = client.hello();
    const std::vector<double> q = robot.neutral.values, v = filled(robot.nv, 0.0);
    torqued::Session session = client.session("gravity", options);
    require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "first");
    const std::size_t before = allocations;
    static_assert(noexcept(session.step(q.data(), v.data(), 1.0)), "step does not throw");
    for (int k = 0; k < 100; ++k)
        require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "answer");
    const std::size_t after = allocations;
    require(after == before, std::to_string(after - before) + " allocations");
    void* (*volatile allocate)(std::size_t) = std::malloc;  // volatile: not to be left out
    std::free(allocate(1));
    require(allocations > after, "allocations are counted");
}

void ends(torqued::Client& client) {
    const torqued::Hello robot = client.hello();
    const std::vector<double> q = robot.neutral.values, v = filled(robot.nv, 0.0);
    torqued::Session session = client.session("gravity", {{"transport", "memory"}});
    require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "first");
    client.call("close", {{"session", session.number()}});
    Answer answer = Answer::answered;
    for (int k = 0; k < 1000 && answer == Answer::answered; ++k) answer = session.receive(30.0);
    require(answer == Answer::ended, "it has ended");
    require((session.head().status & torqued::LAST) != 0, "LAST");
    const torqued::View tau = session.output("tau");
    for (std::size_t k = 0; k < tau.size; ++k) require(tau.data[k] == 0.0, "zero torque");
    require(session.step(q.data(), v.data(), 1.0) == Answer::ended, "and stays so");
}

/// Loses every second state.
struct Lossy : torqued::detail::Transport {
    explicit Lossy(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}
    bool send(const char* frame, std::size_t size) noexcept override {
        return ++sent % 2 == 1 || inner_->send(frame, size);
    }
    bool receive(char* frame, std::size_t size, std::int64_t deadline) noexcept override {
        return inner_->receive(frame, size, deadline);
    }
    int sent = 0;

private:
    std::unique_ptr<Transport> inner_;
};

void lost_states(torqued::Client& client) {
    const torqued::Hello robot = client.hello();
    const std::vector<double> q = robot.neutral.values, v = filled(robot.nv, 0.0);
    const auto opened = client.call("open", {{"law", "torque"}, {"low_pass", 0.0}, {"walls", false}});
    const std::unique_ptr<void, int (*)(void*)> context(::zmq_ctx_new(), ::zmq_ctx_term);
    auto socket = std::make_unique<torqued::detail::SocketTransport>(
        context.get(), opened.text("endpoint"), opened.text("owner"), torqued::Keys{}, "");
    auto lossy = std::make_unique<Lossy>(std::move(socket));
    const Lossy& wire = *lossy;
    torqued::Session session(opened, std::move(lossy), true, [&](std::int64_t number) {
        client.call("close", {{"session", number}});
    });
    const torqued::View tau = session.output("tau");
    const torqued::Reference wanted = session.reference("tau");
    for (int k = 1; k <= 10; ++k) {
        for (std::size_t i = 0; i < wanted.size; ++i) wanted.data[i] = 0.01 * k;
        require(session.step(q.data(), v.data(), 30.0) == Answer::answered, "no answer");
        require(session.head().sequence == k && wire.sent >= 2 * k, "sent again");
        require((session.head().status & torqued::INVALID) == 0, "a copy is no fault");
        require(std::abs(tau.data[0] - 0.01 * k) < 1e-12, "the copy has the torque");
    }
    session.close();
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) fail("probe CHECK ENDPOINT [KEY_FILE]");
    const torqued::Fields memory{{"transport", "memory"}};
    const torqued::Fields arrival{{"transport", "memory"}, {"clock", "state"}};
    torqued::Keys keys;
    if (argc > 3) keys = torqued::Keys::from_file(argv[3]);
    torqued::Client client(argv[2], 30.0, 2, keys);
    const std::map<std::string, std::function<void()>> checks{
        {"requests", [&] { requests(client); }},
        {"errors", [&] { errors(client); }},
        {"socket", [&] { check_session(client, {}); }},
        {"memory", [&] { check_session(client, memory); }},
        {"arrival", [&] { check_session(client, arrival); }},
        {"references", [&] { references(client); }},
        {"no_allocation", [&] { no_allocation(client, memory); }},
        {"no_allocation_on_arrival", [&] { no_allocation(client, arrival); }},
        {"ends", [&] { ends(client); }},
        {"lost_states", [&] { lost_states(client); }},
    };
    const auto found = checks.find(argv[1]);
    if (found == checks.end()) fail("no such check");
    found->second();
    std::printf("ok\n");
    return 0;
} catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
}
