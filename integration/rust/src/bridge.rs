//! The bridge servers' flags, their state and the words in their results.
//! ../README.md describes the tools.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub const WATCHED: &str = "test://watched";
pub const STATIC: &str = "test://static";
pub const TEMPLATE: &str = "test://item/{id}";
pub const ITEM: &str = "test://item/";

/// The command line of a bridge server.
#[derive(Default)]
pub struct Flags {
    pub http: Option<String>,
    pub sse: Option<String>,
    pub era: String,
    pub capabilities: bool,
    pub more: bool,
}

impl Flags {
    /// Reads the command line; the first of the eras is the default.
    pub fn parse(eras: &[&str]) -> Flags {
        let mut flags = Flags { era: eras[0].into(), ..Flags::default() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--http" => flags.http = words.next(),
                "--sse" => flags.sse = words.next(),
                "--era" => flags.era = words.next().unwrap_or_default(),
                "--capabilities" => flags.capabilities = true,
                "--more" => flags.more = true,
                "--stdio" => {}
                _ => {
                    eprintln!("unknown flag {word}");
                    std::process::exit(2);
                }
            }
        }
        if !eras.contains(&flags.era.as_str()) {
            eprintln!("--era is one of {eras:?}");
            std::process::exit(2);
        }
        flags
    }
}

/// State that the tools of one process share.
#[derive(Default)]
pub struct State {
    touched: Mutex<u32>,
    extra: Mutex<bool>,
    cancelled: Mutex<bool>,
}

impl State {
    /// Changes the watched resource, and returns how often it was changed.
    pub fn touch(&self) -> u32 {
        let mut touched = self.touched.lock().unwrap();
        *touched += 1;
        *touched
    }

    /// Returns the text of a resource, or none of an unknown one.
    pub fn read(&self, uri: &str) -> Option<String> {
        match uri {
            WATCHED => Some(format!("touched {}", self.touched.lock().unwrap())),
            STATIC => Some("static text".into()),
            _ => uri.strip_prefix(ITEM).map(|id| format!("item {id}")),
        }
    }

    /// Turns the tool extra on or off, and returns what it is now.
    pub fn toggle_extra(&self) -> bool {
        let mut extra = self.extra.lock().unwrap();
        *extra = !*extra;
        *extra
    }

    /// Sleeps, or ends early when the call is cancelled; was_cancelled tells which.
    pub async fn slow(&self, ms: u64, cancelled: impl Future<Output = ()>) -> String {
        let early = tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(ms)) => false,
            () = cancelled => true,
        };
        *self.cancelled.lock().unwrap() = early;
        format!("slept {ms}")
    }

    pub fn was_cancelled(&self) -> &'static str {
        if *self.cancelled.lock().unwrap() { "yes" } else { "no" }
    }

    /// Returns the tools as they are now; more are those that only some tests want.
    pub fn tools(&self, more: bool) -> Vec<Value> {
        let none = || json!({"type": "object", "properties": {}});
        let one = |name: &str, kind: &str| json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
        let tool = |name: &str, description: &str, schema: Value| json!({"name": name, "description": description, "inputSchema": schema});
        let mut tools = vec![
            tool("echo", "repeats", one("text", "string")),
            tool("ask_one", "asks for a name", none()),
            tool("ask_two", "asks two questions at once", none()),
            tool("ask_again", "asks, then asks about the answer", none()),
            tool("sample", "asks the model of the client", none()),
            tool("roots", "tells the roots of the client", none()),
            tool("progress", "tells its progress five times", none()),
            tool("logs", "logs three messages", none()),
            tool("change_tools", "adds or removes the tool extra", none()),
            tool("touch", "changes test://watched", none()),
            tool("slow", "takes its time", one("ms", "integer")),
            tool("was_cancelled", "tells how slow ended", none()),
        ];
        if *self.extra.lock().unwrap() {
            tools.push(tool("extra", "comes and goes", none()));
        }
        if more {
            let mut weather = tool("weather", "returns structured content", one("city", "string"));
            weather["title"] = "Weather".into();
            weather["annotations"] = json!({"readOnlyHint": true, "openWorldHint": false});
            weather["outputSchema"] = json!({
                "type": "object",
                "properties": {"city": {"type": "string"}, "degrees": {"type": "number"}},
                "required": ["city", "degrees"]
            });
            let nested = json!({
                "type": "object",
                "properties": {
                    "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": null},
                    "place": {"$ref": "#/$defs/place"}
                },
                "$defs": {"place": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}}
            });
            tools.extend([weather, tool("picture", "returns a picture", none()), tool("fails", "always fails", nested)]);
        }
        tools
    }

    /// Returns the result of a tool that needs nothing of the library.
    pub fn plain(&self, name: &str, arguments: &Map<String, Value>) -> Option<Value> {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        Some(match name {
            "echo" => text(argument("text")),
            "was_cancelled" => text(self.was_cancelled()),
            "extra" => text("extra"),
            "weather" => {
                let found = json!({"city": argument("city"), "degrees": 4.5});
                json!({"content": [{"type": "text", "text": found.to_string()}], "structuredContent": found, "isError": false})
            }
            "picture" => json!({"content": [
                {"type": "text", "text": "a picture", "annotations": {"audience": ["user"], "priority": 0.5}},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": STATIC, "name": "static"},
                {"type": "resource", "resource": {"uri": STATIC, "mimeType": "text/plain", "text": "static text"}}
            ], "isError": false}),
            "fails" => json!({"content": [{"type": "text", "text": "it always fails"}], "isError": true}),
            _ => return None,
        })
    }
}

/// A result that is one text.
pub fn text(words: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": words.into()}], "isError": false})
}

pub fn resources() -> Value {
    json!([
        {"uri": WATCHED, "name": "watched", "description": "changes"},
        {"uri": STATIC, "name": "static", "description": "stays"}
    ])
}

pub fn templates() -> Value {
    json!([{"uriTemplate": TEMPLATE, "name": "item", "description": "one item"}])
}

pub fn prompts() -> Value {
    json!([{"name": "greet", "description": "greets", "arguments": [{"name": "name", "required": true}]}])
}

/// The parameters of an elicitation for one string.
pub fn form(field: &str, message: &str) -> Value {
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    })
}

/// The questions of a tool that asks, by field, when the answers so far are known.
pub fn questions(tool: &str, color: Option<&str>) -> Vec<(&'static str, Value)> {
    let ask = |field: &'static str, message: &str| (field, form(field, message));
    match (tool, color) {
        ("ask_one", _) => vec![ask("name", "What is your name?")],
        ("ask_two", _) => vec![ask("first", "First?"), ask("second", "Second?")],
        ("ask_again", None) => vec![ask("color", "Which color?")],
        ("ask_again", Some(color)) => vec![ask("shade", &format!("Which shade of {color}?"))],
        _ => vec![],
    }
}

/// The words of a tool about an answer.
pub fn reply(field: &str, answer: &Value) -> String {
    match answer["action"].as_str() {
        Some("accept") => format!("{field}={}", answer["content"][field].as_str().unwrap_or_default()),
        Some("decline") => format!("{field} declined"),
        _ => format!("{field} cancelled"),
    }
}

/// The values that the argument of the prompt completes to.
pub fn names(prefix: &str) -> Vec<&'static str> {
    ["alice", "albert", "bob"].into_iter().filter(|name| name.starts_with(prefix)).collect()
}
