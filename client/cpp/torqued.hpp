// A client of torqued's daemon in C++17: header-only, on libzmq and msgpack, and nothing else.
//
//     #include <torqued.hpp>
//
//     torqued::Client client("panda");
//     auto robot = client.hello();
//     torqued::Session session = client.session("gravity", {{"transport", "memory"}});
//     const auto tau = session.output("tau");
//     while (session.step(q, v, 0.01) == torqued::Answer::answered) apply(tau.data, tau.size);
//
// `Session::step` and all that is marked noexcept neither throws nor allocates, except that libzmq
// allocates messages of sessions over a socket. Everything else throws one of
// the errors of torqued/errors.hpp. docs/PROTOCOL.md is what all of this is written from.
#pragma once

#include "torqued/client.hpp"
#include "torqued/codec.hpp"
#include "torqued/endpoints.hpp"
#include "torqued/errors.hpp"
#include "torqued/session.hpp"
#include "torqued/transports.hpp"
