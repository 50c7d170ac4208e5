"""Runs a Lua file, in the process of `sandbox.py`, and gives the table that it returns.

The file sees Lua's plain functions only: none that read, load or run anything, or reach Python.
"""

from __future__ import annotations

from typing import Any

from lupa import LuaError, LuaRuntime, lua_type  # loads the runtime now, while it may

#: Tables nested deeper are cut off, and a file with more values is refused.
MAX_DEPTH, MAX_VALUES = 8, 200_000

PRELUDE = """
local text = ...
local seen = {print = function() end, unpack = table.unpack}
for name in string.gmatch([[assert error getmetatable ipairs next pairs pcall rawequal rawget
    rawlen rawset select setmetatable tonumber tostring type xpcall math string table
    coroutine]], "%a+") do
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
    lua = LuaRuntime(register_eval=False, register_builtins=False)
    try:
        return {"table": _plain(lua.execute(PRELUDE, request["text"]), 0, [0])}
    except (LuaError, ValueError) as error:
        text = str(error).partition("stack traceback:")[0].strip().replace("line:", "line ", 1)
        return {"problems": [text[:500] or "ends with an error of no text"]}


def _plain(value: Any, depth: int, count: list[int]) -> Any:
    """A value as JSON has it; tables are read as they are, without their metatables."""
    count[0] += 1
    if count[0] > MAX_VALUES:
        raise ValueError(f"its table has more than {MAX_VALUES} values")
    kind = lua_type(value)
    if kind == "table" and depth < MAX_DEPTH:
        items = {key: _plain(item, depth + 1, count) for key, item in value.items()}
        if all(k + 1 in items for k in range(len(items))):
            return [items[k + 1] for k in range(len(items))]
        return dict(sorted((str(key), item) for key, item in items.items()))
    return value if kind is None else f"<{kind}>"
