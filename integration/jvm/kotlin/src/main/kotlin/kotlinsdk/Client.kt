package kotlinsdk

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.HttpTimeout
import io.ktor.client.plugins.HttpTimeoutConfig
import io.ktor.client.plugins.sse.SSE
import io.modelcontextprotocol.kotlin.sdk.client.Client
import io.modelcontextprotocol.kotlin.sdk.client.ClientOptions
import io.modelcontextprotocol.kotlin.sdk.client.SseClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StdioClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StreamableHttpClientTransport
import io.modelcontextprotocol.kotlin.sdk.shared.RequestOptions
import io.modelcontextprotocol.kotlin.sdk.shared.Transport
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequest
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ClientCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequest
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequest
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageResult
import io.modelcontextprotocol.kotlin.sdk.types.ElicitResult
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequest
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.ListResourceTemplatesRequest
import io.modelcontextprotocol.kotlin.sdk.types.LoggingLevel
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotification
import io.modelcontextprotocol.kotlin.sdk.types.McpException
import io.modelcontextprotocol.kotlin.sdk.types.McpJson
import io.modelcontextprotocol.kotlin.sdk.types.Method
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequest
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ToolListChangedNotification
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.runBlocking
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.serializer
import probe.Probe
import probe.Script
import probe.Script.Flags
import probe.Script.Refused

/** Kotlin values of the SDK as JSON of the probe, and back. */
inline fun <reified T> tree(value: T): JsonNode = Script.JSON.readTree(McpJson.encodeToString(serializer<T>(), value))

inline fun <reified T> value(json: String): T = McpJson.decodeFromString(serializer<T>(), json)

/** A probing client on the Kotlin SDK. */
class Peer(private val client: Client) : Script.Peer {
    private fun <T> asked(call: suspend () -> T): T = try {
        runBlocking { call() }
    } catch (e: McpException) {
        throw Refused(e.code, e.message ?: "", e.data?.let { tree(it) })
    }

    override fun connected(): ObjectNode {
        val line = Script.JSON.createObjectNode().put("instructions", client.serverInstructions)
        line.set<JsonNode>("server", tree(client.serverVersion))
        line.set<JsonNode>("capabilities", tree(client.serverCapabilities))
        return line
    }

    override fun list(what: String): JsonNode = asked {
        when (what) {
            "tools" -> tree(client.listTools().tools)
            "resources" -> tree(client.listResources().resources)
            "templates" -> tree(client.listResourceTemplates(ListResourceTemplatesRequest()).resourceTemplates)
            else -> tree(client.listPrompts().prompts)
        }
    }

    lateinit var probe: Probe

    override fun call(name: String, arguments: ObjectNode, progress: Boolean): JsonNode = asked {
        val request = CallToolRequest(CallToolRequestParams(name, value<JsonObject>(arguments.toString())))
        val options = if (progress) RequestOptions(onProgress = { probe.event("notifications/progress", tree(it)) }) else null
        tree(client.callTool(request, options))
    }

    override fun read(uri: String): JsonNode = asked { tree(client.readResource(ReadResourceRequest(ReadResourceRequestParams(uri)))) }

    override fun prompt(name: String, arguments: ObjectNode): JsonNode = asked {
        tree(client.getPrompt(GetPromptRequest(GetPromptRequestParams(name, value<Map<String, String>>(arguments.toString())))))
    }

    override fun complete(ref: JsonNode, argument: JsonNode): JsonNode = asked {
        val params = Script.JSON.createObjectNode()
        params.set<JsonNode>("ref", ref)
        params.set<JsonNode>("argument", argument)
        tree(client.complete(CompleteRequest(value<CompleteRequestParams>(params.toString()))).completion.values)
    }

    override fun ping() {
        asked { client.ping() }
    }

    override fun setLevel(level: String) {
        asked { client.setLoggingLevel(LoggingLevel.valueOf(level.replaceFirstChar { it.uppercase() })) }
    }

    override fun close() {
        runBlocking { client.close() }
    }
}

private fun transport(flags: Flags): Transport {
    flags.stdio?.let { command ->
        val process = ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        return StdioClientTransport(process.inputStream.asSource().buffered(), process.outputStream.asSink().buffered())
    }
    val http = HttpClient(CIO) {
        install(SSE)
        install(HttpTimeout) { requestTimeoutMillis = HttpTimeoutConfig.INFINITE_TIMEOUT_MS }
    }
    return flags.http?.let { StreamableHttpClientTransport(http, it) } ?: SseClientTransport(http, flags.sse)
}

fun connect(flags: Flags, probe: Probe): Peer {
    val capabilities = ClientCapabilities(
        sampling = ClientCapabilities.Sampling(),
        roots = ClientCapabilities.Roots(listChanged = true),
        elicitation = ClientCapabilities.Elicitation(),
    )
    val client = Client(Implementation("probe-kotlin", "1.0.0"), ClientOptions(capabilities))
    client.addRoot("file:///tmp", "tmp")
    client.setElicitationHandler { request -> value<ElicitResult>(probe.elicit(tree(request.params)).toString()) }
    client.setRequestHandler<CreateMessageRequest>(Method.Defined.SamplingCreateMessage) { request, _ ->
        val text = Script.JSON.valueToTree<JsonNode>(probe.sample(tree(request.params)))
        value<CreateMessageResult>("""{"role":"assistant","model":"canned","stopReason":"endTurn","content":{"type":"text","text":$text}}""")
    }
    client.setNotificationHandler<LoggingMessageNotification>(Method.Defined.NotificationsMessage) { message ->
        probe.event("notifications/message", tree(message.params))
        CompletableDeferred(Unit)
    }
    client.setNotificationHandler<ToolListChangedNotification>(Method.Defined.NotificationsToolsListChanged) {
        probe.event("notifications/tools/list_changed", Script.JSON.createObjectNode())
        CompletableDeferred(Unit)
    }
    runBlocking { client.connect(transport(flags)) }
    return Peer(client).also { it.probe = probe }
}

object Main {
    @JvmStatic
    fun main(args: Array<String>) = Script.run(args, ::connect)
}
