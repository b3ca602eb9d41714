package spring.server;

import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.mcp.annotation.McpArg;
import org.springframework.ai.mcp.annotation.McpComplete;
import org.springframework.ai.mcp.annotation.McpProgressToken;
import org.springframework.ai.mcp.annotation.McpPrompt;
import org.springframework.ai.mcp.annotation.McpResource;
import org.springframework.ai.mcp.annotation.McpTool;
import org.springframework.ai.mcp.annotation.McpToolParam;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.stereotype.Component;

/**
 * A server on Spring AI, over stdio, Streamable HTTP, HTTP+SSE and (--stateless ADDRESS) Streamable HTTP without sessions, with the
 * tools of the servers of the JVM; a server without sessions has no tools that ask or notify.
 */
@SpringBootApplication
public class Server {
  private static final String PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  public record Weather(String city, double degrees) {}

  public static void main(String[] args) {
    String over = args.length == 0 ? "--stdio" : args[0];
    Map<String, Object> properties = new HashMap<>(Map.of(
        "spring.ai.mcp.client.enabled", "false", "logging.threshold.console", "OFF",
        "spring.ai.mcp.server.name", "shapes-spring", "spring.ai.mcp.server.version", "1.0.0"));
    if (over.equals("--stdio")) {
      properties.put("spring.ai.mcp.server.stdio", "true");
    } else {
      properties.put("server.address", args[1].split(":")[0]);
      properties.put("server.port", args[1].split(":")[1]);
      properties.put("spring.ai.mcp.server.protocol", Map.of("--http", "STREAMABLE", "--sse", "SSE", "--stateless", "STATELESS").get(over));
    }
    ConfigurableApplicationContext context = new SpringApplicationBuilder(Server.class)
        .web(over.equals("--stdio") ? WebApplicationType.NONE : WebApplicationType.SERVLET)
        .bannerMode(Banner.Mode.OFF).properties(properties).run();
    if (!over.equals("--stdio")) {
      System.out.println("listening http://" + args[1].split(":")[0] + ":" + context.getEnvironment().getProperty("local.server.port") + (over.equals("--sse") ? "/sse" : "/mcp"));
    }
  }

  @Component
  static class Tools {
    private final ObjectProvider<McpSyncServer> server;

    Tools(ObjectProvider<McpSyncServer> server) {
      this.server = server;
    }

    @McpTool(name = "echo", description = "the tool echo")
    public String echo(@McpToolParam(required = true) String text) {
      return text;
    }

    @McpTool(name = "structured", description = "the tool structured", generateOutputSchema = true)
    public Weather structured() {
      return new Weather("Oslo", 3);
    }

    @McpTool(name = "structured_only", description = "the tool structured_only")
    public CallToolResult structuredOnly() {
      return CallToolResult.builder().structuredContent(Map.of("city", "Oslo", "degrees", 3.5)).build();
    }

    @McpTool(name = "image", description = "the tool image")
    public CallToolResult image() {
      return CallToolResult.builder().addContent(McpSchema.ImageContent.builder(PIXEL, "image/png").build()).build();
    }

    @McpTool(name = "fails", description = "the tool fails")
    public String fails() {
      throw new IllegalStateException("it failed");
    }

    @McpTool(name = "progress", description = "the tool progress")
    public String progress(McpSyncServerExchange exchange, @McpProgressToken Object token) throws InterruptedException { // a String would not take a number
      for (int i = 1; i <= 3 && token != null; i++) {
        exchange.progressNotification(McpSchema.ProgressNotification.builder(token, (double) i).total(3.0).message("step " + i).build());
        Thread.sleep(i < 3 ? 20 : 200); // the TypeScript clients drop progress that is read together with the result
      }
      return "progressed";
    }

    @McpTool(name = "logs", description = "the tool logs")
    public String logs(McpSyncServerExchange exchange) {
      exchange.loggingNotification(McpSchema.LoggingMessageNotification.builder(McpSchema.LoggingLevel.WARNING, "log 1").logger("shapes").build());
      return "logged";
    }

    @McpTool(name = "ask", description = "the tool ask")
    public String ask(McpSyncServerExchange exchange) {
      Map<String, Object> schema = Map.of("type", "object", "properties", Map.of("name", Map.of("type", "string")), "required", List.of("name"));
      McpSchema.ElicitResult answer = exchange.createElicitation(McpSchema.ElicitFormRequest.builder("What is your name?", schema).build());
      return answer.action() + " " + answer.content();
    }

    @McpTool(name = "sample", description = "the tool sample")
    public String sample(McpSyncServerExchange exchange) {
      McpSchema.SamplingMessage message = McpSchema.SamplingMessage.builder(McpSchema.Role.USER, McpSchema.TextContent.builder("Say something.").build()).build();
      McpSchema.CreateMessageResult answer = exchange.createMessage(McpSchema.CreateMessageRequest.builder(List.of(message), 100).build());
      return "sampled: " + ((McpSchema.TextContent) answer.content()).text();
    }

    @McpTool(name = "change_tools", description = "the tool change_tools")
    public synchronized String changeTools(McpSyncServerExchange exchange) {
      McpSyncServer changed = server.getObject();
      if (changed.listTools().stream().anyMatch(tool -> tool.name().equals("extra"))) {
        changed.removeTool("extra");
        return "removed";
      }
      changed.addTool(new SyncToolSpecification(McpSchema.Tool.builder("extra", Map.of("type", "object")).build(),
          (e, request) -> CallToolResult.builder().addTextContent("extra").build()));
      return "added";
    }
  }

  @Component
  static class Rest {
    @McpResource(uri = "test://text", name = "text", mimeType = "text/plain")
    public String text() {
      return "words";
    }

    @McpResource(uri = "test://blob", name = "blob", mimeType = "image/png")
    public McpSchema.ReadResourceResult blob() {
      return McpSchema.ReadResourceResult.builder(List.of(McpSchema.BlobResourceContents.builder("test://blob", PIXEL).mimeType("image/png").build())).build();
    }

    @McpResource(uri = "test://item/{id}", name = "item", mimeType = "text/plain")
    public String item(String id) {
      return "item " + id;
    }

    @McpPrompt(name = "greet", description = "greets")
    public String greet(@McpArg(name = "name", required = true) String name) {
      return "Hello, " + name;
    }

    @McpComplete(prompt = "greet")
    public List<String> complete(String name) {
      return List.of("alice", "albert", "bob").stream().filter(n -> n.startsWith(name)).toList();
    }
  }
}
