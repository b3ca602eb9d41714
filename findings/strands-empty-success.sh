#!/usr/bin/env bash
# strands-agents 1.62.0, a client of servers, meets a server written with the Python SDK (mcp 2.1.1); both of PyPI.
# Tools answer with a link to a resource, a sound, or an embedded PDF. Expected: the agent gets it, if only as an
# address or a type, or an error that it cannot be shown.
# What happens: strands keeps text, pictures and embedded text, and drops all else with a line of the debug log. Where
# nothing is left the result is `content: []` with the status "success": the model reads that all went well, and nothing.
# Specification 2025-11-25, server/tools, "Tool Result": content holds text, image, audio, resource links and embedded
# resources; 2026-07-28 says the same.
# Junction: none known; docs/bridge.md (row strands-agents) says that it differs in nothing from a direct connection.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q strands-agents==1.62.0 mcp==2.1.1

cat > "$dir/server.py" <<'E'
import base64
from mcp.server.mcpserver import MCPServer
from mcp.types import AudioContent, BlobResourceContents, EmbeddedResource, ResourceLink

server = MCPServer("things")
data = base64.b64encode(b"RIFF0000WAVE").decode()

@server.tool(structured_output=False)
def link():
    return ResourceLink(type="resource_link", uri="file:///report.txt", name="report.txt", mime_type="text/plain")

@server.tool(structured_output=False)
def sound():
    return AudioContent(type="audio", data=data, mime_type="audio/wav")

@server.tool(structured_output=False)
def pdf():
    return EmbeddedResource(type="resource", resource=BlobResourceContents(
        uri="file:///report.pdf", mime_type="application/pdf", blob=data))

@server.tool(structured_output=False)
def text():
    return "some text"

server.run("stdio")
E
cat > "$dir/client.py" <<'E'
import asyncio, sys
from mcp import ClientSession, StdioServerParameters, stdio_client
from strands.tools.mcp import MCPClient

parameters = StdioServerParameters(command=sys.executable, args=[sys.argv[1]])

async def direct(names):
    async with stdio_client(parameters) as (r, w), ClientSession(r, w) as session:
        await session.initialize()
        return {n: [c.type for c in (await session.call_tool(n, {})).content] for n in names}

names = ["text", "link", "sound", "pdf"]
sent = asyncio.run(direct(names))
with MCPClient(lambda: stdio_client(parameters)) as client:
    for name in names:
        result = client.call_tool_sync(tool_use_id="1", name=name, arguments={})
        print(f"{name}: sent {sent[name]}, strands has {result['status']} {result['content']}")
E
"$dir/venv/bin/python" "$dir/client.py" "$dir/server.py" 2>"$dir/err" | tee "$dir/out" || cat "$dir/err" >&2
grep -q "^text: sent \['text'\], strands has success \[{'text': 'some text'}\]$" "$dir/out" &&
  [ "$(grep -cE "^(link: sent \['resource_link'\]|sound: sent \['audio'\]|pdf: sent \['resource'\]), strands has success \[\]$" "$dir/out")" = 3 ] || {
  echo "strands-agents no longer makes an empty success of a link, a sound and a PDF" >&2
  exit 1
}
