"""Runs a Lua file, in the process of `sandbox.py`, and gives the table that it returns.

The file sees Lua's plain functions only: none that read, load or run anything, or reach Python.
"""

from __future__ import annotations

import re
from typing import Any

from lupa import LuaError, LuaRuntime, lua_type  # loads the runtime now, while it may

#: Tables nested deeper and longer texts are cut off, and a file with more values is refused.
DEPTH, TEXT, VALUES = 8, 200, 200_000

PRELUDE = b"""
local text = ...
local seen = {print = function() end, unpack = table.unpack}
for _, name in ipairs({"assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall",
    "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable", "tonumber", "tostring",
    "type", "xpcall", "math", "string", "table", "coroutine"}) do
  seen[name] = _G[name]
end
seen._G = seen
local chunk, problem = load(text, "=line", "t", seen)
if not chunk then error(problem, 0) end
local table = chunk()
if type(table) ~= "table" then error("returns a " .. type(table) .. ", expected a table", 0) end
return table
"""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The table, lists as lists, or what is wrong."""
    lua = LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
    try:
        table = lua.execute(PRELUDE, request["text"].encode("utf-8", "replace"))
        return {"table": _plain(table, 0, [0])}
    except (LuaError, ValueError) as error:
        text = error.args[0] if error.args else ""
        lines = [*(_text(text).splitlines() if isinstance(text, str | bytes) else ()), ""]
        first = lines[0].removeprefix("stack traceback:") or "ends with an error of no text"
        return {"error": re.sub(r"^line:(\d+):", r"line \1:", first)}


def _text(value: str | bytes) -> str:
    text = value[: 4 * TEXT].decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text[:TEXT]


def _plain(value: Any, depth: int, count: list[int]) -> Any:
    """A value as JSON has it; tables are read as they are, without their metatables."""
    count[0] += 1
    if count[0] > VALUES:
        raise ValueError(f"its table has more than {VALUES} values")
    kind = lua_type(value)
    if kind == "table" and depth < DEPTH:
        items = [(key, _plain(item, depth + 1, count)) for key, item in value.items()]
        places = {key: item for key, item in items if type(key) is int}
        if len(places) == len(items) and all(k + 1 in places for k in range(len(items))):
            return [places[k + 1] for k in range(len(items))]
        named = {_text(k) if isinstance(k, str | bytes) else str(k): item for k, item in items}
        return dict(sorted(named.items()))
    if kind is not None:
        return f"<{kind}>"
    return _text(value) if isinstance(value, str | bytes) else value
