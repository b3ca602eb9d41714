"""Runs a server on stdio that learns of a client of an older revision: REVISION COMMAND ARGUMENTS..."""

import json
import subprocess
import sys

child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
for line in sys.stdin:
    if '"initialize"' in line or '"server/discover"' in line:
        message = json.loads(line)
        if message.get("method") == "server/discover":
            error = {"code": -32601, "message": "method not found"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
        if message.get("method") == "initialize":
            message["params"]["protocolVersion"] = sys.argv[1]
            line = json.dumps(message) + "\n"
    try:
        child.stdin.write(line.encode())
        child.stdin.flush()
    except BrokenPipeError:
        break
child.stdin.close()
sys.exit(child.wait())
