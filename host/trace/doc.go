// Package trace shows the events between a user, a host, a model and servers. It writes them as
// text while they happen, and afterwards as a sequence diagram in Mermaid or SVG.
//
// A run has seven steps, with the same numbers and names everywhere:
//
//	1 list tools   the tools that the model can be given
//	2 ask model    the first request of a run
//	3 decide       the model's answer
//	4 call         a tool is called
//	5 result       the result of the call
//	6 model        the model is asked again, with the results
//	7 answer       the run is over
//
// Other events are shown between these steps. They are other requests to the model (summaries of
// old turns, and requests of servers), and every question to the user (calls, definitions, forms,
// the use of the model). If [Handler] wraps the servers, the JSON-RPC messages are shown. If
// [host.Options] asks for them, so are the exchanges with the model. Possible secrets are replaced
// by •••, hidden characters are made visible, and long texts are cut.
package trace
