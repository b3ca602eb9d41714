package langchain4j;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonInclude.Include;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.internal.JsonSchemaElementUtils;
import dev.langchain4j.mcp.client.DefaultMcpClient;
import dev.langchain4j.mcp.client.McpClient;
import dev.langchain4j.mcp.client.McpException;
import dev.langchain4j.mcp.client.McpRoot;
import dev.langchain4j.mcp.client.transport.McpTransport;
import dev.langchain4j.mcp.client.transport.http.HttpMcpTransport;
import dev.langchain4j.mcp.client.transport.http.StreamableHttpMcpTransport;
import dev.langchain4j.mcp.client.transport.stdio.StdioMcpTransport;
import dev.langchain4j.service.tool.ToolExecutionResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import probe.Probe;
import probe.Script;
import probe.Script.Flags;
import probe.Script.Refused;

/** A probing client on LangChain4j. */
public final class Client implements Script.Peer {
  private static final ObjectMapper FIELDS = new ObjectMapper()
      .setVisibility(PropertyAccessor.ALL, Visibility.NONE)
      .setVisibility(PropertyAccessor.FIELD, Visibility.ANY)
      .setSerializationInclusion(Include.NON_NULL)
      .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS);

  private final McpClient client;

  private Client(McpClient client) {
    this.client = client;
  }

  public static void main(String[] args) throws Exception {
    Script.run(args, Client::connect);
  }

  private static Client connect(Flags flags, Probe probe) {
    return new Client(DefaultMcpClient.builder()
        .transport(transport(flags))
        .clientName("probe-langchain4j")
        .key("probe")
        .toolExecutionTimeout(Duration.ofSeconds(20))
        .roots(List.of(new McpRoot("tmp", "file:///tmp")))
        .logHandler(message -> probe.event("notifications/message", FIELDS.valueToTree(message)))
        .progressHandler(progress -> probe.event("notifications/progress", FIELDS.valueToTree(progress)))
        .build());
  }

  private static McpTransport transport(Flags flags) {
    if (flags.stdio != null) return StdioMcpTransport.builder().command(flags.stdio).build();
    if (flags.http != null) return StreamableHttpMcpTransport.builder().url(flags.http).build();
    return HttpMcpTransport.builder().sseUrl(flags.sse).build();
  }

  private static <T> T asked(Callable<T> call) throws Exception {
    try {
      return call.call();
    } catch (McpException e) {
      throw new Refused(e.errorCode(), e.errorMessage(), null);
    }
  }

  @Override
  public ObjectNode connected() {
    return Script.JSON.createObjectNode().put("instructions", client.instructions());
  }

  @Override
  public JsonNode list(String what) throws Exception {
    return switch (what) {
      case "tools" -> {
        ArrayNode all = Script.JSON.createArrayNode();
        asked(client::listTools).forEach(tool -> all.add(tool(tool)));
        yield all;
      }
      case "resources" -> FIELDS.valueToTree(asked(client::listResources));
      case "templates" -> FIELDS.valueToTree(asked(client::listResourceTemplates));
      default -> FIELDS.valueToTree(asked(client::listPrompts));
    };
  }

  private static ObjectNode tool(ToolSpecification tool) {
    ObjectNode node = Script.JSON.createObjectNode().put("name", tool.name()).put("description", tool.description());
    node.set("parameters", Script.JSON.valueToTree(JsonSchemaElementUtils.toMap(tool.parameters())));
    return node.set("metadata", Script.JSON.valueToTree(tool.metadata()));
  }

  @Override
  public JsonNode call(String name, ObjectNode arguments, boolean progress) throws Exception {
    ToolExecutionResult result = asked(() -> client.executeTool(ToolExecutionRequest.builder().name(name).arguments(arguments.toString()).build()));
    ObjectNode node = Script.JSON.createObjectNode().put("isError", result.isError());
    node.set("content", FIELDS.valueToTree(result.resultContents()));
    return node.set("structuredContent", FIELDS.valueToTree(result.result()));
  }

  @Override
  public JsonNode read(String uri) throws Exception {
    return FIELDS.valueToTree(asked(() -> client.readResource(uri)));
  }

  @Override
  public JsonNode prompt(String name, ObjectNode arguments) throws Exception {
    Map<String, Object> values = Script.JSON.convertValue(arguments, Map.class);
    return FIELDS.valueToTree(asked(() -> client.getPrompt(name, values)));
  }

  @Override
  public void ping() {
    client.checkHealth();
  }

  @Override
  public void close() throws Exception {
    client.close();
  }
}
