#!/usr/bin/env bash
# langchain 1.5.2 (PyPI), its MCPAdapter of langchain.mcp, with langgraph 1.2.24 and fastmcp 4.2.3, meets a server written
# with the Python SDK (mcp 2.3.0, PyPI).
# A tool takes the next photo of a queue, asks the user which animal it shows, and stores the answer. The protocol is
# 2026-07-28, and requestState has the name of the photo. The user names the animal of the photo in the question.
# Expected: the answer about cat.jpg is stored for cat.jpg, as with the client of the Python SDK.
# What happens: the adapter asks by an interrupt of LangGraph. When the run resumes, its node starts from the beginning and
# calls the tool anew, and the server asks about the next photo. The adapter does not show that question. It sends the
# answer to the first question with the requestState of the second, because both questions have the same key. The server
# stores "cat" for dog.jpg, and the call is a success. cat.jpg gets no label, and the adapter reports no error or warning.
# The code is _call_tool_with_interrupts in langchain/mcp/elicitation.py; its docstring says that the first round is
# repeated, not that its answer goes to another question. langchain.mcp is in beta.
# Specification 2026-07-28, basic/patterns/mrtr, "Client Requirements (Basic Workflow)", points 1, 2 and 4: a client
# constructs the inputs that a result requests, and retries with them and the requestState of that result.
# Users: give MCPAdapter a fastmcp.Client with an elicitation_handler; it answers the question that was asked. On the
# server, make the key of a question depend on its subject: then the resume ends with ValueError.
# Junction: no remedy, because the second call is an ordinary one. Through `junction proxy` the same happens (tried by
# hand); docs/bridge.md does not name it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24 fastmcp==4.2.3 mcp==2.3.0

cat > "$dir/server.py" <<'E'
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server = MCPServer("photos")
photos = iter(["cat.jpg", "dog.jpg", "owl.jpg", "eel.jpg"])
schema = {"type": "object", "properties": {"animal": {"type": "string"}}, "required": ["animal"]}

@server.tool(structured_output=False)
def label(ctx: Context) -> str | InputRequiredResult:
    if ctx.input_responses is None:
        photo = next(photos)
        question = ElicitRequestFormParams(message=f"Which animal does {photo} show?", requested_schema=schema)
        return InputRequiredResult(input_requests={"animal": ElicitRequest(params=question)}, request_state=photo)
    return f"{ctx.request_state} is stored as {ctx.input_responses['animal'].content['animal']}"

server.run("stdio")
E
cat > "$dir/client.py" <<'E'
import asyncio, re, sys
from fastmcp.client.transports import StdioTransport
from langchain.mcp import MCPAdapter
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

def user(question):
    animal = re.search(r"(\w+)\.jpg", question)[1]
    print(f"  the user is asked: {question} The answer: {animal}")
    return {"action": "accept", "content": {"animal": animal}}

async def direct(calls):
    async def elicit(context, params):
        return ElicitResult(**user(params.message))
    server = StdioServerParameters(command=sys.executable, args=[sys.argv[1]])
    async with Client(server, elicitation_callback=elicit) as client:
        for _ in range(calls):
            print(" ", (await client.call_tool("label")).content[0].text)

async def langchain(calls):
    async with MCPAdapter(StdioTransport(sys.executable, [sys.argv[1]], log_file=sys.stderr)) as adapter:
        graph = StateGraph(MessagesState).add_node("tools", ToolNode(await adapter.list_tools())).add_edge(START, "tools")
        graph = graph.compile(checkpointer=InMemorySaver())
        for n in range(calls):
            config = {"configurable": {"thread_id": str(n)}}
            call = AIMessage("", tool_calls=[{"name": "label", "args": {}, "id": "1"}])
            state = await graph.ainvoke({"messages": [call]}, config)
            [request] = state["__interrupt__"][0].value["requests"]
            resume = {"responses": {request["key"]: user(request["message"])}}
            message = (await graph.ainvoke(Command(resume=resume), config))["messages"][-1]
            print(f"  {message.content[0]['text']} ({message.status})")

print("the Python SDK's client:")
asyncio.run(direct(2))
print("langchain.mcp:")
asyncio.run(langchain(2))
E
"$dir/venv/bin/python" "$dir/client.py" "$dir/server.py" 2>"$dir/err" | tee "$dir/out" || cat "$dir/err" >&2
cat > "$dir/expected" <<'E'
the Python SDK's client:
  the user is asked: Which animal does cat.jpg show? The answer: cat
  cat.jpg is stored as cat
  the user is asked: Which animal does dog.jpg show? The answer: dog
  dog.jpg is stored as dog
langchain.mcp:
  the user is asked: Which animal does cat.jpg show? The answer: cat
  dog.jpg is stored as cat (success)
  the user is asked: Which animal does owl.jpg show? The answer: owl
  eel.jpg is stored as owl (success)
E
cmp -s "$dir/out" "$dir/expected" || {
  cat "$dir/err" >&2
  echo "langchain.mcp gives answers to questions in another way now" >&2
  exit 1
}
