package kotlinsdk

import io.ktor.server.cio.CIO
import io.ktor.server.engine.EmbeddedServer
import io.ktor.server.engine.embeddedServer
import io.modelcontextprotocol.kotlin.sdk.server.ClientConnection
import io.modelcontextprotocol.kotlin.sdk.server.Server
import io.modelcontextprotocol.kotlin.sdk.server.ServerOptions
import io.modelcontextprotocol.kotlin.sdk.server.StdioServerTransport
import io.modelcontextprotocol.kotlin.sdk.server.mcp
import io.modelcontextprotocol.kotlin.sdk.server.mcpStreamableHttp
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequest
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequest
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ElicitRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptResult
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotification
import io.modelcontextprotocol.kotlin.sdk.types.ProgressNotification
import io.modelcontextprotocol.kotlin.sdk.types.PromptArgument
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceResult
import io.modelcontextprotocol.kotlin.sdk.types.ServerCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.Tool
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull

private const val PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
private const val PLAIN = """{"type":"object","properties":{}}"""
private const val WEATHER =
    """{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"]}"""

private fun text(s: String?) = CallToolResult(listOf(TextContent(s ?: "")))

/** The server, and a way to add a tool by the JSON of its schemas. */
private class Shapes {
    val server = Server(
        Implementation("shapes-kotlin", "1.0.0"),
        ServerOptions(
            ServerCapabilities(
                tools = ServerCapabilities.Tools(listChanged = true),
                resources = ServerCapabilities.Resources(listChanged = true, subscribe = true),
                prompts = ServerCapabilities.Prompts(listChanged = true),
                logging = ServerCapabilities.Logging,
            ),
        ),
        "shapes of results",
    )

    fun tool(name: String, input: String = PLAIN, output: String? = null, call: suspend ClientConnection.(CallToolRequest) -> CallToolResult) {
        val outputs = output?.let { ""","outputSchema":$it""" } ?: ""
        server.addTool(value<Tool>("""{"name":"$name","description":"the tool $name","inputSchema":$input$outputs}"""), call)
    }

    init {
        tool("echo", """{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}""") {
            text((it.arguments?.get("text") as? JsonPrimitive)?.contentOrNull)
        }
        tool("structured", PLAIN, WEATHER) {
            value("""{"content":[{"type":"text","text":"3 degrees in Oslo"}],"structuredContent":{"city":"Oslo","degrees":3}}""")
        }
        tool("structured_only", PLAIN, WEATHER) { value("""{"content":[],"structuredContent":{"city":"Oslo","degrees":3.5}}""") }
        tool("image") { value("""{"content":[{"type":"image","data":"$PIXEL","mimeType":"image/png"}]}""") }
        tool("fails") { value("""{"content":[{"type":"text","text":"it failed"}],"isError":true}""") }
        tool("progress") { request ->
            val token = request.meta?.progressToken
            for (i in 1..3) {
                if (token == null) break
                notification(value<ProgressNotification>("""{"method":"notifications/progress","params":{"progressToken":${tree(token)},"progress":$i,"total":3,"message":"step $i"}}"""))
                delay(if (i < 3) 20 else 200) // the TypeScript clients drop progress that is read together with the result
            }
            text("progressed")
        }
        tool("logs") {
            sendLoggingMessage(value<LoggingMessageNotification>("""{"method":"notifications/message","params":{"level":"warning","logger":"shapes","data":"log 1"}}"""))
            text("logged")
        }
        tool("ask") {
            val schema = """{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"""
            val answer = createElicitation("What is your name?", value<ElicitRequestParams.RequestedSchema>(schema))
            text("${answer.action} ${answer.content}")
        }
        tool("sample") {
            val params = """{"messages":[{"role":"user","content":{"type":"text","text":"Say something."}}],"maxTokens":100}"""
            text("sampled: ${(createMessage(CreateMessageRequest(value<CreateMessageRequestParams>(params))).content.first() as TextContent).text}")
        }
        tool("change_tools") {
            if (server.removeTool("extra")) {
                text("removed")
            } else {
                tool("extra") { text("extra") }
                text("added")
            }
        }
        server.addResource("test://text", "text", "words", "text/plain") {
            value<ReadResourceResult>("""{"contents":[{"uri":"test://text","mimeType":"text/plain","text":"words"}]}""")
        }
        server.addResource("test://blob", "blob", "a picture", "image/png") {
            value<ReadResourceResult>("""{"contents":[{"uri":"test://blob","mimeType":"image/png","blob":"$PIXEL"}]}""")
        }
        server.addResourceTemplate("test://item/{id}", "item") { request, variables ->
            value<ReadResourceResult>("""{"contents":[{"uri":"${request.uri}","text":"item ${variables["id"]}"}]}""")
        }
        server.addPrompt("greet", "greets", listOf(PromptArgument("name", required = true))) { request ->
            value<GetPromptResult>("""{"messages":[{"role":"user","content":{"type":"text","text":"Hello, ${request.arguments?.get("name")}"}}]}""")
        }
    }
}

private fun listen(server: EmbeddedServer<*, *>, host: String, path: String) {
    server.start(wait = false)
    val port = runBlocking { server.engine.resolvedConnectors().first().port }
    println("listening http://$host:$port$path")
    Thread.currentThread().join()
}

/** A server on the Kotlin SDK, over stdio, Streamable HTTP and HTTP+SSE, with the tools of the servers of the JVM. */
object ServerMain {
    @JvmStatic
    fun main(args: Array<String>) {
        val over = args.firstOrNull() ?: "--stdio"
        if (over == "--stdio") {
            runBlocking {
                Shapes().server.createSession(StdioServerTransport(System.`in`.asSource().buffered(), System.out.asSink().buffered()))
                awaitCancellation()
            }
        }
        val (host, port) = args[1].split(":")
        if (over == "--http") {
            listen(embeddedServer(CIO, host = host, port = port.toInt()) { mcpStreamableHttp { Shapes().server } }, host, "/mcp")
        }
        listen(embeddedServer(CIO, host = host, port = port.toInt()) { mcp { Shapes().server } }, host, "/")
    }
}
