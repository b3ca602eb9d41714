"""An MCP server with the fault that its argument names, in the revision 2025-06-18."""

import json
import os
import sys
import threading

fault = sys.argv[1]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def flood():
    line = b"a line that nobody needs " * 40 + b"\n"
    while True:
        os.write(2, line)


if fault == "garbage":
    while True:
        sys.stdin.buffer.readline()
        os.write(1, b'{"jsonrpc": "2.0", "id": \xff\x00 ]]]\n')

if fault == "flood":
    threading.Thread(target=flood, daemon=True).start()

TOOL = {"name": "work", "inputSchema": {"type": "object"}}
for text in sys.stdin:
    m = json.loads(text)
    if "id" not in m:
        continue
    answer = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        if fault == "silent":
            continue
        answer["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": fault, "version": "1"},
        }
    elif m["method"] == "tools/list":
        answer["result"] = {"tools": [TOOL]}
    elif m["method"] == "tools/call":
        if fault == "crash":
            sys.exit("it never worked")
        answer["result"] = {"content": [{"type": "text", "text": "done"}]}
    elif m["method"] == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    send(answer)
