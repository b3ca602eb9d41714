#!/usr/bin/env bash
# pydantic-ai-slim 2.68.0 (PyPI), a client of servers, meets a server written with the Python SDK (mcp 2.3.0, PyPI).
# A tool returns the text of a file; another counts how often a text occurs in it, as an edit must. The model gives back
# to the second what it has from the first. Expected: it is found once.
# What happens: text that begins with { or [ and parses as JSON is replaced by its value, and the model is given that
# value written anew. Of a JSON file it never sees the spaces and lines, 1.10 is 1.1, of a name that occurs twice one is
# left, 1e400 is null, and [] is an empty string. With a space before it, or in two lines of JSON, the text stays as it is.
# Specification 2025-11-25, server/tools, "Text Content", and "Structured Content": JSON values have a field of their own,
# which the server does not use here. 2026-07-28 has the same two.
# Users: return files as embedded resources, whose text is kept (the last line).
# Junction: docs/bridge.md does not name it, no test does, and the script does not try it through Junction.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q 'pydantic-ai-slim[mcp]==2.68.0' mcp==2.3.0 fastmcp-slim==4.2.3

cat > "$dir/server.py" <<'E'
from mcp.server.mcpserver import MCPServer
from mcp.types import EmbeddedResource, TextResourceContents

server = MCPServer("files")
files = {
    "package": '{\n  "version": "1",\n  "price": 1.10\n}\n',
    "twice": '{"a": 1, "a": 2}',
    "large": "[1e400, 1]",
    "empty": "[]",
    "spaced": ' {"price": 1.10}',
    "lines": '{"price": 1.10}\n{"price": 1.20}',
}

@server.tool(structured_output=False)
def read(name: str) -> str:
    return files[name]

@server.tool(structured_output=False)
def embed(name: str):
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=f"file:///{name}", text=files[name]))

@server.tool(structured_output=False)
def count(name: str, text: str) -> str:
    return f"found {files[name].count(text)} times"

server.run("stdio")
E
cat > "$dir/client.py" <<'E'
import asyncio, sys
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

toolset = MCPToolset(StdioTransport(sys.executable, [sys.argv[1]], log_file=sys.stderr))

async def run(tool, name):
    def model(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool, {"name": name})])
        got = messages[-1].parts[0].model_response_str()
        if len(messages) == 3:
            print(f"{tool} {name}: the model has {got!r}", end=", ")
            return ModelResponse(parts=[ToolCallPart("count", {"name": name, "text": got})])
        return ModelResponse(parts=[TextPart(got)])
    print((await Agent(FunctionModel(model), toolsets=[toolset]).run("go")).output)

async def main():
    async with toolset:
        for name in ["package", "twice", "large", "empty", "spaced", "lines"]:
            await run("read", name)
        await run("embed", "package")

asyncio.run(main())
E
"$dir/venv/bin/python" "$dir/client.py" "$dir/server.py" 2>"$dir/err" | tee "$dir/out" || cat "$dir/err" >&2
cat > "$dir/expected" <<'E'
read package: the model has '{"version":"1","price":1.1}', found 0 times
read twice: the model has '{"a":2}', found 0 times
read large: the model has '[null,1]', found 0 times
read empty: the model has '', found 3 times
read spaced: the model has ' {"price": 1.10}', found 1 times
read lines: the model has '{"price": 1.10}\n{"price": 1.20}', found 1 times
embed package: the model has '{\n  "version": "1",\n  "price": 1.10\n}\n', found 1 times
E
cmp -s "$dir/out" "$dir/expected" || {
  echo "pydantic-ai treats text that is JSON in another way now" >&2
  exit 1
}
