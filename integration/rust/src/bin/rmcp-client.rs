//! A probing client on rmcp. Without --revision it probes with server/discover and falls back (--mode auto);
//! --mode initialize and --mode discover are the other lifecycles that the library has.
#![allow(deprecated)]

use std::sync::Arc;
use std::time::Duration;

use peers::{Failure, Flags, Peer, Probe, Step};
use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    peers::run(connect).await;
}

fn of<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|e| Failure::new(e.to_string()))
}

fn json<T: Serialize>(value: T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|e| e.to_string().into())
}

fn failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(e) => Failure { code: e.code.0.into(), message: e.message.into(), data: e.data },
        other => Failure::new(other.to_string()),
    }
}

async fn connect(flags: &Flags, probe: Arc<Probe>) -> Result<Client, Failure> {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let revision = flags.revision.as_deref();
    let mode = match (flags.mode.as_deref(), revision) {
        (Some("initialize"), _) => ClientLifecycleMode::Initialize,
        (Some("discover"), _) | (None, Some("2026-07-28")) => ClientLifecycleMode::Discover { preferred_versions: modern },
        (None, Some(_)) => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None },
    };
    let mut info = json!({
        "protocolVersion": ProtocolVersion::default(),
        "clientInfo": {"name": "probe-rmcp", "version": "1.0.0"},
        "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
    });
    if let Some(revision) = revision {
        info["protocolVersion"] = revision.into();
    }
    let handler = Handler { probe: probe.clone(), info: of(info)? };
    let service = if let Some(url) = &flags.http {
        handler.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), mode).await
    } else {
        let mut command = tokio::process::Command::new(&flags.stdio[0]);
        command.args(&flags.stdio[1..]);
        let child = TokioChildProcess::new(command).map_err(|e| Failure::new(e.to_string()))?;
        handler.serve_with_lifecycle(child, mode).await
    };
    let service = service.map_err(|e| Failure::new(e.to_string()))?;
    let revision = service.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    let mut client = Client { service, probe, modern: revision == "2026-07-28", level: None, uris: vec![], listener: None };
    if let Err(failure) = client.listen().await {
        client.probe.event("listen failed", failure.message.into()); // a server may announce no changes
    }
    Ok(client)
}

struct Handler {
    probe: Arc<Probe>,
    info: ClientInfo,
}

type Answer<T> = Result<T, ErrorData>;

fn answer<T: DeserializeOwned>(value: Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientInfo {
        self.info.clone()
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Answer<ElicitResult> {
        let request = json(request);
        let mode = request["mode"].as_str().unwrap_or("form");
        let (action, content) = self.probe.elicit(request["message"].as_str().unwrap_or_default(), mode, &request["requestedSchema"]);
        answer(match content {
            Some(content) => json!({"action": action, "content": content}),
            None => json!({"action": action}),
        })
    }

    async fn create_message(&self, request: CreateMessageRequestParams, _: RequestContext<RoleClient>) -> Answer<CreateMessageResult> {
        let request = json(request);
        let content = &request["messages"][0]["content"];
        let text = content["text"].as_str().or(content[0]["text"].as_str()).unwrap_or_default();
        let words = self.probe.sample(text);
        answer(json!({"role": "assistant", "model": "canned", "stopReason": "endTurn", "content": {"type": "text", "text": words}}))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Answer<ListRootsResult> {
        answer(json!({"roots": self.probe.roots()}))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/progress", json(params));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/message", json(params));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/resources/updated", json(params));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/resources/list_changed", Value::Null);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/tools/list_changed", Value::Null);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.probe.event("notifications/prompts/list_changed", Value::Null);
    }
}

struct Client {
    service: RunningService<RoleClient, Handler>,
    probe: Arc<Probe>,
    modern: bool,
    level: Option<String>,
    uris: Vec<String>,
    listener: Option<tokio::task::JoinHandle<()>>,
}

impl Client {
    /// Opens the modern stream of notifications, with every resource subscribed so far. The library
    /// waits for the acknowledgement.
    async fn listen(&mut self) -> Result<(), Failure> {
        if !self.modern {
            return Ok(());
        }
        let mut filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed();
        for uri in &self.uris {
            filter = filter.resource_subscription(uri);
        }
        let mut subscription = self.service.listen(filter.build()).await.map_err(failure)?;
        let probe = self.probe.clone();
        let newer = tokio::spawn(async move {
            loop {
                match subscription.next().await {
                    Ok(Some(notification)) => {
                        let message = json(notification);
                        probe.event(message["method"].as_str().unwrap_or_default(), message["params"].clone());
                    }
                    Ok(None) => return,
                    Err(e) => return probe.event("listen failed", e.to_string().into()),
                }
            }
        });
        if let Some(older) = self.listener.replace(newer) {
            older.abort();
        }
        Ok(())
    }

    fn params(&self, step: &Step) -> Result<CallToolRequestParams, Failure> {
        let mut params = json!({"name": step.name, "arguments": step.arguments});
        if let (true, Some(level)) = (self.modern, &self.level) {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": level});
        }
        of(params)
    }
}

impl Peer for Client {
    fn connected(&self) -> Value {
        let info = self.service.peer_info().map(|info| json(&*info)).unwrap_or_default();
        json!({
            "revision": info["protocolVersion"],
            "server": info["serverInfo"],
            "capabilities": info["capabilities"],
            "instructions": info["instructions"].as_str().unwrap_or_default(),
        })
    }

    async fn list(&self, what: &str) -> Result<Vec<Value>, Failure> {
        let all = match what {
            "tools" => self.service.list_all_tools().await.map(json),
            "resources" => self.service.list_all_resources().await.map(json),
            "templates" => self.service.list_all_resource_templates().await.map(json),
            _ => self.service.list_all_prompts().await.map(json),
        };
        of(all.map_err(failure)?)
    }

    /// The library asks for the progress of every call, whatever the step says.
    async fn call(&self, step: &Step) -> Result<Value, Failure> {
        self.service.call_tool(self.params(step)?).await.map(json).map_err(failure)
    }

    async fn cancel_call(&self, step: &Step, after: Duration) -> Result<Option<Value>, Failure> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.params(step)?));
        let sent = self.service.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut handle = sent.map_err(failure)?;
        match tokio::time::timeout(after, &mut handle.rx).await {
            Ok(Ok(result)) => result.map(|r| Some(json(r))).map_err(failure),
            Ok(Err(e)) => Err(Failure::new(e.to_string())),
            Err(_) => handle.cancel(None).await.map(|()| None).map_err(failure),
        }
    }

    async fn read(&self, uri: &str) -> Result<Value, Failure> {
        self.service.read_resource(of(json!({"uri": uri}))?).await.map(json).map_err(failure)
    }

    async fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Result<Value, Failure> {
        let params = of(json!({"name": name, "arguments": arguments}))?;
        self.service.get_prompt(params).await.map(json).map_err(failure)
    }

    async fn complete(&self, reference: &Value, argument: &Value) -> Result<Vec<String>, Failure> {
        let params = of(json!({"ref": reference, "argument": argument}))?;
        self.service.complete(params).await.map(|r| r.completion.values).map_err(failure)
    }

    /// Discovers in the modern era, which has no ping.
    async fn ping(&self) -> Result<(), Failure> {
        if self.modern {
            return self.service.discover(RequestMetaObject::new()).await.map(|_| ()).map_err(failure);
        }
        let request = ClientRequest::PingRequest(PingRequest::default());
        self.service.send_request(request).await.map(|_| ()).map_err(failure)
    }

    async fn set_level(&mut self, level: &str) -> Result<(), Failure> {
        self.level = Some(level.into());
        if self.modern {
            return Ok(());
        }
        self.service.set_level(of(json!({"level": level}))?).await.map_err(failure)
    }

    async fn subscribe(&mut self, uri: &str) -> Result<(), Failure> {
        if self.modern {
            self.uris.push(uri.into());
            return self.listen().await;
        }
        self.service.subscribe(of(json!({"uri": uri}))?).await.map_err(failure)
    }

    async fn unsubscribe(&mut self, uri: &str) -> Result<(), Failure> {
        if self.modern {
            self.uris.retain(|u| u != uri);
            return self.listen().await;
        }
        self.service.unsubscribe(of(json!({"uri": uri}))?).await.map_err(failure)
    }

    async fn close(self) {
        if let Some(listener) = self.listener {
            listener.abort();
        }
        let _ = self.service.cancel().await; // the server has ended, or is left
    }
}
