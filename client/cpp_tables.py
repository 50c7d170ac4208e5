"""The tables of the Python client as a header of the C++ client:

python -m torqued.client.cpp_tables    writes client/cpp/torqued/tables.hpp
"""

from __future__ import annotations

from pathlib import Path

from torqued.client.requests.operation_table import ON_CONTROL, ONCE, TABLE
from torqued.client.sessions.frames import OUTPUT_FIELDS, STATE_FIELDS
from torqued.common import status

HEADER = Path(__file__).parent / "cpp" / "torqued" / "tables.hpp"

KINDS = {"u64": "std::uint64_t", "i64": "std::int64_t", "f64": "double"}

TEXT = """\
// Operations, status bits and heads of frames: tables of the Python client, written by
// `python -m torqued.client.cpp_tables`. Do not edit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace torqued {{

namespace detail {{

/// Operations of the control socket, which never wait behind work.
inline const std::set<std::string> on_control{{
{control}}};

/// Operations that are sent once, never again after a silence.
inline const std::set<std::string> once{{
{once}}};

/// Operations that are long work: s that a client waits at least.
inline const std::map<std::string, double> patience{{
{patience}}};

}}  // namespace detail

enum Status : std::uint64_t {{
{status}}};

/// Names of the bits that are set, as "STALE INVALID", for people.
inline std::string status_names(std::uint64_t bits) {{
    static constexpr std::pair<std::uint64_t, const char*> table[] = {{
{names}    }};
    std::string found;
    for (const auto& [bit, name] : table)
        if (bits & bit) found += found.empty() ? name : std::string(" ") + name;
    return found;
}}

/// Bits with which a torque is not the law's, of a fresh state.
constexpr std::uint64_t unusable = {unusable};

/// The head of a state frame.
struct StateHead {{
{state}}};

/// The head of an output frame.
struct Head {{
{head}
    /// Nothing is wrong.
    bool ok() const noexcept {{ return status == 0; }}
    /// The torque is the law's, computed from a fresh state, perhaps cut to its limits.
    bool usable() const noexcept {{ return (status & unusable) == 0; }}
}};
static_assert(sizeof(Head) == {bytes}, "as docs/PROTOCOL.md has it");

}}  // namespace torqued
"""


def members(fields: tuple[tuple[str, str, str], ...]) -> str:
    return "".join(f"    {KINDS[kind]} {name};  // {why}\n" for name, kind, why in fields)


def text() -> str:
    """The header."""
    names = [row.name for row in TABLE]
    return TEXT.format(
        control="".join(f'    "{name}",\n' for name in names if name in ON_CONTROL),
        once="".join(f'    "{name}",\n' for name in names if name in ONCE),
        patience="".join(f'    {{"{row.name}", {row.seconds}}},\n' for row in TABLE if row.seconds),
        status="".join(f"    {row.name} = {row.bit},  // {row.meaning}\n" for row in status.TABLE),
        names="".join(f'        {{{row.bit}, "{row.name}"}},\n' for row in status.TABLE),
        unusable=status.UNUSABLE,
        head=members(OUTPUT_FIELDS),
        state=members(STATE_FIELDS),
        bytes=8 * len(OUTPUT_FIELDS),
    )


if __name__ == "__main__":
    HEADER.write_text(text(), encoding="utf-8")
