package sdk;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import jakarta.servlet.Servlet;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;

/** A server on the Java SDK, over stdio, Streamable HTTP and HTTP+SSE, with the tools of the servers of the JVM. */
public final class Server {
  private static final McpJsonMapper MAPPER = McpJsonDefaults.getMapper();
  private static final String PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  private static final String PLAIN = "{'type':'object','properties':{}}";
  private static final String WEATHER = "{'type':'object','properties':{'city':{'type':'string'},'degrees':{'type':'number'}},'required':['city','degrees']}";
  private static final AtomicReference<McpSyncServer> SERVER = new AtomicReference<>();

  private interface Tool extends BiFunction<McpSyncServerExchange, CallToolRequest, CallToolResult> {}

  public static void main(String[] args) throws Exception {
    switch (args.length == 0 ? "--stdio" : args[0]) {
      case "--http" -> {
        HttpServletStreamableServerTransportProvider transport = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
        SERVER.set(serve(McpServer.sync(transport)));
        listen(args[1], "/mcp", transport);
      }
      case "--sse" -> {
        HttpServletSseServerTransportProvider transport = HttpServletSseServerTransportProvider.builder().sseEndpoint("/sse").messageEndpoint("/message").build();
        SERVER.set(serve(McpServer.sync(transport)));
        listen(args[1], "/sse", transport);
      }
      default -> SERVER.set(serve(McpServer.sync(new StdioServerTransportProvider(MAPPER))));
    }
  }

  private static void listen(String address, String path, Servlet servlet) throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
    tomcat.setHostname(address.split(":")[0]);
    tomcat.setPort(Integer.parseInt(address.split(":")[1]));
    tomcat.getConnector().setProperty("address", address.split(":")[0]);
    Context context = tomcat.addContext("", null);
    Wrapper wrapper = Tomcat.addServlet(context, "mcp", servlet);
    wrapper.setAsyncSupported(true);
    context.addServletMappingDecoded("/*", "mcp");
    tomcat.start();
    System.out.println("listening http://" + address.split(":")[0] + ":" + tomcat.getConnector().getLocalPort() + path);
    tomcat.getServer().await();
  }

  private static McpSyncServer serve(McpServer.SyncSpecification<?> server) {
    server.serverInfo("shapes-java", "1.0.0")
        .instructions("shapes of results")
        .capabilities(McpSchema.ServerCapabilities.builder().tools(true).resources(true, true).prompts(true).completions().logging().build());
    addTools(server);
    addRest(server);
    return server.build();
  }

  private static void tool(McpServer.SyncSpecification<?> server, String name, String input, String output, Tool call) {
    McpSchema.Tool.Builder tool = McpSchema.Tool.builder(name, map(input)).description("the tool " + name);
    if (output != null) tool.outputSchema(map(output));
    server.toolCall(tool.build(), call);
  }

  private static void addTools(McpServer.SyncSpecification<?> server) {
    tool(server, "echo", "{'type':'object','properties':{'text':{'type':'string'}},'required':['text']}", null,
        (exchange, request) -> text((String) request.arguments().get("text")));
    tool(server, "structured", PLAIN, WEATHER, (exchange, request) -> result("""
        {'content':[{'type':'text','text':'3 degrees in Oslo'}],'structuredContent':{'city':'Oslo','degrees':3}}"""));
    tool(server, "structured_only", PLAIN, WEATHER, (exchange, request) -> CallToolResult.builder().structuredContent(map("{'city':'Oslo','degrees':3.5}")).build());
    tool(server, "image", PLAIN, null, (exchange, request) -> result("{'content':[{'type':'image','data':'" + PIXEL + "','mimeType':'image/png'}]}"));
    tool(server, "fails", PLAIN, null, (exchange, request) -> result("{'content':[{'type':'text','text':'it failed'}],'isError':true}"));
    tool(server, "progress", PLAIN, null, (exchange, request) -> {
      Object token = request.progressToken();
      for (int i = 1; i <= 3 && token != null; i++) {
        exchange.progressNotification(McpSchema.ProgressNotification.builder(token, (double) i).total(3.0).message("step " + i).build());
        sleep(i < 3 ? 20 : 200); // the TypeScript clients drop progress that is read together with the result
      }
      return text("progressed");
    });
    tool(server, "logs", PLAIN, null, (exchange, request) -> {
      exchange.loggingNotification(McpSchema.LoggingMessageNotification.builder(McpSchema.LoggingLevel.WARNING, "log 1").logger("shapes").build());
      return text("logged");
    });
    tool(server, "ask", PLAIN, null, (exchange, request) -> {
      McpSchema.ElicitResult answer = exchange.createElicitation(McpSchema.ElicitFormRequest.builder("What is your name?",
          map("{'type':'object','properties':{'name':{'type':'string'}},'required':['name']}")).build());
      return text(answer.action() + " " + answer.content());
    });
    tool(server, "sample", PLAIN, null, (exchange, request) -> {
      McpSchema.CreateMessageResult answer = exchange.createMessage(read(
          "{'messages':[{'role':'user','content':{'type':'text','text':'Say something.'}}],'maxTokens':100}", McpSchema.CreateMessageRequest.class));
      return text("sampled: " + ((McpSchema.TextContent) answer.content()).text());
    });
    tool(server, "change_tools", PLAIN, null, (exchange, request) -> text(change()));
  }

  private static synchronized String change() {
    McpSyncServer server = SERVER.get();
    if (server.listTools().stream().anyMatch(tool -> tool.name().equals("extra"))) {
      server.removeTool("extra");
      return "removed";
    }
    server.addTool(new io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification(
        McpSchema.Tool.builder("extra", map(PLAIN)).build(), (exchange, request) -> text("extra")));
    return "added";
  }

  private static void addRest(McpServer.SyncSpecification<?> server) {
    server.resources(
        new SyncResourceSpecification(McpSchema.Resource.builder("test://text", "text").mimeType("text/plain").build(),
            (exchange, request) -> read("{'contents':[{'uri':'test://text','mimeType':'text/plain','text':'words'}]}", McpSchema.ReadResourceResult.class)),
        new SyncResourceSpecification(McpSchema.Resource.builder("test://blob", "blob").mimeType("image/png").build(),
            (exchange, request) -> read("{'contents':[{'uri':'test://blob','mimeType':'image/png','blob':'" + PIXEL + "'}]}", McpSchema.ReadResourceResult.class)));
    server.resourceTemplates(new SyncResourceTemplateSpecification(McpSchema.ResourceTemplate.builder("test://item/{id}", "item").build(),
        (exchange, request) -> read("{'contents':[{'uri':'" + request.uri() + "','text':'item " + request.uri().substring(12) + "'}]}", McpSchema.ReadResourceResult.class)));
    server.prompts(new SyncPromptSpecification(
        McpSchema.Prompt.builder("greet").description("greets").arguments(List.of(McpSchema.PromptArgument.builder("name").required(true).build())).build(),
        (exchange, request) -> read("{'messages':[{'role':'user','content':{'type':'text','text':'Hello, " + request.arguments().get("name") + "'}}]}",
            McpSchema.GetPromptResult.class)));
    server.completions(new SyncCompletionSpecification(read("{'type':'ref/prompt','name':'greet'}", McpSchema.PromptReference.class), (exchange, request) -> {
      List<String> names = List.of("alice", "albert", "bob").stream().filter(name -> name.startsWith(request.argument().value())).toList();
      return MAPPER.convertValue(Map.of("completion", Map.of("values", names, "total", names.size(), "hasMore", false)), McpSchema.CompleteResult.class);
    }));
  }

  private static CallToolResult text(String text) {
    return CallToolResult.builder().addTextContent(text).build();
  }

  private static CallToolResult result(String json) {
    return read(json, CallToolResult.class);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(String json) {
    return read(json, HashMap.class);
  }

  /** Reads JSON that is written with single quotes. */
  private static <T> T read(String json, Class<T> type) {
    try {
      return MAPPER.readValue(json.replace('\'', '"'), type);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
