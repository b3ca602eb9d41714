"""A probing client on the official Python SDK (mcp): both eras.

The flags, the steps and the shape of what is printed are in ../../README.md.
"""

import base64
import json
import os
import sys
import time
import warnings
from contextlib import AsyncExitStack

import anyio
import mcp.client.session
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters

MODERN = "2026-07-28"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def parse_flags(argv):
    flags = {"script": [{"op": "list"}], "answers": {}, "revision": None}
    i = 0
    while i < len(argv):
        name = argv[i].removeprefix("--")
        if name == "stdio":
            flags["stdio"] = argv[i + 1 :]
            return flags
        if name not in ("http", "sse", "revision", "script", "answers"):
            raise SystemExit(f"unknown flag {argv[i]}")
        value = argv[i + 1]
        flags[name] = json.loads(value) if name in ("script", "answers") else value
        i += 2
    return flags


def dump(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Probe:
    """Keeps what came from the server, and answers what the server asks."""

    def __init__(self, answers):
        self.answers = answers
        self.fresh = []
        self.unclaimed = []
        self.changed = anyio.Event()

    def declares(self, name):
        declared = self.answers.get("declare")
        return declared is None or name in declared

    def event(self, method, params):
        item = {"method": method, "params": params}
        self.fresh.append(item)
        self.unclaimed.append(item)
        self.changed.set()
        self.changed = anyio.Event()

    async def wait(self, method, timeout_ms):
        with anyio.move_on_after(timeout_ms / 1000):
            while True:
                changed = self.changed
                for item in self.unclaimed:
                    if item["method"] == method:
                        self.unclaimed.remove(item)
                        return item["params"] or {}
                await changed.wait()
        raise TimeoutError(f"no {method} within {timeout_ms} ms")

    async def elicit(self, _context, params):
        self.event("elicitation/create", {"message": params.message, "mode": getattr(params, "mode", None)})
        answer = self.answers.get("elicit", {"action": "decline"})
        if getattr(params, "mode", None) == "url":
            return types.ElicitResult(action=answer["action"])
        fields = list((getattr(params, "requested_schema", None) or {}).get("properties", {}))
        if any(f in fields for f in answer.get("decline", [])):
            return types.ElicitResult(action="decline")
        if answer["action"] != "accept":
            return types.ElicitResult(action=answer["action"])
        content = {f: answer["content"][f] for f in fields if f in answer.get("content", {})}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, _context, params):
        content = params.messages[0].content
        first = content[0] if isinstance(content, list) else content
        self.event("sampling/createMessage", {"text": getattr(first, "text", None)})
        text = self.answers.get("sample", {}).get("text", "canned")
        return types.CreateMessageResult(
            role="assistant",
            model="canned",
            stop_reason="endTurn",
            content=types.TextContent(type="text", text=text),
        )

    async def roots(self, _context):
        self.event("roots/list", {})
        return types.ListRootsResult(roots=self.answers.get("roots", []))

    async def message(self, message):
        if isinstance(message, Exception):
            self.event("error", {"message": str(message)})
        elif message.method != "notifications/progress":
            params = getattr(message, "params", None)
            self.event(message.method, dump(params) if params is not None else None)


def target(flags):
    if "http" in flags:
        return flags["http"]
    if "sse" in flags:
        return sse_client(flags["sse"])
    return StdioServerParameters(command=flags["stdio"][0], args=flags["stdio"][1:], env=dict(os.environ))


def mode(revision):
    """The SDK always offers its newest legacy revision; an older one is put in its place."""
    if revision is None:
        return "auto"
    if revision == MODERN:
        return MODERN
    mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    return "legacy"


class Peer:
    def __init__(self, client, probe):
        self.client = client
        self.probe = probe
        self.modern = client.protocol_version == MODERN
        self.level = None
        self.uris = []
        self.listening = None

    async def listen(self):
        if self.listening is not None:
            await self.listening.aclose()
        self.listening = AsyncExitStack()
        await self.listening.enter_async_context(
            self.client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=self.uris,
            )
        )

    def meta(self):
        return {LOG_LEVEL: self.level} if self.modern and self.level else None

    async def list(self):
        out = {"errors": {}}
        kinds = {
            "tools": (self.client.list_tools, lambda r: [t.name for t in r.tools]),
            "resources": (self.client.list_resources, lambda r: [str(x.uri) for x in r.resources]),
            "templates": (self.client.list_resource_templates, lambda r: [t.uri_template for t in r.resource_templates]),
            "prompts": (self.client.list_prompts, lambda r: [p.name for p in r.prompts]),
        }
        for kind, (ask, names) in kinds.items():
            try:
                out[kind] = names(await ask(cache_mode="refresh"))
            except Exception as err:  # a server without the feature
                out[kind] = None
                out["errors"][kind] = describe(err)
        return out

    async def call(self, step):
        async def progress(value, total, message):
            self.probe.event("notifications/progress", {"progress": value, "total": total, "message": message})

        r = await self.client.call_tool(
            step["name"],
            step.get("arguments", {}),
            progress_callback=progress if step.get("progress") else None,
            meta=self.meta(),
        )
        return {
            "isError": bool(r.is_error),
            "text": "\n".join(text_of(c) for c in r.content),
            "types": [c.type for c in r.content],
            "structured": r.structured_content,
        }

    async def cancel_call(self, step):
        with anyio.move_on_after(step.get("afterMs", 200) / 1000):
            return {"cancelled": False, **await self.call(step)}
        return {"cancelled": True}

    async def read(self, uri):
        r = await self.client.read_resource(uri, cache_mode="refresh")
        text = [c.text if hasattr(c, "text") else f"blob:{len(base64.b64decode(c.blob))}" for c in r.contents]
        return {"text": "\n".join(text), "uris": [str(c.uri) for c in r.contents]}

    async def prompt(self, name, arguments):
        r = await self.client.get_prompt(name, arguments)
        return {"text": "\n".join(getattr(m.content, "text", m.content.type) for m in r.messages)}

    async def complete(self, ref, argument):
        if ref["type"] == "ref/prompt":
            ref = types.PromptReference(**ref)
        else:
            ref = types.ResourceTemplateReference(**ref)
        r = await self.client.complete(ref, argument)
        return {"values": r.completion.values}

    async def ping(self):
        # The modern revision has no ping; server/discover is the call that asks for nothing.
        if self.modern:
            await self.client.session.send_discover(MODERN)
        else:
            await self.client.send_ping()

    async def request(self, step):
        """Sends what the SDK's own methods send, whatever the revision has."""
        if step["method"] == "ping":
            await self.client.send_ping()
        else:
            await self.client.set_logging_level(step["level"])

    async def set_level(self, level):
        self.level = level
        if not self.modern:
            await self.client.set_logging_level(level)

    async def subscribe(self, uri, on):
        if not self.modern:
            await (self.client.subscribe_resource(uri) if on else self.client.unsubscribe_resource(uri))
            return
        self.uris = [*self.uris, uri] if on else [u for u in self.uris if u != uri]
        await self.listen()


def text_of(content):
    if content.type == "resource":
        return getattr(content.resource, "text", "")
    return getattr(content, "text", "")


def describe(err):
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    inner = getattr(err, "error", None)
    code = getattr(inner, "code", 0) or 0
    return {"code": code, "message": str(err) or repr(err), "data": getattr(inner, "data", None)}


async def perform(peer, probe, step):
    """Performs a step, again and again where it says until what its result has."""
    end = time.monotonic() + step.get("timeoutMs", 20000) / 1000
    while True:
        out = await perform_once(peer, probe, step)
        found = step.get("until", "") in json.dumps(out, default=str, ensure_ascii=False)
        if found or time.monotonic() > end:
            return out
        await anyio.sleep(0.1)


async def perform_once(peer, probe, step):
    try:
        with anyio.fail_after(step.get("timeoutMs", 20000) / 1000 + 1):
            return {"ok": True, **(await perform_unsafe(peer, probe, step) or {})}
    except Exception as err:
        return {"ok": False, "error": describe(err)}


async def perform_unsafe(peer, probe, step):
    match step["op"]:
        case "list":
            return await peer.list()
        case "call":
            return await peer.call(step)
        case "cancelCall":
            return await peer.cancel_call(step)
        case "read":
            return await peer.read(step["uri"])
        case "prompt":
            return await peer.prompt(step["name"], step.get("arguments", {}))
        case "complete":
            return await peer.complete(step["ref"], step["argument"])
        case "parallel":
            return {"results": await parallel(peer, probe, step["steps"])}
        case "waitNotification":
            timeout = step.get("timeoutMs", 20000)
            return {"params": [await probe.wait(step["method"], timeout) for _ in range(step.get("count", 1))]}
        case "sleep":
            await anyio.sleep(step["ms"] / 1000)
        case "meet":
            await meet(step)
        case "request":
            await peer.request(step)
        case "ping":
            await peer.ping()
        case "setLevel":
            await peer.set_level(step["level"])
        case "subscribe" | "unsubscribe":
            await peer.subscribe(step["uri"], step["op"] == "subscribe")
        case op:
            raise ValueError(f"unknown op {op}")


async def meet(step):
    """Tells another client that this one has come here, by a file, and waits for its file."""
    with open(step["make"], "w"):
        pass
    with anyio.fail_after(step.get("timeoutMs", 20000) / 1000):
        while not os.path.exists(step["wait"]):
            await anyio.sleep(0.01)


async def parallel(peer, probe, steps):
    results = [None] * len(steps)

    async def one(i):
        results[i] = await perform(peer, probe, steps[i])

    async with anyio.create_task_group() as group:
        for i in range(len(steps)):
            group.start_soon(one, i)
    return results


def emit(probe, step, op, began, out):
    events, probe.fresh = probe.fresh, []
    line = {"step": step, "op": op, "ms": round((time.monotonic() - began) * 1000), **out, "events": events}
    print(json.dumps(line, default=str), flush=True)


async def main():
    flags = parse_flags(sys.argv[1:])
    probe = Probe(flags["answers"])
    began = time.monotonic()
    connected = False
    try:
        async with Client(
            target(flags),
            mode=mode(flags["revision"]),
            client_info=types.Implementation(name="probe-python", version="1.0.0"),
            elicitation_callback=probe.elicit if probe.declares("elicitation") else None,
            sampling_callback=probe.sample if probe.declares("sampling") else None,
            list_roots_callback=probe.roots if probe.declares("roots") else None,
            message_handler=probe.message,
        ) as client:
            peer = Peer(client, probe)
            if peer.modern:
                try:
                    await peer.listen()
                except Exception as err:
                    probe.event("listen failed", describe(err))
            info = client.server_info
            connected = True
            emit(
                probe,
                0,
                "connect",
                began,
                {
                    "ok": True,
                    "revision": client.protocol_version,
                    "server": dump(info) if info else None,
                    "capabilities": dump(client.server_capabilities),
                    "instructions": client.instructions,
                },
            )
            for i, step in enumerate(flags["script"]):
                start = time.monotonic()
                emit(probe, i + 1, step["op"], start, await perform(peer, probe, step))
            if peer.listening is not None:
                await peer.listening.aclose()
    except Exception as err:
        if connected:
            print(f"closing: {describe(err)}", file=sys.stderr)
            return
        emit(probe, 0, "connect", began, {"ok": False, "error": describe(err)})
        sys.exit(1)


warnings.simplefilter("ignore")  # the SDK warns of every legacy call
anyio.run(main)
