"""A server of revision 2025-06-18 on standard input and output, which keeps notes and asks its client."""
import json
import os
import sys
import threading

notes, waiting, lock = [], {}, threading.Lock()


def send(**message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method, params):
    with lock:
        number = len(waiting) + 1
        waiting[number] = (threading.Event(), [])
    send(id=number, method=method, params=params)
    answered, answer = waiting[number]
    answered.wait()
    if "error" in answer[0]:
        raise RuntimeError(answer[0]["error"]["message"])
    return answer[0]["result"]


def add(arguments):
    notes.append(arguments["text"])
    return json.dumps({"notes": notes, "process": os.getpid(), "user": os.getuid(), "region": os.environ.get("REGION"), "folder": os.getcwd()})


def confirm(arguments):
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    answer = ask("elicitation/create", {"message": "Delete all notes?", "requestedSchema": schema})
    return json.dumps(answer.get("content"))


def summarize(arguments):
    said = {"role": "user", "content": {"type": "text", "text": "Summarize: " + " ".join(notes)}}
    return ask("sampling/createMessage", {"messages": [said], "maxTokens": 100})["content"]["text"]


def stop(arguments):
    os._exit(1)


tools = {f.__name__: f for f in (add, confirm, summarize, stop)}


def call(number, params):
    try:
        text, failed = tools[params["name"]](params.get("arguments", {})), False
    except Exception as e:
        text, failed = str(e), True
    send(id=number, result={"content": [{"type": "text", "text": text}], "isError": failed})


for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        answered, answer = waiting[m["id"]]
        answer.append(m)
        answered.set()
    elif m["method"] == "initialize":
        send(id=m["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}})
    elif m["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        send(id=m["id"], result={"tools": [{"name": name, "inputSchema": schema} for name in tools]})
    elif m["method"] == "tools/call":
        threading.Thread(target=call, args=(m["id"], m["params"]), daemon=True).start()
    elif m["method"] == "ping":
        send(id=m["id"], result={})
    elif "id" in m:
        send(id=m["id"], error={"code": -32601, "message": "unknown method"})
