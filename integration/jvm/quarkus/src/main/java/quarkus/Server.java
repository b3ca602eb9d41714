package quarkus;

import io.quarkiverse.mcp.server.BlobResourceContents;
import io.quarkiverse.mcp.server.CompletePrompt;
import io.quarkiverse.mcp.server.Elicitation;
import io.quarkiverse.mcp.server.ElicitationRequest;
import io.quarkiverse.mcp.server.ElicitationResponse;
import io.quarkiverse.mcp.server.ImageContent;
import io.quarkiverse.mcp.server.McpLog;
import io.quarkiverse.mcp.server.Progress;
import io.quarkiverse.mcp.server.ProgressTracker;
import io.quarkiverse.mcp.server.Prompt;
import io.quarkiverse.mcp.server.PromptArg;
import io.quarkiverse.mcp.server.PromptMessage;
import io.quarkiverse.mcp.server.RequestUri;
import io.quarkiverse.mcp.server.Resource;
import io.quarkiverse.mcp.server.ResourceTemplate;
import io.quarkiverse.mcp.server.Sampling;
import io.quarkiverse.mcp.server.SamplingMessage;
import io.quarkiverse.mcp.server.SamplingResponse;
import io.quarkiverse.mcp.server.TextContent;
import io.quarkiverse.mcp.server.TextResourceContents;
import io.quarkiverse.mcp.server.Tool;
import io.quarkiverse.mcp.server.ToolManager;
import io.quarkiverse.mcp.server.ToolResponse;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.List;

/** A server on Quarkus, over Streamable HTTP and HTTP+SSE, with the tools of the servers of the JVM. */
@Singleton
public class Server {
  private static final String PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  public record Weather(String city, double degrees) {}

  @Inject
  ToolManager tools;

  @Tool(description = "the tool echo")
  String echo(String text) {
    return text;
  }

  @Tool(name = "structured_only", description = "the tool structured_only", structuredContent = true)
  Weather structuredOnly() {
    return new Weather("Oslo", 3.5);
  }

  @Tool(description = "the tool structured")
  ToolResponse structured() {
    return new ToolResponse(false, List.of(new TextContent("3 degrees in Oslo")), new Weather("Oslo", 3), null);
  }

  @Tool(description = "the tool image")
  ImageContent image() {
    return new ImageContent(PIXEL, "image/png");
  }

  @Tool(description = "the tool fails")
  ToolResponse fails() {
    return ToolResponse.error("it failed");
  }

  @Tool(description = "the tool progress")
  String progress(Progress progress) throws InterruptedException {
    if (progress.token().isPresent()) {
      ProgressTracker tracker = progress.trackerBuilder().setTotal(3).setDefaultStep(1).setMessageBuilder(i -> "step " + i).build();
      for (int i = 1; i <= 3; i++) {
        tracker.advanceAndForget();
        Thread.sleep(i < 3 ? 20 : 200); // the TypeScript clients drop progress that is read together with the result
      }
    }
    return "progressed";
  }

  @Tool(description = "the tool logs")
  String logs(McpLog log) {
    log.info("log 1");
    return "logged";
  }

  @Tool(description = "the tool ask")
  String ask(Elicitation elicitation) {
    ElicitationResponse answer = elicitation.requestBuilder().setMessage("What is your name?")
        .addSchemaProperty("name", new ElicitationRequest.StringSchema(true)).build().sendAndAwait();
    return answer.action() + " " + answer.content().getString("name");
  }

  @Tool(description = "the tool sample")
  String sample(Sampling sampling) {
    SamplingResponse answer = sampling.requestBuilder().addMessage(SamplingMessage.withUserRole("Say something.")).setMaxTokens(100).build().sendAndAwait();
    return "sampled: " + ((TextContent) answer.content()).text();
  }

  @Tool(name = "change_tools", description = "the tool change_tools")
  synchronized String changeTools() {
    if (tools.getTool("extra") != null) {
      tools.removeTool("extra");
      return "removed";
    }
    tools.newTool("extra").setDescription("comes and goes").setHandler(arguments -> ToolResponse.success("extra")).register();
    return "added";
  }

  @Resource(uri = "test://text", name = "text", mimeType = "text/plain")
  TextResourceContents text() {
    return new TextResourceContents("test://text", "words", "text/plain");
  }

  @Resource(uri = "test://blob", name = "blob", mimeType = "image/png")
  BlobResourceContents blob() {
    return new BlobResourceContents("test://blob", PIXEL, "image/png");
  }

  @ResourceTemplate(uriTemplate = "test://item/{id}", name = "item")
  TextResourceContents item(String id, RequestUri uri) {
    return TextResourceContents.create(uri.value(), "item " + id);
  }

  @Prompt(description = "greets")
  PromptMessage greet(@PromptArg String name) {
    return PromptMessage.withUserRole(new TextContent("Hello, " + name));
  }

  @CompletePrompt("greet")
  List<String> completeName(String name) {
    return List.of("alice", "albert", "bob").stream().filter(n -> n.startsWith(name)).toList();
  }
}
