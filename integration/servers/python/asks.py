"""A server of both eras whose tool asks its user as users of the libraries write it, which works in a session only:
asks.py sdk (the Python SDK) or asks.py fastmcp."""

import sys

from pydantic import BaseModel


class Name(BaseModel):
    value: str


if sys.argv[1] == "sdk":
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("asks")

    @server.tool()
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", Name)
        return "you are " + answer.data.value
else:
    from fastmcp import Context, FastMCP

    server = FastMCP("asks")

    @server.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Your name?", response_type=str)
        return "you are " + answer.data


server.run()
