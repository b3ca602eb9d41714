package probe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The script engine of the probing clients of the JVM: flags, steps and lines are those of ../../../../../../README.md. */
public final class Script {
  public static final ObjectMapper JSON = new ObjectMapper();

  /** A connection, as one library has it. Results are JSON, as the library hands them to its users. */
  public interface Peer {
    /** What initialize returned: revision, server, capabilities and instructions, as far as the library tells. */
    ObjectNode connected() throws Exception;

    /** Lists tools, resources, templates or prompts. */
    JsonNode list(String what) throws Exception;

    JsonNode call(String name, ObjectNode arguments, boolean progress) throws Exception;

    JsonNode read(String uri) throws Exception;

    JsonNode prompt(String name, ObjectNode arguments) throws Exception;

    default JsonNode complete(JsonNode ref, JsonNode argument) throws Exception {
      throw new Cannot("complete");
    }

    default void ping() throws Exception {
      throw new Cannot("ping");
    }

    default void setLevel(String level) throws Exception {
      throw new Cannot("setLevel");
    }

    default void close() throws Exception {}
  }

  public interface Connector {
    Peer connect(Flags flags, Probe probe) throws Exception;
  }

  /** What a library has no way to do. */
  public static final class Cannot extends Exception {
    public Cannot(String what) {
      super("the library cannot " + what);
    }
  }

  /** An error that a server sent, where the library tells its code. */
  public static final class Refused extends Exception {
    final int code;
    final JsonNode data;

    public Refused(int code, String message, JsonNode data) {
      super(message);
      this.code = code;
      this.data = data;
    }
  }

  public static final class Flags {
    public String http;
    public String sse;
    public List<String> stdio;
    JsonNode script;
    JsonNode answers = JSON.createObjectNode();
  }

  private Script() {}

  public static void run(String[] args, Connector connector) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err); // stdout is for the lines of the script
    Flags flags = parse(args);
    Probe probe = new Probe(flags.answers);
    Peer peer = null;
    long began = System.currentTimeMillis();
    ObjectNode line = JSON.createObjectNode();
    try {
      peer = connector.connect(flags, probe);
      line.put("ok", true).setAll(peer.connected());
    } catch (Throwable e) {
      e.printStackTrace();
      line.put("ok", false).set("error", describe(e));
    }
    print(out, probe, line, 0, "connect", began);
    for (int i = 0; peer != null && i < flags.script.size(); i++) {
      JsonNode step = flags.script.get(i);
      long start = System.currentTimeMillis();
      print(out, probe, perform(peer, probe, step), i + 1, step.get("op").asText(), start);
    }
    if (peer != null) close(peer);
    Runtime.getRuntime().halt(0);
  }

  private static void close(Peer peer) throws InterruptedException {
    Thread closing = new Thread(() -> {
      try {
        peer.close();
      } catch (Exception e) {
        e.printStackTrace();
      }
    });
    closing.setDaemon(true);
    closing.start();
    closing.join(3000);
  }

  private static Flags parse(String[] args) throws Exception {
    Flags flags = new Flags();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--http" -> flags.http = args[++i];
        case "--sse" -> flags.sse = args[++i];
        case "--script" -> flags.script = JSON.readTree(args[++i]);
        case "--answers" -> flags.answers = JSON.readTree(args[++i]);
        case "--stdio" -> {
          flags.stdio = Arrays.asList(args).subList(i + 1, args.length);
          return flags;
        }
        default -> throw new IllegalArgumentException("unknown flag " + args[i]);
      }
    }
    return flags;
  }

  private static ObjectNode perform(Peer peer, Probe probe, JsonNode step) {
    String until = step.path("until").asText();
    for (long end = System.currentTimeMillis() + step.path("timeoutMs").asLong(20000); ; ) {
      ObjectNode line;
      try {
        line = once(peer, probe, step).put("ok", true);
      } catch (Throwable e) {
        line = JSON.createObjectNode().put("ok", false);
        line.set("error", describe(e));
      }
      if (line.toString().contains(until) || System.currentTimeMillis() > end) return line;
      sleep(100);
    }
  }

  private static ObjectNode once(Peer peer, Probe probe, JsonNode step) throws Exception {
    ObjectNode out = JSON.createObjectNode();
    switch (step.get("op").asText()) {
      case "list" -> list(peer, out, step);
      case "call" -> tool(peer.call(step.get("name").asText(), object(step.get("arguments")), step.path("progress").asBoolean()), out, step);
      case "read" -> {
        JsonNode r = whole(peer.read(step.get("uri").asText()), out, step);
        out.put("text", texts(r.path("contents")));
        ArrayNode uris = out.putArray("uris");
        r.path("contents").forEach(c -> uris.add(c.path("uri").asText()));
      }
      case "prompt" -> {
        JsonNode r = whole(peer.prompt(step.get("name").asText(), object(step.get("arguments"))), out, step);
        List<String> said = new ArrayList<>();
        r.path("messages").forEach(m -> said.add(m.path("content").path("text").asText(m.path("content").path("type").asText())));
        out.put("text", String.join("\n", said));
      }
      case "complete" -> out.set("values", peer.complete(step.get("ref"), step.get("argument")));
      case "ping" -> peer.ping();
      case "setLevel" -> peer.setLevel(step.get("level").asText());
      case "sleep" -> sleep(step.get("ms").asLong());
      case "waitNotification" -> {
        ArrayNode all = out.putArray("params");
        for (int i = 0; i < step.path("count").asInt(1); i++) {
          all.add(probe.await(step.get("method").asText(), step.path("timeoutMs").asLong(20000)));
        }
      }
      default -> throw new Cannot(step.get("op").asText());
    }
    return out;
  }

  private static void list(Peer peer, ObjectNode out, JsonNode step) {
    ObjectNode errors = out.putObject("errors");
    ObjectNode all = JSON.createObjectNode();
    for (String what : List.of("tools", "resources", "templates", "prompts")) {
      try {
        JsonNode found = peer.list(what);
        all.set(what, found);
        ArrayNode names = out.putArray(what);
        for (JsonNode x : found) names.add(x.path("uriTemplate").asText(x.path("uri").asText(x.path("name").asText())));
      } catch (Throwable e) {
        out.putNull(what);
        errors.set(what, describe(e));
      }
    }
    whole(all, out, step);
  }

  private static void tool(JsonNode r, ObjectNode out, JsonNode step) {
    whole(r, out, step);
    out.put("isError", r.path("isError").asBoolean()).put("text", texts(r.path("content"))).set("structured", r.get("structuredContent"));
    ArrayNode types = out.putArray("types");
    r.path("content").forEach(c -> types.add(c.path("type").asText()));
  }

  private static JsonNode whole(JsonNode result, ObjectNode out, JsonNode step) {
    if (step.path("whole").asBoolean()) out.set("whole", result);
    return result;
  }

  private static String texts(JsonNode contents) {
    List<String> all = new ArrayList<>();
    contents.forEach(c -> all.add(c.path("text").asText(c.path("resource").path("text").asText())));
    return String.join("\n", all);
  }

  private static ObjectNode object(JsonNode node) {
    return node == null || node.isNull() ? JSON.createObjectNode() : (ObjectNode) node;
  }

  private static ObjectNode describe(Throwable e) {
    ObjectNode error = JSON.createObjectNode().put("code", 0).put("message", String.valueOf(e.getMessage()));
    if (e instanceof Refused refused) error.put("code", refused.code).set("data", refused.data);
    return error;
  }

  private static void print(PrintStream out, Probe probe, ObjectNode line, int step, String op, long began) {
    line.put("step", step).put("op", op).put("ms", System.currentTimeMillis() - began).set("events", probe.fresh());
    out.println(line);
  }

  static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
