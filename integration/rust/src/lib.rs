//! The engine of the probing clients: it reads their flags, runs the steps, answers what the server
//! asks, and prints one JSON line for each step. ../README.md describes the flags, steps and lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

pub mod bridge;

/// The command line of a probing client.
#[derive(Default)]
pub struct Flags {
    pub stdio: Vec<String>,
    pub http: Option<String>,
    pub revision: Option<String>,
    pub mode: Option<String>,
    pub steps: Vec<Step>,
    pub answers: Answers,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, rename_all = "camelCase")]
pub struct Step {
    pub op: String,
    pub name: String,
    pub arguments: Map<String, Value>,
    pub progress: bool,
    pub timeout_ms: u64,
    pub after_ms: u64,
    pub ms: u64,
    pub uri: String,
    pub level: String,
    pub method: String,
    pub count: usize,
    #[serde(rename = "ref")]
    pub reference: Value,
    pub argument: Value,
    /// Print what came as a whole, too.
    pub whole: bool,
}

/// The answers of the client to requests of the server.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Answers {
    pub elicit: Option<Elicit>,
    pub sample: Option<Sample>,
    pub roots: Option<Vec<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Elicit {
    pub action: String,
    pub content: Map<String, Value>,
    pub decline: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Sample {
    pub text: String,
}

impl Flags {
    /// Reads the command line.
    pub fn parse() -> Result<Flags, String> {
        let mut flags = Flags { steps: vec![Step { op: "list".into(), ..Step::default() }], ..Flags::default() };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            if name == "--stdio" {
                flags.stdio = words.collect();
                return Ok(flags);
            }
            let value = words.next().ok_or(format!("flag {name} needs a value"))?;
            let read = |e: serde_json::Error| format!("flag {name}: {e}");
            match name.as_str() {
                "--http" => flags.http = Some(value),
                "--revision" => flags.revision = Some(value),
                "--mode" => flags.mode = Some(value),
                "--script" => flags.steps = serde_json::from_str(&value).map_err(read)?,
                "--answers" => flags.answers = serde_json::from_str(&value).map_err(read)?,
                _ => return Err(format!("unknown flag {name}")),
            }
        }
        Ok(flags)
    }
}

/// Keeps what came from the server, and answers what the server asks.
pub struct Probe {
    answers: Answers,
    state: Mutex<Seen>,
    changed: Notify,
}

#[derive(Default)]
struct Seen {
    fresh: Vec<Value>,
    unclaimed: VecDeque<(String, Value)>,
}

impl Probe {
    pub fn new(answers: Answers) -> Arc<Probe> {
        Arc::new(Probe { answers, state: Mutex::default(), changed: Notify::new() })
    }

    /// Notes a message from the server.
    pub fn event(&self, method: &str, params: Value) {
        let mut seen = self.state.lock().unwrap();
        seen.fresh.push(json!({"method": method, "params": params}));
        seen.unclaimed.push_back((method.into(), params));
        self.changed.notify_waiters();
    }

    /// Claims count events of the method, at least one, and returns their params.
    async fn wait_all(&self, method: &str, count: usize) -> Vec<Value> {
        let mut all = Vec::new();
        while all.len() < count.max(1) {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let found = {
                let unclaimed = &mut self.state.lock().unwrap().unclaimed;
                let at = unclaimed.iter().position(|(m, _)| m == method);
                at.and_then(|i| unclaimed.remove(i))
            };
            match found {
                Some((_, params)) => all.push(params),
                None => changed.await,
            }
        }
        all
    }

    fn take_fresh(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.lock().unwrap().fresh)
    }

    /// Answers a form with the given fields: the action, and the content of one that is accepted.
    pub fn elicit(&self, message: &str, mode: &str, schema: &Value) -> (String, Option<Value>) {
        self.event("elicitation/create", json!({"message": message, "mode": mode}));
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let Some(answer) = &self.answers.elicit else { return ("decline".into(), None) };
        if answer.decline.iter().any(|f| fields.contains_key(f)) {
            return ("decline".into(), None);
        }
        if answer.action != "accept" {
            return (answer.action.clone(), None);
        }
        let content: Map<_, _> = answer.content.clone().into_iter().filter(|(f, _)| fields.contains_key(f)).collect();
        ("accept".into(), Some(content.into()))
    }

    /// Returns the canned words of the model.
    pub fn sample(&self, text: &str) -> String {
        self.event("sampling/createMessage", json!({"text": text}));
        self.answers.sample.as_ref().map_or("canned".into(), |sample| sample.text.clone())
    }

    /// Returns the roots of the client.
    pub fn roots(&self) -> Vec<Value> {
        self.event("roots/list", json!({}));
        self.answers.roots.clone().unwrap_or_default()
    }
}

/// An error, with the JSON-RPC code where it has one.
pub struct Failure {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { code: 0, message: message.into(), data: None }
    }

    fn json(self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        error
    }
}

/// A connected client of one library. Results are what the library keeps of them, as JSON.
#[allow(async_fn_in_trait)]
pub trait Peer {
    /// Returns revision, server, capabilities and instructions.
    fn connected(&self) -> Value;
    /// Returns all tools, resources, templates or prompts.
    async fn list(&self, what: &str) -> Result<Vec<Value>, Failure>;
    async fn call(&self, step: &Step) -> Result<Value, Failure>;
    /// Cancels a call after a while; none is returned for one that was cancelled.
    async fn cancel_call(&self, step: &Step, after: Duration) -> Result<Option<Value>, Failure>;
    async fn read(&self, uri: &str) -> Result<Value, Failure>;
    async fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Result<Value, Failure>;
    async fn complete(&self, reference: &Value, argument: &Value) -> Result<Vec<String>, Failure>;
    async fn ping(&self) -> Result<(), Failure>;
    async fn set_level(&mut self, level: &str) -> Result<(), Failure>;
    async fn subscribe(&mut self, uri: &str) -> Result<(), Failure>;
    async fn unsubscribe(&mut self, uri: &str) -> Result<(), Failure>;
    async fn close(self);
}

/// Runs the script against the peer that connect returns.
pub async fn run<P: Peer>(connect: impl AsyncFnOnce(&Flags, Arc<Probe>) -> Result<P, Failure>) {
    let mut flags = Flags::parse().unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2);
    });
    let probe = Probe::new(std::mem::take(&mut flags.answers));
    let began = Instant::now();
    let mut peer = match connect(&flags, probe.clone()).await {
        Ok(peer) => peer,
        Err(failure) => {
            print(&probe, 0, "connect", began, Err(failure));
            std::process::exit(1);
        }
    };
    print(&probe, 0, "connect", began, Ok(peer.connected()));
    for (i, step) in flags.steps.iter().enumerate() {
        let began = Instant::now();
        let limit = Duration::from_millis(if step.timeout_ms > 0 { step.timeout_ms } else { 20_000 });
        let found = tokio::time::timeout(limit, perform(&mut peer, &probe, step)).await;
        let found = found.unwrap_or_else(|_| Err(Failure::new(format!("{} {} not within {limit:?}", step.op, step.method))));
        print(&probe, i + 1, &step.op, began, found);
    }
    if tokio::time::timeout(Duration::from_secs(6), peer.close()).await.is_err() {
        eprintln!("closing took more than 6 s");
    }
}

async fn perform<P: Peer>(peer: &mut P, probe: &Probe, step: &Step) -> Result<Value, Failure> {
    Ok(match step.op.as_str() {
        "list" => list(peer, step).await,
        "call" => called(peer.call(step).await?, step),
        "cancelCall" => {
            let after = if step.after_ms > 0 { step.after_ms } else { 200 };
            match peer.cancel_call(step, Duration::from_millis(after)).await? {
                Some(result) => called(result, step),
                None => json!({"cancelled": true}),
            }
        }
        "read" => {
            let result = peer.read(&step.uri).await?;
            let contents = result["contents"].as_array().cloned().unwrap_or_default();
            let uris: Vec<_> = contents.iter().map(|c| c["uri"].clone()).collect();
            json!({"text": texts(&contents), "uris": uris})
        }
        "prompt" => {
            let result = peer.prompt(&step.name, &step.arguments).await?;
            let messages = result["messages"].as_array().cloned().unwrap_or_default();
            let contents: Vec<_> = messages.iter().map(|m| m["content"].clone()).collect();
            json!({"text": texts(&contents)})
        }
        "complete" => json!({"values": peer.complete(&step.reference, &step.argument).await?}),
        "waitNotification" => json!({"params": probe.wait_all(&step.method, step.count).await}),
        "sleep" => {
            tokio::time::sleep(Duration::from_millis(step.ms)).await;
            json!({})
        }
        "ping" => peer.ping().await.map(|()| json!({}))?,
        "setLevel" => peer.set_level(&step.level).await.map(|()| json!({}))?,
        "subscribe" => peer.subscribe(&step.uri).await.map(|()| json!({}))?,
        "unsubscribe" => peer.unsubscribe(&step.uri).await.map(|()| json!({}))?,
        op => return Err(Failure::new(format!("unknown op {op}"))),
    })
}

async fn list<P: Peer>(peer: &P, step: &Step) -> Value {
    let (mut found, mut whole, mut errors) = (json!({}), json!({}), json!({}));
    for (what, name) in [("tools", "name"), ("resources", "uri"), ("templates", "uriTemplate"), ("prompts", "name")] {
        match peer.list(what).await {
            Ok(all) => {
                found[what] = all.iter().map(|v| v[name].clone()).collect();
                whole[what] = all.into();
            }
            Err(failure) => {
                found[what] = Value::Null;
                errors[what] = failure.json();
            }
        }
    }
    found["errors"] = errors;
    if step.whole {
        found["whole"] = whole;
    }
    found
}

/// Returns what a line has of the result of a call.
fn called(result: Value, step: &Step) -> Value {
    let content = result["content"].as_array().cloned().unwrap_or_default();
    let types: Vec<_> = content.iter().map(|c| c["type"].clone()).collect();
    let mut found = json!({
        "isError": result["isError"] == true,
        "text": texts(&content),
        "types": types,
        "structured": result["structuredContent"],
    });
    if step.whole {
        found["whole"] = result;
    }
    found
}

fn texts(contents: &[Value]) -> String {
    let text = |c: &Value| {
        let c = if c["resource"].is_object() { &c["resource"] } else { c };
        match (c["text"].as_str(), c["blob"].as_str()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(blob)) => format!("blob:{}", blob.len()),
            _ => String::new(),
        }
    };
    contents.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn print(probe: &Probe, step: usize, op: &str, began: Instant, found: Result<Value, Failure>) {
    let ok = found.is_ok();
    let mut line = found.unwrap_or_else(|failure| json!({"error": failure.json()}));
    line["step"] = step.into();
    line["op"] = op.into();
    line["ms"] = (began.elapsed().as_millis() as u64).into();
    line["ok"] = ok.into();
    line["events"] = probe.take_fresh().into();
    println!("{line}");
}
