"""Says what a Python framework makes of MCP servers: observe.py FRAMEWORK FILE, where the file is a list of servers.

Each server is {"way", "set", "arguments": {KEY: {…}}} with "http", a URL, or "stdio", a command line. For each, one line
is printed: the server's way and set, and "tools", by the key that a description has in brackets: the name, description
and schema that a model would get, and what a call with the arguments gave. A list that failed has "failed" instead.
"""

import asyncio
import base64
import dataclasses
import hashlib
import importlib.metadata
import inspect
import json
import logging
import pathlib
import re
import sys
import warnings
from collections import namedtuple
from contextlib import asynccontextmanager, contextmanager, suppress

Tool = namedtuple("Tool", "name description schema call")


def plain(value):
    """The value as JSON: the same for equal values, and short."""
    if isinstance(value, str):
        if len(value) > 4000:
            return f"{len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()[:12]}"
        return re.sub(r" at 0x[0-9a-f]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "", value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, BaseException):
        while isinstance(value, BaseExceptionGroup) and len(value.exceptions) == 1:
            value = value.exceptions[0]
        return {"raised": type(value).__name__, "message": plain(str(value))}
    if hasattr(value, "model_dump"):
        try:
            return plain(value.model_dump(by_alias=True, mode="json", exclude_none=True))
        except UnicodeDecodeError:  # bytes
            return plain(value.model_dump(by_alias=True, exclude_none=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "tobytes") and hasattr(value, "size"):
        return {"image": value.size, "bytes": hashlib.sha256(value.tobytes()).hexdigest()[:12]}
    return plain(repr(value))


def parameters(server, kind, **more):
    """The server's command line in the class that a framework has for it."""
    return kind(command=server["stdio"][0], args=server["stdio"][1:], **more)


@asynccontextmanager
async def mcp(server):
    if importlib.metadata.version("mcp").startswith("1."):
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        to = streamable_http_client(server["http"]) if "http" in server else stdio_client(parameters(server, StdioServerParameters))
        async with to as streams, ClientSession(*streams[:2]) as client:
            await client.initialize()
            yield await every_page(client)
        return
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    async with Client(server.get("http") or parameters(server, StdioServerParameters)) as client:
        yield await every_page(client)


async def every_page(client):
    tools, cursor = [], None
    while True:
        listed = await client.list_tools(cursor=cursor)
        tools += listed.tools
        cursor = listed.model_dump(by_alias=True).get("nextCursor")
        if not cursor:
            return [mcp_tool(client.call_tool, t) for t in tools]


def mcp_tool(call, tool):
    return Tool(tool.name, tool.description, plain(tool), lambda arguments: call(tool.name, arguments))


@asynccontextmanager
async def fastmcp(server):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    to = server.get("http") or parameters(server, StdioTransport, keep_alive=False)
    async with Client(to) as client:
        yield [mcp_tool(client.call_tool, t) for t in await client.list_tools()]


@contextmanager
def smolagents(server):
    from mcp import StdioServerParameters
    from smolagents import MCPClient

    to = {"url": server["http"], "transport": "streamable-http"} if "http" in server else parameters(server, StdioServerParameters)
    with MCPClient(to, structured_output=False) as tools:
        yield [Tool(t.name, t.description, t.inputs, lambda arguments, t=t: t(**arguments)) for t in tools]


@asynccontextmanager
async def llamaindex(server):
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(server["http"]) if "http" in server else BasicMCPClient(server["stdio"][0], args=server["stdio"][1:])
    tools = await McpToolSpec(client).to_tool_list_async()

    async def call(tool, arguments):
        output = await tool.acall(**arguments)
        return {"content": output.content, "is_error": output.is_error}

    yield [
        Tool(t.metadata.name, t.metadata.description, t.metadata.get_parameters_dict(), lambda arguments, t=t: call(t, arguments))
        for t in tools
    ]


@contextmanager
def strands(server):
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from strands.tools.mcp import MCPClient

    def connect():
        return streamable_http_client(server["http"]) if "http" in server else stdio_client(parameters(server, StdioServerParameters))

    with MCPClient(connect) as client:
        tools, token = [], None
        while True:
            page = client.list_tools_sync(pagination_token=token)
            tools += page
            token = page.pagination_token
            if not token:
                break
        yield [
            Tool(
                t.tool_name,
                t.tool_spec["description"],
                t.tool_spec,
                lambda arguments, t=t: client.call_tool_sync("id", t.mcp_tool.name, arguments),
            )
            for t in tools
        ]


@asynccontextmanager
async def autogen(server):
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams

    to = StreamableHttpServerParams(url=server["http"]) if "http" in server else parameters(server, StdioServerParams)
    async with McpWorkbench(to) as bench:
        yield [
            Tool(t["name"], t.get("description"), t, lambda arguments, t=t: bench.call_tool(t["name"], arguments))
            for t in await bench.list_tools()
        ]


@asynccontextmanager
async def semantickernel(server):
    from semantic_kernel import Kernel
    from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin
    from semantic_kernel.functions import KernelArguments

    if "http" in server:
        plugin = MCPStreamableHttpPlugin(name="awk", url=server["http"])
    else:
        plugin = parameters(server, MCPStdioPlugin, name="awk")
    connecting = asyncio.ensure_future(plugin.connect())  # returns only where the list can be taken
    while not connecting.done() and not (plugin._current_task and plugin._current_task.done()):
        await asyncio.sleep(0.01)
    if not connecting.done():
        connecting.cancel()
        raise plugin._current_task.exception()
    try:
        kernel = Kernel()
        functions = kernel.add_plugin(plugin).functions.values()

        async def call(function, arguments):
            return (await kernel.invoke(function, KernelArguments(**arguments))).value

        yield [
            Tool(
                f.fully_qualified_name,
                f.description,
                [p.schema_data | {"name": p.name, "required": p.is_required} for p in f.parameters],
                lambda arguments, f=f: call(f, arguments),
            )
            for f in functions
        ]
    finally:
        await plugin.close()


@contextmanager
def crewai(server):
    from crewai_tools import MCPServerAdapter
    from mcp import StdioServerParameters

    to = {"url": server["http"], "transport": "streamable-http"} if "http" in server else parameters(server, StdioServerParameters)
    with MCPServerAdapter(to) as tools:
        yield [
            Tool(t.name, t.description, t.args_schema.model_json_schema(), lambda arguments, t=t: t.run(**arguments)) for t in tools
        ]


@asynccontextmanager
async def adk(server):
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
    from mcp import StdioServerParameters

    if "http" in server:
        to = StreamableHTTPConnectionParams(url=server["http"], timeout=60)
    else:
        to = StdioConnectionParams(server_params=parameters(server, StdioServerParameters), timeout=60)
    toolset = McpToolset(connection_params=to)
    try:
        yield [
            Tool(t.name, t.description, t._get_declaration(), lambda arguments, t=t: t.run_async(args=arguments, tool_context=None))
            for t in await toolset.get_tools()
        ]
    finally:
        await toolset.close()


@asynccontextmanager
async def agno(server):
    from agno.tools.function import FunctionCall
    from agno.tools.mcp import MCPTools
    from mcp import StdioServerParameters

    if "http" in server:
        tools = MCPTools(url=server["http"], transport="streamable-http", timeout_seconds=60)
    else:
        tools = MCPTools(server_params=parameters(server, StdioServerParameters), transport="stdio", timeout_seconds=60)

    async def call(function, arguments):
        made = FunctionCall(function=function, arguments=arguments)
        result = await made.aexecute()
        return {"status": result.status, "result": result.result, "error": result.error, "images": [i.content for i in result.images or []]}

    async with tools:
        yield [
            Tool(f.name, f.description, f.parameters, lambda arguments, f=f: call(f, arguments)) for f in tools.functions.values()
        ]


@contextmanager
def haystack(server):
    from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo

    to = StreamableHttpServerInfo(url=server["http"]) if "http" in server else parameters(server, StdioServerInfo)
    tools = MCPToolset(to, connection_timeout=60, invocation_timeout=60, eager_connect=True)
    try:
        yield [Tool(t.name, t.description, t.parameters, lambda arguments, t=t: t.invoke(**arguments)) for t in tools]
    finally:
        tools.close()


@asynccontextmanager
async def dspy(server):
    import dspy
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    to = streamable_http_client(server["http"]) if "http" in server else stdio_client(parameters(server, StdioServerParameters))
    async with to as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        tools = []
        for t in (await session.list_tools()).tools:
            with suppress(Exception):  # of this tool alone
                made = dspy.Tool.from_mcp_tool(session, t)
                schema = made.format_as_litellm_function_call()
                tools.append(Tool(made.name, made.desc, schema, lambda arguments, m=made: m.acall(**arguments)))
        yield tools


async def call(tool, arguments):
    try:
        result = tool.call(arguments)
        if inspect.isawaitable(result):
            result = await asyncio.wait_for(result, timeout=60)
    except Exception as error:
        result = error
    return plain(result)


async def observe(tools, arguments):
    seen = {}
    for position, tool in enumerate(tools):
        key = re.search(r"\[([a-z][a-z0-9-]*)\] ", tool.description or "")
        key = key[1] if key else f"number {position}"
        seen[key] = {"name": tool.name, "description": tool.description, "schema": plain(tool.schema)}
        seen[key]["result"] = await call(tool, arguments.get(key, {}))
    return {"tools": seen}


async def visit(connect, server):
    try:
        made = connect(server)
        if hasattr(made, "__aenter__"):
            async with made as tools:
                return await observe(tools, server["arguments"])
        with made as tools:
            return await observe(tools, server["arguments"])
    except Exception as error:
        return {"failed": plain(error)}


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    connect = globals()[sys.argv[1]]
    out, sys.stdout = sys.stdout, sys.stderr
    for server in json.loads(pathlib.Path(sys.argv[2]).read_text()):
        seen = asyncio.run(visit(connect, server))
        print(json.dumps({"way": server["way"], "set": server["set"], **seen}), file=out, flush=True)


main()
