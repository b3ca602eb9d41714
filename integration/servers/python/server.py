"""A bridge server on FastMCP: stdio, Streamable HTTP (both eras), HTTP+SSE.

It has the bridge tools that ../../README.md lists.
"""

import argparse
import asyncio
import json
import socket
import warnings

import mcp_types as types
from fastmcp import Context, FastMCP

WATCHED = "test://watched"
MODERN = "2026-07-28"
CAPABILITIES = {
    "name": "python",
    "eras": ["both"],
    "transports": ["stdio", "http", "sse"],
    "cannot": {
        "one era": "the era is decided for each request or connection",
        "touch": "FastMCP has no resources/subscribe and publishes no resource update",
        "change_tools in the modern era": "FastMCP serves no subscriptions/listen",
    },
}

warnings.simplefilter("ignore")  # the SDK warns of every legacy call
server = FastMCP("bridge-python", version="1.0.0", instructions="bridge server")
state = {"touched": 0, "extra": False, "cancelled": False}


def form(field):
    return {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}


def reply(field, answer):
    if answer.action == "accept":
        return f"{field}={(answer.content or {}).get(field)}"
    return f"{field} declined" if answer.action == "decline" else f"{field} cancelled"


def is_modern(ctx):
    return ctx.request_context.protocol_version == MODERN


def elicit_request(field, message):
    params = types.ElicitRequestFormParams(mode="form", message=message, requested_schema=form(field))
    return types.ElicitRequest(method="elicitation/create", params=params)


async def elicit_now(ctx, field, message):
    return await ctx.session.elicit_form(
        message=message, requested_schema=form(field), related_request_id=ctx.request_id
    )


async def ask(ctx, questions, request_state=None):
    """Returns the answers by field, or the result that asks for them."""
    if not is_modern(ctx):
        answers = await asyncio.gather(*(elicit_now(ctx, f, m) for f, m in questions.items()))
        return dict(zip(questions, answers)), None
    given = ctx.input_responses or {}
    if all(f in given for f in questions):
        return given, None
    requests = {f: elicit_request(f, m) for f, m in questions.items()}
    return None, types.InputRequiredResult(input_requests=requests, request_state=request_state)


@server.tool
async def ask_one(ctx: Context):
    """asks for a name"""
    answers, needs = await ask(ctx, {"name": "What is your name?"})
    return needs or reply("name", answers["name"])


@server.tool
async def ask_two(ctx: Context):
    """asks two questions at once"""
    answers, needs = await ask(ctx, {"first": "First?", "second": "Second?"})
    return needs or f"{reply('first', answers['first'])} {reply('second', answers['second'])}"


@server.tool
async def ask_again(ctx: Context):
    """asks, then asks about the answer"""
    color = ctx.request_state if is_modern(ctx) else None
    if not color:
        answers, needs = await ask(ctx, {"color": "Which color?"})
        if needs:
            return needs
        if answers["color"].action != "accept":
            return reply("color", answers["color"])
        color = answers["color"].content["color"]
    answers, needs = await ask(ctx, {"shade": f"Which shade of {color}?"}, request_state=color)
    return needs or f"color={color} {reply('shade', answers['shade'])}"


@server.tool
async def sample(ctx: Context):
    """asks the model of the client"""
    messages = [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say something."))]
    if not is_modern(ctx):
        answer = await ctx.session.create_message(
            messages=messages, max_tokens=100, related_request_id=ctx.request_id
        )
        return f"sampled: {answer.content.text}"
    answer = (ctx.input_responses or {}).get("sample")
    if answer is None:
        params = types.CreateMessageRequestParams(messages=messages, max_tokens=100)
        request = types.CreateMessageRequest(method="sampling/createMessage", params=params)
        return types.InputRequiredResult(input_requests={"sample": request})
    content = answer.content[0] if isinstance(answer.content, list) else answer.content
    return f"sampled: {content.text}"


@server.tool
async def roots(ctx: Context):
    """tells the roots of the client"""
    if not is_modern(ctx):
        answer = await ctx.session.list_roots()
    else:
        answer = (ctx.input_responses or {}).get("roots")
        if answer is None:
            request = types.ListRootsRequest(method="roots/list")
            return types.InputRequiredResult(input_requests={"roots": request})
    return "roots: " + ",".join(str(r.uri) for r in answer.roots)


@server.tool
async def progress(ctx: Context) -> str:
    """tells its progress five times"""
    for i in range(1, 6):
        await ctx.report_progress(i, 5, f"step {i}")
        await asyncio.sleep(0.02 if i < 5 else 0.2)  # the TypeScript clients drop what comes with the result
    return "progressed"


@server.tool
async def logs(ctx: Context) -> str:
    """logs three messages"""
    for i in range(1, 4):
        await ctx.info(f"log {i}", logger_name="bridge")
    return "logged"


def extra() -> str:
    """comes and goes"""
    return "extra"


@server.tool
async def change_tools(ctx: Context) -> str:
    """adds or removes the tool extra"""
    state["extra"] = not state["extra"]
    if state["extra"]:
        server.tool(extra)
    else:
        server.local_provider.remove_tool("extra")
    if not is_modern(ctx):
        await ctx.send_notification(types.ToolListChangedNotification())
    return "added" if state["extra"] else "removed"


@server.tool
def touch() -> str:
    """changes test://watched"""
    state["touched"] += 1
    return f"touched {state['touched']}"


@server.tool
def echo(text: str) -> str:
    """repeats"""
    return text


@server.tool
async def slow(ms: int) -> str:
    """takes its time"""
    state["cancelled"] = False
    try:
        await asyncio.sleep(ms / 1000)
    except asyncio.CancelledError:
        state["cancelled"] = True
        raise
    return f"slept {ms}"


@server.tool
def was_cancelled() -> str:
    """tells how slow ended"""
    return "yes" if state["cancelled"] else "no"


@server.resource(WATCHED, name="watched", description="changes")
def watched() -> str:
    return f"touched {state['touched']}"


@server.resource("test://static", name="static", description="stays")
def static() -> str:
    return "static text"


@server.resource("test://item/{id}", name="item", description="one item")
def item(id: str) -> str:
    return f"item {id}"


@server.prompt
def greet(name: str) -> str:
    """greets"""
    return f"Hello, {name}"


@server.completion
async def complete(_ref, argument, _context):
    return [n for n in ("alice", "albert", "bob") if n.startswith(argument.value)]


async def serve(address, transport, path):
    host, port = address.split(":")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen()
    print(f"listening http://{host}:{listener.getsockname()[1]}{path}", flush=True)
    await server.run_http_async(
        show_banner=False, transport=transport, path=path, sockets=[listener], log_level="error"
    )


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--http")
    flags.add_argument("--sse")
    flags.add_argument("--stdio", action="store_true")
    flags.add_argument("--era", choices=["both"], default="both")
    flags.add_argument("--capabilities", action="store_true")
    given = flags.parse_args()
    if given.capabilities:
        print(json.dumps(CAPABILITIES))
    elif given.http:
        asyncio.run(serve(given.http, "http", "/mcp"))
    elif given.sse:
        asyncio.run(serve(given.sse, "sse", "/sse"))
    else:
        server.run(transport="stdio", show_banner=False)


main()
