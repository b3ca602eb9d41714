package probe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** Probe keeps what came from the server, and answers what the server asks. */
public final class Probe {
  private final JsonNode answers;
  private ArrayNode fresh = Script.JSON.createArrayNode(); // since the last printed line
  private final List<JsonNode> unclaimed = new ArrayList<>(); // not yet taken by waitNotification

  Probe(JsonNode answers) {
    this.answers = answers;
  }

  public synchronized void event(String method, JsonNode params) {
    ObjectNode event = Script.JSON.createObjectNode().put("method", method).set("params", params);
    fresh.add(event);
    unclaimed.add(event);
    notifyAll();
  }

  synchronized ArrayNode fresh() {
    ArrayNode events = fresh;
    fresh = Script.JSON.createArrayNode();
    return events;
  }

  synchronized JsonNode await(String method, long timeoutMs) throws Exception {
    for (long end = System.currentTimeMillis() + timeoutMs; ; ) {
      for (Iterator<JsonNode> i = unclaimed.iterator(); i.hasNext(); ) {
        JsonNode event = i.next();
        if (event.get("method").asText().equals(method)) {
          i.remove();
          return event.get("params");
        }
      }
      long left = end - System.currentTimeMillis();
      if (left <= 0) throw new TimeoutException("no " + method + " within " + timeoutMs + " ms");
      wait(left);
    }
  }

  /** The action, and the content where it is accept. */
  public ObjectNode elicit(JsonNode params) {
    event("elicitation/create", params);
    JsonNode answer = answers.path("elicit");
    ObjectNode reply = Script.JSON.createObjectNode().put("action", answer.path("action").asText("decline"));
    if (!reply.get("action").asText().equals("accept")) return reply;
    ObjectNode content = reply.putObject("content");
    for (Iterator<String> names = params.path("requestedSchema").path("properties").fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (answer.path("content").has(name)) content.set(name, answer.path("content").get(name));
    }
    return reply;
  }

  /** The words of the model. */
  public String sample(JsonNode params) {
    event("sampling/createMessage", params);
    return answers.path("sample").path("text").asText("canned");
  }
}
