// Package trace shows what happens between a user, a host, a model and
// servers: as text while it happens, and afterwards as a sequence diagram in
// Mermaid or SVG.
//
// A run has seven steps, which have the same numbers and names everywhere:
//
//	1 list tools   what the model can be given
//	2 ask model    the first request of a run
//	3 decide       what the model wants
//	4 call         a tool is called
//	5 result       what came of it
//	6 model        the model is asked again, with the results
//	7 answer       the run is over
//
// Between them stand what else the model is asked (summaries of old turns, and what
// servers ask of it), every question to the user (calls, definitions, forms, the
// use of the model), the JSON-RPC messages, if [Handler] wraps the servers, and the
// exchanges with the model, if [host.Options] asks for them. What looks like
// a secret is replaced by •••, what is hidden is made visible, and long texts are cut.
package trace
