package sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import probe.Probe;
import probe.Script;
import probe.Script.Flags;
import probe.Script.Refused;

/** A probing client on the Java SDK. */
public class Client implements Script.Peer {
  public static final McpJsonMapper MAPPER = McpJsonDefaults.getMapper();

  protected final McpSyncClient client;

  public Client(McpSyncClient client) {
    this.client = client;
  }

  public static void main(String[] args) throws Exception {
    Script.run(args, Client::connect);
  }

  private static Client connect(Flags flags, Probe probe) {
    McpSyncClient client = McpClient.sync(transport(flags))
        .clientInfo(McpSchema.Implementation.builder("probe-java", "1.0.0").build())
        .capabilities(McpSchema.ClientCapabilities.builder().roots(true).sampling().elicitation().build())
        .roots(McpSchema.Root.builder("file:///tmp").name("tmp").build())
        .sampling(request -> sample(request, probe))
        .elicitation(request -> MAPPER.convertValue(plain(probe.elicit(tree(request))), McpSchema.ElicitResult.class))
        .loggingConsumer(message -> probe.event("notifications/message", tree(message)))
        .progressConsumer(progress -> probe.event("notifications/progress", tree(progress)))
        .toolsChangeConsumer(tools -> probe.event("notifications/tools/list_changed", Script.JSON.createObjectNode()))
        .build();
    client.initialize();
    return new Client(client);
  }

  public static McpSchema.CreateMessageResult sample(McpSchema.CreateMessageRequest request, Probe probe) {
    Map<String, Object> content = Map.of("type", "text", "text", probe.sample(tree(request)));
    return MAPPER.convertValue(Map.of("role", "assistant", "model", "canned", "stopReason", "endTurn", "content", content), McpSchema.CreateMessageResult.class);
  }

  private static McpClientTransport transport(Flags flags) {
    if (flags.stdio != null) {
      ServerParameters command = ServerParameters.builder(flags.stdio.get(0)).args(flags.stdio.subList(1, flags.stdio.size())).env(System.getenv()).build();
      return new StdioClientTransport(command, MAPPER);
    }
    URI at = URI.create(flags.http != null ? flags.http : flags.sse);
    String base = at.getScheme() + "://" + at.getAuthority();
    if (flags.http != null) return HttpClientStreamableHttpTransport.builder(base).endpoint(at.getPath()).build();
    return HttpClientSseClientTransport.builder(base).sseEndpoint(at.getPath()).build();
  }

  /** What the SDK has, as JSON of the probe. */
  public static JsonNode tree(Object value) {
    try {
      return Script.JSON.readTree(MAPPER.writeValueAsString(value));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** JSON of the probe, as maps and lists. */
  @SuppressWarnings("unchecked")
  public static Map<String, Object> plain(JsonNode node) {
    return Script.JSON.convertValue(node, Map.class);
  }

  protected static JsonNode asked(Callable<Object> call) throws Exception {
    try {
      return tree(call.call());
    } catch (McpError e) {
      if (e.getJsonRpcError() == null) throw e;
      throw new Refused(e.getJsonRpcError().code(), e.getJsonRpcError().message(), tree(e.getJsonRpcError().data()));
    }
  }

  @Override
  public ObjectNode connected() {
    McpSchema.InitializeResult result = client.getCurrentInitializationResult();
    ObjectNode line = Script.JSON.createObjectNode().put("revision", result.protocolVersion()).put("instructions", result.instructions());
    line.set("server", tree(result.serverInfo()));
    line.set("capabilities", tree(result.capabilities()));
    return line;
  }

  @Override
  public JsonNode list(String what) throws Exception {
    return switch (what) {
      case "tools" -> asked(() -> client.listTools().tools());
      case "resources" -> asked(() -> client.listResources().resources());
      case "templates" -> asked(() -> client.listResourceTemplates().resourceTemplates());
      default -> asked(() -> client.listPrompts().prompts());
    };
  }

  @Override
  public JsonNode call(String name, ObjectNode arguments, boolean progress) throws Exception {
    McpSchema.CallToolRequest.Builder request = McpSchema.CallToolRequest.builder(name).arguments(plain(arguments));
    if (progress) request.progressToken("the token");
    return asked(() -> client.callTool(request.build()));
  }

  @Override
  public JsonNode read(String uri) throws Exception {
    return asked(() -> client.readResource(McpSchema.ReadResourceRequest.builder(uri).build()));
  }

  @Override
  public JsonNode prompt(String name, ObjectNode arguments) throws Exception {
    return asked(() -> client.getPrompt(McpSchema.GetPromptRequest.builder(name).arguments(plain(arguments)).build()));
  }

  @Override
  public JsonNode complete(JsonNode ref, JsonNode argument) throws Exception {
    McpSchema.CompleteRequest.CompleteArgument value = new McpSchema.CompleteRequest.CompleteArgument(argument.get("name").asText(), argument.get("value").asText());
    McpSchema.PromptReference prompt = MAPPER.convertValue(plain(ref), McpSchema.PromptReference.class);
    return asked(() -> client.completeCompletion(McpSchema.CompleteRequest.builder(prompt, value).build()).completion().values());
  }

  @Override
  public void ping() throws Exception {
    asked(client::ping);
  }

  @Override
  public void setLevel(String level) throws Exception {
    asked(() -> {
      client.setLoggingLevel(McpSchema.LoggingLevel.valueOf(level.toUpperCase()));
      return null;
    });
  }

  @Override
  public void close() {
    client.closeGracefully();
  }
}
