package spring.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.model.ToolContext;
import org.springframework.ai.mcp.SyncMcpToolCallbackProvider;
import org.springframework.ai.mcp.annotation.McpElicitation;
import org.springframework.ai.mcp.annotation.McpLogging;
import org.springframework.ai.mcp.annotation.McpProgress;
import org.springframework.ai.mcp.annotation.McpSampling;
import org.springframework.ai.mcp.annotation.McpToolListChanged;
import org.springframework.ai.mcp.customizer.McpClientCustomizer;
import org.springframework.ai.tool.ToolCallback;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.stereotype.Component;
import probe.Probe;
import probe.Script;
import probe.Script.Flags;

/** A probing client on Spring AI: tools are its callbacks, all else is the SDK that it brings. */
public final class Client extends sdk.Client {
  private final ConfigurableApplicationContext context;

  private Client(ConfigurableApplicationContext context) {
    super(((List<McpSyncClient>) context.getBean("mcpSyncClients")).get(0));
    this.context = context;
  }

  public static void main(String[] args) throws Exception {
    Script.run(args, Client::connect);
  }

  private static Client connect(Flags flags, Probe probe) {
    Map<String, Object> properties = new HashMap<>(Map.of("spring.ai.mcp.server.enabled", "false", "logging.level.root", "warn"));
    String prefix = "spring.ai.mcp.client.";
    if (flags.stdio != null) {
      properties.put(prefix + "stdio.connections.probe.command", flags.stdio.get(0));
      for (int i = 1; i < flags.stdio.size(); i++) properties.put(prefix + "stdio.connections.probe.args[" + (i - 1) + "]", flags.stdio.get(i));
      System.getenv().forEach((name, value) -> properties.put(prefix + "stdio.connections.probe.env." + name, value));
    } else {
      URI at = URI.create(flags.http != null ? flags.http : flags.sse);
      String connection = prefix + (flags.http != null ? "streamable-http" : "sse") + ".connections.probe.";
      properties.put(connection + "url", at.getScheme() + "://" + at.getAuthority());
      properties.put(connection + (flags.http != null ? "endpoint" : "sse-endpoint"), at.getPath());
    }
    return new Client(new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .bannerMode(Banner.Mode.OFF)
        .properties(properties)
        .initializers(context -> ((GenericApplicationContext) context).registerBean(Probe.class, () -> probe))
        .run());
  }

  @SpringBootApplication
  static class Application {
    @Bean
    McpClientCustomizer<McpClient.SyncSpec> roots() {
      return (name, spec) -> spec.roots(McpSchema.Root.builder("file:///tmp").name("tmp").build());
    }
  }

  @Component
  static class Handlers {
    private final Probe probe;

    Handlers(Probe probe) {
      this.probe = probe;
    }

    @McpElicitation(clients = "probe")
    public McpSchema.ElicitResult elicit(McpSchema.ElicitFormRequest request) {
      return MAPPER.convertValue(plain(probe.elicit(tree(request))), McpSchema.ElicitResult.class);
    }

    @McpSampling(clients = "probe")
    public McpSchema.CreateMessageResult sample(McpSchema.CreateMessageRequest request) {
      return sdk.Client.sample(request, probe);
    }

    @McpProgress(clients = "probe")
    public void progress(McpSchema.ProgressNotification progress) {
      probe.event("notifications/progress", tree(progress));
    }

    @McpLogging(clients = "probe")
    public void log(McpSchema.LoggingMessageNotification message) {
      probe.event("notifications/message", tree(message));
    }

    @McpToolListChanged(clients = "probe")
    public void changed(List<McpSchema.Tool> tools) {
      probe.event("notifications/tools/list_changed", Script.JSON.createObjectNode());
    }
  }

  private ToolCallback[] callbacks() {
    return context.getBean(SyncMcpToolCallbackProvider.class).getToolCallbacks();
  }

  @Override
  public JsonNode list(String what) throws Exception {
    if (!what.equals("tools")) return super.list(what);
    ArrayNode all = Script.JSON.createArrayNode();
    for (ToolCallback tool : callbacks()) {
      ObjectNode node = all.addObject().put("name", tool.getToolDefinition().name()).put("description", tool.getToolDefinition().description());
      node.set("inputSchema", Script.JSON.readTree(tool.getToolDefinition().inputSchema()));
    }
    return all;
  }

  @Override
  public JsonNode call(String name, ObjectNode arguments, boolean progress) {
    for (ToolCallback tool : callbacks()) {
      if (!tool.getToolDefinition().name().equals(name)) continue;
      String said = tool.call(arguments.toString(), progress ? new ToolContext(Map.of("progressToken", "the token")) : null);
      ObjectNode result = Script.JSON.createObjectNode();
      result.putArray("content").addObject().put("type", "text").put("text", said);
      return result;
    }
    throw new IllegalStateException("no callback is called " + name);
  }

  @Override
  public void close() {
    context.close();
  }
}
