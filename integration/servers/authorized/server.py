"""An MCP server that FastMCP protects with the authorization server of its own, which lets everybody in.

python server.py ADDRESS. An access token is good for one call of a tool; /counts says how many were renewed and revoked.
"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from starlette.responses import JSONResponse

host, port = sys.argv[1].split(":")
counts = {"renewed": 0, "revoked": 0}


class Provider(InMemoryOAuthProvider):
    async def exchange_refresh_token(self, client, refresh_token, scopes):
        counts["renewed"] += 1
        return await super().exchange_refresh_token(client, refresh_token, scopes)

    async def revoke_token(self, token):
        counts["revoked"] += 1
        await super().revoke_token(token)


provider = Provider(
    base_url=f"http://{sys.argv[1]}",
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["tools"], default_scopes=["tools"]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["tools"],
)
server = FastMCP("authorized", version="1.0.0", auth=provider)


@server.tool
def echo(text: str) -> str:
    provider.access_tokens.pop(get_access_token().token)
    return f"echo: {text}"


@server.custom_route("/counts", methods=["GET"])
async def count(_):
    return JSONResponse(counts)


server.run(transport="http", host=host, port=int(port), show_banner=False)
