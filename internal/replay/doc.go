// Package replay simulates a model for tests. It serves three real wire formats, always streamed:
// chat completions at paths that end in /chat/completions, OpenAI's responses at /responses, and
// Anthropic's messages at /messages. With it, tests run all code between a program and a provider
// without a provider.
//
// A recording is a list of [Turn]: conditions on each request, and the response to it. A response
// can depend on the results of real tools; see [Turn.Then].
//
// The number of assistant messages in a request selects the turn, so the package stores no state.
// Requests may therefore be repeated, several conversations may run concurrently, and a
// conversation may continue in another process. A tool may be offered under its own name, or under
// a longer name that ends in __ and its name.
//
// If a request does not meet the conditions of its turn, or if a strict provider would reject it
// ([model.Check]), the response has the status 400 and contains the reason. If the tools are
// described in the system prompt (package injected), calls are written as text.
package replay
