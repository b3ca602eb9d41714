//! A bridge server on rmcp: both eras over stdio and Streamable HTTP; --era legacy or modern serves one alone.
#![allow(deprecated)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use peers::bridge::{self, Flags, State};
use rmcp::model::*;
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flags = Flags::parse(&["both", "legacy", "modern"]);
    if flags.capabilities {
        println!("{}", json!({"name": "rmcp", "eras": ["both", "legacy", "modern"], "transports": ["stdio", "http"], "cannot": {
            "sse": "the library has no HTTP+SSE since 0.11",
            "one tool that asks in both eras": "the library returns input_required to modern clients and asks legacy ones; a tool does either by itself",
        }}));
        return Ok(());
    }
    let server = Server { state: Arc::default(), listeners: Arc::default(), era: flags.era, more: flags.more };
    let Some(address) = flags.http else {
        server.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening http://{}/mcp", listener.local_addr()?);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, StreamableHttpServerConfig::default());
    let service = TowerToHyperService::new(service);
    loop {
        let (connection, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(connection), service).await });
    }
}

/// The library acknowledges a subscription before it hands it over; this is how long a change waits for that.
const HANDED: Duration = Duration::from_millis(50);

#[derive(Clone)]
struct Server {
    state: Arc<State>,
    listeners: Arc<Listeners>,
    era: String,
    more: bool,
}

/// The receivers of changes: the subscriptions of the modern era, and the sessions of the legacy one.
#[derive(Default)]
struct Listeners {
    sinks: Mutex<Vec<SubscriptionSink>>,
    sessions: Mutex<Vec<Peer<RoleServer>>>,
    watching: Mutex<Vec<Peer<RoleServer>>>,
}

type Answer<T> = Result<T, ErrorData>;

fn of<T: DeserializeOwned>(value: Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

/// Makes a result, with the mark of a complete one that the library takes off for legacy clients.
fn result<T: DeserializeOwned>(mut value: Value) -> Answer<T> {
    value["resultType"] = "complete".into();
    of(value)
}

fn json<T: Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|e| e.to_string().into())
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerInfo {
        of(json!({
            "protocolVersion": if self.era == "legacy" { "2025-11-25" } else { "2026-07-28" },
            "serverInfo": {"name": "bridge-rmcp", "version": "1.0.0"},
            "instructions": "bridge server",
            "capabilities": {
                "tools": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "prompts": {"listChanged": true},
                "completions": {},
                "logging": {},
            },
        }))
        .expect("it is a ServerInfo")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let all = ProtocolVersion::KNOWN_VERSIONS;
        let modern = |v: &&ProtocolVersion| v.as_str() >= "2026-07-28";
        match self.era.as_str() {
            "legacy" => all.iter().filter(|v| !modern(v)).cloned().collect::<Vec<_>>().into(),
            "modern" => all.iter().filter(modern).cloned().collect::<Vec<_>>().into(),
            _ => Cow::Borrowed(all),
        }
    }

    async fn on_initialized(&self, context: rmcp::service::NotificationContext<RoleServer>) {
        self.listeners.sessions.lock().unwrap().push(context.peer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        self.listeners.sinks.lock().unwrap().push(context.sink().clone());
        context.cancelled().await;
        self.listeners.sinks.lock().unwrap().retain(|sink| sink.id() != context.sink().id());
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, context: RequestContext<RoleServer>) -> Answer<()> {
        self.listeners.watching.lock().unwrap().push(context.peer);
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Answer<()> {
        Ok(()) // the tests subscribe once
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Answer<()> {
        Ok(())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answer<ListToolsResult> {
        result(json!({"tools": self.state.tools(self.more)}))
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answer<ListResourcesResult> {
        result(json!({"resources": bridge::resources()}))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answer<ListResourceTemplatesResult> {
        result(json!({"resourceTemplates": bridge::templates()}))
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Answer<ListPromptsResult> {
        result(json!({"prompts": bridge::prompts()}))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Answer<ReadResourceResponse> {
        let Some(text) = self.state.read(&request.uri) else {
            return Err(ErrorData::resource_not_found("no such resource", Some(json!({"uri": request.uri}))));
        };
        let result: ReadResourceResult = result(json!({"contents": [{"uri": request.uri, "mimeType": "text/plain", "text": text}]}))?;
        Ok(result.into())
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Answer<GetPromptResponse> {
        let arguments = json(request.arguments);
        let text = format!("Hello, {}", arguments["name"].as_str().unwrap_or_default());
        let result: GetPromptResult = result(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))?;
        Ok(result.into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Answer<CompleteResult> {
        result(json!({"completion": {"values": bridge::names(&request.argument.value)}}))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<CallToolResponse> {
        let arguments = request.arguments.clone().unwrap_or_default();
        let name = request.name.clone();
        let result = match name.as_ref() {
            "ask_one" | "ask_two" | "ask_again" => return self.ask(request, context).await,
            "sample" | "roots" => return self.ask_for(&name, request, context).await,
            "progress" => self.progress(context).await?,
            "logs" => self.logs(context).await?,
            "change_tools" => self.change_tools().await,
            "touch" => self.touch().await,
            "slow" => {
                let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or_default();
                bridge::text(self.state.slow(ms, context.ct.cancelled()).await)
            }
            name => match self.state.plain(name, &arguments) {
                Some(result) => result,
                None => return Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
            },
        };
        complete(result)
    }
}

fn complete(value: Value) -> Answer<CallToolResponse> {
    result::<CallToolResult>(value).map(CallToolResponse::from)
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|v| v.as_str() >= "2026-07-28")
}

fn input(requests: Map<String, Value>, state: Option<String>) -> Answer<CallToolResponse> {
    Ok(InputRequiredResult::new(Some(of(requests.into())?), state).into())
}

impl Server {
    /// Asks by the result in the modern era, and the session in the legacy one.
    async fn ask(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<CallToolResponse> {
        let tool = request.name.as_ref();
        if is_modern(&context) {
            let color = request.request_state.filter(|s| s != "start");
            let questions = bridge::questions(tool, color.as_deref());
            let answers = json(request.input_responses);
            if questions.iter().all(|(field, _)| answers[*field].is_object()) {
                if let ("ask_again", None, "accept") = (tool, &color, answers["color"]["action"].as_str().unwrap_or_default()) {
                    let color = answers["color"]["content"]["color"].as_str().unwrap_or_default();
                    return input(requests(bridge::questions(tool, Some(color))), Some(color.into()));
                }
                let words = questions.iter().map(|(field, _)| bridge::reply(field, &answers[*field])).collect::<Vec<_>>().join(" ");
                return complete(bridge::text(color.map_or(words.clone(), |c| format!("color={c} {words}"))));
            }
            return input(requests(questions), color.or(Some("start".into())));
        }
        let mut words: Vec<String> = vec![];
        let mut color = None;
        loop {
            let questions = bridge::questions(tool, color.as_deref());
            let asked = questions.iter().map(async |(field, params)| {
                let answer = context.peer.create_elicitation(of(params.clone())?).await.map_err(failed)?;
                Ok::<_, ErrorData>((*field, json(answer)))
            });
            let answers: HashMap<_, _> = futures::future::try_join_all(asked).await?.into_iter().collect();
            words.extend(questions.iter().map(|(field, _)| bridge::reply(field, &answers[field])));
            let first = answers.get("color").filter(|a| a["action"] == "accept");
            match first {
                Some(answer) => color = Some(answer["content"]["color"].as_str().unwrap_or_default().to_owned()),
                None => return complete(bridge::text(words.join(" "))),
            }
        }
    }

    /// Asks for something of the client's own: its model, or its roots.
    async fn ask_for(&self, what: &str, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Answer<CallToolResponse> {
        let messages = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Say something."}}], "maxTokens": 100});
        let answer = match (is_modern(&context), what) {
            (true, _) => {
                let answer = json(request.input_responses)[what].clone();
                if answer.is_null() {
                    let request = match what {
                        "sample" => json!({"method": "sampling/createMessage", "params": messages}),
                        _ => json!({"method": "roots/list"}),
                    };
                    return input(Map::from_iter([(what.into(), request)]), None);
                }
                answer
            }
            (false, "sample") => json(context.peer.create_message(of(messages)?).await.map_err(failed)?),
            (false, _) => json(context.peer.list_roots().await.map_err(failed)?),
        };
        complete(bridge::text(match what {
            "sample" => format!("sampled: {}", answer["content"]["text"].as_str().unwrap_or_default()),
            _ => {
                let roots = answer["roots"].as_array().cloned().unwrap_or_default();
                let uris: Vec<_> = roots.iter().filter_map(|r| r["uri"].as_str()).collect();
                format!("roots: {}", uris.join(","))
            }
        }))
    }

    async fn progress(&self, context: RequestContext<RoleServer>) -> Answer<Value> {
        if let Some(token) = context.meta.get_progress_token() {
            for i in 1..=5 {
                let params = ProgressNotificationParam::new(token.clone(), f64::from(i)).with_total(5.0).with_message(format!("step {i}"));
                context.peer.notify_progress(params).await.map_err(failed)?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await; // the TypeScript clients drop what comes with the result
        }
        Ok(bridge::text("progressed"))
    }

    async fn logs(&self, context: RequestContext<RoleServer>) -> Answer<Value> {
        let unasked = is_modern(&context) && context.meta.log_level().is_none();
        for i in (1..=3).filter(|_| !unasked) {
            let params = of(json!({"level": "info", "logger": "bridge", "data": format!("log {i}")}))?;
            context.peer.notify_logging_message(params).await.map_err(failed)?;
        }
        Ok(bridge::text("logged"))
    }

    async fn change_tools(&self) -> Value {
        let added = self.state.toggle_extra();
        tokio::time::sleep(HANDED).await;
        let sinks = self.listeners.sinks.lock().unwrap().clone();
        for sink in sinks {
            let _ = sink.notify_tool_list_changed().await; // of a client that did not ask for it, or has left
        }
        let sessions = self.listeners.sessions.lock().unwrap().clone();
        for session in sessions {
            let _ = session.notify_tool_list_changed().await; // of a client that has left
        }
        bridge::text(if added { "added" } else { "removed" })
    }

    async fn touch(&self) -> Value {
        let n = self.state.touch();
        tokio::time::sleep(HANDED).await;
        let sinks = self.listeners.sinks.lock().unwrap().clone();
        for sink in sinks {
            let _ = sink.notify_resource_updated(bridge::WATCHED).await; // of a client that did not ask for it, or has left
        }
        let watching = self.listeners.watching.lock().unwrap().clone();
        for session in watching {
            let _ = session.notify_resource_updated(ResourceUpdatedNotificationParam::new(bridge::WATCHED)).await; // of a client that has left
        }
        bridge::text(format!("touched {n}"))
    }
}

fn requests(questions: Vec<(&'static str, Value)>) -> Map<String, Value> {
    questions.into_iter().map(|(field, params)| (field.to_owned(), json!({"method": "elicitation/create", "params": params}))).collect()
}
