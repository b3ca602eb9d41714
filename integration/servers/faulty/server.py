"""An MCP server with the fault that its argument names, in the revision 2025-06-18."""

import json
import os
import sys
import threading
import time

fault = sys.argv[1]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def flood():
    line = b"a line that nobody needs " * 40 + b"\n"
    while True:
        os.write(2, line)


def babble():
    n = 0
    while True:
        n += 1
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": f"noise {n}"}})
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": n % 50, "progress": n}})
        send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "test://watched"}})
        send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": n % 50}})
        send({"jsonrpc": "2.0", "id": f"q{n}", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        if n % 20 == 0:
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        send("noise")
        time.sleep(0.02)


if fault == "garbage":
    while True:
        sys.stdin.buffer.readline()
        os.write(1, b'{"jsonrpc": "2.0", "id": \xff\x00 ]]]\n')

if fault == "flood":
    threading.Thread(target=flood, daemon=True).start()

TOOL = {"name": "work", "inputSchema": {"type": "object"}}
for text in sys.stdin:
    m = json.loads(text)
    if "id" not in m or "method" not in m:
        continue
    answer = {"jsonrpc": "2.0", "id": m["id"]}
    if m["method"] == "initialize":
        if fault == "silent":
            continue
        answer["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}},
            "serverInfo": {"name": fault, "version": "1"},
        }
    elif m["method"] == "tools/list":
        answer["result"] = {"tools": [TOOL]}
        if fault == "noise":
            threading.Thread(target=babble, daemon=True).start()
            fault = "noisy"
    elif m["method"] == "tools/call":
        if fault == "crash":
            sys.exit("it never worked")
        answer["result"] = {"content": [{"type": "text", "text": "done"}]}
    elif m["method"] == "resources/list":
        answer["result"] = {"resources": []}
    elif m["method"] in ("ping", "logging/setLevel"):
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    send(answer)
