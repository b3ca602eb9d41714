"""An MCP server of 2025-11-25 with the tools that tools.json has for the set that its argument names.

A tool without a result of its own answers with the arguments that it got. With a second argument, N, a list has pages
of N tools.
"""

import json
import pathlib
import sys

known = json.loads(pathlib.Path(__file__).with_name("tools.json").read_text())
offered = [t for t in known if t["set"] == sys.argv[1]]
size = int(sys.argv[2]) if len(sys.argv) > 2 else len(offered)


def page(params):
    begin = int(params.get("cursor", "0"))
    result = {"tools": [{"description": f"[{t['key']}] {t['why']}", **t["tool"]} for t in offered[begin : begin + size]]}
    if begin + size < len(offered):
        result["nextCursor"] = str(begin + size)
    return result


def call(params):
    tool = next(t for t in offered if t["tool"]["name"] == params["name"])
    if "error" in tool:
        return {"error": tool["error"]}
    if "long" in tool:
        return {"result": {"content": [{"type": "text", "text": "long " * (tool["long"] // 5)}]}}
    if "result" in tool:
        return {"result": tool["result"]}
    got = json.dumps(params.get("arguments"), sort_keys=True)
    return {"result": {"content": [{"type": "text", "text": "got " + got}]}}


def respond(method, params):
    match method:
        case "initialize":
            offers = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            return {"result": {**offers, "serverInfo": {"name": "awkward", "version": "1"}}}
        case "tools/list":
            return {"result": page(params)}
        case "tools/call":
            return call(params)
        case "ping":
            return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


for text in sys.stdin:
    message = json.loads(text)
    if "id" in message and "method" in message:
        answer = respond(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
