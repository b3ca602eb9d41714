"""A client on the official Python SDK (mcp) that logs in; see login.mjs for what it does and prints."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from urllib.parse import parse_qs, urlparse

import anyio
import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

came = Queue()


class Callback(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        came.put({k: v[0] for k, v in parse_qs(urlparse(self.path).query).items()})

    def log_message(self, *_):
        pass


class Storage:
    client = None
    tokens = None
    saved = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.saved += 1
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, info):
        self.client = info


async def main(url, arguments, *calls):
    server = HTTPServer(("127.0.0.1", 0), Callback)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    logins = 0

    async def redirect(page):
        nonlocal logins
        logins += 1
        print(f"open {page}", flush=True)

    async def callback():
        return AuthorizationCodeResult(**await anyio.to_thread.run_sync(came.get))

    storage = Storage()
    metadata = OAuthClientMetadata(
        client_name="Python SDK",
        redirect_uris=[f"http://127.0.0.1:{server.server_port}/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(url, metadata, storage, redirect, callback)
    async with httpx2.AsyncClient(auth=provider, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            said = []
            for tool in calls:
                if len(said) == 1:
                    await anyio.sleep(storage.tokens.expires_in + 1)
                said.append((await client.call_tool(tool, arguments)).content[0].text)
    print(json.dumps({"tools": len(tools), "said": said, "logins": logins, "refreshed": storage.saved - logins}), flush=True)


anyio.run(main, sys.argv[1], json.loads(sys.argv[2]), *sys.argv[3:])
